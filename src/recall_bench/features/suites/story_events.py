"""The events of the stories of a suite for people: what was done, and what came of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from recall_bench.core.event import (
    Answered,
    Event,
    FeedFailed,
    Ingested,
    NotAnswered,
    Observed,
    Settled,
    StoryStarted,
)
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.procedures.suite import CATEGORY as PROCEDURES
from recall_bench.features.suites.procedures.suite import (
    decode_grading,
    grade_reply,
    list_missing_rules,
)
from recall_bench.features.suites.procedures.task_source import CONVENTION_REQUEST
from recall_bench.metrics.planted_strings import contains, find_planted
from recall_bench.reporting.formats import format_seconds
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element

_MOST_TEXT = 400
"""Characters of an answer that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """One event, or several days that were fed one after the other."""

    phase: str
    action: str
    words: str
    result: str = ""
    mark: str = ""
    """`right`, `planted`, `failed`, `done`, `broken`, or empty."""


def render_stories(folder: RunFolder) -> Markup:
    """Every story of a run with its events, closed until it is opened."""
    stories = _read_stories(folder)
    steps = [
        _render_story(name, list(_list_lines(stories[name], _index_items(folder, name))))
        for name in folder.scenarios
        if name in stories
    ]
    return make_element(
        "section",
        make_element("h2", "Stories"),
        make_element(
            "p",
            "What was done with the memory in each story, in order, memory by memory, and what "
            "came of it. A planted value belongs in an answer before it is erased or where it was "
            "stated, and nowhere else. A task is done as stated, or the rules that it breaks are "
            "named. Texts are cut after 400 characters; the journal has them whole.",
            class_="quiet",
        ),
        *steps,
        class_="stories",
    )


def _read_stories(folder: RunFolder) -> Mapping[str, list[Event]]:
    """By story, the events of the last attempt at it."""
    groups: dict[str, list[Event]] = {}
    for event in read_events(folder.path / JOURNAL):
        match event:
            case StoryStarted(scenario=name):
                groups[name] = []
            case Answered(trial=trial) | NotAnswered(trial=trial):
                groups.setdefault(trial.scenario, []).append(event)
            case Ingested() | Settled() | Observed() | FeedFailed():
                groups.setdefault(event.scenario, []).append(event)
    return groups


def _index_items(folder: RunFolder, story: str) -> Mapping[str, Item]:
    return {item.id: item for item in folder.states.scenarios[story].items}


def _list_lines(events: Iterable[Event], items: Mapping[str, Item]) -> Iterator[EventLine]:
    for (is_feed, phase), group in groupby(events, key=_find_group):
        if is_feed:
            yield _describe_feed(phase, [event for event in group if isinstance(event, Ingested)])
            continue
        for event in group:
            match event:
                case Settled():
                    yield EventLine(
                        phase=event.checkpoint,
                        action="settle",
                        words=f"in {format_seconds(event.seconds)}",
                    )
                case Answered():
                    yield _describe_answer(event, items[event.trial.item])
                case NotAnswered():
                    yield EventLine(
                        phase=event.trial.checkpoint,
                        action="ask",
                        words=items[event.trial.item].text,
                        result=f"{event.fault}: {event.message}",
                        mark="failed",
                    )
                case FeedFailed():
                    yield EventLine(
                        phase=event.checkpoint,
                        action=event.stage,
                        words="",
                        result=f"{event.fault}: {event.message}",
                        mark="failed",
                    )
                case Observed():
                    yield _describe_observation(event, items)


def _find_group(event: Event) -> tuple[bool, str]:
    is_feed = isinstance(event, Ingested)
    return is_feed, event.checkpoint if isinstance(event, Ingested) else ""


def _describe_feed(phase: str, fed: list[Ingested]) -> EventLine:
    first, last = fed[0].day, fed[-1].day
    days = f"day {first}" if len(fed) == 1 else f"{len(fed)} days, from {first} to {last}"
    seconds = format_seconds(sum(event.seconds for event in fed))
    return EventLine(phase=phase, action="write", words=f"{days}, in {seconds}")


