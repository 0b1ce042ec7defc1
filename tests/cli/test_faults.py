"""No failure of a system or a judge becomes a score, loses finished work, or hangs a run."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.commands import Invoke, Shown
from tests.gardener import write_persona
from tests.warm_commands import StartedCommand, start_command

WriteAdapter = Callable[..., Path]

NO_PICTURES = ("--no-heatmap-png", "--no-page")


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Callable[..., Shown]:
    def start(*flags: object) -> Shown:
        ranges = () if "--ranges" in flags else ("--ranges", "5d,10d")
        return invoke("run", "--data", data, *ranges, "--into", "r", "--no-heatmap-png", *flags)

    return start


def events(kind: str) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in Path("r/journal.jsonl").read_text().splitlines()]
    return [row for row in rows if row["type"] == kind]


def metadata() -> dict[str, object]:
    found = json.loads(Path("r/result.json").read_text())["metadata"]
    assert isinstance(found, dict)
    return found


Run = Callable[..., Shown]


def test_one_failing_question_is_an_error_on_record_and_a_zero(
    run: Run, adapter: WriteAdapter
) -> None:
    once = """
    self.calls = getattr(self, "calls", 0) + 1
    if self.calls == 1 and len(self.lines) > 50:
        raise ValueError("index is corrupt")
    return "Bed 7."
    """
    shown = run("--adapter", adapter(query=once), "--error-budget", "0.1")

    assert shown.code == 0, shown.err
    [failed] = events("not_answered")
    assert failed["fault"] == "SystemFault"
    assert "index is corrupt" in str(failed["message"])
    assert "[TIMEOUT]" not in Path("r/questions.jsonl").read_text()
    assert metadata()["errors"] == {"SystemFault": 1}


@pytest.mark.parametrize(
    ("body", "fault", "flags"),
    [
        ("raise ValueError('no')", "SystemFault", ()),
        ("return None", "NotAnAnswer", ()),
        ("return 42", "NotAnAnswer", ()),
        ("return {'no': 'answer'}", "NotAnAnswer", ()),
        ("raise SystemExit(3)", "SystemFault", ()),
        ("while True: pass", "SystemTimeout", ("--timeout", "50")),
        ("import time; time.sleep(600)", "SystemTimeout", ("--timeout", "50")),
    ],
)
def test_a_system_that_always_fails_is_invalid_and_not_bad(
    run: Run, adapter: WriteAdapter, body: str, fault: str, flags: tuple[str, ...]
) -> None:
    shown = run("--adapter", adapter(query=body), *flags, "--ranges", "1d,2d")

    assert shown.code == 5, shown.err
    assert "INVALID" in shown.out
    assert {str(event["fault"]) for event in events("not_answered")} == {fault}
    assert events("judged") == []
    assert metadata()["validity"] == "invalid"


@pytest.mark.parametrize("stage", ["setup", "ingest_day", "finalize_ingestion"])
def test_a_system_that_cannot_be_fed_is_unfinished_and_goes_on_when_mended(
    run: Run, adapter: WriteAdapter, stage: str
) -> None:
    broken = adapter(**{stage: "raise ValueError('broken')"})
    shown = run("--adapter", f"{broken}", "--ranges", "5d")

    assert shown.code == 4
    assert "broken" in shown.out + shown.err
    assert Path("r/result.json").exists()
    assert events("answered") == []


def test_a_failing_teardown_costs_no_result(run: Run, adapter: WriteAdapter) -> None:
    shown = run("--adapter", adapter(teardown="raise ValueError('cannot stop')"))

    assert shown.code == 0, shown.err
    assert len(events("judged")) == 15
    assert "cannot stop" in str(events("feed_failed"))


def test_a_system_that_vanishes_leaves_the_rest_open_and_the_same_command_goes_on(
    run: Run, adapter: WriteAdapter, tmp_path: Path
) -> None:
    (tmp_path / "up").touch()
    body = """
    import os
    if len(self.lines) > 50 and not os.path.exists("up"):
        raise ConnectionRefusedError("nobody there")
    return "Bed 7."
    """
    path = adapter(query=body)
    (tmp_path / "up").unlink()

    gone = run("--adapter", path)
    assert gone.code == 4
    assert "nobody there" in gone.err
    assert len(events("judged")) == 5
    assert events("not_answered") == []

    (tmp_path / "up").touch()
    back = run("--adapter", path)
    assert back.code == 0, back.err
    assert len(events("judged")) == 15
    assert len(events("answered")) == 15


def test_failed_questions_can_be_put_again(run: Run, adapter: WriteAdapter, tmp_path: Path) -> None:
    body = """
    import os
    if not os.path.exists("up"):
        raise ValueError("down")
    return "Bed 7."
    """
    path = adapter(query=body)
    assert run("--adapter", path).code == 5

    (tmp_path / "up").touch()
    assert run("--adapter", path).code == 5
    mended = run("--adapter", path, "--retry-errors")

    assert mended.code == 0, mended.err
    assert len(events("judged")) == 15


@pytest.mark.parametrize("broken", ["42", "class Adapter: pass", "raise ImportError('x')", "def"])
def test_what_is_no_adapter_is_said_before_anything_is_fed(
    run: Run, tmp_path: Path, broken: str
) -> None:
    (tmp_path / "bad.py").write_text(broken)

    shown = run("--adapter", "bad.py")

    assert shown.code == 2
    assert "bad.py" in shown.err
    assert not Path("r/journal.jsonl").exists()


BABBLE = {
    "nothing": "return None",
    "a string": "return '{\"correctness\": 3}'",
    "a mark missing": "return {'correctness': 3}",
    "not a number": ("return {'correctness': float('nan'), 'completeness': 1, 'hallucination': 1}"),
    "numbers in quotes": "return {'correctness': '3', 'completeness': '2', 'hallucination': '1'}",
    "off the scale": "return {'correctness': 300, 'completeness': -20, 'hallucination': 7}",
}


def judge(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "judge.py"
    path.write_text(f"def judge(exhibit):\n    {body}\n")
    return path


@pytest.mark.parametrize("body", BABBLE.values(), ids=BABBLE.keys())
def test_a_judge_that_babbles_gives_no_score(run: Run, tmp_path: Path, body: str) -> None:
    shown = run("--adapter", "none", "--judge", judge(tmp_path, body))

    assert shown.code == 6, shown.err
    assert not re.search(r"\bnan\s*(%|of 6)", shown.out.lower())
    assert {str(event["fault"]) for event in events("not_judged")} == {"UnreadableVerdict"}
    assert len(events("answered")) == 15


@pytest.mark.parametrize("executor", ["local", "processes"])
def test_a_judge_that_always_fails_is_given_up_and_the_same_command_goes_on(
    run: Run, tmp_path: Path, executor: str
) -> None:
    body = (
        "import os\n"
        "    if not os.path.exists('calm'):\n"
        "        with open('calls', 'a') as calls: calls.write('x')\n"
        "        raise RuntimeError('tired')\n"
        "    return {'correctness': 3, 'completeness': 2, 'hallucination': 1}"
    )
    chosen = ("--adapter", "none", "--judge", judge(tmp_path, body), "--executor", executor)
    words = (*chosen, "--repeats", "4", "--no-heatmap-png")

    first = run(*words)
    assert first.code == 6
    assert "the judge failed at 8 answers in a row, the last time with: " in first.err
    assert "RuntimeError: tired; all answers are kept" in first.err
    assert 8 <= len(events("not_judged")) <= Path("calls").stat().st_size < 20

    (tmp_path / "calm").touch()
    second = run(*words)
    assert second.code == 0, second.err
    assert len(events("answered")) == len(events("judged")) == 60


def test_a_judge_that_raises_once_costs_one_verdict_until_the_next_run(
    run: Run, tmp_path: Path
) -> None:
    body = (
        "import os\n"
        "    if 'leeks' in exhibit.item.text and not os.path.exists('calm'):\n"
        "        raise RuntimeError('tired')\n"
        "    return {'correctness': 3, 'completeness': 2, 'hallucination': 1}"
    )
    path = judge(tmp_path, body)

    first = run("--adapter", "none", "--judge", path)
    assert first.code == 6
    assert len(events("judged")) == 13

    (tmp_path / "calm").touch()
    second = run("--adapter", "none", "--judge", path)
    assert second.code == 0, second.err
    assert len(events("answered")) == len(events("judged")) == 15


def test_a_judge_that_hangs_is_cut_off(run: Run, tmp_path: Path) -> None:
    path = judge(tmp_path, "import time; time.sleep(2)")

    shown = run(*("--adapter", "none", "--judge", path, "--judge-timeout", "20", "--ranges", "1d"))

    assert shown.code == 6
    assert {str(event["fault"]) for event in events("not_judged")} == {"JudgeTimeout"}


def test_an_appellate_judge_that_fails_is_on_record(run: Run, tmp_path: Path) -> None:
    path = judge(tmp_path, "raise RuntimeError('tired')")

    shown = run("--adapter", "none", "--appellate-judge", path)

    assert shown.code == 6, shown.err
    assert all("tired" in str(event["review_fault"]) for event in events("judged"))
    assert "15 of 15 reviews failed" in shown.out


@pytest.mark.parametrize("garbage", ["", "garbage\n", "null\n", '{"type": "checkpoint"', "[]\n"])
def test_a_damaged_view_is_made_again_from_the_journal(run: Run, garbage: str) -> None:
    run("--adapter", "none")
    good = Path("r/progress.jsonl").read_bytes()
    Path("r/progress.jsonl").write_text(garbage)
    Path("r/result.json").write_text(garbage)

    shown = run("--adapter", "none", "--resume", "r/progress.jsonl")

    assert shown.code == 0, shown.err
    assert Path("r/progress.jsonl").read_bytes() == good


def test_a_torn_journal_goes_on_from_its_last_whole_line(run: Run) -> None:
    run("--adapter", "none")
    journal = Path("r/journal.jsonl")
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) * 2 // 3])

    shown = run("--adapter", "none")

    assert shown.code == 0, shown.err
    assert len(events("answered")) == len(events("judged")) == 15


def test_a_journal_damaged_in_the_middle_is_refused_and_left_alone(run: Run) -> None:
    run("--adapter", "none")
    journal = Path("r/journal.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    lines[9] = '{"type": "answered", "overallScore": 999}\n'
    journal.write_text("".join(lines))
    before = journal.read_bytes()

    shown = run("--adapter", "none")

    assert shown.code == 3
    assert "journal.jsonl, line 10" in shown.err
    assert journal.read_bytes() == before


def wait_for(path: Path) -> None:
    """Return once the file is there; the test's own time limit is the only other way out."""
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_stops_cleanly_and_the_same_command_goes_on(
    run: Run, data: Path, adapter: WriteAdapter, tmp_path: Path, number: int, code: int
) -> None:
    slow = (
        "import os, time\nopen('asked', 'w').close()\n"
        "while not os.path.exists('signalled'): time.sleep(0.01)\n"
        "time.sleep(0.2)\nreturn 'Bed 7.'"
    )
    path = adapter(query=slow, teardown="open('torn-down', 'w').close()")
    words = ["run", "--data", data, "--ranges", "5d,10d", "--into", "r", "--adapter", path]
    words.append("--in-process")  # it writes files where we are
    child = background(words, tmp_path)
    wait_for(tmp_path / "asked")
    child.send_signal(number)
    (tmp_path / "signalled").touch()
    _, complaint = child.communicate(timeout=60)

    assert child.returncode == code, complaint
    assert b"run the same command again to continue" in complaint
    assert (tmp_path / "torn-down").exists()
    assert json.loads((tmp_path / "r/result.json").read_text())["metadata"]["unfinished"]

    adapter(query="return 'Bed 7.'")
    assert "other system" in run("--adapter", path, "--in-process").err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("isolated", "pause_s"), [(True, 0.0), (True, 0.7), (False, 0.01), (False, 0.7)]
)
def test_three_interruptions_in_a_row_are_one(
    run: Run, data: Path, adapter: WriteAdapter, tmp_path: Path, pause_s: float, isolated: bool
) -> None:
    """The first stops the run; what follows at once changes nothing, and later ones end it."""
    calm = tmp_path / "calm"
    path = adapter(
        query=f"import os, time\nif not os.path.exists({str(calm)!r}):\n    time.sleep(0.2)\n"
        "return 'Bed 7.'"
    )
    words = ["run", "--data", data, "--ranges", "5d,10d", "--into", "r", "--adapter", path]
    child = background(words + ([] if isolated else ["--in-process"]), tmp_path)
    journal = tmp_path / "r" / "journal.jsonl"
    wait_for(journal)
    while b'"answered"' not in journal.read_bytes():
        time.sleep(0.05)
    for _ in range(3):
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=pause_s)
    _, complaint = child.communicate(timeout=60)

    assert child.returncode in (130, -signal.SIGINT), complaint
    assert b"Traceback" not in complaint
    assert b"interrupted" in complaint
    before = journal.read_bytes()
    calm.touch()
    again = run("--adapter", path, *([] if isolated else ["--in-process"]))
    assert again.code == 0, again.err
    assert journal.read_bytes().startswith(before)


