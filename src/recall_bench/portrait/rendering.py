"""A portrait as people read it, within a hundred columns."""

import textwrap
from collections.abc import Iterator

from recall_bench.core.question import CATEGORIES, DIFFICULTIES
from recall_bench.portrait.asking import EARLY, Asking, Questions
from recall_bench.portrait.drawing import Calendar, Portrait
from recall_bench.portrait.figures import Share, Spread
from recall_bench.portrait.prose import Prose
from recall_bench.portrait.threads import Threads

NOTHING = "--"
"""What stands for a number that cannot be taken."""

WIDTH = 100
CATEGORY = 27

_LABEL = 36
_CELL = 9
_COLUMNS = ("least", "10 %", "median", "90 %", "most")


def rendered(portrait: Portrait) -> str:
    """The spreads, what else there is to say of the text, and the questions by category."""
    parts = [*_head(portrait), "", *_spreads(portrait), ""]
    parts += _told(portrait.calendar, portrait.prose)
    parts += _threads(portrait.threads)
    parts += ["", *_repeated(portrait.prose), ""]
    parts += [*_table(portrait.questions), "", *_asked(portrait.questions)]
    return "\n".join(parts)


def share(found: Share) -> str:
    """So many of so many, and the percentage, for columns."""
    value = NOTHING if found.value is None else f"{found.value:.1%}"
    return f"{found.part:>8,} of {found.whole:>7,} {value:>7} "


def counted(count: int, noun: str) -> str:
    """A number of things, the noun in the plural where it should be."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _head(portrait: Portrait) -> Iterator[str]:
    days = counted(portrait.calendar.days, "day")
    questions = counted(portrait.questions.overall.questions, "question")
    yield f"{portrait.persona}, {portrait.arcs}: {days}, {questions}"
    if portrait.problems:
        yield f"{counted(portrait.problems, 'fault')} in its files; `recall-bench lint` says more"


def _spreads(portrait: Portrait) -> Iterator[str]:
    yield " " * _LABEL + "".join(f"{name:>{_CELL}}" for name in _COLUMNS)
    yield _spread("words a day", portrait.prose.words_a_day)
    yield _spread("sessions a day", portrait.calendar.sessions_a_day)
    if portrait.threads:
        yield _spread("days a thread is spoken of", portrait.threads.reach)


def _spread(label: str, found: Spread | None) -> str:
    values: tuple[int | None, ...] = (None,) * len(_COLUMNS)
    if found is not None:
        values = (found.least, found.tenth, found.median, found.ninetieth, found.most)
    cells = (NOTHING if value is None else f"{value:,}" for value in values)
    return f"  {label:{_LABEL - 2}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)


def _told(calendar: Calendar, prose: Prose) -> Iterator[str]:
    gap = f", at most {calendar.longest_gap} in a row" if calendar.missing else ""
    missing = Share(part=calendar.missing, whole=calendar.last_day)
    yield f"{share(missing)} days have no file{gap}"
    for count, said in (
        (prose.under_200, "have fewer than 200 words"),
        (prose.from_300_to_900, "have 300 to 900"),
        (prose.over_900, "have more than 900"),
    ):
        yield f"{share(Share(part=count, whole=calendar.days))} days {said}"
    yield f"{share(prose.new_sentences)} sentences of six words or more are new on their day"
    yield f"{share(prose.new_skeletons)} are new with figures, names and quotations masked"
    yield f"{share(prose.used_once)} different words are used once, {prose.words:,} words in all"


def _threads(threads: Threads | None) -> Iterator[str]:
    if threads is None:
        return
    yield f"{share(threads.named)} threads are named in the text"
    yield f"{share(threads.left)} facts are stated on the last day that names their thread"
    yield f"{share(threads.restated)} facts are stated on another day again"


def _repeated(prose: Prose) -> Iterator[str]:
    if prose.repeated:
        yield "told most often, figures (#), names (@) and quotations (“…”) masked"
    for skeleton in prose.repeated:
        lead = f"{skeleton.count:>8,} × "
        text = textwrap.shorten(skeleton.text, WIDTH - len(lead), placeholder=" …")
        yield lead + text


def _table(questions: Questions) -> Iterator[str]:
    names = ("asked", "1st third", "2nd", "3rd", *DIFFICULTIES, f"by day {EARLY}", "overlap")
    widths = [max(6, len(name) + 2) for name in names]
    titles = zip(names, widths, strict=True)
    yield f"{'questions':{CATEGORY}}" + "".join(f"{name:>{width}}" for name, width in titles)
    rows = [*((name, questions.categories[name]) for name in CATEGORIES)]
    for name, asking in [*rows, ("OVERALL", questions.overall)]:
        cells = zip(_row(asking), widths, strict=True)
        yield f"{name:{CATEGORY}}" + "".join(f"{cell:>{width}}" for cell, width in cells)


def _row(asking: Asking) -> list[str]:
    counts = [asking.questions, *asking.thirds]
    counts += [asking.difficulties[label] for label in DIFFICULTIES]
    overlap = NOTHING if asking.overlap is None else f"{asking.overlap:.0%}"
    return [*(f"{count:,}" for count in (*counts, asking.early)), overlap]


def _asked(questions: Questions) -> Iterator[str]:
    early = sum(asking.early > 0 for asking in questions.categories.values())
    found = Share(part=early, whole=len(questions.categories))
    yield f"{share(found)} categories are asked by day {EARLY}"
    if questions.strangers.whole:
        yield f"{share(questions.strangers)} questions share no word with their evidence"
    yield f"{share(questions.constant_no)} negative-recall questions want a No"
    yield f"{share(questions.constant_no_overall)} questions want a No"
    yield f"{share(questions.constant_refusal)} information-boundary questions want a refusal"
    yield f"{share(questions.constant_refusal_overall)} questions want a refusal"
