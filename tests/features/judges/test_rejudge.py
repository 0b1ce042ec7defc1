"""`rejudge` grades recorded answers again: same answers, other judge, another folder, no system."""

import json
import signal
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core import atomic_file
from recall_bench.core.event import Answered
from recall_bench.core.memory import Answer
from recall_bench.engine.runs.journal import JOURNAL, Journal, read_events, read_events_of
from recall_bench.engine.runs.recorded_answers import RecordedRun
from tests.commands import Invoke, Shown
from tests.engine.result_views import done_twice, views
from tests.gardener import question, write_persona
from tests.warm_commands import run_command

HARSH = """
def judge(exhibit):
    right = exhibit.item.truth.reference.strip(".") in exhibit.answer.text
    return {"correctness": 3 if right else 0, "completeness": 2 if right else 0, "grounded": 1}
"""

LENIENT = "def judge(exhibit): return {'correctness': 3, 'completeness': 2, 'grounded': 1}\n"

Run = Callable[..., Shown]


@pytest.fixture
def recorded(invoke: Invoke, data: Path) -> Run:
    """Run the gardener against `bm25` into the folder `old`."""

    def run(*flags: object) -> Shown:
        adapter = () if "--adapter" in flags else ("--adapter", "bm25")
        words = ("--data", data, "--ranges", "5d,10d", "--into", "old", "--no-heatmap-png")
        return invoke("run", *words, *adapter, *flags)

    return run


@pytest.fixture
def again(invoke: Invoke, data: Path) -> Run:
    """Judge `old` again into the folder `new`."""

    def rejudge(*flags: object) -> Shown:
        into = () if "--into" in flags else ("--into", "new")
        place = () if "--data" in flags else ("--data", data)
        return invoke("rejudge", "old", *place, *into, "--no-heatmap-png", *flags)

    return rejudge


def events(folder: str, *kinds: str) -> list[dict[str, Any]]:
    """The events of these kinds, without the checksums of their lines."""
    rows = map(msgspec.to_builtins, read_events(Path(folder, JOURNAL)))
    return [row for row in rows if row["type"] in kinds]


def marks(folder: str) -> dict[str, object]:
    """The last verdict's marks of each trial."""
    return {
        json.dumps(event["trial"]): event["verdict"]["marks"] for event in events(folder, "judged")
    }


def plan(folder: str) -> dict[str, Any]:
    [started] = events(folder, "run_started")
    found = started["plan"]
    assert isinstance(found, dict)
    return found


def judge(text: str, name: str = "judge.py") -> str:
    Path(name).write_text(text)
    return name


@pytest.mark.slow
def test_the_sample_persona_judged_again_by_the_same_judge_has_the_same_marks(
    invoke: Invoke,
) -> None:
    """No folder is given: the persona comes with the package."""
    words = ("--adapter", "bm25", "--ranges", "10d,20d", "--no-heatmap-png")
    invoke("run", *words, "--into", "old")

    shown = invoke("rejudge", "old", "--judge", "offline", "--into", "new")

    assert shown.code == 0, shown.err
    assert len(marks("old")) > 40
    assert marks("new") == marks("old")
    assert {path.name for path in Path("new").iterdir() if not path.name.startswith(".")} == {
        "failures.jsonl",
        "heatmap.png",
        "heatmap.svg",
        "journal.jsonl",
        "progress.jsonl",
        "questions.jsonl",
        "result.json",
    }
    assert "+0" in shown.out
    assert "-0" in shown.out


def test_a_python_judge_gives_the_same_marks_again(recorded: Run, again: Run) -> None:
    path = judge(HARSH)
    recorded("--judge", path)

    shown = again("--judge", path)

    assert shown.code == 0, shown.err
    assert len(marks("new")) == 15
    assert marks("new") == marks("old")