def background(words: list[object], cwd: Path) -> StartedCommand:
    return start_command([*words, *NO_PICTURES], cwd=cwd)


@pytest.mark.slow
def test_a_second_process_touches_nothing_of_a_live_run(
    run: Run, data: Path, adapter: WriteAdapter, tmp_path: Path
) -> None:
    path = adapter(query="import time\nopen('asked', 'w').close()\ntime.sleep(600)")
    words = ["run", "--data", data, "--ranges", "5d,10d", "--into", "r", "--adapter", path]
    words.append("--in-process")  # it writes files where we are
    first = background(words, tmp_path)
    try:
        wait_for(tmp_path / "asked")
        second = run("--adapter", path, "--in-process")
    finally:
        first.kill()
        first.communicate()

    assert second.code == 2
    assert "another run is writing" in second.err
    assert second.out == ""
    assert not Path("r/result.json").exists()


@pytest.mark.slow
def test_a_judge_that_hangs_does_not_keep_the_process_alive(data: Path, tmp_path: Path) -> None:
    path = judge(tmp_path, "import time; time.sleep(600)")
    words = ["run", "--data", data, "--ranges", "1d", "--into", "r", "--adapter", "none"]
    child = background([*words, "--judge", path, "--judge-timeout", "50"], tmp_path)

    child.communicate(timeout=60)

    assert child.returncode == 6


