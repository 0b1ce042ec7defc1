"""Statistics of a persona dataset in the public format, however it was made.

Sentences are compared twice: word for word, and as skeletons, in which every figure is one mark,
every name another and every quotation a third. A sentence that differs from an earlier one only
in a figure or a name is new word for word, but its skeleton is not.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import fmean

from recall_bench.core.plain_text import Column, Table, format_quantity, render_text
from recall_bench.core.record import Record
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, DIFFICULTIES, Expects
from recall_bench.stories.lint.answer_checks import count_constant_no
from recall_bench.stories.lint.history_checks import count_new_sentences
from recall_bench.stories.lint.lint_corpus import LintCorpus, read_corpus
from recall_bench.stories.lint.value_index import DayLog, LintQuestion
from recall_bench.stories.persona_files import Layout, find_runs
from recall_bench.stories.yaml_fields import raise_problems
from recall_bench.text.text import TEXT_STOPWORDS
from recall_bench.text.text_values import collect_stems, normalise_text


class NumberSpread(Record, frozen=True, kw_only=True):
    """How a number varies; every percentile is one of the numbers, by nearest rank."""

    least: int
    tenth: int
    median: int
    ninetieth: int
    most: int


class PartOfWhole(Record, frozen=True, kw_only=True):
    """A part of a whole, as counts."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share from 0 to 1; None if the whole is 0."""
        return self.part / self.whole if self.whole else None


def compute_spread(numbers: Iterable[int]) -> NumberSpread | None:
    """Return the spread of the numbers; None without numbers."""
    ranked = sorted(numbers)
    if not ranked:
        return None

    def pick_rank(share: float) -> int:
        return ranked[ceil(share * len(ranked)) - 1]

    return NumberSpread(
        least=ranked[0],
        tenth=pick_rank(0.1),
        median=pick_rank(0.5),
        ninetieth=pick_rank(0.9),
        most=ranked[-1],
    )


FIGURE, NAME, QUOTATION = "#", "@", "“…”"
"""The marks in a skeleton."""

_LONG = 6
"""Shorter sentences repeat in any log; the lints ignore them too."""
_SHOWN = 5
_SHORT_DAY, _USUAL_DAY, _LONG_DAY = 200, (300, 900), 900

_QUOTED = re.compile(r'"[^"]+"')
_TOKEN = re.compile(r"[$£€¥]?\w+(?:[.,:/'-]\w+)*%?")
_TOKEN_OR_PLAIN = re.compile(rf"(?:[a-z]+ )+|{_TOKEN.pattern}")
"""Most tokens are words without figures and capitals: those are passed over together."""
_NAMES = re.compile(rf"{NAME}(?: {NAME})+")
_TWO_NAMES = f"{NAME} {NAME}"
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_VISIBLE = re.compile(r"[^\W_]")
_I = re.compile(r"I(?:'|\Z)")


class Skeleton(Record, frozen=True, kw_only=True):
    """A sentence with its figures, names and quotations masked."""

    text: str
    count: int


class ProseStatistics(Record, frozen=True, kw_only=True):
    """Length, novelty and vocabulary of the days."""

    words: int
    words_a_day: NumberSpread | None
    under_200: int
    """Days of fewer than 200 words."""
    from_300_to_900: int
    over_900: int
    new_sentences: PartOfWhole
    """Of the sentences of six words or more, those no earlier day has word for word."""
    new_skeletons: PartOfWhole
    """Of the same sentences, those whose skeleton no earlier sentence has."""
    repeated: tuple[Skeleton, ...]
    """The most frequent skeletons that occur more than once, most frequent first."""
    used_once: PartOfWhole
    """Of all different words, those that occur once."""


def compute_prose(corpus: LintCorpus) -> ProseStatistics:
    """Return the statistics of the text of the days."""
    lengths = [_count_words(day) for day in corpus.days]
    new, total = count_new_sentences(corpus)
    skeletons = Counter(_list_skeletons(corpus))
    vocabulary = Counter(_list_vocabulary(corpus))
    return ProseStatistics(
        words=sum(lengths),
        words_a_day=compute_spread(lengths),
        under_200=sum(length < _SHORT_DAY for length in lengths),
        from_300_to_900=sum(_USUAL_DAY[0] <= length <= _USUAL_DAY[1] for length in lengths),
        over_900=sum(length > _LONG_DAY for length in lengths),
        new_sentences=PartOfWhole(part=new, whole=total),
        new_skeletons=PartOfWhole(part=len(skeletons), whole=skeletons.total()),
        repeated=tuple(
            Skeleton(text=text, count=count)
            for text, count in skeletons.most_common(_SHOWN)
            if count > 1
        ),
        used_once=PartOfWhole(part=list(vocabulary.values()).count(1), whole=len(vocabulary)),
    )


