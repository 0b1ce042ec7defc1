"""`verify` derives a run again: what was changed is named, and what cannot be derived is said."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.append_log import LineChain, split_link
from recall_bench.core.event import (
    BoundsComputed,
    Event,
    Judged,
    RunEnded,
    RunStarted,
    encode_event,
)
from recall_bench.core.plan import Trial
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.journal import encode_events, read_events
from tests.commands import Invoke

JOURNAL = Path("r/journal.jsonl")
Checks = Callable[[int], dict[str, tuple[str, str]]]


@pytest.fixture
def checks(invoke: Invoke, data: Path) -> Checks:
    """Make a run; then verify it as often as wanted, with the exit code that is expected."""
    words = ("--data", data, "--ranges", "5d", "--adapter", "bm25", "--into", "r")
    made = invoke("run", *words, "--no-heatmap-png")
    assert made.code == 0, made.err

    def verify(code: int) -> dict[str, tuple[str, str]]:
        shown = invoke("verify", "r", "--data", data, "--json")
        assert shown.code == code, shown.err
        rows = json.loads(shown.out)["checks"]
        return {row["part"]: (row["state"], row["detail"]) for row in rows}

    return verify


def rewrite(change: Callable[[Event], Event | None]) -> None:
    """Change the events, and link the lines anew, as somebody who knows the format can."""
    kept = [new for event in read_events(JOURNAL) if (new := change(event)) is not None]
    JOURNAL.write_bytes(b"".join(encode_events(kept)))


def test_an_honest_run_is_verified_but_for_the_system(checks: Checks) -> None:
    states = {part: state for part, (state, _) in checks(0).items()}

    assert states.pop("system") == "not verified"
    assert states == dict.fromkeys(
        ("journal", "trials", "data", "verdicts", "silence", "evidence", "files"), "verified"
    )


def test_each_run_in_a_folder_is_verified(checks: Checks, invoke: Invoke, data: Path) -> None:
    checks(0)
    shutil.copytree("r", "all/good")
    shutil.copytree("r", "all/later/changed")
    shutil.copytree("r", "all/odd")
    Path("all/later/changed/result.json").write_text("{}")
    Path("all/odd/journal.jsonl").write_text("?\n")

    text = invoke("verify", "all", "--data", data)
    found = invoke("verify", "all", "--data", data, "--json")

    assert text.code == found.code == 3
    assert [line for line in text.out.splitlines() if line.startswith("all/")] == [
        "all/good",
        "all/later/changed",
    ]
    assert "all/odd" in text.err
    assert [each["run"] for each in json.loads(found.out)] == ["all/good", "all/later/changed"]


def test_a_folder_without_runs_is_refused(invoke: Invoke) -> None:
    Path("empty").mkdir()

    shown = invoke("verify", "empty")

    assert shown.code == 2
    assert "empty: holds no bundle and no run" in shown.err


def shift_texts() -> None:
    """Link a journal anew whose references to texts are three bytes off."""
    chain = LineChain()
    lines = [split_link(line)[0] for line in JOURNAL.read_bytes().splitlines()]
    shifted = [
        re.sub(rb'"text_at":\[(\d+)', lambda at: b'"text_at":[%d' % (int(at[1]) + 3), line)
        for line in lines
    ]
    assert shifted != lines
    JOURNAL.write_bytes(b"".join(chain.add(line) + b"\n" for line in shifted))


def test_texts_that_cannot_be_read_are_a_finding_of_that_run_alone(invoke: Invoke) -> None:
    words = ("--personas", "harbour-office", "--ranges", "3d,5d", "--adapter", "bm25")
    assert invoke("run", *words, "--into", "r", "--no-heatmap-png").code == 0
    shutil.copytree("r", "good")
    shift_texts()

    verified = invoke("verify", "r")
    again = invoke("rejudge", "r", "--into", "again")
    board = invoke("leaderboard", "build", "good", "r", "--into", "site")

    assert verified.code == again.code == board.code == 3
    assert "journal      differs: r/journal.jsonl, line" in verified.out
    assert "was changed after it was written" in again.err
    assert Path("site/index.html").is_file()


@pytest.mark.parametrize("command", [("gate", "--min-score", "1"), ("compare", "r"), ("report",)])
def test_a_journal_without_checksums_is_named(
    checks: Checks, invoke: Invoke, data: Path, command: tuple[str, ...]
) -> None:
    checks(0)
    events = list(read_events(JOURNAL))
    JOURNAL.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))

    shown = invoke(command[0], "r", *command[1:])

    assert "has no checksums" in " ".join((shown.out + shown.err).split())


def test_a_changed_verdict_is_named_even_if_the_lines_are_linked_anew(
    checks: Checks, invoke: Invoke
) -> None:
    changed: list[Trial] = []

    def change(event: Event) -> Event:
        if isinstance(event, Judged) and not changed:
            changed.append(event.trial)
            other = (0, 0, 1) if event.verdict.composite == 6 else (3, 2, 1)
            return event.replace(verdict=Verdict.of(*other, event.verdict.reason))
        return event

    rewrite(change)
    invoke("export", "r")

    found = checks(3)

    assert found["files"][0] == "verified"
    state, detail = found["verdicts"]
    assert state == "differs"
    assert str(changed[0]) in detail


def test_a_changed_answer_gets_another_verdict(checks: Checks) -> None:
    def silence(event: Event) -> Event:
        if event.__struct_config__.tag == "answered":
            return event.replace(answer=event.answer.replace(text="No idea."))  # type: ignore[union-attr]
        return event

    rewrite(silence)

    assert checks(3)["verdicts"][0] == "differs"


def test_a_changed_file_is_named(checks: Checks) -> None:
    result = Path("r/result.json")
    result.write_text(result.read_text().replace("bm25", "best"))

    state, detail = checks(3)["files"]

    assert state == "differs"
    assert "result.json" in detail
    assert "questions.jsonl" not in detail


def test_other_data_than_the_plans_differ(checks: Checks, data: Path) -> None:
    day = next(data.rglob("day-0002.md"))
    day.write_text(day.read_text() + "\nOne sentence more.\n")

    found = checks(3)

    assert found["data"][0] == "differs"
    assert found["verdicts"][0] == "not verified"


def test_what_cannot_be_verified_is_said(checks: Checks) -> None:
    def older(event: Event) -> Event | None:
        if isinstance(event, RunStarted):
            card = event.plan.judge.replace(version="1")
            return event.replace(plan=event.plan.replace(judge=card))
        return None if isinstance(event, RunEnded) else event

    rewrite(older)
    Path("r/progress.jsonl").unlink()

    found = checks(3)

    for part, word in (("trials", "unfinished"), ("verdicts", "version 1")):
        state, detail = found[part]
        assert state == "not verified"
        assert word in detail
    assert "result.json" in found["files"][1]


@pytest.mark.usefixtures("checks")
def test_a_broken_journal_is_an_error(invoke: Invoke) -> None:
    lines = JOURNAL.read_bytes().splitlines(keepends=True)
    JOURNAL.write_bytes(b"".join(lines[:4] + lines[5:]))

    shown = invoke("verify", "r")

    assert shown.code == 3
    assert "journal.jsonl, line 5: does not follow" in shown.err
    assert "restore the file from a copy" in shown.err


@pytest.mark.parametrize(("part", "field"), [("silence", "floor"), ("evidence", "ceiling")])
def test_a_bound_that_was_changed_is_named(checks: Checks, part: str, field: str) -> None:
    """A score is read between what silence and the evidence score: moving these flatters it."""

    def move(event: Event) -> Event:
        if not isinstance(event, BoundsComputed):
            return event
        return event.replace(**{field: dict.fromkeys(getattr(event, field), (1, 1, 1))})

    rewrite(move)

    found = checks(3)
    assert found.pop(part)[0] == "differs"
    assert found["verdicts"][0] == "verified"