def test_a_judge_that_cannot_prepare_ends_the_run_with_a_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(
        "class Judge:\n"
        "    def study(self, scenario): raise RuntimeError('no book')\n"
        "    def judge(self, exhibit): return None\n"
    )

    shown = run("--adapter", "none", "--judge", "judge.py")

    assert shown.code == 6
    assert "no book" in shown.err


def test_only_the_systems_own_failures_are_held_against_it(
    run: Run, adapter: WriteAdapter, tmp_path: Path
) -> None:
    """One question in fifteen fails, within the budget; the judge fails at all the others."""
    once = """
    self.calls = getattr(self, "calls", 0) + 1
    if self.calls == 1 and len(self.lines) > 50:
        raise ValueError("index is corrupt")
    return "Bed 7."
    """
    path = judge(tmp_path, "return None")

    shown = run("--adapter", adapter(query=once), "--error-budget", "0.1", "--judge", path)

    assert shown.code == 6


def test_a_dataset_that_changes_under_a_run_is_noticed(
    run: Run, data: Path, adapter: WriteAdapter
) -> None:
    write_persona(data, "warden")
    body = """
    from pathlib import Path
    day = Path("data/warden/memories-10d/day-0003.md")
    day.write_text(day.read_text().replace("kale", "rye"))
    return "Bed 7."
    """

    shown = run("--adapter", adapter(query=body), "--in-process")

    assert shown.code == 3
    assert "warden was changed since the run was planned" in shown.err
    assert len(events("judged")) == 15


