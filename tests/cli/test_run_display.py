"""Progress counts each trial once, however often it is spoken of, and says what went wrong."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from recall_bench.cli.run_display import RunWatch
from recall_bench.core.event import Declared, Event, FeedFailed, NotAnswered
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.engine.experiment import write_progress_file
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import PROGRESS
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from tests.ada_trials import NEW, NOW, OLD, RIGHT, WRONG, answered, judged
from tests.written_runs import ALL_OF_ADA, ada_story


class Shown:
    """Keeps what would be displayed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.counts: list[tuple[int, int, str]] = []

    def update(self, done: int, owed: int, doing: str) -> None:
        self.counts.append((done, owed, doing))

    def print_line(self, line: str) -> None:
        self.lines.append(line.strip())


def job_of(plan: Plan, items: Sequence[Item] = (), **settings: Any) -> Job:
    """What a watcher may ask of a job."""
    declared = Declared(at=NOW, scenario="ada", items=tuple(items), days=(1, 2, 3))
    return Job(
        settings=Settings(**settings),
        plan=plan,
        folder=Path("nowhere"),
        components=cast("Any", None),
        questions={"ada": declared},
    )


def watched(states: TrialStates, events: Sequence[Event], job: Job | None = None) -> Shown:
    shown = Shown()
    watch = RunWatch(job or job_of(states.plan), shown)
    for event in events:
        states.apply_event(event)
        watch(event, states)
    return shown


def test_a_review_is_not_another_trial(states: TrialStates) -> None:
    shown = watched(
        states,
        [
            answered(OLD),
            judged(OLD),
            answered(NEW),
            judged(NEW, WRONG, primary=WRONG),
            judged(OLD, WRONG, primary=RIGHT),
        ],
    )

    assert [count[:2] for count in shown.counts] == [(1, 2), (2, 2), (2, 2)]
    assert shown.counts[-1][2] == "ada, reviewing"
    assert sum("[1/2] ada" in line for line in shown.lines) == 1


def test_progress_is_that_of_the_whole_journal_though_it_grows(tmp_path: Path) -> None:
    story = ada_story(tmp_path)
    path = story.save()
    job = replace(job_of(story.open().plan), folder=path)
    job.view = RunFolder.open(path)
    for each in ALL_OF_ADA:
        story.settle("ada", each.checkpoint)
        story.both(each)
        story.save()
        job.view.read_on()
        write_progress_file(job)

    export_files(RunFolder.open(path), progress=tmp_path / "whole.jsonl")
    written = (path / PROGRESS).read_bytes()
    assert written == (tmp_path / "whole.jsonl").read_bytes()
    assert written.count(b"\n") == 1 + len(job.plan.checkpoints)


def test_trials_of_an_earlier_process_are_counted_when_it_goes_on(states: TrialStates) -> None:
    states.apply_event(answered(OLD))
    states.apply_event(judged(OLD))

    shown = watched(states, [answered(NEW), judged(NEW)])

    assert shown.counts[-1][:2] == (2, 2)


def test_a_failed_question_is_a_trial_done(states: TrialStates) -> None:
    failed = NotAnswered(at=NOW, trial=OLD, fault="SystemTimeout", message="late", seconds=1.0)

    shown = watched(states, [failed])

    assert shown.counts[-1][:2] == (1, 2)
    assert "not answered, SystemTimeout: late" in shown.lines[0]


def test_what_was_spent_so_far_is_shown_as_it_goes(states: TrialStates) -> None:
    spent = judged(OLD, usage=Usage(calls=1, cost_usd=0.5))

    shown = watched(states, [answered(OLD), spent])

    assert shown.counts[-1][2] == "ada, 2d, $0.50"


def test_the_first_review_of_a_kind_to_fail_is_said_at_once(states: TrialStates) -> None:
    shown = watched(
        states,
        [
            answered(OLD),
            judged(OLD, review_fault="JudgeTimeout: no verdict within 2 s"),
            answered(NEW),
            judged(NEW, review_fault="JudgeTimeout: no verdict within 3 s"),
        ],
    )

    assert sum("not reviewed, JudgeTimeout" in line for line in shown.lines) == 1


def test_a_part_counts_what_it_owes_itself(states: TrialStates, scenario: Scenario) -> None:
    for number, trial in enumerate((NEW, OLD), start=1):
        job = job_of(states.plan, scenario.items, shard=f"{number}/2")

        shown = watched(deepcopy(states), [answered(trial), judged(trial)], job)

        assert [count[:2] for count in shown.counts] == [(1, 1)]
        assert sum("ada" in line for line in shown.lines) == 1


def test_the_first_feeding_that_fails_is_said(states: TrialStates) -> None:
    failed = FeedFailed(
        at=NOW, scenario="ada", checkpoint="2d", stage="ingest", fault="SystemFault", message="full"
    )

    shown = watched(states, [failed, failed])

    assert shown.lines == ["[bench] ada: ingest failed, SystemFault: full"]