def test_the_new_run_is_reported_in_short_and_its_tables_with_verbose(
    recorded: Run, again: Run
) -> None:
    recorded()

    brief, complete = again("--judge", "stub"), again("--judge", "stub", "-v")

    assert "\nResult " in brief.out
    assert "checkpoint   fed to" not in brief.out
    assert "checkpoint   fed to" in complete.out
    for shown in (brief, complete):
        assert "Judged again · 15 answers" in shown.out
        assert "Page         recall-bench report new" in shown.out


def test_quiet_prints_no_progress(recorded: Run, again: Run) -> None:
    recorded()

    shown = again("--judge", "stub", "-q")

    assert "run folder:" not in shown.err
    assert "files:" not in shown.err
    assert "Judged again" in shown.out


def test_the_system_is_needed_no_more(
    recorded: Run, again: Run, adapter: Callable[..., Path]
) -> None:
    path = adapter()
    recorded("--adapter", path)
    path.unlink()

    shown = again("--judge", judge(HARSH))

    assert shown.code == 0, shown.err
    assert plan("new")["system"] == plan("old")["system"]
    assert "overlap" in shown.out


def test_the_plan_is_the_old_one_with_another_judge(recorded: Run, again: Run) -> None:
    recorded("--judge-memory-window", "3", "--review", "failures", "--sample", "4")

    again("--judge", "stub")

    old, new = plan("old"), plan("new")
    assert new.pop("judge")["name"] == "stub"
    assert len(new.pop("answers_from")) == 64
    assert old.pop("judge")["name"] == "offline"
    assert new == old
    assert new["judge_memory_window"] == 3
    assert new["review"] == "failures"


def test_what_is_given_wins_over_what_the_run_had(recorded: Run, again: Run) -> None:
    recorded("--judge-memory-window", "3", "--review", "failures", "--judge-timeout", "5000")

    again("--judge-memory-window", "1", "--review", "balanced", "--appellate-judge", "stub")

    new = plan("new")
    assert new["judge_memory_window"] == 1
    assert "review" not in new, "balanced is the default, and defaults are left out"
    assert new["appellate"]["name"] == "stub"
    assert new["judge_timeout_s"] == 5


def test_a_chain_of_judges_still_names_the_run_that_asked(
    recorded: Run, again: Run, invoke: Invoke, data: Path
) -> None:
    recorded()
    again("--judge", "stub")

    invoke("rejudge", "new", "--data", data, "--into", "newer", "--no-heatmap-png")

    assert plan("newer")["answers_from"] == plan("new")["answers_from"]
    assert marks("newer") == marks("old")


def test_the_table_says_what_changed_by_category(recorded: Run, again: Run) -> None:
    recorded("--adapter", "none", "--judge", judge(HARSH, "harsh.py"))

    shown = again("--judge", judge(LENIENT, "lenient.py"))

    assert "before  harsh.py" in shown.out
    assert "after   lenient.py" in shown.out
    [row] = [
        line.split()
        for line in shown.out.splitlines()
        if line.startswith("factual-recall") and "→" in line
    ]
    assert row == "factual-recall 15 0.00 → 3.00 0.00 → 2.00 1.00 → 1.00 +15 -0".split()


def test_what_changed_comes_as_json_too(recorded: Run, again: Run) -> None:
    recorded("--judge", judge(LENIENT, "lenient.py"))

    shown = again("--judge", "stub", "--json")

    changes = json.loads(shown.out)
    assert changes["overall"] == {
        "answers": 15,
        "before": {"correctness": 3.0, "completeness": 2.0, "grounded": 1.0},
        "after": {"correctness": 0.0, "completeness": 0.0, "grounded": 0.0},
        "gained": 0,
        "lost": 15,
    }
    assert list(changes["categories"]) == ["factual-recall"]


def test_an_answer_judged_once_only_is_counted_apart(recorded: Run, again: Run) -> None:
    once = "    if 'leeks' in exhibit.item.text: raise RuntimeError('tired')\n"
    recorded("--judge", judge(HARSH.replace("):\n", "):\n" + once)))

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err
    assert "2 answers have a verdict in only one of the runs" in shown.out
    assert "Judged again · 13 answers" in shown.out


