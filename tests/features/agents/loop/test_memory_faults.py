"""Memories that differ in one fault: the report names it, and says where each fact was lost."""

from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.event import ToolCalled
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import SessionEnd
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.agent_log import read_agent_log
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.tool_loop import (
    FactStage,
    ToolLoopReport,
    analyse_tool_loop,
    build_tool_loop,
)
from recall_bench.reporting.report_sections import describe_tool_loop
from recall_bench.reporting.sections import render_parts
from tests.features.agents.loop.scripted import (
    NoteSystem,
    Script,
    answer,
    calls,
    has_begun,
    is_day,
    keep_garden,
    put_in_loop,
    read_question,
)
from tests.gardener import write_persona


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garden")
    write_persona(folder)
    return folder


def analyse(
    data: Path, into: Path, fault: str = "", script: Script = keep_garden, **limits: Any
) -> ToolLoopReport:
    """The analysis of the gardener's ten days with one memory."""
    system, _ = put_in_loop(NoteSystem(fault), script, **limits)
    settings = Settings(data=data, ranges=("10d",), into=into, heatmap_png=False)
    assert execute(assemble(settings, system)).stopped_by is None
    folder = RunFolder.open(into)
    found = analyse_tool_loop(folder, read_trials(folder))
    assert found is not None
    return found


def count(found: ToolLoopReport) -> dict[str, tuple[int, int]]:
    """Right and wrong trials of each stage that has any."""
    return {
        each.stage.value: (each.right, each.wrong)
        for each in found.stages
        if each.right + each.wrong
    }


def test_a_memory_without_a_fault_has_none_named(data: Path, tmp_path: Path) -> None:
    found = analyse(data, tmp_path / "run")

    assert found.faults == ()
    # The agent itself overwrote the leeks, and deleted the chard.
    assert count(found) == {"overwritten": (0, 1), "deleted": (0, 1), "found": (8, 0)}
    assert (found.memory.saved, found.memory.updated, found.memory.deleted) == (10, 1, 1)


@pytest.mark.parametrize(
    ("fault", "named", "stages"),
    [
        (
            "appends",
            "update does not overwrite: the old text of 1 of 1 updated notes came back",
            # The old text is found, and the agent answers with the new one.
            {"deleted": (0, 1), "found": (8, 1)},
        ),
        (
            "keeps",
            "delete does not delete: 1 of 1 deleted notes came back",
            {"overwritten": (0, 1), "found": (9, 0)},
        ),
        (
            "truncates",
            "notes come back cut: 8 of 9 returned notes never came back whole",
            {"overwritten": (0, 1), "deleted": (0, 1), "returned-in-part": (0, 8)},
        ),
        (
            "fails",
            "search fails: all 10 searches ended with an error",
            {"overwritten": (0, 1), "deleted": (0, 1), "search-failed": (0, 8)},
        ),
        (
            "oldest",
            "search ignores the query: 10 different queries returned the same notes each time",
            {
                "overwritten": (0, 1),
                "deleted": (0, 1),
                "looked-for-and-missed": (0, 5),
                "found": (3, 0),
            },
        ),
    ],
)
def test_a_memory_with_one_fault_has_it_named(
    data: Path, tmp_path: Path, fault: str, named: str, stages: dict[str, tuple[int, int]]
) -> None:
    found = analyse(data, tmp_path / "run", fault)

    assert found.faults == (named,)
    assert count(found) == stages
    shown = "\n".join(render_parts(describe_tool_loop(found)))
    assert named.split(":", maxsplit=1)[0] in shown


def test_notes_that_cannot_be_stated_are_mentioned(data: Path, tmp_path: Path) -> None:
    found = analyse(data, tmp_path / "run", "unnamed")

    # The note that is deleted was saved without an id, and no search named it before.
    assert found.memory.unmatched == 2
    words = "2 calls updated or deleted notes that no save and no search had named"
    assert words in " ".join(" ".join(render_parts(describe_tool_loop(found))).split())