def mask_sentence(sentence: str, ordinary: frozenset[str]) -> str:
    """The sentence with its figures, names and quotations masked.

    Whatever has a digit is a figure. A word with a capital is a name; at the start of a
    sentence, where every word has one, only if it is not among the ordinary words.
    """
    masked = normalise_text(sentence)
    if '"' in masked:
        masked = _QUOTED.sub(QUOTATION, masked)
    first = _TOKEN.search(masked)
    start = first.start() if first else 0

    def mask_token(token: re.Match[str]) -> str:
        word = token[0]
        if word[-1] == " " or (word.isalpha() and word.islower()):
            return word
        if any(map(str.isdigit, word)):
            return FIGURE
        if not word[:1].isupper() or _I.match(word):
            return word
        is_name = token.start() != start or word.lower() not in ordinary
        return NAME if is_name else word

    masked = _TOKEN_OR_PLAIN.sub(mask_token, masked)
    return _NAMES.sub(NAME, masked) if _TWO_NAMES in masked else masked


def _list_skeletons(corpus: LintCorpus) -> Iterator[str]:
    """The skeleton of every long sentence, in order."""
    ordinary = _find_ordinary_words(corpus)
    for day in corpus.days:
        for sentence in day.sentences:
            if len(sentence.text.split()) >= _LONG:
                yield mask_sentence(sentence.text, ordinary)


def _find_ordinary_words(corpus: LintCorpus) -> frozenset[str]:
    """Words written small at least as often as with a capital they do not owe to their place."""
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for day in corpus.days:
        small.update(word for word in _WORD.findall(normalise_text(day.body)) if word.islower())
        for sentence in day.sentences:
            inner = islice(_WORD.findall(normalise_text(sentence.text)), 1, None)
            capital.update(word.lower() for word in inner if word[0].isupper())
    return TEXT_STOPWORDS.union(word for word, count in small.items() if count >= capital[word])


def _list_vocabulary(corpus: LintCorpus) -> Iterator[str]:
    for day in corpus.days:
        for _, part in day.split_sessions():
            yield from _WORD.findall(normalise_text(part).lower())


def _count_words(day: DayLog) -> int:
    """Count words and figures; headings of sessions do not count."""
    return sum(
        _VISIBLE.search(token) is not None
        for _, part in day.split_sessions()
        for token in part.split()
    )


EARLY_DAY = 30
"""The first checkpoint of most runs."""


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
    """All questions of a story."""

    overall: CategoryStatistics
    categories: dict[str, CategoryStatistics]
    """All ten categories, in the usual order."""
    strangers: PartOfWhole
    """Of the questions with evidence sentences, those that share no word with them."""
    constant_no: PartOfWhole
    """Of the negative-recall questions, those answered by the word No."""
    constant_no_overall: PartOfWhole
    constant_refusal: PartOfWhole
    """Of the information-boundary questions, those answered by a refusal."""
    constant_refusal_overall: PartOfWhole


def compute_question_statistics(corpus: LintCorpus) -> QuestionStatistics:
    """Return the statistics of the questions."""
    everything = corpus.questions
    overlaps = {question.item.id: _measure_overlap(corpus, question) for question in everything}
    known = [overlap for overlap in overlaps.values() if overlap is not None]
    last = corpus.days[-1].number if corpus.days else 0
    right, negative = count_constant_no(corpus)
    boundary = corpus.by_category[BOUNDARY]
    return QuestionStatistics(
        overall=_summarise_questions(everything, overlaps, last),
        categories={
            category: _summarise_questions(group, overlaps, last)
            for category, group in corpus.by_category.items()
        },
        strangers=PartOfWhole(part=known.count(0.0), whole=len(known)),
        constant_no=PartOfWhole(part=right, whole=negative),
        constant_no_overall=PartOfWhole(
            part=sum(question.denies for question in everything), whole=len(everything)
        ),
        constant_refusal=PartOfWhole(part=_count_refusals(boundary), whole=len(boundary)),
        constant_refusal_overall=PartOfWhole(
            part=_count_refusals(everything), whole=len(everything)
        ),
    )