DOWN = """
import os
if not os.path.exists("up"):
    raise ValueError("down")
return "Bed 7."
"""


def test_the_systems_failures_are_carried_over(
    recorded: Run, again: Run, adapter: Callable[..., Path]
) -> None:
    recorded("--adapter", adapter(query=DOWN), "--retry-errors")

    shown = again()

    assert shown.code == 5
    assert "failed at 15 of 15 questions in old" in shown.err
    assert events("new", "not_answered") == events("old", "not_answered")
    assert events("new", "judged") == []


def test_the_last_word_on_a_trial_counts(
    recorded: Run, again: Run, adapter: Callable[..., Path]
) -> None:
    """Every question failed at first; put again, it was answered."""
    path = adapter(query=DOWN)
    recorded("--adapter", path)
    Path("up").touch()
    recorded("--adapter", path, "--retry-errors")
    assert len(events("old", "answered", "not_answered")) == 30

    shown = again("--judge", judge(HARSH))

    assert shown.code == 0, shown.err
    assert events("new", "answered", "not_answered") == events("old", "answered")
    assert len(events("new", "judged")) == 15


def test_everything_about_asking_is_carried_over_and_no_verdict(recorded: Run, again: Run) -> None:
    recorded()

    again("--judge", "stub")

    course = ("declared", "ingested", "settled", "answered")
    assert events("new", *course) == events("old", *course)
    assert events("old", "ingested")
    assert {event["verdict"]["reason"] for event in events("new", "judged")} == {
        "stub judge: nothing was read"
    }


def test_the_source_is_left_alone(recorded: Run, again: Run) -> None:
    recorded()
    before = {path: path.read_bytes() for path in Path("old").iterdir()}

    refused = again("--judge", "stub", "--into", "old")
    aliased = again("--judge", "stub", "--into", "old/../old")
    again("--judge", "stub")

    assert (refused.code, aliased.code) == (2, 2)
    assert all("stays as it is" in shown.err for shown in (refused, aliased))
    assert {path: path.read_bytes() for path in Path("old").iterdir()} == before


def test_the_same_command_again_judges_nothing(recorded: Run, again: Run) -> None:
    recorded()
    again("--judge", "stub")
    before = Path("new", JOURNAL).read_bytes()

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err
    assert Path("new", JOURNAL).read_bytes() == before


def test_without_a_folder_the_plan_names_one(recorded: Run, invoke: Invoke, data: Path) -> None:
    recorded()

    for _ in range(2):
        words = ("--data", data, "--judge", "stub", "--no-heatmap-png")
        assert invoke("rejudge", "old", *words).code == 0

    [folder] = Path("recall-runs").iterdir()
    assert folder.name.startswith("bm25-")


def test_another_judge_needs_another_folder(recorded: Run, again: Run) -> None:
    recorded()
    again("--judge", "stub")

    shown = again("--judge", judge(HARSH))

    assert shown.code == 2
    assert "other judge (stub 1, now judge.py" in shown.err


def test_two_runs_with_one_plan_are_not_mistaken_for_each_other(
    recorded: Run, again: Run, invoke: Invoke, data: Path
) -> None:
    recorded()
    again("--judge", "stub")
    Path("old").rename("older")
    recorded()

    shown = again("--judge", "stub")

    assert shown.code == 2
    assert "holds the answers of another run" in shown.err


