"""The row of the same questions: what changes with the questions is told from what is lost."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.heatmap_rows import SAME_NOTE, SAME_QUESTIONS, RowTable
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.archive.exports.run_tables import ExportedRun
from recall_bench.library import text_report
from recall_bench.metrics.bootstrap import SEED
from recall_bench.reporting.analyses.attribution import count_causes
from recall_bench.reporting.analyses.degradation import measure_degradation
from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
from recall_bench.reporting.heatmap.heatmap_picture import build_heatmap_spec
from recall_bench.reporting.pages.page_data import encode_heatmap
from recall_bench.reporting.run_brief import render_brief
from tests.written_runs import PERFECT, POOR, Story, plan_of, question, trial

FOUR = tuple(Checkpoint(label=f"{days}d", days=days) for days in (1, 2, 3, 4))


def harder_story(folder: Path, personas: Sequence[str] = ("ada",), **settings: object) -> Story:
    """A question of the first day, three of the second, and four later ones that are too hard."""
    days = (1, 2, 2, 2, 3, 3, 4, 4)
    items = tuple(question(f"q{n}", known_from=day) for n, day in enumerate(days))
    scenarios: dict[str, Sequence[Item]] = dict.fromkeys(personas, items)
    plan = plan_of(scenarios, **{"checkpoints": FOUR} | settings)
    story = Story(folder, scenarios, plan)
    for name, states in RunFolder.open(story.save()).states.scenarios.items():
        for place, point in enumerate(states.checkpoint_plans):
            for repeat, item in states.list_owed_trials(place):
                each = trial(items[item].id, point.checkpoint.label, scenario=name, repeat=repeat)
                story.both(each, PERFECT if item < 4 else POOR)
    story.end()
    return story


def points(table: RowTable, name: str = SAME_QUESTIONS) -> list[tuple[float, int] | None]:
    row = table.get(name)
    cells = () if row is None else row.cells
    return [None if cell is None else (cell.value, cell.questions) for cell in cells]


@pytest.mark.parametrize("repeats", [1, 2])
def test_they_are_the_questions_of_the_fixed_view(tmp_path: Path, repeats: int) -> None:
    names = [("ada",), ("ada", "bob")]
    for number, personas in enumerate(names):
        folder = harder_story(tmp_path / str(number), personas, repeats=repeats).open()
        fixed = measure_degradation(read_trials(folder), seed=SEED, resamples=50).fixed

        heatmap = RunEstimates.get(folder).build_heatmap()

        row = heatmap.get(SAME_QUESTIONS)
        assert row is not None
        shown = zip([each.label for each in heatmap.columns], row.cells, strict=True)
        known = {label: mean for label, mean in shown if mean is not None}
        assert list(known) == [each.checkpoint for each in fixed]
        for each in fixed:
            mean = known[each.checkpoint]
            assert each.mean is not None
            assert (mean.value, mean.trials) == (each.mean.value, each.mean.trials)


def test_harder_questions_lower_the_overall_score_and_not_theirs(tmp_path: Path) -> None:
    heatmap = RunEstimates.get(harder_story(tmp_path).open()).build_heatmap()

    assert points(heatmap, "overall") == [(6, 1), (6, 4), (pytest.approx(14 / 3), 6), (4, 8)]
    assert points(heatmap) == [None, (6, 4), (6, 4), (6, 4)]


def test_a_selection_of_checkpoints_follows_the_same_questions(tmp_path: Path) -> None:
    means = RunEstimates.get(harder_story(tmp_path).open())

    assert points(means.build_heatmap(None, [0, 1, 3])) == [None, (6, 4), (6, 4)]
    assert points(means.build_heatmap(None, [0, 3])) == []


def test_there_are_none_where_they_would_say_no_more_than_the_overall_score(
    tmp_path: Path,
) -> None:
    """Where each checkpoint asks all of them, and where nothing is asked twice."""
    for name, checkpoints in {"twice": FOUR[3:] + FOUR[2:3], "once": FOUR[3:]}.items():
        scenarios: dict[str, Sequence[Item]] = {"ada": (question("cat"), question("dog"))}
        ordered = tuple(sorted(checkpoints, key=lambda each: each.days))
        story = Story(tmp_path / name, scenarios, plan_of(scenarios, checkpoints=ordered))
        for each, item in product(ordered, ("cat", "dog")):
            story.both(trial(item, each.label))
        folder = story.open()

        heatmap = RunEstimates.get(folder).build_heatmap()

        assert heatmap.get(SAME_QUESTIONS) is None
        assert SAME_QUESTIONS not in render_brief(folder, summarise(folder))
        assert [row["kind"] for row in rows_of_page(folder)] == ["category", "total", "figure"]


def test_a_story_that_is_over_is_not_followed_on(tmp_path: Path) -> None:
    later = Checkpoint(label="9d", days=9)
    heatmap = RunEstimates.get(
        harder_story(tmp_path, checkpoints=(*FOUR[1:], later)).open()
    ).build_heatmap()

    assert points(heatmap)[-1] is None
    assert points(heatmap)[:-1] == [(6, 4)] * 3


def test_a_question_without_a_verdict_somewhere_is_not_among_them(tmp_path: Path) -> None:
    """Nor does its missing verdict make a row where each checkpoint asked the same."""
    two = question("cat"), question("dog")
    assert points_with_a_missing_verdict(tmp_path / "two", two) == []
    three = (*two, question("house", known_from=3))
    assert points_with_a_missing_verdict(tmp_path / "three", three) == [(6, 1), (6, 1)]


def points_with_a_missing_verdict(
    folder: Path, items: Sequence[Item]
) -> list[tuple[float, int] | None]:
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(folder, scenarios, plan_of(scenarios))
    for label in ("2d", "4d"):
        story.both(trial("cat", label))
    story.both(trial("dog"), POOR)
    story.answer(trial("dog", "4d"))
    story.not_judged(trial("dog", "4d"))

    return points(RunEstimates.get(story.open()).build_heatmap())


def rows_of_page(folder: RunFolder) -> list[dict[str, object]]:
    rows = encode_heatmap(RunEstimates.get(folder).build_heatmap())["rows"]
    assert isinstance(rows, list)
    return rows


def test_every_view_of_the_heatmap_has_their_row(tmp_path: Path) -> None:
    folder = harder_story(tmp_path).open()
    export_files(folder, result=tmp_path / "result.json")

    lines = render_brief(folder, summarise(folder)).splitlines()
    ours, read = load_heatmap(tmp_path), load_heatmap(tmp_path / "result.json")
    spec = str(build_heatmap_spec(ours))

    at = next(n for n, line in enumerate(lines) if line.startswith("OVERALL"))
    assert lines[at + 2].split() == [
        SAME_QUESTIONS.split()[0],
        "questions",
        "--",
        *["100", "(4)!"] * 3,
    ]
    assert SAME_NOTE in lines
    assert SAME_NOTE in text_report(folder, summarise(folder)).splitlines()
    assert points(ours.table) == [None, *[(6, 4)] * 3] == points(read.table)
    assert "Same questions: 1d not all of these questions were asked, 2d 100" in spec
    assert SAME_NOTE in spec
    assert [row["name"] for row in rows_of_page(folder)][2:] == [SAME_QUESTIONS, "invented"]


def test_the_causes_of_misses_are_in_the_short_report(tmp_path: Path) -> None:
    folder = harder_story(tmp_path).open()
    misses = count_causes(read_trials(folder))

    brief = " ".join(render_brief(folder, summarise(folder), misses).split())

    assert "Misses 6 of 19 trials: not traced 100 % Weakest" in brief
    assert "Misses" not in render_brief(folder, summarise(folder))


def test_exports_have_their_row(tmp_path: Path) -> None:
    folder = harder_story(tmp_path / "run").open()

    rows = [
        row
        for row in ExportedRun.read(folder).list_rows("cells")
        if row["figure"] == SAME_QUESTIONS
    ]

    assert [(row["checkpoint"], row["mean"], row["category"]) for row in rows] == [
        (label, 100, None) for label in ("2d", "3d", "4d")
    ]