def test_every_persona_owes_its_trials_from_the_start(
    run: Run, data: Path, adapter: WriteAdapter
) -> None:
    write_persona(data, "warden")

    shown = run("--adapter", adapter(setup="raise ConnectionRefusedError('nobody there')"))

    assert shown.code == 4
    assert metadata()["totalEvalsOwed"] == 30


def test_what_an_adapter_prints_stays_out_of_the_result(run: Run, adapter: WriteAdapter) -> None:
    shown = run("--adapter", adapter(query="print('debug')\nreturn 'Bed 7.'"), "--json")

    assert json.loads(shown.out)["adapterName"] == "overlap"
    assert "debug" in shown.err


def test_a_foreign_journal_is_left_alone(run: Run) -> None:
    Path("r").mkdir()
    Path("r/journal.jsonl").write_text("my diary")

    shown = run("--adapter", "none")

    assert shown.code == 2
    assert Path("r/journal.jsonl").read_text() == "my diary"


def test_a_broken_adapter_stops_the_run_after_twenty_questions(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    place = adapter(query="raise KeyError('index')")
    words = ("run", "--adapter", place, "--data", data, "--repeats", "3", "--no-heatmap-png")
    stopped = invoke(*words, "--into", "a")
    asked = invoke(*words, "--into", "b", "--keep-going")
    line = 1 + place.read_text().splitlines().index("        raise KeyError('index')")

    assert stopped.code == asked.code == 5
    assert "the first 20 questions failed in the same way: SystemFault: KeyError" in stopped.err
    assert f"adapter.py, line {line}" in stopped.err
    assert Path("a/journal.jsonl").read_text().count('"not_answered"') == 20
    assert Path("b/journal.jsonl").read_text().count('"not_answered"') > 20
    assert f"adapter.py, line {line}" in asked.err.splitlines()[-1]


def test_a_system_that_fails_in_several_ways_or_answers_once_is_not_stopped(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    words = ("--data", data, "--repeats", "3", "--no-heatmap-png")
    various = "raise (KeyError if len(question) % 2 else ValueError)('index')"
    once = (
        "if not hasattr(self, 'said'):\n    self.said = True\n    return 'x'\nraise KeyError('i')"
    )

    for name, body in (("a", various), ("b", once)):
        shown = invoke("run", "--adapter", adapter(query=body), *words, "--into", name)
        assert shown.code == 5
        assert "the first 20 questions" not in shown.err
        assert Path(name, "journal.jsonl").read_text().count('"not_answered"') > 20
