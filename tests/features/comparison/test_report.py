"""The report says what `compare` says of the same folders, and ranks nothing that is invalid."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest

import recall_bench
from recall_bench.engine.runs.estimates import estimate_hallucination, estimate_overall
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.matrix_picture import build_overview
from recall_bench.features.comparison.matrix_records import MatrixReport
from recall_bench.features.comparison.matrix_run import open_matrix, report_matrix
from recall_bench.features.comparison.matrix_text import render_markdown, render_text
from recall_bench.reporting.headlines import describe_doubt
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.trial_scores import measure_judges
from tests.commands import Invoke
from tests.fixtures.running_matrix import Write

_TIMES = re.compile(r" +[\d,.]+ (ms|s|min)(?= )")


def reported(path: Path) -> MatrixReport:
    matrix, cells = open_matrix(path)
    return report_matrix(matrix, cells, resamples=500)


@pytest.fixture(scope="module")
def finished_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of the first test that needs them are kept for the others."""
    return tmp_path_factory.mktemp("three") / "runs"


@pytest.fixture
def three(write: Write, invoke: Invoke, finished_runs: Path, tmp_path: Path) -> Path:
    """Three systems of which two differ, run."""
    path = write("systems: [bm25, hybrid, none]")
    if finished_runs.exists():
        shutil.copytree(finished_runs, tmp_path / "runs")
    else:
        assert invoke("matrix", path).code == 0
        shutil.copytree(tmp_path / "runs", finished_runs)
    return path


def test_figures_are_those_of_compare_on_the_same_folders(three: Path, tmp_path: Path) -> None:
    names = ("bm25", "hybrid", "none")
    folders = [RunFolder.open(tmp_path / "runs/default/42" / name) for name in names]
    expected = compare_runs(folders, resamples=500)

    setting = reported(three).settings[0]

    assert [each.score for each in setting.systems] == [run.mean for run in expected.runs]
    found = [each.contrast for each in setting.against]
    letters = ["B", "C"]
    assert [
        each and each.replace(letter=x) for each, x in zip(found, letters, strict=True)
    ] == list(expected.contrasts)
    ranks = {"A": "bm25", "B": "hybrid", "C": "none"}
    assert {each.system: each.score.value for each in setting.ranking} == {
        ranks[each.letter]: each.mean.value for each in expected.ranking
    }


def test_with_several_judges_a_score_has_a_range(write: Write, invoke: Invoke) -> None:
    judges = "models: {judges: [offline, offline@strict, offline@lenient]}"
    path = write(f"{judges}\nsystems: [bm25, none]\nseeds: [42, 43]")
    assert invoke("matrix", path).code == 0

    (setting,) = (report := reported(path)).settings

    assert len(setting.orders) == 1
    text = render_text(report)
    assert "judges: the lowest and the highest score by offline, offline@strict" in text
    assert setting.orders[0] in text
    for each in setting.systems:
        names = [judge.judge for judge in each.judges]
        assert names == ["offline", "offline@strict", "offline@lenient"]
        assert each.judges[0].mean == pytest.approx(each.score.value)
        folder = RunFolder.open(path.parent / "runs/default/42" / each.system)
        found = measure_judges(folder)
        assert found is not None
        alone = [judge.score and judge.score.value for judge in found.judges]
        # Both seeds ask all questions of this story, so they come to the same.
        assert [judge.mean for judge in each.judges] == pytest.approx(alone)


def test_scores_and_rates_are_those_of_each_run(three: Path, tmp_path: Path) -> None:
    matrix, cells = open_matrix(three)
    whole = report_matrix(matrix, cells)

    for each in whole.settings[0].systems:
        folder = recall_bench.open_run(tmp_path / "runs/default/42" / each.system)
        mean, rate = estimate_overall(folder), estimate_hallucination(folder)
        assert mean is not None
        assert each.score.value == mean.value
        assert each.hallucination is not None
        assert rate is not None
        assert each.hallucination.value == rate.value
        assert each.p50_s == pytest.approx(folder.service.compute_latency(0.5))


def test_silence_is_what_none_scores_and_every_system_has_the_same(three: Path) -> None:
    setting = reported(three).settings[0]
    systems = {each.system: each for each in setting.systems}

    none = systems["none"]
    for each in systems.values():
        assert each.bounds is not None
        assert each.bounds.floor == none.score.value
        assert each.bounds.score == each.score.value
        assert [place.bounds and place.bounds.floor for place in each.categories] == [
            place.mean and place.mean.value for place in none.categories
        ]
    doubtful = [each.system for each in setting.ranking if describe_doubt(each.bounds)]
    assert doubtful == ["none"]


def has_ranges(report: MatrixReport) -> bool:
    """Whether silence and ceiling stand beside the rows of the picture."""
    return build_overview(report).table.total.bounds is not None


