"""The two shapes most numbers of a portrait have: a spread, and a part of a whole."""

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import fmean

from recall_bench.core.record import Record
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, DIFFICULTIES, Expects
from recall_bench.core.text_values import STOPWORDS, collect_stems, normalise_text
from recall_bench.datasets.lint.answer_checks import count_constant_no
from recall_bench.datasets.lint.history_checks import count_new_sentences
from recall_bench.datasets.lint.lint_corpus import LintCorpus, read_corpus
from recall_bench.datasets.lint.value_index import DayLog, LintQuestion
from recall_bench.datasets.persona_files import Layout, find_runs
from recall_bench.datasets.yaml_fields import raise_problems
from recall_bench.generate.verification.day_parser import parse_day
from recall_bench.generate.verification.lexicon import read_lexicon
from recall_bench.generate.verification.verifier import read_statements


class NumberSpread(Record, frozen=True, kw_only=True):
    """How a number varies; every percentile is one of the numbers, by nearest rank."""

    least: int
    tenth: int
    median: int
    ninetieth: int
    most: int


class PartOfWhole(Record, frozen=True, kw_only=True):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None


def compute_spread(numbers: Iterable[int]) -> NumberSpread | None:
    """The spread of these numbers; None if there are none."""
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
"""What stands for each in a skeleton."""

_LONG = 6
"""Shorter sentences repeat in any log; the lints leave them out as well."""
_SHOWN = 5
_SHORT_DAY, _USUAL_DAY, _LONG_DAY = 200, (300, 900), 900

_QUOTED = re.compile(r'"[^"]+"')
_TOKEN = re.compile(r"[$£€¥]?\w+(?:[.,:/'-]\w+)*%?")
_NAMES = re.compile(rf"{NAME}(?: {NAME})+")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_VISIBLE = re.compile(r"[^\W_]")
_I = re.compile(r"I(?:'|\Z)")


class Skeleton(Record, frozen=True, kw_only=True):
    """A turn of phrase with its figures, names and quotations masked."""

    text: str
    count: int


class ProseStatistics(Record, frozen=True, kw_only=True):
    """What the days are made of."""

    words: int
    words_a_day: NumberSpread | None
    under_200: int
    """Days of fewer words."""
    from_300_to_900: int
    over_900: int
    new_sentences: PartOfWhole
    """Of the sentences of six words or more, those no earlier day has word for word."""
    new_skeletons: PartOfWhole
    """Of the same sentences, those whose skeleton no earlier sentence has."""
    repeated: tuple[Skeleton, ...]
    """The skeletons told most often and more than once, most first."""
    used_once: PartOfWhole
    """Of all different words, those that occur once."""


def compute_prose(corpus: LintCorpus) -> ProseStatistics:
    """How the days of a story are told."""
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
    masked = _QUOTED.sub(QUOTATION, normalise_text(sentence))
    first = _TOKEN.search(masked)
    start = first.start() if first else 0

    def mask_token(token: re.Match[str]) -> str:
        word = token[0]
        if any(letter.isdigit() for letter in word):
            return FIGURE
        if not word[:1].isupper() or _I.match(word):
            return word
        is_name = token.start() != start or word.lower() not in ordinary
        return NAME if is_name else word

    return _NAMES.sub(NAME, _TOKEN.sub(mask_token, masked))


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
    return STOPWORDS.union(word for word, count in small.items() if count >= capital[word])


def _list_vocabulary(corpus: LintCorpus) -> Iterator[str]:
    for day in corpus.days:
        for _, part in day.split_sessions():
            yield from _WORD.findall(normalise_text(part).lower())


def _count_words(day: DayLog) -> int:
    """Words as people count them, figures too; the headings of sessions are not told."""
    return sum(
        _VISIBLE.search(token) is not None
        for _, part in day.split_sessions()
        for token in part.split()
    )


class ThreadStatistics(Record, frozen=True, kw_only=True):
    """When threads are named, and their facts stated."""

    named: PartOfWhole
    """Of all threads the lexicon lists, those the text names."""
    reach: NumberSpread | None
    """Days from a thread's first naming to its last; 0 if it is named on one day."""
    left: PartOfWhole
    """Of the facts stated, those whose thread no later day names."""
    restated: PartOfWhole
    """Of the facts stated, those stated on another day again."""


