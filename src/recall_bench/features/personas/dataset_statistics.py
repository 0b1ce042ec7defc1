"""Statistics of a persona dataset in the public format, however it was made.

Sentences are compared twice: word for word, and as skeletons, in which every figure is one mark,
every name another and every quotation a third.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import fmean

from recall_bench.core.plain_text import Column, Table, format_quantity, make_table, render_text
from recall_bench.core.record import Record
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, DIFFICULTIES, Expects
from recall_bench.stories.lint.answer_checks import count_constant_no
from recall_bench.stories.lint.history_checks import count_new_sentences
from recall_bench.stories.lint.lint_corpus import LintCorpus, read_corpus
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.stories.persona_files import Layout, find_runs
from recall_bench.stories.yaml_fields import raise_problems
from recall_bench.text.text import TEXT_STOPWORDS
from recall_bench.text.text_values import collect_stems, normalise_text

WIDTH = 100
EARLY_DAY = 30
"""The first checkpoint of most runs."""
FIGURE, NAME, QUOTATION = "#", "@", "“…”"
"""The marks in a skeleton."""

_LONG = 6
"""Shorter sentences repeat in any log; the lints ignore them too."""
_SHOWN = 5
_RANKS = {"least": 0.0, "tenth": 0.1, "median": 0.5, "ninetieth": 0.9, "most": 1.0}

_QUOTED = re.compile(r'"[^"]+"')
_TOKEN = re.compile(r"[$£€¥]?\w+(?:[.,:/'-]\w+)*%?")
_NAMES = re.compile(rf"{NAME}(?: {NAME})+")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


class PartOfWhole(Record, frozen=True, kw_only=True):
    """A part of a whole, as counts."""

    part: int
    whole: int

    def __str__(self) -> str:
        share = f"{self.part / self.whole:.1%}" if self.whole else "--"
        return f"{self.part:>8,} of {self.whole:>7,} {share:>7} "


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


class DatasetStatistics(Record, frozen=True, kw_only=True):
    """All statistics of one story."""

    persona: str
    arcs: str
    problems: int
    """Faults in the files; the parts they concern are left out of every number."""
    days: int
    last_day: int
    longest_gap: int
    words_a_day: dict[str, int]
    sessions_a_day: dict[str, int]
    repeated: dict[str, int]
    """The most frequent skeletons that occur more than once."""
    shares: dict[str, PartOfWhole]
    """Each by what it is a share of, in words."""
    overall: CategoryStatistics
    categories: dict[str, CategoryStatistics]
    """All ten categories, in the usual order."""


def compute_statistics(folder: Path, arcs: str) -> DatasetStatistics:
    """The statistics of one story; UsageError if it has no days or no questions on file."""
    raise_problems(list(Layout(folder, arcs).find_missing()))
    corpus = read_corpus(folder, arcs)
    numbers = [day.number for day in corpus.days]
    last = max(numbers, default=0)
    missing = sorted(set(range(1, last)).difference(numbers))
    lengths = [
        sum(re.search(r"[^\W_]", token) is not None for token in text.split())
        for text in ("\n".join(part for _, part in day.split_sessions()) for day in corpus.days)
    ]
    skeletons = Counter(_list_skeletons(corpus))
    overlaps = {
        question.item.id: overlap
        for question in corpus.questions
        if (overlap := _measure_overlap(corpus, question)) is not None
    }

    def summarise(questions: Sequence[LintQuestion]) -> CategoryStatistics:
        thirds = Counter(min(2, (item.opens - 1) * 3 // max(1, last)) for item in questions)
        labels = Counter(question.item.truth.difficulty for question in questions)
        shared = [overlaps[item.item.id] for item in questions if item.item.id in overlaps]
        return CategoryStatistics(
            questions=len(questions),
            thirds=(thirds[0], thirds[1], thirds[2]),
            difficulties={label: labels[label] for label in DIFFICULTIES},
            early=sum(question.item.is_open(EARLY_DAY) for question in questions),
            overlap=fmean(shared) if shared else None,
        )

    return DatasetStatistics(
        persona=corpus.layout.id,
        arcs=arcs,
        problems=len(corpus.inspection.problems),
        days=len(numbers),
        last_day=last,
        longest_gap=max((end - start + 1 for start, end in find_runs(missing)), default=0),
        words_a_day=compute_spread(lengths),
        sessions_a_day=compute_spread(len(set(day.session_headings)) for day in corpus.days),
        repeated={text: n for text, n in skeletons.most_common(_SHOWN) if n > 1},
        shares=dict(_list_shares(corpus, lengths, skeletons, list(overlaps.values()))),
        overall=summarise(corpus.questions),
        categories={name: summarise(group) for name, group in corpus.by_category.items()},
    )


def compute_spread(numbers: Iterable[int]) -> dict[str, int]:
    """The least, the most and some percentiles, each one of the numbers; empty without any."""
    ranked = sorted(numbers)
    if not ranked:
        return {}
    return {name: ranked[max(0, ceil(share * len(ranked)) - 1)] for name, share in _RANKS.items()}


def _list_shares(
    corpus: LintCorpus,
    lengths: Sequence[int],
    skeletons: Mapping[str, int],
    overlaps: Sequence[float],
) -> Iterator[tuple[str, PartOfWhole]]:
    def share(name: str, part: int, whole: int) -> tuple[str, PartOfWhole]:
        return name, PartOfWhole(part=part, whole=whole)

    days = len(lengths)
    last = max((day.number for day in corpus.days), default=0)
    yield share("days have no file", last - days, last)
    yield share("days have fewer than 200 words", sum(n < 200 for n in lengths), days)
    yield share("days have 300 to 900", sum(300 <= n <= 900 for n in lengths), days)
    yield share("days have more than 900", sum(n > 900 for n in lengths), days)
    new, total = count_new_sentences(corpus)
    yield share("sentences of six words or more are new on their day", new, total)
    yield share(
        "are new with figures, names and quotations masked",
        len(skeletons),
        sum(skeletons.values()),
    )
    words = Counter(
        word
        for day in corpus.days
        for _, part in day.split_sessions()
        for word in _WORD.findall(normalise_text(part).lower())
    )
    yield share("different words are used once", list(words.values()).count(1), len(words))
    asked, secrets = corpus.questions, corpus.by_category[BOUNDARY]
    early = sum(any(q.item.is_open(EARLY_DAY) for q in g) for g in corpus.by_category.values())
    yield share(f"categories are asked by day {EARLY_DAY}", early, len(CATEGORIES))
    yield share("questions share no word with their evidence", overlaps.count(0.0), len(overlaps))
    right, negative = count_constant_no(corpus)
    yield share("negative-recall questions want a No", right, negative)
    yield share("questions want a No", sum(q.denies for q in asked), len(asked))
    for name, group in (("information-boundary questions", secrets), ("questions", asked)):
        refusals = sum(q.item.truth.expects is Expects.WITHHOLD for q in group)
        yield share(f"{name} want a refusal", refusals, len(group))


def mask_sentence(sentence: str, ordinary: frozenset[str]) -> str:
    """The sentence with its figures, names and quotations masked.

    Whatever has a digit is a figure. A word with a capital is a name; at the start of a
    sentence, where every word has one, only if it is not among the ordinary words.
    """
    masked = _QUOTED.sub(QUOTATION, normalise_text(sentence))
    first = _TOKEN.search(masked)
    start = first.start() if first else 0

    def mask_token(token: re.Match[str]) -> str:
        word = token[0]
        if any(map(str.isdigit, word)):
            return FIGURE
        if not word[:1].isupper() or re.match(r"I(?:'|\Z)", word):
            return word
        return NAME if token.start() != start or word.lower() not in ordinary else word

    return _NAMES.sub(NAME, _TOKEN.sub(mask_token, masked))


def _list_skeletons(corpus: LintCorpus) -> Iterator[str]:
    """The skeleton of every long sentence, in order."""
    # Ordinary words are written small at least as often as with a capital that is not due to
    # their place at the start of a sentence.
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for day in corpus.days:
        small.update(word for word in _WORD.findall(normalise_text(day.body)) if word.islower())
        for sentence in day.sentences:
            inner = islice(_WORD.findall(normalise_text(sentence.text)), 1, None)
            capital.update(word.lower() for word in inner if word[0].isupper())
    ordinary = TEXT_STOPWORDS.union(word for word, n in small.items() if n >= capital[word])
    for day in corpus.days:
        for sentence in day.sentences:
            if len(sentence.text.split()) >= _LONG:
                yield mask_sentence(sentence.text, ordinary)


def _measure_overlap(corpus: LintCorpus, question: LintQuestion) -> float | None:
    spans = [
        corpus.by_number[cited.day].text[cited.start : cited.end]
        for cited in question.item.truth.evidence
        if cited.start is not None and cited.end is not None
    ]
    if not spans or not question.stems:
        return None
    return len(question.stems & collect_stems(" ".join(spans))) / len(question.stems)


def render_statistics(statistics: DatasetStatistics) -> str:
    """The spreads, the shares, what is repeated most, and the questions by category."""
    days = format_quantity(statistics.days, "day")
    questions = format_quantity(statistics.overall.questions, "question")
    lines = [f"{statistics.persona}, {statistics.arcs}: {days}, {questions}"]
    if statistics.problems:
        faults = format_quantity(statistics.problems, "fault")
        lines.append(f"{faults} in its files; `recall-bench lint` says more")
    spreads = {
        "words a day": statistics.words_a_day,
        "sessions a day": statistics.sessions_a_day,
    }
    rows = [
        (f"  {name}", *(f"{spread[rank]:,}" if spread else "--" for rank in _RANKS))
        for name, spread in spreads.items()
    ]
    lines += ["", *render_text(make_table(("", *_RANKS), rows)), ""]
    lines += [f"{share} {name}" for name, share in statistics.shares.items()]
    if statistics.repeated:
        lines += ["", "stated most often, figures (#), names (@) and quotations (“…”) masked"]
    for text, count in statistics.repeated.items():
        lead = f"{count:>8,} × "
        lines.append(lead + textwrap.shorten(text, WIDTH - len(lead), placeholder=" …"))
    heads = ("asked", "1st third", "2nd", "3rd", *DIFFICULTIES, f"by day {EARLY_DAY}", "overlap")
    columns = [Column("questions", 27, is_text=True)]
    columns += [Column(head, max(6, len(head) + 2)) for head in heads]
    rows = []
    for name, row in (*statistics.categories.items(), ("OVERALL", statistics.overall)):
        counts = (row.questions, *row.thirds, *row.difficulties.values(), row.early)
        overlap = "--" if row.overlap is None else f"{row.overlap:.0%}"
        rows.append((name, *(f"{count:,}" for count in counts), overlap))
    return "\n".join([*lines, "", *render_text(Table(columns, rows, gap=""))])
