"""What is asked about a story: of what kind, from when on, and in whose words."""

from collections import Counter
from collections.abc import Collection, Iterable
from statistics import fmean

from recall_bench.core.question import BOUNDARY, DIFFICULTIES, Expects
from recall_bench.core.record import Record
from recall_bench.lint.asked import Asked
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.negatives import constant_no
from recall_bench.lint.words import stems
from recall_bench.portrait.figures import Share

EARLY = 30
"""The first checkpoint most people run."""


class Asking(Record, frozen=True, kw_only=True):
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


class Questions(Record, frozen=True, kw_only=True):
    """Everything asked."""

    overall: Asking
    categories: dict[str, Asking]
    """The ten, in the usual order; empty ones too."""
    strangers: Share
    """Of the questions with evidence sentences, those that share no word with them."""
    constant_no: Share
    """Of the negative-recall questions, those the word No answers."""
    constant_no_overall: Share
    constant_refusal: Share
    """Of the information-boundary questions, those a refusal answers."""
    constant_refusal_overall: Share


def questions_of(corpus: Corpus) -> Questions:
    """What is asked about a story."""
    everything = corpus.questions
    overlaps = {asked.item.id: _overlap(corpus, asked) for asked in everything}
    known = [overlap for overlap in overlaps.values() if overlap is not None]
    last = corpus.days[-1].number if corpus.days else 0
    right, negative = constant_no(corpus)
    boundary = corpus.by_category[BOUNDARY]
    return Questions(
        overall=_asking(everything, overlaps, last),
        categories={
            category: _asking(asked, overlaps, last)
            for category, asked in corpus.by_category.items()
        },
        strangers=Share(part=known.count(0.0), whole=len(known)),
        constant_no=Share(part=right, whole=negative),
        constant_no_overall=Share(
            part=sum(asked.denies for asked in everything), whole=len(everything)
        ),
        constant_refusal=Share(part=_refusals(boundary), whole=len(boundary)),
        constant_refusal_overall=Share(part=_refusals(everything), whole=len(everything)),
    )


def _asking(several: Collection[Asked], overlaps: dict[str, float | None], last: int) -> Asking:
    found = [part for asked in several if (part := overlaps[asked.item.id]) is not None]
    thirds = Counter(_third(asked.opens, last) for asked in several)
    labels = Counter(asked.item.truth.difficulty for asked in several)
    return Asking(
        questions=len(several),
        thirds=(thirds[0], thirds[1], thirds[2]),
        difficulties={label: labels[label] for label in DIFFICULTIES},
        early=sum(asked.item.is_open(EARLY) for asked in several),
        overlap=fmean(found) if found else None,
    )


def _third(day: int, last: int) -> int:
    return min(2, max(0, (day - 1) * 3 // last)) if last else 0


def _refusals(several: Iterable[Asked]) -> int:
    return sum(asked.item.truth.expects is Expects.WITHHOLD for asked in several)


def _overlap(corpus: Corpus, asked: Asked) -> float | None:
    spans = [
        corpus.by_number[cited.day].text[cited.start : cited.end]
        for cited in asked.item.truth.evidence
        if cited.start is not None and cited.end is not None
    ]
    if not spans or not asked.stems:
        return None
    told = stems(" ".join(spans))
    return len(asked.stems & told) / len(asked.stems)
