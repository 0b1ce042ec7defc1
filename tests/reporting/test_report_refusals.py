"""What has no marks is not reported, and what cannot be weighed together is not."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import Checkpoint, DatasetCard, Ingest
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.report_sections import describe_canaries
from recall_bench.reporting.run_report import RunReport, build_report
from recall_bench.reporting.sections import Fact
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import ALL_OF_ADA, PERFECT, POOR, ada_story, trial

OTHER = SystemCard(name="other", version="2")
STUB = JudgeCard(name="stub", version="1")
CARD = DatasetCard(name="d", files=(), protocol="d/strict", eval_version="d-1")


def finished(folder: Path, verdict: Verdict = POOR, **settings: object) -> RunFolder:
    story = ada_story(folder, **settings)
    for each in ALL_OF_ADA:
        story.both(each, verdict)
    story.end()
    return story.open()


def partly(folder: Path, **settings: object) -> RunFolder:
    story = ada_story(folder, system=OTHER, **settings)
    story.both(ALL_OF_ADA[0])
    return story.open()


def broken(folder: Path) -> RunFolder:
    story = ada_story(folder, system=OTHER)
    for each in ALL_OF_ADA:
        story.not_answered(each)
    story.end()
    return story.open()


def report(folder: RunFolder, *beside: RunFolder) -> RunReport:
    return build_report(folder, read_trials(folder), beside=beside)


def test_a_run_beside_one_that_is_alike_is_weighed(tmp_path: Path) -> None:
    found = report(finished(tmp_path / "a"), finished(tmp_path / "b", PERFECT, system=OTHER))

    assert [each.name for each in found.paretos[0].contenders] == ["other 2", "scripted 1"]


@pytest.mark.parametrize(
    "settings",
    [
        {"ingest": Ingest.CONVERSATIONS},
        {"top_k": 3},
        {"reader": ReaderCard(name="extractive", version="1")},
    ],
)
def test_another_way_of_running_a_system_may_be_weighed(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    first = finished(tmp_path / "a", reader=ReaderCard(name="model", version="1"))

    assert report(first, finished(tmp_path / "b", POOR, **settings)).paretos


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"judge": JudgeCard(name="other", version="3")}, "judge (exact 1"),
        ({"dry_run": True}, "checkpoints (2d, 4d against 2d)"),
        ({"checkpoints": (Checkpoint(label="2d", days=2),)}, "checkpoints (2d, 4d against 2d)"),
        ({"groups_enabled": True}, "group questions (off against on)"),
        ({"dataset": CARD}, "dataset protocol (none against d/strict d-1)"),
        ({"repeats": 2}, "repeats (1 against 2)"),
    ],
)
def test_a_run_that_is_unlike_is_refused_by_what_differs(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    story = ada_story(tmp_path / "b", system=OTHER, **settings)
    labels = ("2d",) if settings.keys() & {"dry_run", "checkpoints"} else ("2d", "4d")
    for each in ALL_OF_ADA:
        for repeat in range(2 if "repeats" in settings else 1):
            if each.checkpoint in labels:
                story.both(each.replace(repeat=repeat))
    story.end()

    with pytest.raises(UsageError, match=r"--beside .*b: differs from .*a in ") as refused:
        report(finished(tmp_path / "a"), story.open())

    assert said in str(refused.value)


def test_other_questions_are_refused(tmp_path: Path) -> None:
    items = questions(3)
    other = write_run(
        tmp_path / "b", items, {trial(item.id, label): 3 for item in items for label in LABELS}
    )
    opened = RunFolder.open(other)
    plan = opened.plan
    (card,) = plan.scenarios
    opened.plan = plan.replace(scenarios=(card.replace(questions_digest="new"),), system=OTHER)

    with pytest.raises(UsageError, match="in questions of ada"):
        report(finished(tmp_path / "a"), opened)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (partly, r"b: the run is unfinished \(4 of 5 trials open\); finish or repair it, or"),
        (broken, r"b: the run is invalid \(5 of 5 trials failed"),
        (
            lambda folder: finished(folder, system=OTHER, judge=STUB),
            "b: the stub judge graded nothing; judge it first, or report without --beside",
        ),
    ],
)
def test_a_run_that_does_not_hold_is_refused(
    tmp_path: Path, other: Callable[[Path], RunFolder], said: str
) -> None:
    sound, unsound = finished(tmp_path / "a"), other(tmp_path / "b")

    for first, second in ((sound, unsound), (unsound, sound)):
        with pytest.raises(UsageError, match=said):
            report(first, second)
    assert report(unsound).paretos == (), "alone it is reported as what it is"


def test_a_run_is_not_weighed_against_itself(tmp_path: Path) -> None:
    run = finished(tmp_path / "a")
    copy = RunFolder.open(shutil.copytree(run.path, tmp_path / "copy"))
    again = finished(tmp_path / "again", answers_from=run.plan.digest)
    other = finished(tmp_path / "b", system=OTHER)

    for beside in ((run,), (copy,), (again,), (other, copy), (other, other)):
        with pytest.raises(UsageError, match=r"--beside .*: holds the same answers as .*; name"):
            report(run, *beside)


def test_a_run_that_was_measured_is_not_reported_by_what_it_failed_at(tmp_path: Path) -> None:
    story = ada_story(tmp_path, dataset=CARD, error_budget=0.5)
    story.not_answered(ALL_OF_ADA[0])
    for each in ALL_OF_ADA[1:]:
        story.both(each, Verdict(score=1.0))
    story.end()

    with pytest.raises(UsageError, match=r"d/strict, which gives no marks of 6; its own result"):
        report(story.open())


def test_a_dataset_that_was_judged_with_marks_is_reported(tmp_path: Path) -> None:
    found = report(finished(tmp_path, dataset=CARD))

    assert found.header.overall is not None
    assert found.header.overall.value == 2.0


def test_nothing_that_the_stub_judged_is_a_canary(tmp_path: Path) -> None:
    items = questions(12)
    points = {
        trial(item.id, label, repeat=repeat): 0 if item.id == "q3" else 6
        for item in items
        for label in LABELS
        for repeat in (0, 1)
    }
    graded = RunFolder.open(write_run(tmp_path / "a", items, points, repeats=2))
    stubbed = RunFolder.open(write_run(tmp_path / "b", items, points, repeats=2, judge=STUB))

    assert [each.canary.question for each in report(graded).canaries.watched] == ["q3"]
    watch = build_report(
        stubbed, read_trials(stubbed), canaries=tmp_path / "canaries.json"
    ).canaries
    assert watch.watched == ()
    assert watch.file == str(tmp_path / "canaries.json")
    facts = [part.text for part in describe_canaries(watch) if isinstance(part, Fact)]
    assert "no canaries are looked for: the stub judge graded nothing" in facts
    assert "none is kept" in [
        part.text for part in describe_canaries(report(stubbed).canaries) if isinstance(part, Fact)
    ]
