"""Plans and events without secrets: what a journal may hold."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from recall_bench.core.event import (
    Answered,
    Event,
    Exchanged,
    FeedFailed,
    Inspected,
    Judged,
    NotAnswered,
    NotJudged,
    OtherVerdict,
    Postponed,
    RunStarted,
    ToolCalled,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan
from recall_bench.core.redaction import TreeRedactor, get_redactor
from recall_bench.core.verdict import Verdict

E = TypeVar("E", bound=Event)
R = TypeVar("R", bound=msgspec.Struct)

_CARDS = TreeRedactor(is_prose=False)
_EVENTS = TreeRedactor(
    is_prose=True,
    # Messages may lose more than the texts of answers.
    messages=frozenset({"message", "fault", "review_fault"}),
    # Names that the plan states: a changed one would belong to nothing.
    kept=frozenset({"type", "at", "trial", "scenario", "checkpoint", "id"}),
)


def redact_plan(plan: Plan) -> Plan:
    """Return the plan without secrets in its cards; equal plans stay equal."""
    return plan.replace(
        system=redact_card(plan.system),
        judge=redact_card(plan.judge),
        other_judges=tuple(map(redact_card, plan.other_judges)),
        appellate=None if plan.appellate is None else redact_card(plan.appellate),
        reader=None if plan.reader is None else redact_card(plan.reader),
    )


def redact_card(card: R) -> R:
    """Return a card of a system, judge or reader, or a diagnosis, without secrets."""
    return _redact_record(card, _CARDS)


def redact_event(event: E) -> E:
    """Return an event without secrets; the same object if it has none.

    Declared questions stay as they are: they are the dataset's own text, held against its digest.
    """
    match event:
        case RunStarted():
            diagnosis = None if event.diagnosis is None else redact_card(event.diagnosis)
            return event.replace(plan=redact_plan(event.plan), diagnosis=diagnosis)
        case (
            FeedFailed()
            | Inspected()
            | NotAnswered()
            | NotJudged()
            | Postponed()
            | Exchanged()
            | ToolCalled()
        ):
            return _redact_record(event, _EVENTS)
        case Answered() if event.answer.tool_calls or _hold_keys(_list_texts(event.answer)):
            return _redact_record(event, _EVENTS)
        case OtherVerdict() if event.fault or _hold_keys(_list_reasons(event.verdict)):
            return _redact_record(event, _EVENTS)
        case Judged() if event.review_fault or _hold_keys(
            _list_reasons(event.verdict, event.primary)
        ):
            return _redact_record(event, _EVENTS)
        case _:
            return event


def redact_answer(event: Answered, written: Iterable[str]) -> Answered:
    """Return an answer without secrets, of whose passages only these texts are written.

    The same object if it has none; the texts of other passages do not count.
    """
    answer = event.answer
    sources = {passage.source or "" for passage in answer.passages}
    if answer.tool_calls or _hold_keys((answer.text, *written, *sources)):
        return _redact_record(event, _EVENTS)
    return event


def _list_texts(answer: Answer) -> Iterator[str]:
    yield answer.text
    for passage in answer.passages:
        yield passage.text
        if passage.source:
            yield passage.source


def _list_reasons(*verdicts: Verdict | None) -> Iterator[str]:
    for verdict in verdicts:
        if verdict is not None:
            yield verdict.reason
            yield verdict.reply or ""


def _hold_keys(texts: Iterable[str]) -> bool:
    """Whether one of the texts loses something."""
    return get_redactor().holds_keys(*texts)


def _redact_record(record: R, redactor: TreeRedactor) -> R:
    content = msgspec.json.decode(msgspec.json.encode(record))
    clean = redactor.redact(content)
    if clean is content:
        return record
    return msgspec.json.decode(msgspec.json.encode(clean), type=type(record))