def test_an_unfinished_run_stays_unfinished_and_says_so(
    recorded: Run, again: Run, adapter: Callable[..., Path]
) -> None:
    """The system vanishes after the first checkpoint, and later comes back."""
    body = """
    import os
    if len(self.lines) > 50 and not os.path.exists("up"):
        raise ConnectionRefusedError("nobody there")
    return "Bed 7."
    """
    path = adapter(query=body)
    assert recorded("--adapter", path).code == 4

    shown = again("--judge", "stub")
    assert shown.code == 4
    assert "old is unfinished, 10 questions were never asked" in shown.err
    assert "10 questions were never asked in old; finish that run" in shown.err
    assert "UNFINISHED" in shown.out
    assert len(events("new", "judged")) == 5
    assert events("new", "run_ended") == []

    Path("up").touch()
    assert recorded("--adapter", path).code == 0
    stale = again("--judge", "stub")
    assert stale.code == 2
    assert "old has gone on since its answers were copied to new" in stale.err
    assert again("--judge", "stub", "--into", "newer").code == 0


def question_changed(data: Path) -> None:
    questions = data / "gardener" / "qa-10d" / "questions.yaml"
    questions.write_text(questions.read_text().replace("Bed 7.", "Bed 8."))


def day_changed(data: Path) -> None:
    day = data / "gardener" / "memories-10d" / "day-0003.md"
    day.write_text(day.read_text().replace("kale", "rye"))


def both_changed(data: Path) -> None:
    question_changed(data)
    day_changed(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (question_changed, "gardener: its questions in"),
        (day_changed, "gardener: its days in"),
        (both_changed, "gardener: no story of it in"),
    ],
)
def test_a_changed_dataset_is_refused(
    recorded: Run, again: Run, data: Path, change: Callable[[Path], None], said: str
) -> None:
    recorded()
    change(data)

    shown = again()

    assert shown.code == 3
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--data", "nowhere"), "--data: nowhere has no persona gardener"),
        (("--judge", "nobody"), "no judge named 'nobody'"),
        (("--judge", "none.py"), "none.py"),
        (("--into", ""), "--into"),
    ],
)
def test_a_bad_option_is_one_sentence(
    recorded: Run, again: Run, flags: tuple[str, ...], said: str
) -> None:
    recorded()

    shown = again(*flags)

    assert shown.code == 2
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not Path("new").exists()


def test_a_persona_that_is_not_shipped_has_to_be_shown(recorded: Run, invoke: Invoke) -> None:
    recorded()

    shown = invoke("rejudge", "old", "--into", "new")

    assert shown.code == 2
    assert "gardener, which the run used, does not ship with the package" in shown.err
    assert "--data" in shown.err


def test_there_has_to_be_a_run(invoke: Invoke) -> None:
    shown = invoke("rejudge", "nowhere")

    assert shown.code == 2
    assert "there is no folder nowhere; runs are in recall-runs/" in shown.err


def test_the_right_story_is_found_among_several(recorded: Run, again: Run, data: Path) -> None:
    recorded()
    other = write_persona(data / "elsewhere", days=8)
    for name in ("arcs-{}.yaml", "memories-{}", "qa-{}"):
        (other / name.format("10d")).rename(data / "gardener" / name.format("08d"))

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err


def test_a_profile_says_how_to_judge_and_not_where(recorded: Run, invoke: Invoke) -> None:
    recorded()
    Path("profile.yaml").write_text(
        "persona: {id: gardener, dir: data/gardener}\n"
        "models: {judge: stub}\n"
        "run: {judgeMemoryWindow: 2, into: old, ranges: 5d, review: failures, seed: 7}\n"
    )

    shown = invoke("rejudge", "old", "--profile", "profile.yaml", "--no-heatmap-png")

    assert shown.code == 0, shown.err
    [new] = map(str, Path("recall-runs").iterdir())
    assert plan(new)["judge"]["name"] == "stub"
    assert plan(new)["judge_memory_window"] == 2
    assert plan(new)["checkpoints"] == plan("old")["checkpoints"]


class PowerCut(BaseException):
    """Not an Exception: nothing in the harness may catch it."""