def compute_threads(corpus: LintCorpus) -> ThreadStatistics | None:
    """The threads of a story; None if there is no lexicon to know them by."""
    path = corpus.layout.questions_file.with_name("lexicon.json")
    if not path.is_file():
        return None
    lexicon = read_lexicon(path, corpus.layout.name(path))
    table = read_statements(lexicon, (parse_day(day.number, day.text) for day in corpus.days)).table
    spoken = {thread: (said[0].day, said[-1].day) for thread, said in table.about.items()}
    facts = {
        about: [statement.day for statement in stated if not statement.is_stale]
        for about, stated in table.stated.items()
    }
    told = {about: days for about, days in facts.items() if days}
    return ThreadStatistics(
        named=PartOfWhole(part=len(spoken), whole=len(lexicon.threads)),
        reach=compute_spread(last - first for first, last in spoken.values()),
        left=PartOfWhole(
            part=sum(spoken[thread][1] == days[0] for (thread, _), days in told.items()),
            whole=len(told),
        ),
        restated=PartOfWhole(
            part=sum(days[-1] > days[0] for days in told.values()), whole=len(told)
        ),
    )


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


class CalendarStatistics(Record, frozen=True, kw_only=True):
    """Which days are told, and in how many sessions."""

    days: int
    """With a file."""
    last_day: int
    missing: int
    """Days up to the last one that have no file."""
    longest_gap: int
    sessions_a_day: NumberSpread | None
    by_sessions: dict[int, int]
    """How many days have a heading for so many sessions."""


class DatasetStatistics(Record, frozen=True, kw_only=True):
    """What a story is like, in numbers."""

    persona: str
    arcs: str
    problems: int
    """Faults in the files; what they concern is left out of every number."""
    calendar: CalendarStatistics
    prose: ProseStatistics
    threads: ThreadStatistics | None
    """None where no lexicon says how threads are called."""
    questions: QuestionStatistics


def compute_statistics(folder: Path, arcs: str) -> DatasetStatistics:
    """The portrait of one story; UsageError if it has no days or no questions on file."""
    raise_problems(list(Layout(folder, arcs).find_missing()))
    corpus = read_corpus(folder, arcs)
    return DatasetStatistics(
        persona=corpus.layout.id,
        arcs=arcs,
        problems=len(corpus.inspection.problems),
        calendar=_compute_calendar(corpus),
        prose=compute_prose(corpus),
        threads=compute_threads(corpus),
        questions=compute_question_statistics(corpus),
    )


def _compute_calendar(corpus: LintCorpus) -> CalendarStatistics:
    told = {day.number for day in corpus.days}
    last = max(told, default=0)
    missing = [day for day in range(1, last) if day not in told]
    sessions = [len(set(day.session_headings)) for day in corpus.days]
    return CalendarStatistics(
        days=len(told),
        last_day=last,
        missing=len(missing),
        longest_gap=max((end - start + 1 for start, end in find_runs(missing)), default=0),
        sessions_a_day=compute_spread(sessions),
        by_sessions={count: sessions.count(count) for count in sorted(set(sessions))},
    )


NOTHING = "--"
"""What stands for a number that cannot be taken."""

WIDTH = 100
CATEGORY = 27

_LABEL = 36
_CELL = 9
_COLUMNS = ("least", "10 %", "median", "90 %", "most")


def render_statistics(portrait: DatasetStatistics) -> str:
    """The spreads, what else there is to say of the text, and the questions by category."""
    parts = [*_render_head(portrait), "", *_render_spreads(portrait), ""]
    parts += _render_days(portrait.calendar, portrait.prose)
    parts += _render_threads(portrait.threads)
    parts += ["", *_render_repeats(portrait.prose), ""]
    parts += [*_render_table(portrait.questions), "", *_render_questions(portrait.questions)]
    return "\n".join(parts)


def format_share(found: PartOfWhole) -> str:
    """So many of so many, and the percentage, for columns."""
    value = NOTHING if found.value is None else f"{found.value:.1%}"
    return f"{found.part:>8,} of {found.whole:>7,} {value:>7} "