def _summarise_questions(
    questions: Collection[LintQuestion], overlaps: dict[str, float | None], last: int
) -> CategoryStatistics:
    found = [part for question in questions if (part := overlaps[question.item.id]) is not None]
    thirds = Counter(_find_third(question.opens, last) for question in questions)
    labels = Counter(question.item.truth.difficulty for question in questions)
    return CategoryStatistics(
        questions=len(questions),
        thirds=(thirds[0], thirds[1], thirds[2]),
        difficulties={label: labels[label] for label in DIFFICULTIES},
        early=sum(question.item.is_open(EARLY_DAY) for question in questions),
        overlap=fmean(found) if found else None,
    )


def _find_third(day: int, last: int) -> int:
    return min(2, max(0, (day - 1) * 3 // last)) if last else 0


def _count_refusals(questions: Iterable[LintQuestion]) -> int:
    return sum(question.item.truth.expects is Expects.WITHHOLD for question in questions)


def _measure_overlap(corpus: LintCorpus, question: LintQuestion) -> float | None:
    spans = [
        corpus.by_number[cited.day].text[cited.start : cited.end]
        for cited in question.item.truth.evidence
        if cited.start is not None and cited.end is not None
    ]
    if not spans or not question.stems:
        return None
    stems = collect_stems(" ".join(spans))
    return len(question.stems & stems) / len(question.stems)


class CalendarStatistics(Record, frozen=True, kw_only=True):
    """Which days have a file, and how many sessions each has."""

    days: int
    """Days with a file."""
    last_day: int
    missing: int
    """Days up to the last one that have no file."""
    longest_gap: int
    sessions_a_day: NumberSpread | None
    by_sessions: dict[int, int]
    """Number of days by number of session headings."""


class DatasetStatistics(Record, frozen=True, kw_only=True):
    """All statistics of one story."""

    persona: str
    arcs: str
    problems: int
    """Faults in the files; the parts they concern are left out of every number."""
    calendar: CalendarStatistics
    prose: ProseStatistics
    questions: QuestionStatistics


def compute_statistics(folder: Path, arcs: str) -> DatasetStatistics:
    """Return the statistics of one story; UsageError if it has no days or no questions on file."""
    raise_problems(list(Layout(folder, arcs).find_missing()))
    corpus = read_corpus(folder, arcs)
    return DatasetStatistics(
        persona=corpus.layout.id,
        arcs=arcs,
        problems=len(corpus.inspection.problems),
        calendar=_compute_calendar(corpus),
        prose=compute_prose(corpus),
        questions=compute_question_statistics(corpus),
    )


def _compute_calendar(corpus: LintCorpus) -> CalendarStatistics:
    numbers = {day.number for day in corpus.days}
    last = max(numbers, default=0)
    missing = [day for day in range(1, last) if day not in numbers]
    sessions = [len(set(day.session_headings)) for day in corpus.days]
    return CalendarStatistics(
        days=len(numbers),
        last_day=last,
        missing=len(missing),
        longest_gap=max((end - start + 1 for start, end in find_runs(missing)), default=0),
        sessions_a_day=compute_spread(sessions),
        by_sessions={count: sessions.count(count) for count in sorted(set(sessions))},
    )


NOTHING = "--"
"""Shown where there is no number."""

WIDTH = 100
CATEGORY = 27

_LABEL = 36
_CELL = 9
_COLUMNS = ("least", "10 %", "median", "90 %", "most")


def render_statistics(statistics: DatasetStatistics) -> str:
    """Render the spreads, the statistics of the text, and the questions by category."""
    parts = [*_render_head(statistics), "", *_render_spreads(statistics), ""]
    parts += _render_days(statistics.calendar, statistics.prose)
    parts += ["", *_render_repeats(statistics.prose), ""]
    parts += [*_render_table(statistics.questions), "", *_render_questions(statistics.questions)]
    return "\n".join(parts)


def format_share(found: PartOfWhole) -> str:
    """Format part, whole and percentage as aligned columns."""
    value = NOTHING if found.value is None else f"{found.value:.1%}"
    return f"{found.part:>8,} of {found.whole:>7,} {value:>7} "


def _render_head(statistics: DatasetStatistics) -> Iterator[str]:
    days = format_quantity(statistics.calendar.days, "day")
    questions = format_quantity(statistics.questions.overall.questions, "question")
    yield f"{statistics.persona}, {statistics.arcs}: {days}, {questions}"
    if statistics.problems:
        faults = format_quantity(statistics.problems, "fault")
        yield f"{faults} in its files; `recall-bench lint` says more"


def _render_spreads(statistics: DatasetStatistics) -> list[str]:
    rows = [
        _list_spread("words a day", statistics.prose.words_a_day),
        _list_spread("sessions a day", statistics.calendar.sessions_a_day),
    ]
    columns = [Column("", _LABEL, is_text=True), *(Column(name, _CELL) for name in _COLUMNS)]
    return render_text(Table(columns, rows, gap=""))


def _list_spread(label: str, found: NumberSpread | None) -> list[str]:
    values: tuple[int | None, ...] = (None,) * len(_COLUMNS)
    if found is not None:
        values = (found.least, found.tenth, found.median, found.ninetieth, found.most)
    return [f"  {label}", *(NOTHING if value is None else f"{value:,}" for value in values)]


def _render_days(calendar: CalendarStatistics, prose: ProseStatistics) -> Iterator[str]:
    gap = f", at most {calendar.longest_gap} in a row" if calendar.missing else ""
    shares = (
        (PartOfWhole(part=calendar.missing, whole=calendar.last_day), f"days have no file{gap}"),
        (
            PartOfWhole(part=prose.under_200, whole=calendar.days),
            "days have fewer than 200 words",
        ),
        (PartOfWhole(part=prose.from_300_to_900, whole=calendar.days), "days have 300 to 900"),
        (PartOfWhole(part=prose.over_900, whole=calendar.days), "days have more than 900"),
        (prose.new_sentences, "sentences of six words or more are new on their day"),
        (prose.new_skeletons, "are new with figures, names and quotations masked"),
        (prose.used_once, f"different words are used once, {prose.words:,} words in all"),
    )
    yield from (f"{format_share(share)} {text}" for share, text in shares)


def _render_repeats(prose: ProseStatistics) -> Iterator[str]:
    if prose.repeated:
        yield "stated most often, figures (#), names (@) and quotations (“…”) masked"
    for skeleton in prose.repeated:
        lead = f"{skeleton.count:>8,} × "
        text = textwrap.shorten(skeleton.text, WIDTH - len(lead), placeholder=" …")
        yield lead + text


def _render_table(questions: QuestionStatistics) -> list[str]:
    names = ("asked", "1st third", "2nd", "3rd", *DIFFICULTIES, f"by day {EARLY_DAY}", "overlap")
    columns = [Column("questions", CATEGORY, is_text=True)]
    columns += [Column(name, max(6, len(name) + 2)) for name in names]
    rows = [(name, *_list_cells(questions.categories[name])) for name in CATEGORIES]
    rows.append(("OVERALL", *_list_cells(questions.overall)))
    return render_text(Table(columns, rows, gap=""))


def _list_cells(row: CategoryStatistics) -> list[str]:
    counts = [row.questions, *row.thirds]
    counts += [row.difficulties[label] for label in DIFFICULTIES]
    overlap = NOTHING if row.overlap is None else f"{row.overlap:.0%}"
    return [*(f"{count:,}" for count in (*counts, row.early)), overlap]


def _render_questions(questions: QuestionStatistics) -> Iterator[str]:
    early = sum(row.early > 0 for row in questions.categories.values())
    shares = [
        (
            PartOfWhole(part=early, whole=len(questions.categories)),
            f"categories are asked by day {EARLY_DAY}",
        )
    ]
    if questions.strangers.whole:
        shares.append((questions.strangers, "questions share no word with their evidence"))
    shares += [
        (questions.constant_no, "negative-recall questions want a No"),
        (questions.constant_no_overall, "questions want a No"),
        (questions.constant_refusal, "information-boundary questions want a refusal"),
        (questions.constant_refusal_overall, "questions want a refusal"),
    ]
    yield from (f"{format_share(share)} {text}" for share, text in shares)
