"""`canaries update` and `canaries check`: what is kept, what is printed, what is refused."""

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.canaries_command import canaries_command
from recall_bench.reporting.analyses.canaries import read_canaries
from tests.reporting.simulated_runs import LABELS, questions, write_run, write_run_at
from tests.written_runs import trial


def a_run(folder: Path, *bad: str, start: datetime | None = None, **settings: object) -> Path:
    """Twelve questions asked twice at two sizes; these make something up every time."""
    items = questions(12)
    points = {
        trial(item.id, label, repeat=repeat): 0 if item.id in bad else 6
        for item in items
        for label in LABELS
        for repeat in (0, 1)
    }
    if start is not None:
        return write_run_at(start, folder, items, points, repeats=2, **settings)
    return write_run(folder, items, points, repeats=2, **settings)


def canaries(*words: object) -> Result:
    return CliRunner().invoke(
        canaries_command, [str(word) for word in words], catch_exceptions=False
    )


def on_file(path: Path) -> list[str]:
    return [each.question for each in read_canaries(path)]


def test_an_update_keeps_the_canaries_of_a_run_and_names_them(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"

    said = canaries("update", a_run(tmp_path / "run", "q3", "q5"), "--file", file)

    assert said.exit_code == 0
    assert "new          2 · hallucinates reliably" in said.output
    assert "ada/q3" in said.output
    assert on_file(file) == ["q3", "q5"]
    assert said.stderr == f"{file}: 2 kept\n"


def test_a_check_names_what_changed_and_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"
    canaries("update", a_run(tmp_path / "one", "q3", "q5"), "--file", file)
    before = file.read_bytes()

    said = canaries("check", a_run(tmp_path / "two", "q5", "q7"), "--file", file)

    assert said.exit_code == 0
    rows = [" ".join(line.split()) for line in said.output.splitlines()]
    assert any(row.startswith("new ") and "ada/q7 " in row for row in rows)
    assert any(row.startswith("healed ") and "ada/q3 " in row for row in rows)
    assert "still        1" in said.output
    assert file.read_bytes() == before


def test_a_second_update_says_what_changed_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"
    canaries("update", a_run(tmp_path / "one", "q3", "q5"), "--file", file)

    said = canaries("update", a_run(tmp_path / "two", "q5", "q7"), "--file", file)

    assert re.search(r"^healed .* ada/q3 ", said.output, re.MULTILINE)
    assert on_file(file) == ["q5", "q7"]


def test_the_same_update_twice_changes_no_byte(tmp_path: Path) -> None:
    file, run = tmp_path / "canaries.json", a_run(tmp_path / "run", "q3")
    canaries("update", run, "--file", file)
    before = file.read_bytes()

    canaries("update", run, "--file", file)

    assert file.read_bytes() == before


def test_several_runs_are_taken_together(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"

    canaries(
        "update", a_run(tmp_path / "one", "q3", seed=1), a_run(tmp_path / "two", "q3", seed=2),
        "--file", file,
    )  # fmt: skip

    (canary,) = read_canaries(file)
    assert (canary.asked, canary.runs, canary.sizes, canary.repeats) == (8, 2, 2, 2)


def test_everything_is_json_too(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"
    run = a_run(tmp_path / "run", "q3")

    updated = json.loads(canaries("update", run, "--file", file, "--json").stdout)
    checked = json.loads(canaries("check", run, "--file", file, "--json").output)

    assert [each["change"] for each in updated["watched"]] == ["new"]
    assert [each["change"] for each in checked["watched"]] == ["still"]
    assert checked["watched"][0]["canary"]["question"] == "q3"


def test_a_run_named_twice_is_not_two_runs(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", "q3")
    shutil.copytree(run, tmp_path / "copy")

    for other in (run, tmp_path / "copy"):
        with pytest.raises(UsageError, match="are the same run, or its answers judged again; name"):
            canaries("update", run, other, "--file", tmp_path / "canaries.json")
    assert not (tmp_path / "canaries.json").exists()


def test_answers_that_were_judged_again_are_not_a_second_run(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", "q3")
    first, judge = RunFolder.open(run), JudgeCard(name="other", version="3")
    # A story's clock ticks once before the run begins.
    start, digest = first.started - timedelta(seconds=1), first.plan.digest
    again = a_run(tmp_path / "again", "q3", start=start, judge=judge, answers_from=digest)
    once_more = a_run(tmp_path / "more", "q3", start=start, answers_from=digest)

    for one, other in ((run, again), (again, once_more)):
        with pytest.raises(UsageError, match="or its answers judged again; name one of them"):
            canaries("update", one, other, "--file", tmp_path / "canaries.json")
    assert canaries("update", again, "--file", tmp_path / "canaries.json").exit_code == 0


def test_runs_without_a_real_verdict_are_refused(tmp_path: Path) -> None:
    stub = a_run(tmp_path / "stub", "q3", judge=JudgeCard(name="stub", version="1"))
    unjudged = write_run(tmp_path / "unjudged", questions(3), {})

    for run in (stub, unjudged):
        with pytest.raises(UsageError, match="no answer was judged for grounding"):
            canaries("update", run, "--file", tmp_path / "canaries.json")
    assert not (tmp_path / "canaries.json").exists()


def test_a_check_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`recall-bench canaries update` makes a file"):
        canaries("check", a_run(tmp_path / "run"), "--file", tmp_path / "none.json")


def test_a_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"
    file.write_text("mine", encoding="utf-8")

    with pytest.raises(DataError, match="is not a file of canaries"):
        canaries("update", a_run(tmp_path / "run", "q3"), "--file", file)
    assert file.read_text(encoding="utf-8") == "mine"
