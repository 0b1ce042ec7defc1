"""Every figure that is printed can be recomputed from questions.jsonl, with nothing but arithmetic.

Nothing here may import the package's metrics or estimates: the point is another way to the figure.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recall_bench.library import run as run_bench

Json = dict[str, Any]
FULL = 6
CHECKPOINTS = ("10d", "30d")


@dataclass(frozen=True)
class Lines:
    """Some lines of questions.jsonl."""

    rows: tuple[Json, ...]

    @property
    def scored(self) -> list[Json]:
        return [row for row in self.rows if row["composite"] is not None]

    @property
    def score(self) -> float:
        return self.average("composite")

    @property
    def silence(self) -> float:
        return self.average("floorComposite")

    @property
    def ceiling(self) -> float:
        return self.average("ceilingComposite")

    @property
    def share_of_way(self) -> float | None:
        way = self.ceiling - self.silence
        return (self.score - self.silence) / way if way > 0 else None

    @property
    def hallucination(self) -> float:
        judged = [row for row in self.rows if row["score"] is not None]
        return 100 * sum(row["score"]["hallucination"] == 0 for row in judged) / len(judged)

    @property
    def invented(self) -> float:
        judged = [row for row in self.rows if row["score"] is not None]
        inventions = [
            row
            for row in judged
            if row["score"]["hallucination"] == 0 and not row.get("leaked", False)
        ]
        return 100 * len(inventions) / len(judged)

    @property
    def guarded(self) -> int:
        return sum("leaked" in row for row in self.rows)

    @property
    def leaked(self) -> float:
        return 100 * sum(row.get("leaked", False) for row in self.rows) / self.guarded

    def average(self, key: str) -> float:
        return sum(row[key] for row in self.scored) / len(self.scored)

    def select(self, test: Callable[[Json], bool]) -> "Lines":
        return Lines(tuple(row for row in self.rows if test(row)))

    def at(self, checkpoint: str) -> "Lines":
        return self.select(lambda row: bool(row["checkpoint"] == checkpoint))

    def group(self, key: str) -> "dict[str, Lines]":
        """By a key of the question."""
        names = dict.fromkeys(row["qa"][key] for row in self.rows)
        return {name: self.select(lambda row, n=name: row["qa"][key] == n) for name in names}


@dataclass(frozen=True)
class Run:
    """The files of one run."""

    folder: Path

    @property
    def lines(self) -> Lines:
        text = (self.folder / "questions.jsonl").read_text(encoding="utf-8")
        return Lines(tuple(json.loads(line) for line in text.splitlines()))

    @property
    def result(self) -> Json:
        loaded: Json = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return loaded


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A built-in on the sample persona, with group questions and so with leaks."""
    folder = tmp_path_factory.mktemp("recomputation") / "run"
    run_bench(
        into=folder, adapter="bm25", ranges=CHECKPOINTS, groups_enabled=True, heatmap_png=False
    )
    return Run(folder)


def approximate(values: Iterable[float]) -> Any:
    return pytest.approx(list(values), abs=1e-9)


def test_the_run_has_something_to_recompute(run: Run) -> None:
    lines = run.lines
    assert 0 < lines.silence < lines.ceiling < FULL
    assert 0 < lines.invented < lines.hallucination
    assert 0 < lines.leaked < 100
    assert len(lines.group("category")) > 8
    assert len(lines.group("difficulty")) > 1
    assert lines.share_of_way is not None


def test_overall_figures_of_the_result(run: Run) -> None:
    lines, found = run.lines, run.result["estimates"]
    assert found["overall"]["trials"] == len(lines.scored)
    assert found["leakRate"]["trials"] == lines.guarded
    means = [
        found[key]["mean"] for key in ("overall", "hallucinationRate", "inventionRate", "leakRate")
    ]
    assert means == approximate([lines.score, lines.hallucination, lines.invented, lines.leaked])


def check_bounds(found: Json, lines: Lines) -> None:
    assert [found["floor"], found["ceiling"]] == approximate([lines.silence, lines.ceiling])
    assert found["gain"]["mean"] == pytest.approx(lines.score - lines.silence, abs=1e-9)
    share = lines.share_of_way
    if share is None:
        assert found["shareOfWay"] is None
    else:
        assert found["shareOfWay"]["mean"] == pytest.approx(100 * share)


def test_silence_ceiling_and_share_of_the_way_of_the_result(run: Run) -> None:
    bounds = run.result["estimates"]["bounds"]
    check_bounds(bounds["overall"], run.lines)
    groups = run.lines.group("category")
    assert bounds["categories"].keys() == groups.keys()
    for category, lines in groups.items():
        check_bounds(bounds["categories"][category], lines)


def test_each_checkpoint_of_the_result(run: Run) -> None:
    checkpoints = run.result["estimates"]["checkpoints"]
    assert [each["range"] for each in checkpoints] == list(CHECKPOINTS)
    for each in checkpoints:
        lines = run.lines.at(each["range"])
        keys = ("overall", "hallucinationRate", "inventionRate", "leakRate")
        figures = [lines.score, lines.hallucination, lines.invented, lines.leaked]
        assert [each[key]["mean"] for key in keys] == approximate(figures)
        groups = lines.group("category")
        measured = {name: cell for name, cell in each["categories"].items() if cell is not None}
        assert measured.keys() == groups.keys()
        for category, cell in measured.items():
            assert cell["mean"] == pytest.approx(groups[category].score, abs=1e-9)
            assert cell["trials"] == len(groups[category].scored)


def test_each_range_result_of_the_persona(run: Run) -> None:
    (persona,) = run.result["personas"]
    for each in persona["rangeResults"]:
        lines = run.lines.at(each["range"]["label"])
        assert each["questionsEvaluated"] == len(lines.scored)
        figures = [each["overallScore"], each["hallucinationRate"]]
        assert figures == approximate([lines.score, lines.hallucination])
        categories = {
            row["category"]: (row["meanScore"], row["questionCount"])
            for row in each["categoryScores"]
            if row["questionCount"]
        }
        assert categories == {
            name: (pytest.approx(group.score), len(group.scored))
            for name, group in lines.group("category").items()
        }
        difficulties = {
            name: (row["mean"], row["count"])
            for name, row in each["difficultyScores"].items()
            if row["count"]
        }
        assert difficulties == {
            name: (pytest.approx(group.score), len(group.scored))
            for name, group in lines.group("difficulty").items()
        }
