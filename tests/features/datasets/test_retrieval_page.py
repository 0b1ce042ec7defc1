"""Every number on the page about retrieval measures is recomputed from the examples on it."""

import re
from math import log2
from pathlib import Path
from typing import Any

import pytest

from recall_bench.features.datasets.fact_coverage import list_layer_measures
from recall_bench.metrics.retrieval import find_measure, list_measures, sum_tokens

PAGE = (Path(__file__).parents[3] / "docs/explanation/retrieval-metrics.md").read_text("utf-8")


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "retrieval-metrics.md", "exec"), names)
    return names


def printed() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| `(\S+)` \| (\S+) \| (\S+) \|$", PAGE, re.MULTILINE)
    assert len({name for name, *_ in rows}) == len(rows)
    return {name: (value, floor) for name, value, floor in rows}


def test_every_value_and_floor_is_right(example: dict[str, Any]) -> None:
    ranking, gold, pool = example["ranking"], example["gold"], example["pool"]
    computed = {
        one.name: (one.score(ranking, gold), pool.expect(one, gold)) for one in list_measures(5)
    }
    for layer in list_layer_measures(5):
        value = layer.measure(example["returned"], example["facts"])
        computed[layer.name] = (value, example["floors"][layer.name])

    for name, figures in printed().items():
        assert tuple(f"{figure:.3f}" for figure in computed[name]) == figures, name


def test_every_measure_is_on_the_page() -> None:
    owed = {one.name for one in list_measures(5)} | {one.name for one in list_layer_measures(5)}

    assert owed - {name for name in owed if re.search("[124]000tok", name)} == set(printed())


def test_every_sum_is_right() -> None:
    sums = re.findall(r"`([^`=]+) = (\d\.\d{3})`", PAGE)

    assert len(sums) == 13
    for terms, result in sums:
        assert f"{eval(terms, {'log2': log2}):.3f}" == result, terms


def test_every_section_states_the_version() -> None:
    versions = {one.version for one in list_measures(20)} | {
        one.version for one in list_layer_measures(20)
    }
    families = re.findall(r"^## (\w+)(?:@k)?, version 1$", PAGE, re.MULTILINE)

    assert versions == {"1"}
    assert set(families) == {one.family for one in list_measures(20)}


def test_the_tokens_spent_are_right(example: dict[str, Any]) -> None:
    tokens = sum_tokens(example["ranking"])
    *first, last = tokens

    assert f"spends {', '.join(map(str, first))} and {last} tokens" in PAGE
    assert (
        find_measure("hit@250tok", 5).count_places(tokens),
        find_measure("hit@500tok", 5).count_places(tokens),
    ) == (2, 5)
