"""Workers that die, drivers that are killed, systems that behave badly: in real processes."""

import signal
import sys
from pathlib import Path

import pytest

from recall_bench.core.event import Answered, NotAnswered
from recall_bench.engine.runs.journal import read_events
from tests.engine.pool.command_process import (
    MARKS,
    Command,
    answered,
    is_alive,
    lines,
    until,
    workers,
    write_system,
)
from tests.engine.pool.pool_runs import asked_again, outcome, run_alone
from tests.engine.result_views import done_twice
from tests.gardener import write_persona
from tests.thoroughness import choose_number

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, as POSIX systems do")

RANGES = ("3d", "5d", "8d", "10d")
TRIALS = 26


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_persona(tmp_path / "data")
    (tmp_path / "marks.py").write_text(MARKS)
    return tmp_path / "data"


def run(
    tmp_path: Path, *words: object, into: str = "run", lifecycle: str = "fresh", executor: str = ""
) -> Command:
    """The run of the system in `tmp_path/system`, with two worker processes."""
    return Command(
        *("run", "--adapter", tmp_path / "system" / "system.py", "--data", tmp_path / "data"),
        *("--ranges", ",".join(RANGES), "--lifecycle", lifecycle, "--no-heatmap-png"),
        *("--executor", executor or "processes", "--workers", 2, "--into", tmp_path / into),
        *("--judge", tmp_path / "marks.py", "--no-page", "--in-process"),
        *words,
    )


def expected(tmp_path: Path, before: str = "", lifecycle: str = "fresh") -> dict[str, bytes]:
    """What a single process makes of it."""
    system = write_system(tmp_path / "system", before)
    run_alone(
        tmp_path / "one",
        adapter=str(system),
        in_process=True,  # it writes logs beside itself, and kills its worker
        data=tmp_path / "data",
        ranges=RANGES,
        lifecycle=lifecycle,
        judge=str(tmp_path / "marks.py"),
    )
    for log in ("asked", "pids", "opened", "closed"):
        (tmp_path / "system" / log).unlink()
    return outcome(tmp_path / "one")


DIES = """
if "squash" in question and once("death"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("lifecycle", ["fresh", pytest.param("forked", marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_costs_what_it_had_under_way(
    tmp_path: Path, data: Path, lifecycle: str
) -> None:
    whole = expected(tmp_path, "", lifecycle)
    # Each version of the adapter is another system: it has to say the same of itself.
    write_system(tmp_path / "system", DIES)

    code, err = run(tmp_path, lifecycle=lifecycle).ended()

    assert code == 0, err
    assert "Traceback" not in err
    assert outcome(tmp_path / "run") == whole
    assert done_twice(tmp_path / "run") == []
    again = asked_again(tmp_path / "system" / "asked")
    assert len(again) <= 2, again
    assert any("squash" in line for line in again)
    assert all(times == 2 for times in again.values())
    assert not any(map(is_alive, workers(tmp_path / "system")))


ALWAYS_DIES = """
if "dill" in question:
    log("deaths", question)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("lifecycle", ["fresh", pytest.param("growing", marks=pytest.mark.slow)])
def test_a_question_that_kills_every_worker_is_not_answered_and_the_others_are(
    tmp_path: Path, data: Path, lifecycle: str
) -> None:
    write_system(tmp_path / "system", ALWAYS_DIES)

    code, err = run(tmp_path, "--error-budget", 1, lifecycle=lifecycle).ended()

    assert code == 0, err
    assert "Traceback" not in err
    events = list(read_events(tmp_path / "run" / "journal.jsonl"))
    deaths = [event for event in events if isinstance(event, NotAnswered)]
    assert {event.fault for event in deaths} == {"SystemDied"}
    assert "3 workers died when it was asked" in deaths[0].message
    # A worker that answered others before it died is not counted.
    assert 3 <= len(lines(tmp_path / "system" / "deaths")) / len(deaths) <= 4
    assert sum(isinstance(event, Answered) for event in events) == TRIALS - len(deaths)
    assert done_twice(tmp_path / "run") == []
    assert not any(map(is_alive, workers(tmp_path / "system")))


@pytest.mark.slow
def test_a_day_that_kills_every_worker_leaves_its_questions_open(
    tmp_path: Path, data: Path
) -> None:
    system = write_system(tmp_path / "system")
    fed = "        self.days = day\n"
    dying = "        day == 7 and os.kill(os.getpid(), signal.SIGKILL)\n"
    system.write_text(system.read_text().replace(fed, fed + dying))

    code, err = run(tmp_path).ended()

    assert code == 4, err
    assert "3 workers died while gardener@10d#0 was fed" in err
    events = list(read_events(tmp_path / "run" / "journal.jsonl"))
    assert not any(isinstance(event, NotAnswered) for event in events)
    asked = {event.trial.checkpoint for event in events if isinstance(event, Answered)}
    assert asked == {"3d", "5d"}


