"""A small garden under the agent, worked out by hand, event by event."""

from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.event import AgentEnded, Answered, Event, Ingested, ToolCalled
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import AgentCall, FoundNote, NoteWrite, SessionEnd, ToolRole
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.systems.builtin.retrieval_systems import build_bm25
from tests.features.agents.loop.scripted import (
    Script,
    answer,
    calls,
    has_begun,
    is_day,
    put_in_loop,
)
from tests.gardener import write_persona


def run_loop(
    folder: Path, inner: Any, script: Script, *, days: str = "2d", **given: Any
) -> list[Event]:
    """Run the gardener's first days, and return the journal."""
    if not (folder / "data").exists():
        write_persona(folder / "data")
    limits = {name: given.pop(name) for name in ("max_steps", "max_tokens") if name in given}
    system, _ = put_in_loop(inner, script, **limits)
    settings = Settings(
        data=folder / "data",
        ranges=tuple(days.split(",")),
        into=folder / "run",
        heatmap_png=False,
        **given,
    )
    result = execute(assemble(settings, system))
    assert result.stopped_by is None
    return list(read_events(folder / "run" / JOURNAL))


def tell_hand_worked(prompt: Any) -> str:
    """Day 1 saves and corrects a note; day 2 searches before it deletes; questions search once."""
    if is_day(prompt):
        if not has_begun(prompt):
            if "leeks" in prompt.user:
                return calls(("save", {"text": "Leeks: bed 8."}))
            return calls(("search", {"query": "leeks"}))
        if "leeks in bed" in prompt.user and "updated" not in prompt.user:
            return calls(("update", {"id": "n1", "text": "Leeks are in bed number 7."}))
        if "chard" in prompt.user and "saved as" not in prompt.user:
            return calls(
                ("save", {"text": "Chard is in bed number 14."}),
                ("save", {"text": "A draft."}),
                ("delete", {"id": "n3"}),
            )
        return answer("done")
    if not has_begun(prompt):
        return calls(("search", {"query": "leeks" if "leeks" in prompt.user else "chard"}))
    return answer("Bed 7." if "leeks?" in prompt.user else "Bed 14.")


LEEKS = FoundNote(text="Leeks are in bed number 7.", note="n1")
CHARD = FoundNote(text="Chard is in bed number 14.", note="n2")


def test_every_call_of_a_hand_worked_story_is_an_event(tmp_path: Path) -> None:
    events = run_loop(tmp_path, build_bm25({}), tell_hand_worked)

    told = [e for e in events if isinstance(e, ToolCalled | AgentEnded | Ingested | Answered)]
    assert [_show(each) for each in told] == [
        ("day 1", AgentCall(
            number=1, tool="save", role=ToolRole.SAVE, arguments={"text": "Leeks: bed 8."},
            writes=(NoteWrite(note="n1", text="Leeks: bed 8."),),
        )),
        ("day 1", AgentCall(
            number=2, tool="update", role=ToolRole.UPDATE,
            arguments={"id": "n1", "text": "Leeks are in bed number 7."},
            writes=(NoteWrite(note="n1", text="Leeks are in bed number 7."),),
        )),
        ("day 1", "ended", 2, 3, SessionEnd.DONE, ()),
        ("ingested", 1),
        ("day 2", AgentCall(
            number=1, tool="search", role=ToolRole.SEARCH, arguments={"query": "leeks"},
            found=(LEEKS,),
        )),
        ("day 2", AgentCall(
            number=2, tool="save", role=ToolRole.SAVE,
            arguments={"text": "Chard is in bed number 14."},
            writes=(NoteWrite(note="n2", text="Chard is in bed number 14."),),
        )),
        ("day 2", AgentCall(
            number=3, tool="save", role=ToolRole.SAVE, arguments={"text": "A draft."},
            writes=(NoteWrite(note="n3", text="A draft."),),
        )),
        ("day 2", AgentCall(
            number=4, tool="delete", role=ToolRole.DELETE, arguments={"id": "n3"},
            writes=(NoteWrite(note="n3"),),
        )),
        ("day 2", "ended", 4, 3, SessionEnd.DONE, ()),
        ("ingested", 2),
        ("gardener-q001", AgentCall(
            number=1, tool="search", role=ToolRole.SEARCH, arguments={"query": "leeks"},
            found=(LEEKS,),
        )),
        ("gardener-q001", "ended", 1, 2, SessionEnd.DONE, (("7", 1),)),
        ("answered", "gardener-q001", "Bed 7."),
        ("gardener-q002", AgentCall(
            number=1, tool="search", role=ToolRole.SEARCH, arguments={"query": "chard"},
            found=(CHARD,),
        )),
        ("gardener-q002", "ended", 1, 2, SessionEnd.DONE, (("14", 2),)),
        ("answered", "gardener-q002", "Bed 14."),
    ]  # fmt: skip


def _show(event: ToolCalled | AgentEnded | Ingested | Answered) -> tuple[Any, ...]:
    """An event without times and names that differ from run to run."""
    match event:
        case Ingested(day=day):
            return "ingested", day
        case Answered(trial=trial, answer=given):
            return "answered", trial.item, given.text
        case ToolCalled(day=day, trial=trial, call=call):
            return (f"day {day}" if trial is None else trial.item), call
        case AgentEnded(day=day, trial=trial, calls=made, steps=steps, end=end, needs=needs):
            about = f"day {day}" if trial is None else trial.item
            return about, "ended", made, steps, end, tuple((n.value, n.day) for n in needs)


@pytest.mark.parametrize("lifecycle", ["forked", "fresh", "growing"])
def test_calls_about_questions_never_reach_the_memory(tmp_path: Path, lifecycle: str) -> None:
    """The agent tries to save its answer: no such tool is offered, and the call is counted."""

    def script(prompt: Any) -> str:
        if is_day(prompt):
            if has_begun(prompt):
                return answer("done")
            return calls(("save", {"text": prompt.user.split("\n")[-2]}))
        if not has_begun(prompt):
            return calls(("save", {"text": "POISON"}), ("search", {"query": "POISON"}))
        return answer("Bed 7.")

    events = run_loop(
        tmp_path, build_bm25({}), script, days="2d,4d", lifecycle=lifecycle, repeats=2
    )

    tried = [e.call for e in events if isinstance(e, ToolCalled) and e.trial is not None]
    assert {call.problem for call in tried if call.tool == "save"} == {"malformed"}
    assert not [each for call in tried for each in call.found if "POISON" in each.text]
    assert not [call for call in tried if call.writes]
