"""What is asked about a story: of what kind, from when on, and in whose words."""

from collections import Counter
from collections.abc import Collection, Iterable
from statistics import fmean

from recall_bench.core.question import BOUNDARY, DIFFICULTIES, Expects
from recall_bench.core.record import Record
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.negatives import count_constant_no
from recall_bench.lint.words import collect_stems
from recall_bench.portrait.figures import PartOfWhole

EARLY_DAY = 30
"""The first checkpoint most people run."""


class CategoryStatistics(Record, frozen=True, kw_only=True):
    """The questions of one category, or all of them."""

    questions: int
    thirds: tuple[int, int, int]
    """By the third of the story in which they can first be asked."""
    difficulties: dict[str, int]
    early: int
    """Those asked at a checkpoint on day 30."""
    overlap: float | None
    """The mean share of a question's words with content that its evidence sentences have too;
    None where the evidence is not given by sentence."""


class QuestionStatistics(Record, frozen=True, kw_only=True):
    """Everything asked."""

    overall: CategoryStatistics
    categories: dict[str, CategoryStatistics]
    """The ten, in the usual order; empty ones too."""
    strangers: PartOfWhole
    """Of the questions with evidence sentences, those that share no word with them."""
    constant_no: PartOfWhole
    """Of the negative-recall questions, those the word No answers."""
    constant_no_overall: PartOfWhole
    constant_refusal: PartOfWhole
    """Of the information-boundary questions, those a refusal answers."""
    constant_refusal_overall: PartOfWhole


def compute_question_statistics(corpus: LintCorpus) -> QuestionStatistics:
    """What is asked about a story."""
    everything = corpus.questions
    overlaps = {asked.item.id: _measure_overlap(corpus, asked) for asked in everything}
    known = [overlap for overlap in overlaps.values() if overlap is not None]
    last = corpus.days[-1].number if corpus.days else 0
    right, negative = count_constant_no(corpus)
    boundary = corpus.by_category[BOUNDARY]
    return QuestionStatistics(
        overall=_summarise_questions(everything, overlaps, last),
        categories={
            category: _summarise_questions(asked, overlaps, last)
            for category, asked in corpus.by_category.items()
        },
        strangers=PartOfWhole(part=known.count(0.0), whole=len(known)),
        constant_no=PartOfWhole(part=right, whole=negative),
        constant_no_overall=PartOfWhole(
            part=sum(asked.denies for asked in everything), whole=len(everything)
        ),
        constant_refusal=PartOfWhole(part=_count_refusals(boundary), whole=len(boundary)),
        constant_refusal_overall=PartOfWhole(
            part=_count_refusals(everything), whole=len(everything)
        ),
    )


def _summarise_questions(
    several: Collection[LintQuestion], overlaps: dict[str, float | None], last: int
) -> CategoryStatistics:
    found = [part for asked in several if (part := overlaps[asked.item.id]) is not None]
    thirds = Counter(_find_third(asked.opens, last) for asked in several)
    labels = Counter(asked.item.truth.difficulty for asked in several)
    return CategoryStatistics(
        questions=len(several),
        thirds=(thirds[0], thirds[1], thirds[2]),
        difficulties={label: labels[label] for label in DIFFICULTIES},
        early=sum(asked.item.is_open(EARLY_DAY) for asked in several),
        overlap=fmean(found) if found else None,
    )


def _find_third(day: int, last: int) -> int:
    return min(2, max(0, (day - 1) * 3 // last)) if last else 0


def _count_refusals(several: Iterable[LintQuestion]) -> int:
    return sum(asked.item.truth.expects is Expects.WITHHOLD for asked in several)


def _measure_overlap(corpus: LintCorpus, asked: LintQuestion) -> float | None:
    spans = [
        corpus.by_number[cited.day].text[cited.start : cited.end]
        for cited in asked.item.truth.evidence
        if cited.start is not None and cited.end is not None
    ]
    if not spans or not asked.stems:
        return None
    told = collect_stems(" ".join(spans))
    return len(asked.stems & told) / len(asked.stems)