def test_the_picture_has_silence_and_ceiling_where_all_systems_have_the_same(three: Path) -> None:
    report = reported(three)
    setting = report.settings[0]
    first = setting.systems[0]
    assert first.bounds is not None
    other = first.replace(bounds=first.bounds.replace(ceiling=5.0))
    unlike = setting.replace(systems=(other, *setting.systems[1:]))

    assert [column.label for column in build_overview(report).table.columns] == [
        rank.system for rank in setting.ranking
    ]
    assert has_ranges(report)
    assert not has_ranges(report.replace(settings=(unlike,)))
    assert "Silence or ceiling differ between systems" in render_text(
        report.replace(settings=(unlike,))
    )


def test_seeds_together_are_the_mean_of_their_trials_over_the_same_questions(
    write: Write, invoke: Invoke
) -> None:
    path = write("systems: [bm25, none]\nseeds: [1, 2]\nsettings: [{name: s, sample: 2}]")
    assert invoke("matrix", path).code == 0

    (setting,) = reported(path).settings
    one = setting.systems[0]

    sums = sum(each.score.value * each.score.trials for each in one.seeds)
    trials = sum(each.score.trials for each in one.seeds)
    assert one.score.trials == trials
    assert one.score.value == pytest.approx(sums / trials)
    assert one.score.questions == max(each.score.questions for each in one.seeds)
    assert one.spread is not None
    found = setting.against[0].contrast
    assert found is not None
    assert found.overall.comparison.difference.trials == trials


def test_a_missing_seed_takes_its_trials_out_of_the_pairs(
    write: Write, invoke: Invoke, tmp_path: Path
) -> None:
    path = write("systems: [bm25, none]\nseeds: [1, 2]")
    assert invoke("matrix", path).code == 0
    (tmp_path / "runs/default/1/none/journal.jsonl").unlink()

    report = reported(path)

    assert [(each.seed, each.system) for each in report.missing] == [(1, "none")]
    found = report.settings[0].against[0].contrast
    assert found is not None
    assert found.overall.comparison.difference.trials == 15


def test_settings_are_compared_over_the_trials_they_share(write: Write, invoke: Invoke) -> None:
    text_of = (
        "systems: [bm25]\nsettings: [{name: few, ranges: [5d]}, {name: more, ranges: [5d, 10d]}]"
    )
    path = write(text_of)
    assert invoke("matrix", path).code == 0

    (between,) = reported(path).between

    assert between.comparison is not None
    assert between.comparison.difference.trials == 5
    assert between.comparison.difference.value == 0
    assert between.unlike[0].startswith("checkpoints (5d against 5d, 10d)")


def test_unlike_cells_are_not_compared_and_the_refusal_is_a_footnote(
    write: Write, invoke: Invoke
) -> None:
    path = write("systems: [bm25, {name: h, adapter: hybrid, run: {topK: 3}}]")

    shown = invoke("matrix", path)

    assert shown.code == 0
    assert "h [1]" in shown.out
    flat = " ".join(shown.out.split())
    assert "differ in passages looked at (top 10 against top 3); run both alike" in flat
    assert "1. h" in shown.out or "1. bm25" in shown.out


def test_without_a_baseline_nothing_is_compared_with_it(
    write: Write, broken: Path, invoke: Invoke
) -> None:
    path = write(f"systems: [{broken.name}, bm25]")

    shown = invoke("matrix", path)

    assert shown.code == 5
    assert "the baseline broken has no valid run under default" in " ".join(shown.out.split())


@pytest.mark.usefixtures("real_pictures")
def test_the_report_is_written_whole(three: Path, tmp_path: Path, invoke: Invoke) -> None:
    runs = tmp_path / "runs"
    for path in runs.glob("matrix.*"):
        path.unlink()

    assert invoke("matrix", three).code == 0

    report = msgspec.json.decode((runs / "matrix.json").read_bytes(), type=MatrixReport)

    assert report.baseline == "bm25"
    assert (runs / "matrix.md").read_text() == render_markdown(report, picture="matrix.png")
    assert (runs / "matrix.png").read_bytes().startswith(b"\x89PNG")
    assert "<title>m</title>" in (runs / "matrix.svg").read_text()
    assert invoke("matrix", three, "--report").out.strip() == render_text(report)
    assert invoke("matrix", three, "--json").out == (runs / "matrix.json").read_text()


def test_the_words(three: Path) -> None:
    matrix, cells = open_matrix(three)

    # Columns are as wide as what was timed: spaces between them are not part of the words.
    shown = re.sub(" {2,}", "  ", _TIMES.sub("  T", render_text(report_matrix(matrix, cells))))

    assert shown == (Path(__file__).parent / "golden.txt").read_text().rstrip("\n")


def test_a_judge_that_grades_nothing_is_said_first(write: Write, invoke: Invoke) -> None:
    shown = invoke("matrix", write("models: {judge: stub}\nsystems: [bm25, none]"))

    assert shown.out.index("Not graded") < shown.out.index("Setting default")


def test_one_comparison_alone_needs_no_correction(write: Write, invoke: Invoke) -> None:
    shown = invoke("matrix", write("systems: [bm25, none]"))

    assert " 0.002*      --" in shown.out
