"""A run does not care whether its system is in this process or in another."""

import json
import os
import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.event import Answered
from recall_bench.engine.runs.journal import JOURNAL, read_events_of
from recall_bench.systems.transports.child_sandbox import ProgramSandbox
from recall_bench.systems.transports.command_program import CommandProgram
from recall_bench.systems.transports.command_system import CommandTransport
from tests.commands import Invoke, Shown
from tests.gardener import ADAPTER, write_persona
from tests.processes import is_running, wait_until, wait_until_gone
from tests.systems import command_child
from tests.systems.finder import GREP
from tests.warm_commands import start_command

PYTHON = shlex.quote(sys.executable)
CHILD = f"command:{PYTHON} -I -S {command_child.__file__}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_persona(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same variables are passed whether there are faults or not: they are part of the plan."""
    monkeypatch.setenv("FAULTS", "")


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which children note who they are."""
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    return tmp_path / "pids"


def noted(pids: Path) -> list[int]:
    return [int(word) for word in pids.read_text().split()]


def words(data: Path, target: object, into: str, *more: str, ranges: str = "5d,10d") -> list[str]:
    return [
        *("run", "--data", str(data), "--ranges", ranges, "--adapter", str(target)),
        *("--into", into, "--no-heatmap-png", *more),
        *(word for name in ("PIDS", "FAULTS") if name in os.environ for word in ("--env", name)),
    ]


def answers(folder: str) -> dict[str, object]:
    """What was answered to each trial, passages and all."""
    return {
        str(event.trial): msgspec.to_builtins(event.answer)
        for event in read_events_of(Path(folder, JOURNAL), Answered)
    }


def failures(folder: str) -> list[str]:
    events = [json.loads(line) for line in Path(folder, "journal.jsonl").read_text().splitlines()]
    return [event["fault"] for event in events if event["type"] == "not_answered"]


@pytest.mark.parametrize("lifecycle", ["forked", "fresh"])
def test_a_served_adapter_answers_as_it_does_here(
    invoke: Invoke, data: Path, tmp_path: Path, lifecycle: str
) -> None:
    adapter = tmp_path / "adapter.py"
    prints = 'print("fed", day); self.lines += '
    adapter.write_text(
        ADAPTER.replace("name =", "can_snapshot = True\n    name =").replace(
            "self.lines += ", prints
        )
    )
    served = f"command:{PYTHON} -m recall_bench serve {shlex.quote(str(adapter))} --stdio"

    here = invoke(*words(data, adapter, "here", "--lifecycle", lifecycle))
    there = invoke(*words(data, served, "there", "--lifecycle", lifecycle))

    assert (here.code, there.code) == (0, 0), there.err
    assert len(answers("here")) == 15
    assert answers("there") == answers("here")


def test_a_program_for_each_question_finds_the_same_in_copies_as_in_fed_memories(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "finder.py"
    path.write_text(GREP)
    target = f"once:{PYTHON} -I -S {shlex.quote(str(path))}"

    # Each day and each question is a process.
    forked, fresh = (
        invoke(*words(data, target, each, "--lifecycle", each, ranges="2d,4d"))
        for each in ("forked", "fresh")
    )

    assert (forked.code, fresh.code) == (0, 0), forked.err
    assert len(answers("fresh")) == 6
    assert answers("forked") == answers("fresh")
    for answer in answers("forked").values():
        assert isinstance(answer, dict)
        assert answer["passages"]
        assert all(passage["id"] == f"day-{passage['day']:04}" for passage in answer["passages"])


def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less: a frozen child is silent for however long one waits."""

    def hasty(
        program: CommandProgram, confined: ProgramSandbox, *, grace_s: float
    ) -> CommandTransport:
        return CommandTransport(program, confined, grace_s=grace_s / 10)

    monkeypatch.setattr("recall_bench.systems.transports.command_system.CommandTransport", hasty)


def resumed(invoke: Invoke, command: list[str]) -> Shown:
    shown = invoke(*command)
    assert shown.code == 0, shown.err
    return shown


def test_a_child_that_dies_ends_the_run_and_the_same_command_continues(
    invoke: Invoke, data: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed(invoke, words(data, CHILD, "whole"))
    monkeypatch.setenv("FAULTS", "exit:7")

    broken = invoke(*words(data, CHILD, "broken"))
    before = answers("broken")
    monkeypatch.setenv("FAULTS", "")
    resumed(invoke, words(data, CHILD, "broken"))

    assert broken.code == 4
    assert "ended with exit code 3" in broken.err
    assert len(before) == 6
    assert failures("broken") == []
    assert answers("broken") == answers("whole")
    wait_until_gone(noted(pids))


def test_a_question_that_hangs_is_one_failure(
    invoke: Invoke, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTS", "hang:7")

    shown = invoke(*words(data, CHILD, "r", "--timeout", "2000", "--error-budget", "0.1"))

    assert shown.code == 0, shown.err
    assert failures("r") == ["SystemTimeout"]
    assert len(answers("r")) == 14


@pytest.mark.slow
@pytest.mark.parametrize("lifecycle", ["fresh", "growing"])
def test_a_child_that_freezes_costs_one_question_and_is_replaced(
    invoke: Invoke, data: Path, pids: Path, monkeypatch: pytest.MonkeyPatch, lifecycle: str
) -> None:
    """Each child freezes at its seventh question: the first, and the one that replaces it."""
    monkeypatch.setenv("FAULTS", "freeze:7")
    be_quick(monkeypatch)
    more = ("--timeout", "2000", "--error-budget", "0.2", "--lifecycle", lifecycle)

    shown = invoke(*words(data, CHILD, "r", *more))

    assert shown.code == 0, shown.err
    assert failures("r") == ["SystemTimeout", "SystemTimeout"]
    assert len(answers("r")) == 13
    wait_until_gone(noted(pids))


@pytest.mark.slow
def test_a_frozen_child_takes_its_saved_states_with_it_and_the_same_command_continues(
    invoke: Invoke, data: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTS", "freeze:7")
    be_quick(monkeypatch)
    command = words(data, CHILD, "r", "--timeout", "2000", "--error-budget", "0.2")

    broken = invoke(*command)
    monkeypatch.setenv("FAULTS", "")
    resumed(invoke, command)

    assert broken.code == 4
    assert "snapshot was lost; run the same command again" in broken.err
    assert failures("r") == ["SystemTimeout"]
    assert len(answers("r")) == 14
    wait_until_gone(noted(pids))


@pytest.mark.slow
def test_a_harness_that_is_killed_leaves_no_process_and_the_same_command_continues(
    invoke: Invoke, data: Path, pids: Path, tmp_path: Path
) -> None:
    """Neither the child, which hears nothing, nor the one it started."""
    resumed(invoke, words(data, CHILD, "whole"))
    command = words(data, CHILD, "cut", "--timeout", "600000")
    environ = {**os.environ, "FAULTS": "hang:7 spawn deaf"}

    harness = start_command(command, cwd=tmp_path, environ=environ)
    try:
        wait_until(
            lambda: Path("cut/journal.jsonl").exists() and len(answers_so_far("cut")) == 6, "six"
        )
        assert all(map(is_running, noted(pids)[-2:]))
    finally:
        harness.kill()
        harness.wait()
    wait_until_gone(noted(pids))
    resumed(invoke, command)

    assert answers("cut") == answers("whole")


def answers_so_far(folder: str) -> list[bytes]:
    lines = Path(folder, "journal.jsonl").read_bytes().splitlines()
    return [line for line in lines if line.startswith(b'{"type":"answered"')]
