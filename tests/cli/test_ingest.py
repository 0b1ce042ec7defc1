"""`run --ingest` feeds the chosen form, and judges still go by the logs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.engine.runs.journal import JOURNAL, read_events
from tests.commands import Invoke, Shown
from tests.gardener import DAYS, PLANTS

SHOWN = """
def judge(exhibit):
    return {
        "correctness": 0,
        "completeness": 0,
        "grounded": 0,
        "reason": " ".join(day.text for day in exhibit.excerpts),
    }
"""

Run = Callable[..., Shown]


@pytest.fixture
def retold(data: Path) -> Path:
    """The gardener's days as dialogues and as tool calls, in words of their own."""
    folder = data / "gardener"
    for name in ("conversations-10d", "tools-10d"):
        (folder / name).mkdir()
    for day in range(1, DAYS + 1):
        told = f"The {PLANTS[day - 1]} went to bed {day * 7}."
        talk = f"**User:**\n\nWhat was done?\n\n**Assistant:**\n\n{told}\n"
        (folder / "conversations-10d" / f"conv-{day:04}.md").write_text(talk)
        (folder / "tools-10d" / f"day-{day:04}.yaml").write_text(
            f"day: {day}\ncalls:\n  - {{session: principal, tool: save, content: {told}}}\n"
        )
    return folder


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    """Run the gardener into the folder `r`."""

    def run(*flags: object) -> Shown:
        words = ("--data", data, "--ranges", "5d", "--into", "r", "--no-heatmap-png")
        adapter = () if "--adapter" in flags else ("--adapter", "bm25")
        return invoke("run", *words, *adapter, *flags)

    return run


def events(kind: str, folder: str = "r") -> list[dict[str, Any]]:
    rows = map(msgspec.to_builtins, read_events(Path(folder, JOURNAL)))
    return [row for row in rows if row["type"] == kind]


@pytest.mark.parametrize("form", ["conversations", "tool-calls"])
@pytest.mark.parametrize("lifecycle", ["fresh", "growing", "forked"])
def test_the_system_is_fed_the_form_and_nothing_else(
    run: Run, retold: Path, form: str, lifecycle: str
) -> None:
    shown = run("--ingest", form, "--lifecycle", lifecycle)

    assert shown.code == 0, shown.err
    assert len(events("ingested")) == 5
    passages = [each for row in events("answered") for each in row["answer"]["passages"]]
    assert all("went to bed" in each["text"] or "done?" in each["text"] for each in passages)
    assert all("planted" not in each["text"] for each in passages)


@pytest.mark.parametrize("form", ["conversations", "tool-calls"])
def test_what_is_found_is_traced_to_its_day(run: Run, retold: Path, form: str) -> None:
    assert run("--ingest", form).code == 0

    for row in events("answered"):
        day = int(row["trial"]["item"][-3:])
        best = next(each for each in row["answer"]["passages"] if "bed" in each["text"])
        assert best["day"] == day
        assert best.get("turn") == (1 if form == "conversations" else None)
        assert row["delivery"]["traced"] == row["delivery"]["kept"]


@pytest.mark.parametrize("form", ["conversations", "tool-calls"])
def test_judges_are_shown_the_logs_whatever_was_fed(
    run: Run, retold: Path, tmp_path: Path, form: str
) -> None:
    (tmp_path / "judge.py").write_text(SHOWN)

    assert run("--ingest", form, "--judge", "judge.py", "--judge-memory-window", "1").code == 0

    reasons = {row["trial"]["item"]: row["verdict"]["reason"] for row in events("judged")}
    assert "I planted chard in bed number 14." in reasons["gardener-q002"]
    assert "went to bed" not in "".join(reasons.values())


def test_an_oracle_still_knows_what_the_logs_say(run: Run, retold: Path) -> None:
    assert run("--ingest", "tool-calls", "--adapter", "oracle").code == 0

    assert all("planted" in row["answer"]["text"] for row in events("answered"))
    assert [row["verdict"]["marks"]["correctness"] for row in events("judged")] == [3] * 5