def _describe_answer(event: Answered, item: Item) -> EventLine:
    text = event.answer.text
    if item.truth.category == PROCEDURES:
        return _describe_task(event, item)
    planted = find_planted(text, item.truth.canaries)
    is_right = bool(item.truth.atoms) and all(contains(text, atom) for atom in item.truth.atoms)
    words = _cut(text)
    if not event.answer.text and event.answer.passages:
        words = f"({format_quantity(len(event.answer.passages), 'passage')}, no answer)"
    return EventLine(
        phase=event.trial.checkpoint,
        action="ask",
        words=item.text,
        result=words,
        mark="right" if is_right else "planted" if planted else "",
    )


def _describe_task(event: Answered, item: Item) -> EventLine:
    """A task with its outcome, and the rules that it breaks."""
    grading = decode_grading(item.truth)
    grade = grade_reply(event.answer.text, grading)
    missing = list_missing_rules(event, grading) if event.answer.passages else ()
    broken = grade.broken if grade.outcome is not None else ()
    faults = [f"breaks {rule}{' (not recalled)' * (rule in missing)}" for rule in broken]
    if grade.outcome is None:
        faults.append("not in the form asked for")
    elif grade.is_off:
        faults.append("not the task")
    if grade.is_old:
        faults.append("follows the rule that was replaced")
    text = event.answer.text if grade.outcome is None else grade.outcome.text
    return EventLine(
        phase=event.trial.checkpoint,
        action="do",
        words=_cut(item.text.partition(CONVENTION_REQUEST)[0].strip()),
        result="\n".join(filter(None, (", ".join(faults), _cut(text)))),
        mark="done" if grade.is_done else "broken",
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def _describe_observation(event: Observed, items: Mapping[str, Item]) -> EventLine:
    words = items[event.item].text if event.item is not None and event.item in items else ""
    is_bad = event.fault is not None or bool(event.found)
    return EventLine(
        phase=event.phase,
        action=event.action,
        words=words or event.lane,
        result="; ".join(_list_findings(event)),
        mark="failed" if event.fault is not None else "planted" if is_bad else "",
    )


def _list_findings(event: Observed) -> Iterator[str]:
    if event.fault is not None:
        yield event.fault
        return
    match event.action:
        case "poll":
            times = format_quantity(event.count or 0, "time")
            after = (
                "not in the time allowed"
                if event.seconds is None
                else f"after {format_seconds(event.seconds)}"
            )
            yield f"asked {times}, as wanted {after}"
            if lost := event.values.get("lost again"):
                yield f"and {lost:g} times not, when asked again"
        case "erase":
            yield {True: "confirmed", False: "not confirmed", None: "no word"}[event.confirmed]
            if event.count is not None:
                yield f"{event.count:,} entries erased"
        case "restart":
            yield "killed and opened again" if event.confirmed else "closed and opened again"
        case "list" | "search":
            if event.count is not None:
                yield f"{event.count:,} entries"
            yield f"found: {', '.join(event.found)}" if event.found else "nothing planted found"
        case "load":
            values = event.values
            yield f"{event.count or 0:,} arrivals"
            yield f"{values.get('answered', 0):,.0f} answered"
            yield f"{values.get('written', 0):,.0f} written"
            failed = values.get("errors", 0) + values.get("timeouts", 0)
            yield f"{failed:,.0f} failed or too late"
    if event.action != "poll" and event.seconds is not None:
        yield f"in {format_seconds(event.seconds)}"


_MARKS = {
    "right": "right value",
    "planted": "planted value",
    "failed": "failed",
    "done": "done as stated",
    "broken": "not as stated",
}


def _render_story(name: str, lines: list[EventLine]) -> Markup:
    counts = [
        f"{sum(line.mark == mark for line in lines):,} {words}"
        for mark, words in _MARKS.items()
        if any(line.mark == mark for line in lines)
    ]
    title = join_markup(
        make_element("b", name),
        " ",
        make_element(
            "span", ", ".join([format_quantity(len(lines), "event"), *counts]), class_="quiet"
        ),
    )
    rows = [
        make_element(
            "tr",
            make_element("td", line.phase),
            make_element("td", line.action),
            make_element("td", line.words, class_="untrusted-text"),
            make_element("td", line.result, class_="untrusted-text"),
            make_element("td", _MARKS.get(line.mark, "")),
            class_=line.mark or None,
        )
        for line in lines
    ]
    heads = ("phase", "action", "", "result", "")
    table = make_element(
        "table",
        make_element(
            "thead",
            make_element("tr", *(make_element("th", head, scope="col") for head in heads)),
        ),
        make_element("tbody", *rows),
        class_="events",
    )
    return make_element("details", make_element("summary", title), table)
