"""The tables of `benchmarks/scorecards.py`: what they compare, and between which ends."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from recall_bench.features.suites.erasure import WAYS
from recall_bench.reporting.suites.figures import Case, Figure, make_share
from recall_bench.reporting.suites.scorecard import Scorecard

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scorecards", ROOT / "benchmarks/scorecards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def recall(*marks: float) -> Figure:
    cases = [Case(story="ada", subject=str(at), happened=mark) for at, mark in enumerate(marks)]
    return make_share(cases, name="score", label="score", best=1.0)


def test_the_floor_of_recall_is_silence(benchmark: ModuleType) -> None:
    card = Scorecard(
        systems=("bm25 1", "none 1"),
        reports={},
        recall={"bm25 1": recall(1, 1, 0, 0), "none 1": recall(1, 0, 0, 0)},
    )
    assert benchmark._find_ends(card, "recall", "score") == "100 … 25 %"


def test_every_way_of_erasing_has_a_column(benchmark: ModuleType) -> None:
    assert {f"residue/by-{way.name}" for way in WAYS} <= set(benchmark.COLUMNS["erasure"])


def test_tables_of_the_page_have_the_columns_of_the_program(benchmark: ModuleType) -> None:
    page = (ROOT / "docs/results/scorecards.md").read_text(encoding="utf-8")
    for suite, columns in benchmark.COLUMNS.items():
        head = page.split(f"<!-- {suite} -->\n", 1)[1].splitlines()[0]
        assert head.strip("| ").split(" | ") == ["system", *columns.values()]