def format_count(count: int, noun: str) -> str:
    """A number of things, the noun in the plural where it should be."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _render_head(portrait: DatasetStatistics) -> Iterator[str]:
    days = format_count(portrait.calendar.days, "day")
    questions = format_count(portrait.questions.overall.questions, "question")
    yield f"{portrait.persona}, {portrait.arcs}: {days}, {questions}"
    if portrait.problems:
        yield f"{format_count(portrait.problems, 'fault')} in its files; `recall-bench lint` says more"


def _render_spreads(portrait: DatasetStatistics) -> Iterator[str]:
    yield " " * _LABEL + "".join(f"{name:>{_CELL}}" for name in _COLUMNS)
    yield _render_spread("words a day", portrait.prose.words_a_day)
    yield _render_spread("sessions a day", portrait.calendar.sessions_a_day)
    if portrait.threads:
        yield _render_spread("days a thread is spoken of", portrait.threads.reach)


def _render_spread(label: str, found: NumberSpread | None) -> str:
    values: tuple[int | None, ...] = (None,) * len(_COLUMNS)
    if found is not None:
        values = (found.least, found.tenth, found.median, found.ninetieth, found.most)
    cells = (NOTHING if value is None else f"{value:,}" for value in values)
    return f"  {label:{_LABEL - 2}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)


def _render_days(calendar: CalendarStatistics, prose: ProseStatistics) -> Iterator[str]:
    gap = f", at most {calendar.longest_gap} in a row" if calendar.missing else ""
    missing = PartOfWhole(part=calendar.missing, whole=calendar.last_day)
    yield f"{format_share(missing)} days have no file{gap}"
    for count, said in (
        (prose.under_200, "have fewer than 200 words"),
        (prose.from_300_to_900, "have 300 to 900"),
        (prose.over_900, "have more than 900"),
    ):
        yield f"{format_share(PartOfWhole(part=count, whole=calendar.days))} days {said}"
    yield f"{format_share(prose.new_sentences)} sentences of six words or more are new on their day"
    yield f"{format_share(prose.new_skeletons)} are new with figures, names and quotations masked"
    yield f"{format_share(prose.used_once)} different words are used once, {prose.words:,} words in all"


def _render_threads(threads: ThreadStatistics | None) -> Iterator[str]:
    if threads is None:
        return
    yield f"{format_share(threads.named)} threads are named in the text"
    yield f"{format_share(threads.left)} facts are stated on the last day that names their thread"
    yield f"{format_share(threads.restated)} facts are stated on another day again"


def _render_repeats(prose: ProseStatistics) -> Iterator[str]:
    if prose.repeated:
        yield "told most often, figures (#), names (@) and quotations (“…”) masked"
    for skeleton in prose.repeated:
        lead = f"{skeleton.count:>8,} × "
        text = textwrap.shorten(skeleton.text, WIDTH - len(lead), placeholder=" …")
        yield lead + text


def _render_table(questions: QuestionStatistics) -> Iterator[str]:
    names = ("asked", "1st third", "2nd", "3rd", *DIFFICULTIES, f"by day {EARLY_DAY}", "overlap")
    widths = [max(6, len(name) + 2) for name in names]
    titles = zip(names, widths, strict=True)
    yield f"{'questions':{CATEGORY}}" + "".join(f"{name:>{width}}" for name, width in titles)
    rows = [*((name, questions.categories[name]) for name in CATEGORIES)]
    for name, asking in [*rows, ("OVERALL", questions.overall)]:
        cells = zip(_render_row(asking), widths, strict=True)
        yield f"{name:{CATEGORY}}" + "".join(f"{cell:>{width}}" for cell, width in cells)


def _render_row(asking: CategoryStatistics) -> list[str]:
    counts = [asking.questions, *asking.thirds]
    counts += [asking.difficulties[label] for label in DIFFICULTIES]
    overlap = NOTHING if asking.overlap is None else f"{asking.overlap:.0%}"
    return [*(f"{count:,}" for count in (*counts, asking.early)), overlap]


def _render_questions(questions: QuestionStatistics) -> Iterator[str]:
    early = sum(asking.early > 0 for asking in questions.categories.values())
    found = PartOfWhole(part=early, whole=len(questions.categories))
    yield f"{format_share(found)} categories are asked by day {EARLY_DAY}"
    if questions.strangers.whole:
        yield f"{format_share(questions.strangers)} questions share no word with their evidence"
    yield f"{format_share(questions.constant_no)} negative-recall questions want a No"
    yield f"{format_share(questions.constant_no_overall)} questions want a No"
    yield f"{format_share(questions.constant_refusal)} information-boundary questions want a refusal"
    yield f"{format_share(questions.constant_refusal_overall)} questions want a refusal"
