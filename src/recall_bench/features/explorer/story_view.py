"""What Time travel shows of a persona: its days, what tells the answers, and its facts."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.event import Inspected
from recall_bench.core.json_lines import read_json_lines
from recall_bench.core.record import ComputedRecord
from recall_bench.core.scenario import Item, compute_story_date
from recall_bench.engine.runs.journal import JOURNAL, read_events_of
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.reporting.analyses.fact_survival import is_known
from recall_bench.reporting.pages.markup import PageBlock, encode_block, split_chunks
from recall_bench.reporting.pages.page_data import NO_PLACE, PageQuestions, count_utf16
from recall_bench.stories.persona_files import LEDGER_FILE, STATEMENTS_FILE, Layout
from recall_bench.stories.story_folders import StoryFolder, StoryTexts


class TimelineState(ComputedRecord, frozen=True, kw_only=True, array_like=True):
    """One value of a fact."""

    value: str
    start: int
    """The day on which it is stated."""
    end: int | None
    """The last day on which it holds; None if it stays so."""


class TimelineFact(ComputedRecord, frozen=True, kw_only=True, array_like=True):
    """A fact with all its values, oldest first."""

    name: str
    states: tuple[TimelineState, ...]


class MemoryReport(ComputedRecord, frozen=True, kw_only=True):
    """What the memory said it held before it was asked at a checkpoint."""

    lost: tuple[int, ...] | None
    size: int | None
    fault: str | None


class StoryIndex(ComputedRecord, frozen=True, kw_only=True):
    """One persona: which days there are, what is marked in them, and the facts."""

    days: tuple[int, ...]
    dates: tuple[str, ...]
    starts: tuple[int, ...]
    """The first day of each block of texts, by index."""
    marks: Mapping[int, tuple[tuple[int, int, int], ...]]
    """By day: start and end of a sentence that tells an answer, and the index of its question;
    both ends are -1 where the sentence is not known."""
    facts: tuple[TimelineFact, ...]
    problem: str | None
    """Why the facts cannot be read; None if they can, or if there are none."""
    holdings: Mapping[str, MemoryReport]
    """By checkpoint."""


class LedgerLine(msgspec.Struct, frozen=True):
    """A line of ledger.jsonl, as far as it is shown."""

    name: str
    attribute: str
    value: str
    learned: int
    true_until: int | None = None


class StatementLine(msgspec.Struct, frozen=True):
    """A line of statements.jsonl, as far as it is shown."""

    fact: str
    day: int
    start: int
    end: int
    about: str | None = None
    what: str | None = None


def build_story_blocks(
    folder: RunFolder,
    table: TrialTable,
    questions: PageQuestions,
    stories: Mapping[str, StoryTexts],
) -> Iterable[PageBlock]:
    """The blocks of all personas of a run, and which trials knew the answer."""
    yield encode_block("known", [_encode_known(is_known(row)) for row in table.rows])
    holdings = _read_holdings(folder)
    cards = {card.id: card for card in folder.plan.scenarios}
    for place, persona in enumerate(questions.personas):
        story = stories.get(persona)
        texts = {} if story is None else story.texts
        days = sorted(texts)
        parts = list(split_chunks([len(texts[day]) for day in days]))
        for number, part in enumerate(parts):
            yield encode_block(f"days-{place}-{number}", [texts[day] for day in days[part]])
        epoch = cards[persona].epoch
        facts, problem = _try_facts(story)
        index = StoryIndex(
            days=tuple(days),
            dates=tuple(f"{compute_story_date(epoch, day):%a %d %b %Y}" for day in days),
            starts=tuple(part.start for part in parts),
            marks=_mark_days(persona, table.items[persona], questions, texts),
            facts=facts,
            problem=problem,
            holdings=holdings.get(persona, {}),
        )
        yield encode_block(f"story-{place}", index)


def _encode_known(known: bool | None) -> int:
    return NO_PLACE if known is None else int(known)


def _read_holdings(folder: RunFolder) -> dict[str, dict[str, MemoryReport]]:
    by_persona: dict[str, dict[str, MemoryReport]] = {}
    for event in read_events_of(folder.path / JOURNAL, Inspected):
        report = MemoryReport(lost=event.lost, size=event.bytes, fault=event.fault)
        by_persona.setdefault(event.scenario, {})[event.checkpoint] = report
    return by_persona


def _mark_days(
    persona: str, items: Iterable[Item], questions: PageQuestions, texts: Mapping[int, str]
) -> dict[int, tuple[tuple[int, int, int], ...]]:
    by_day: dict[int, list[tuple[int, int, int]]] = {}
    for item in items:
        place = questions.places.get((persona, item.id))
        if place is None:
            continue
        for cited in item.truth.evidence:
            span = (NO_PLACE, NO_PLACE)
            text = texts.get(cited.day)
            if text is not None and cited.start is not None and cited.end is not None:
                span = count_utf16(text[: cited.start]), count_utf16(text[: cited.end])
            by_day.setdefault(cited.day, []).append((*span, place))
    return {day: tuple(sorted(marks)) for day, marks in by_day.items()}


def _try_facts(found: StoryTexts | None) -> tuple[tuple[TimelineFact, ...], str | None]:
    """The facts behind a story, or why they cannot be read."""
    if found is None:
        return (), None
    try:
        return tuple(read_facts(found.story, found.texts)), None
    except DataError as error:
        return (), str(error)


def read_facts(story: StoryFolder, texts: Mapping[int, str]) -> list[TimelineFact]:
    """The facts behind a story, where its dataset has them."""
    questions_file = Layout(story.folder, story.arcs).questions_file
    if (ledger := questions_file.with_name(LEDGER_FILE)).is_file():
        return _read_ledger(ledger)
    if (statements := questions_file.with_name(STATEMENTS_FILE)).is_file():
        return _read_statements(statements, texts)
    return []


def _read_ledger(path: Path) -> list[TimelineFact]:
    facts: dict[str, list[TimelineState]] = {}
    for line in sorted(read_json_lines(path, LedgerLine), key=lambda each: each.learned):
        states = facts.setdefault(f"{line.name}: {line.attribute}", [])
        if states and states[-1].end is None:
            states[-1] = states[-1].replace(end=line.learned - 1)
        # Some hold for a day to come, so only what is stated counts here.
        end = None if line.true_until is None else max(line.true_until, line.learned)
        states.append(TimelineState(value=line.value, start=line.learned, end=end))
    return [TimelineFact(name=name, states=tuple(states)) for name, states in facts.items()]


def _read_statements(path: Path, texts: Mapping[int, str]) -> list[TimelineFact]:
    """The stated values; one lasts until another is stated."""
    facts: dict[str, list[TimelineState]] = {}
    for line in sorted(read_json_lines(path, StatementLine), key=lambda each: each.day):
        named = ": ".join(filter(None, (line.about, line.what)))
        value = texts.get(line.day, "")[line.start : line.end]
        states = facts.setdefault(named or line.fact.replace("-", " "), [])
        if states and states[-1].value == value:
            continue
        if states:
            states[-1] = states[-1].replace(end=line.day - 1)
        states.append(TimelineState(value=value, start=line.day, end=None))
    return [TimelineFact(name=name, states=tuple(states)) for name, states in facts.items()]