SLOW = "time.sleep(0.05)"


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_no_worker_and_the_run_goes_on_elsewhere(
    tmp_path: Path, data: Path
) -> None:
    """From several processes to one, and back: with a snapshot left behind by the first."""
    whole = expected(tmp_path, "", "forked")
    write_system(tmp_path / "system", SLOW)
    folder = tmp_path / "run"

    first = run(tmp_path, lifecycle="forked")
    first.until(lambda: answered(folder) >= 5)
    first.signalled(signal.SIGKILL)
    first.ended()

    known = workers(tmp_path / "system")
    assert known
    until(lambda: not any(map(is_alive, known)))
    on_record = {
        str(e.trial) for e in read_events(folder / "journal.jsonl") if isinstance(e, Answered)
    }
    asked_before = len(lines(tmp_path / "system" / "asked"))
    (folder / ".exchange" / "000007").mkdir(parents=True, exist_ok=True)

    second = run(tmp_path, lifecycle="forked", executor="local")
    second.until(lambda: answered(folder) >= len(on_record) + 4)
    second.signalled(signal.SIGKILL)
    second.ended()
    assert not (folder / ".exchange").exists()

    code, err = run(tmp_path, lifecycle="forked").ended()

    assert code == 0, err
    assert outcome(folder) == whole
    assert done_twice(folder) == []
    assert not (folder / ".exchange").exists()
    asked = len(lines(tmp_path / "system" / "asked"))
    assert asked <= TRIALS + 5, "what was on record was asked again"
    assert asked_before <= len(on_record) + 3


def test_an_interrupted_driver_closes_memories_and_leaves_nothing(
    tmp_path: Path, data: Path
) -> None:
    write_system(tmp_path / "system", "time.sleep(0.3)")
    folder = tmp_path / "run"

    command = run(tmp_path, lifecycle="forked")
    command.until(lambda: answered(folder) >= 3)
    assert (folder / ".exchange").exists()
    known = workers(tmp_path / "system")
    command.signalled(signal.SIGINT)
    code, err = command.ended()

    assert code == 130, err
    assert "Traceback" not in err
    assert "interrupted; run the same command again to continue" in err
    assert not any(map(is_alive, known))
    assert not (folder / ".exchange").exists()
    opened, closed = (lines(tmp_path / "system" / name) for name in ("opened", "closed"))
    assert len(closed) >= len(opened) > 0


def test_a_driver_interrupted_while_its_workers_start_is_as_quiet(
    tmp_path: Path, data: Path
) -> None:
    write_system(tmp_path / "system")

    command = run(tmp_path)
    command.until((tmp_path / "run" / "journal.jsonl").exists)
    command.signalled(signal.SIGINT)
    code, err = command.ended()

    assert code == 130, err
    assert "Traceback" not in err


LONG = choose_number(2_000_000, 10_000_000)
LOUD_AND_LONG = f"""
print("I am thinking about", question, flush=True)
os.write(1, b"\\xff\\xff\\xff\\xff")
if "squash" in question:
    return "x" * {LONG}
"""


def test_what_a_system_prints_disturbs_nothing_and_a_huge_answer_arrives(
    tmp_path: Path, data: Path
) -> None:
    write_system(tmp_path / "system", LOUD_AND_LONG)

    code, err = run(tmp_path, "--ranges", "8d").ended()

    assert code == 0, err
    assert "I am thinking about" in err
    events = [e for e in read_events(tmp_path / "run" / "journal.jsonl") if isinstance(e, Answered)]
    assert len(events) == TRIALS
    assert [len(e.answer.text) for e in events if e.trial.item.endswith("7")] == [LONG] * 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("if os.getpid() != DRIVER: raise ImportError('no such library here')", "no such library"),
        ("VERSION = '1' if os.getpid() == DRIVER else '2'", "another system than the plan"),
    ],
)
def test_a_worker_with_another_system_ends_the_run_with_one_sentence(
    tmp_path: Path, data: Path, line: str, says: str
) -> None:
    """The first process to load the system is the driver."""
    system = write_system(tmp_path / "system")
    text = system.read_text().replace('"overlap", "1"', '"overlap", VERSION')
    head = (
        "import os\nfrom pathlib import Path\nVERSION = '1'\n"
        f"NOTE = Path({str(tmp_path / 'driver')!r})\n"
        "if not NOTE.exists(): NOTE.write_text(str(os.getpid()))\n"
        f"DRIVER = int(NOTE.read_text())\n{line}\n"
    )
    system.write_text(head + text)

    code, err = run(tmp_path).ended()

    assert code == 2, err
    assert "Traceback" not in err
    assert err.count("error:") == 1
    assert says in err
    assert not any(map(is_alive, workers(tmp_path / "system")))


HANGS = """
if "squash" in question and self.days == 8:
    log("hanging", str(os.getpid()))
    while not (HERE / "go").exists():
        time.sleep(0.02)
"""


def test_a_stuck_shard_holds_back_no_other(tmp_path: Path, data: Path) -> None:
    whole = expected(tmp_path)
    write_system(tmp_path / "system", HANGS)
    folder = tmp_path / "run"

    command = run(tmp_path, "--timeout", 600_000)
    command.until(lambda: answered(folder, but="8d") == 3 + 5 + 10)
    command.until(lambda: bool(lines(tmp_path / "system" / "hanging")))
    assert answered(folder) < TRIALS
    assert command.process.poll() is None
    (tmp_path / "system" / "go").touch()
    code, err = command.ended()

    assert code == 0, err
    assert done_twice(folder) == []
    assert answered(folder) == TRIALS
    assert outcome(folder)["questions.jsonl"].count(b"\n") == whole["questions.jsonl"].count(b"\n")