def test_days_are_read_as_the_run_read_them(recorded: Run, again: Run, data: Path) -> None:
    """Day 4 is missing on purpose, and every day dates itself a day late."""
    folder = data / "gardener"
    (folder / "memories-10d" / "day-0004.md").unlink()
    asked = "".join(question("gardener", day) for day in range(1, 11) if day != 4)
    (folder / "qa-10d" / "questions.yaml").write_text(asked)
    for path in (folder / "memories-10d").iterdir():
        late = date(2025, 4, 1) + timedelta(days=int(path.stem[-4:]))
        path.write_text(path.read_text().replace("type: daily", f"type: daily\ndate: {late}"))
    assert recorded("--allow-gaps", "--calendar", "text").code == 0

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err
    assert plan("new")["calendar"] == "text"
    assert len(marks("new")) == 13


def test_a_run_that_goes_on_meanwhile_is_taken_as_it_stood(recorded: Run) -> None:
    recorded()
    source = RecordedRun.open(Path("old"))
    known = events("old", "answered")
    answered = next(read_events_of(Path("old", JOURNAL), Answered))
    with Journal(Path("old", JOURNAL)) as journal:
        journal.append(answered.replace(answer=Answer(text="Something else.")))

    source.copy_answers(source.folder.plan, Path("new"))

    assert events("new", "answered") == known


def test_a_copy_that_was_cut_short_is_made_again(
    recorded: Run, again: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power fails before the copy is whole, and what there is of it is never used."""
    recorded()

    def fail(_: int) -> None:
        raise PowerCut

    with monkeypatch.context() as cut:
        cut.setattr("os.fsync", fail)
        with pytest.raises(PowerCut):
            again("--judge", "stub")
    atomic_file._SWEPT.clear()  # the next command has a process of its own
    machine = atomic_file.identify_process().rpartition("-")[2]
    ended = Path(f"new/.journal.jsonl.400001-0-{machine}.0.part")
    ended.write_bytes(Path("old", JOURNAL).read_bytes()[:1000])
    assert not Path("new", JOURNAL).exists()

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err
    assert events("new", "answered") == events("old", "answered")
    assert len(events("new", "judged")) == 15
    assert not list(Path("new").glob(".journal*part"))


def test_a_journal_that_was_only_opened_is_begun_anew(recorded: Run, again: Run) -> None:
    recorded()
    Path("new").mkdir()
    Path("new", JOURNAL).touch()

    shown = again("--judge", "stub")

    assert shown.code == 0, shown.err
    assert len(events("new", "judged")) == 15


@pytest.mark.parametrize("events_until_death", [0, 1, 5, 14])
def test_a_killed_rejudging_goes_on_where_it_was(
    recorded: Run, again: Run, data: Path, events_until_death: int
) -> None:
    recorded("--adapter", "none")
    path = judge(HARSH)
    words = ["rejudge", "old", "--data", str(data), "--judge", path, "--no-heatmap-png"]
    assert run_command([*words, "--into", "new"], events=events_until_death) == -signal.SIGKILL

    shown = again("--judge", path)
    whole = again("--judge", path, "--into", "whole")

    assert shown.code == whole.code == 0, shown.err
    assert done_twice(Path("new")) == []
    assert views(Path("new")) == views(Path("whole"))


def test_a_folder_in_use_is_left_alone(recorded: Run, again: Run) -> None:
    recorded()
    Path("new").mkdir()

    with Journal(Path("new", JOURNAL)):
        shown = again("--judge", "stub")

    assert shown.code == 2
    assert "another run is writing" in shown.err
    assert Path("new", JOURNAL).read_bytes() == b""


@pytest.mark.slow
def test_a_shipped_story_is_found_again_though_it_is_not_the_usual_one(invoke: Invoke) -> None:
    words = ("--personas", "executive-assistant", "--arcs", "arcs-180d.yaml", "--ranges", "15d")
    invoke("run", *words, "--adapter", "none", "--into", "old", "--no-heatmap-png")

    shown = invoke("rejudge", "old", "--judge", "stub", "--into", "new", "--no-heatmap-png")

    assert shown.code == 0, shown.err
    assert plan("new")["scenarios"] == plan("old")["scenarios"]
    assert len(marks("new")) == len(marks("old")) > 10
