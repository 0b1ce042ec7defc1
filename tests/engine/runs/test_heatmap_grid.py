"""The heatmap grid is the public one: ten categories, every range, null where nothing is known."""

import json
from pathlib import Path

from recall_bench.core.scenario import CATEGORIES
from recall_bench.engine.runs.summary import heatmap_grid, summarise
from tests.written_runs import POOR, Story, ada_story, trial


def test_the_grid_has_exactly_the_public_keys(finished: Story) -> None:
    grid = heatmap_grid(summarise(finished.open()))

    assert list(grid) == ["categories", "ranges", "scores", "counts"]
    assert grid["categories"] == list(CATEGORIES)
    assert grid["ranges"] == ["2d", "4d"]
    assert json.loads(json.dumps(grid)) == grid


def test_a_cell_without_a_count_has_no_score(story: Story) -> None:
    story.both(trial("dog"), POOR)

    grid = heatmap_grid(summarise(story.open()))

    assert grid["scores"][:3] == [[None, None], [2.0, None], [None, None]]
    assert grid["counts"][:3] == [[0, 0], [1, 0], [0, 0]]


def test_a_range_never_visited_has_no_count_either(tmp_path: Path) -> None:
    story = ada_story(tmp_path, dry_run=True)
    story.both(trial("cat"))

    grid = heatmap_grid(summarise(story.open()))

    assert grid["scores"][0] == [6.0, None]
    assert grid["counts"][0] == [1, None]
