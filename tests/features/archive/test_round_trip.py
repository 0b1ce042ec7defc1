"""Our own files, imported, are the run they came from, as far as they tell."""

from pathlib import Path

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary, summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.archive.import_run import import_run
from recall_bench.library import export_run, run
from recall_bench.reporting.run_pairs import find_differences
from tests.engine.runs.importing.public_files import part, result, row, save
from tests.fixtures.runs_importing import faults

Cells = dict[tuple[str, str, str], tuple[int, float | None]]
NAMES = ("result.json", "questions.jsonl", "failures.jsonl", "progress.jsonl")


def cells(summary: Summary) -> Cells:
    return {
        (persona.id, each.checkpoint.label, category): (tally.counted, tally.mean)
        for persona in summary.personas
        for each in persona.checkpoints
        for category in summary.categories
        if (tally := each.get_tally(category)).counted
    }


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of the sample persona, and its files apart from it."""
    folder = tmp_path_factory.mktemp("round") / "run"
    run(
        adapter="bm25",
        ranges="10d,20d",
        groups_enabled=True,
        into=folder,
        heatmap_png=False,
    )
    export_run(folder, folder.parent / "files")
    return folder


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(NAMES[:1], id="the result alone"),
        pytest.param(("questions.jsonl", "progress.jsonl"), id="the logs"),
        pytest.param(("questions.jsonl",), id="the question log alone"),
        pytest.param(NAMES, id="all of them"),
    ],
)
def test_each_cell_has_the_mean_it_had(
    original: Path, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    files = original.parent / "files"

    found = import_run([files / name for name in chosen], tmp_path / "again")

    before = cells(summarise(RunFolder.open(original)))
    assert cells(summarise(RunFolder.open(tmp_path / "again"))) == before
    assert len(before) > 10
    assert (faults(found), found.disagreeing) == ({}, ())


@pytest.mark.parametrize("is_only", [False, True])
@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
def test_lines_about_feeding_are_no_trials(
    original: Path, tmp_path: Path, is_only: bool, ending: bytes
) -> None:
    line = b'{"personaId":"p","checkpoint":"20d","stage":"ingest","error":{},"unasked":3}'
    files = original.parent / "files"
    failures = b"" if is_only else (files / "failures.jsonl").read_bytes()
    (tmp_path / "failures.jsonl").write_bytes(line + b"\n" + failures + line + ending)

    found = import_run([files / "result.json", tmp_path / "failures.jsonl"], tmp_path / "again")

    assert (faults(found), found.disagreeing) == ({}, ())


def test_with_the_log_a_trial_has_what_it_had(original: Path, tmp_path: Path) -> None:
    import_run([original.parent / "files"], tmp_path / "again")

    rows, again = (
        read_trials(RunFolder.open(each)).rows for each in (original, tmp_path / "again")
    )
    assert [each.trial for each in again] == [each.trial for each in rows]
    assert [each.status for each in again] == [each.status for each in rows]
    assert [each.findings for each in again] == [each.findings for each in rows]
    assert [each.evidence_found for each in again] == [each.evidence_found for each in rows]
    assert [each.seconds for each in again] == pytest.approx(
        [each.seconds for each in rows], abs=1e-6
    )


def test_without_the_log_no_one_says_what_the_judge_noticed(original: Path, tmp_path: Path) -> None:
    import_run([original.parent / "files" / "result.json"], tmp_path / "again")

    rows = read_trials(RunFolder.open(tmp_path / "again")).rows
    assert {each.findings for each in rows} == {None}


def test_it_is_like_the_run_it_came_from(original: Path, tmp_path: Path) -> None:
    import_run([original.parent / "files"], tmp_path / "again")

    plans = [RunFolder.open(each).plan for each in (original, tmp_path / "again")]
    assert find_differences(*plans) == ()


def test_eligible_questions_that_were_not_asked_stay_counted(tmp_path: Path) -> None:
    """No file has the questions of a gated category, but each says how many are eligible."""
    asked = part(6, [row("q1")])
    counts = {"factual-recall": 4, "information-boundary": 7}
    asked["categoryScores"] = [
        {
            "category": name,
            "meanScore": 6.0 if name == "factual-recall" else 0.0,
            "questionCount": int(name == "factual-recall"),
            "eligibleCount": count,
        }
        for name, count in counts.items()
    ]
    path = save(tmp_path / "result.json", result([asked]))

    import_run([path], tmp_path / "run")

    (persona,) = summarise(RunFolder.open(tmp_path / "run")).personas
    found = persona.checkpoints[0]
    assert {name: found.get_tally(name).eligible for name in counts} == counts
    assert (found.overall.eligible, found.overall.counted) == (11, 1)


def test_a_checkpoint_without_questions_stays_one(tmp_path: Path) -> None:
    path = save(tmp_path / "result.json", result([part(2, []), part(6, [row("q1")])]))

    import_run([path], tmp_path / "run")

    folder = RunFolder.open(tmp_path / "run")
    (persona,) = summarise(folder).personas
    assert [each.checkpoint.days for each in persona.checkpoints] == [2, 6]
    assert [each.overall.owed for each in persona.checkpoints] == [0, 1]
    assert folder.is_finished
    export_run(tmp_path / "run", tmp_path / "files")
    assert (tmp_path / "files" / "result.json").is_file()


def test_counts_of_eligible_questions_survive_a_second_import(
    original: Path, tmp_path: Path
) -> None:
    import_run([original.parent / "files" / "result.json"], tmp_path / "again")

    first, again = (summarise(RunFolder.open(each)) for each in (original, tmp_path / "again"))
    assert list_eligible(again) == list_eligible(first)
    assert any(list_eligible(first))


def list_eligible(summary: Summary) -> list[int]:
    return [
        each.get_tally(category).eligible
        for persona in summary.personas
        for each in persona.checkpoints
        for category in summary.categories
    ]


OURS = {"planDigest": "1" * 64, "datasetDigest": "2" * 64}


def test_a_rubric_without_the_log_tells_nothing(tmp_path: Path) -> None:
    """Its judge says what it notices, and the result leaves that out: that is not "nothing"."""
    rubric = {"name": "plain", "version": "1", "digest": "3" * 64}
    judge = {"name": "rubric", "version": "1", "rubrics": [rubric]}
    path = save(tmp_path / "result.json", result([part(6, [row("q1")])], judge=judge, **OURS))

    import_run([path], tmp_path / "run")

    folder = RunFolder.open(tmp_path / "run")
    assert folder.plan.judge.rubrics
    assert [each.findings for each in read_trials(folder).rows] == [None]


def test_what_was_open_is_open(tmp_path: Path) -> None:
    still = row("q2") | {"systemAnswer": None, "score": None, "compositeScore": None}
    unjudged = row("q3") | {"score": None, "compositeScore": None}
    unjudged["error"] = {"kind": "UnreadableVerdict", "message": "?"}
    done = part(6, [row("q1")])
    done["questionResults"] += [still, unjudged]
    path = save(tmp_path / "result.json", result([done], unfinished=1, **OURS))

    found = import_run([path], tmp_path / "run")

    tally = summarise(RunFolder.open(tmp_path / "run")).overall
    assert (tally.judged, tally.open, tally.not_judged) == (1, 1, 1)
    assert not RunFolder.open(tmp_path / "run").is_finished
    assert (found.mean, found.card.complete, faults(found)) == (6.0, False, {})
