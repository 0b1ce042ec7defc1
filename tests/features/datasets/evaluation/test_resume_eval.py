"""The same command goes on where it stopped, and asks nothing that is on record."""

import signal
import sys
from pathlib import Path

import pytest

from recall_bench.engine.runs.journal import Journal
from tests.commands import Invoke
from tests.features.datasets.evaluation.eval_commands import (
    Adapters,
    Run,
    figures,
    numbers,
    report,
    runner,
    timeless,
)
from tests.warm_commands import run_command


@pytest.fixture
def adapter(tmp_path: Path) -> Adapters:
    return Adapters(tmp_path)


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Run:
    return runner(invoke, tmp_path)


def test_failed_questions_are_put_again_on_request(run: Run, adapter: Adapters) -> None:
    run("--adapter", adapter("if 'Cleo' in question: raise KeyError(question)"), "--skip-qa")

    shown = run("--adapter", adapter(), "--skip-qa", "--retry-errors")

    assert shown.code == 0, shown.err
    assert len(adapter.asked) == 9
    assert report(2)["counts"]["failed"] == 0


INTERRUPTS = """
import os, signal
if len(Path({log!r}).read_text().splitlines()) == {after}:
    os.kill(os.getpid(), signal.SIGINT)
    import time
    time.sleep(0.2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals, as POSIX systems have them")
@pytest.mark.parametrize("after", [1, 6])
def test_an_interrupted_run_has_no_report_and_the_same_command_goes_on(
    run: Run, adapter: Adapters, tmp_path: Path, after: int
) -> None:
    """After one question, and after the whole first conversation: nothing is asked twice."""
    words = ("--skip-qa", "--into", "r")
    log = str(tmp_path / "asked.txt")

    stopped = run("--adapter", adapter(INTERRUPTS.format(log=log, after=after)), *words)

    assert stopped.code == 130
    assert "interrupted; run the same command again to continue" in stopped.err
    assert numbers() == []

    again = run("--adapter", adapter(), *words)
    asked = list(adapter.asked)
    whole = run("--adapter", adapter(), "--skip-qa", "--into", "undisturbed")

    assert again.code == whole.code == 0, again.err
    assert 7 <= len(asked) <= 8, "but for the one that was under way"
    assert timeless(report(1)) == timeless(report(2))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals, as POSIX systems have them")
def test_a_killed_run_goes_on_and_gives_the_same_report(
    run: Run, adapter: Adapters, tmp_path: Path
) -> None:
    dying = adapter(
        "if 'lemons' in question: import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    words = ["eval", "--dataset", "locomo", "--data", str(tmp_path / "locomo10.json")]
    words += ["--no-floors", "--in-process", "--into", "r", "--adapter"]
    assert run_command([*words, dying], cwd=tmp_path) == -signal.SIGKILL
    assert numbers() == []
    before = len(adapter.asked)

    again = run("--adapter", adapter(), "--into", "r")
    asked = len(adapter.asked)
    run("--adapter", adapter(), "--into", "undisturbed")

    assert again.code == 0, again.err
    assert before >= 6, "the first conversation was through"
    assert asked == 8, "what was answered is not asked again, but for the one that killed it"
    assert timeless(report(1)) == timeless(report(2))


def test_a_finished_run_asks_nothing_and_keeps_its_number(run: Run, adapter: Adapters) -> None:
    first = run("--adapter", adapter())

    again = run("--adapter", adapter())

    assert again.code == 0, again.err
    assert again.out == first.out
    assert len(adapter.asked) == 7
    assert "nothing was asked" in again.err
    assert numbers() == ["run-1"]


def test_rebuilding_starts_over_and_leaves_what_is_not_the_runs(
    run: Run, adapter: Adapters
) -> None:
    """Reports and notes of one's own in the run folder are not the run."""
    words = ("--adapter", adapter(), "--into", "r", "--reports", "r/reports", "--floors")
    run(*words)
    Path("r/notes.txt").write_text("keep")
    stale = Path("r/controls/none/stale.txt")
    stale.write_text("of the run before")

    again = run(*words, "--rebuild")

    assert again.code == 0, again.err
    assert len(adapter.asked) == 14
    assert Path("r/notes.txt").read_text() == "keep"
    assert not stale.exists()
    kept = sorted(path.name for path in Path("r/reports/locomo/strict-2").iterdir())
    assert kept == ["run-1", "run-2"]


def test_rebuilding_spares_a_folder_that_is_no_run(run: Run) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("chapter one")

    shown = run("--adapter", "bm25", "--into", "mine", "--rebuild")

    assert shown.code == 2
    assert "--rebuild: mine holds no run of recall-bench and was not changed" in shown.err
    assert Path("mine/thesis.txt").exists()


def test_rebuilding_spares_a_run_that_is_under_way(run: Run) -> None:
    run("--adapter", "bm25", "--into", "r", "--skip-qa")
    before = Path("r/journal.jsonl").read_bytes()

    with Journal(Path("r/journal.jsonl")):
        shown = run("--adapter", "bm25", "--into", "r", "--skip-qa", "--rebuild")

    assert shown.code == 2
    assert "r: another run is writing to this folder" in shown.err
    assert Path("r/journal.jsonl").read_bytes() == before
    assert Path("r/result.json").exists()


def test_recorded_answers_are_judged_without_the_system(run: Run, adapter: Adapters) -> None:
    run("--adapter", adapter(), "--into", "first")
    adapter("raise AssertionError('asked again')")

    again = run("--answers-from", "first", "--into", "second", "--protocol", "official")

    assert again.code == 0, again.err
    assert len(adapter.asked) == 7
    official = report(1, "reports/locomo/official-1")
    assert official["system"]["name"] == "overlap"
    assert official["counts"]["answered"] == 7
    assert figures(official)["locomo/official"] == figures(report())["locomo/official"]


def test_recorded_failures_stay_failures(run: Run, adapter: Adapters) -> None:
    run("--adapter", adapter("if 'Ada' in question: raise KeyError(1)"), "--into", "first")

    again = run("--answers-from", "first", "--into", "second", "--protocol", "official")

    assert again.code == 5
    assert report(1, "reports/locomo/official-1")["counts"]["failed"] == 4


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--answers-from", "first", "--categories", "temporal"], "was asked other questions"),
        (["--answers-from", "first", "--max-scenarios", "1"], "was asked other questions"),
        (["--answers-from", "first", "--into", "first"], "holds the answers themselves"),
        (["--answers-from", "gone"], "there is no folder gone"),
    ],
)
def test_answers_that_do_not_fit_are_refused(run: Run, words: list[str], complaint: str) -> None:
    run("--adapter", "bm25", "--into", "first", "--skip-qa")

    shown = run(*words, "--skip-qa")

    assert shown.code == 2
    assert complaint in shown.err
    assert numbers() == ["run-1"]


def test_finds_on_record_cannot_be_judged_as_answers(run: Run, adapter: Adapters) -> None:
    run("--adapter", adapter(answers=False), "--into", "first", "--skip-qa")

    shown = run("--answers-from", "first", "--into", "second")

    assert shown.code == 2
    assert "first holds passages but no answers; add --skip-qa" in shown.err