def test_a_memory_that_was_given_up_is_not_counted(data: Path, tmp_path: Path) -> None:
    """The days of a process that was killed before it asked anything."""
    whole = analyse(data, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    log = read_agent_log(folder)
    (sessions,) = log.days.values()
    log.days["given-up"] = sessions

    assert build_tool_loop(log, read_trials(folder).rows) == whole


def test_what_is_never_saved_and_never_looked_for_is_distinguished(
    data: Path, tmp_path: Path
) -> None:
    def script(prompt: Any) -> str:
        if is_day(prompt):
            planted = next(line for line in prompt.user.splitlines() if "I planted" in line)
            is_kept = has_begun(prompt) or "kale" in planted
            return answer("done") if is_kept else calls(("save", {"text": planted}))
        if "leeks" in read_question(prompt) or has_begun(prompt):
            return answer("I do not know.")
        return calls(("search", {"query": read_question(prompt)}))

    found = analyse(data, tmp_path / "run", script=script)

    assert count(found) == {
        "never-saved": (0, 1),
        "never-looked-for": (0, 1),
        "found": (0, 8),
    }
    assert found.stages[0].examples[0].item == "gardener-q003"


def test_an_agent_that_never_stops_is_cut_off_and_counted(data: Path, tmp_path: Path) -> None:
    found = analyse(
        data,
        tmp_path / "run",
        script=lambda _: calls(("search", {"query": "leeks"})),
        max_steps=4,
    )

    assert found.days.ended[SessionEnd.STEPS] == 10
    assert found.days.steps == 40
    assert found.questions.ended[SessionEnd.STEPS] == 10
    assert found.questions.repeated == 10 * 3
    # The last request of a question allows no calls.
    assert found.questions.refused == 10
    assert all(each.right == 0 for each in found.stages)
    assert "10 sessions cut off by --max-steps" in "\n".join(
        render_parts(describe_tool_loop(found))
    )


def test_malformed_calls_are_reported_to_the_agent_and_counted(data: Path, tmp_path: Path) -> None:
    replies = iter(
        [
            calls(("remember", {"text": "x"})),
            calls(("save", {"txt": "x"})),
            calls(("save", {"text": 3})),
            '{"calls": [{"tool": "save", "arguments": "x"}]}',
            '{"calls": "all"}',
            '{"calls": [',
            "",
            calls(("delete", {"id": "n9"})),
            answer("done"),
        ]
    )
    system, model = put_in_loop(NoteSystem(), lambda _: next(replies, answer("done")), max_steps=12)
    settings = Settings(data=data, ranges=("1d",), into=tmp_path / "run", heatmap_png=False)
    execute(assemble(settings, system))
    folder = RunFolder.open(tmp_path / "run")
    found = analyse_tool_loop(folder, read_trials(folder))

    assert found is not None
    assert (found.days.malformed, found.days.failed, found.days.unreadable) == (4, 1, 3)
    events = [e for e in read_events(folder.path / JOURNAL) if isinstance(e, ToolCalled)]
    assert [e.call.message for e in events] == [
        "there is no tool 'remember'; the tools are save, search, update, delete",
        "text is missing",
        "text is 3, and not a string",
        "the arguments are no JSON object",
        "there is no note 'n9'",
    ]
    assert "text is missing" in model.asked[2].user
    assert "could not be used: the reply is empty" in model.asked[7].user


def test_an_agent_out_of_tokens_has_one_last_request(data: Path, tmp_path: Path) -> None:
    def script(prompt: Any) -> str:
        if is_day(prompt) or "No more calls" not in prompt.user:
            return calls(("search", {"query": "x" * 400}))
        return answer("Bed 7.")

    found = analyse(data, tmp_path / "run", script=script, max_tokens=1)

    assert found.days.ended[SessionEnd.TOKENS] == 10
    assert found.days.steps == 10
    assert found.questions.ended[SessionEnd.TOKENS] == 10
    assert found.questions.steps == 20
    assert {each.stage: each.right for each in found.stages}[FactStage.NEVER_SAVED] == 1