def test_the_files_say_what_was_fed_if_that_is_not_the_days(run: Run, retold: Path) -> None:
    told = run("--ingest", "tool-calls", "-v")
    header = json.loads(Path("r", "progress.jsonl").read_text().splitlines()[0])
    result = json.loads(Path("r", "result.json").read_text())

    assert "calendar from metadata · fed tool-calls\n" in told.out
    assert header["ingest"] == result["metadata"]["ingest"] == "tool-calls"


def test_nothing_is_said_of_days(run: Run, retold: Path) -> None:
    told = run("--ingest", "days")

    assert "· fed" not in told.out
    assert "ingest" not in json.loads(Path("r", "result.json").read_text())["metadata"]


def test_another_form_is_another_run(run: Run, retold: Path) -> None:
    run("--ingest", "tool-calls")

    shown = run()

    assert shown.code == 2
    assert "other ingest (tool-calls, now days)" in shown.err


def test_a_profile_chooses_the_form_and_a_flag_wins(run: Run, retold: Path, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("run: {ingest: conversations}\n")

    assert run("--profile", "p.yaml").code == 0
    assert events("run_started")[0]["plan"]["ingest"] == "conversations"
    assert run("--profile", "p.yaml", "--ingest", "tool-calls", "--into", "s").code == 0
    assert events("run_started", "s")[0]["plan"]["ingest"] == "tool-calls"


def test_answers_from_another_form_can_be_judged_again(
    run: Run, retold: Path, invoke: Invoke, data: Path
) -> None:
    run("--ingest", "conversations")

    again = invoke("rejudge", "r", "--data", data, "--into", "s", "--no-heatmap-png")
    (retold / "conversations-10d" / "conv-0009.md").write_text("**User:**\n\nNo.\n")
    changed = invoke("rejudge", "r", "--data", data, "--into", "t", "--no-heatmap-png")

    assert again.code == 0, again.err
    assert len(events("judged", "s")) == 5
    assert "are not those of the run" in changed.err


def test_a_persona_without_the_form_says_which_command_writes_it(run: Run) -> None:
    shown = run("--ingest", "tool-calls")

    assert shown.code == 2
    assert "recall-bench generate-tool-calls --persona" in shown.err
    assert shown.err.count("\n") == 1


def _ask_for(folder: Path, day: int, answer: str) -> None:
    """Let the log of a day and the answer to its question hold an exact value."""
    log = folder / "memories-10d" / f"day-{day:04}.md"
    log.write_text(f"{log.read_text()}\nIt took {answer}\n")
    questions = folder / "qa-10d" / "questions.yaml"
    old = f"answer: Bed {day * 7}."
    assert old in questions.read_text()
    questions.write_text(questions.read_text().replace(old, f"answer: '{answer}'"))


def _say(folder: Path, day: int, opening: str) -> None:
    """Let the call of a day open with other words."""
    calls = folder / "tools-10d" / f"day-{day:04}.yaml"
    assert "The" in calls.read_text()
    calls.write_text(calls.read_text().replace("The", opening))


def test_questions_that_cannot_be_answered_are_counted_before_the_run(
    run: Run, retold: Path
) -> None:
    _ask_for(retold, 2, "$412.")
    _ask_for(retold, 3, "6:45 AM.")
    _ask_for(retold, 4, "2025-04-04.")
    _ask_for(retold, 5, "$555.")
    _ask_for(retold, 9, "$913.")
    _say(retold, 3, "At 06:45 the")
    _say(retold, 5, "For 555 the")

    shown = run("--ingest", "tool-calls")

    assert (
        "note: gardener: 1 of 5 questions ask for an exact value that is in the logs but not in "
        "the tool-calls fed up to then; no system can know it: gardener-q002\n"
    ) in shown.err
    assert "no system can know" not in run("--into", "s").err


def test_a_value_that_is_reported_too_late_is_not_known_in_time(run: Run, retold: Path) -> None:
    _ask_for(retold, 2, "$412.")
    _say(retold, 4, "For $412 the")

    assert "gardener-q002" in run("--ingest", "tool-calls").err
