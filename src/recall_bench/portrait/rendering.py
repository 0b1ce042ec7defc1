"""A portrait as people read it, within a hundred columns."""

import textwrap
from collections.abc import Iterator

from recall_bench.core.question import CATEGORIES, DIFFICULTIES
from recall_bench.portrait.asking import EARLY_DAY, CategoryStatistics, QuestionStatistics
from recall_bench.portrait.drawing import CalendarStatistics, DatasetStatistics
from recall_bench.portrait.figures import NumberSpread, PartOfWhole
from recall_bench.portrait.prose import ProseStatistics
from recall_bench.portrait.threads import ThreadStatistics

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
