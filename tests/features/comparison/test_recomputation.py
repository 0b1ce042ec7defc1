"""Every figure that is printed can be recomputed from questions.jsonl, with nothing but arithmetic.

Nothing here may import the package's metrics or estimates: the point is another way to the figure.
"""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.library import compare as compare_runs
from recall_bench.library import open_run, text_report
from recall_bench.library import report as publish_report
from recall_bench.library import run as run_bench

Json = dict[str, Any]
FULL = 6
CHECKPOINTS = ("10d", "20d")


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
        return (
            100 * len([row for row in judged if row["score"]["hallucination"] == 0]) / len(judged)
        )

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
    def questions(self) -> int:
        """Different questions, however often each was asked."""
        return len({(row["personaId"], row["qa"]["id"]) for row in self.scored})

    @property
    def guarded(self) -> int:
        return sum("leaked" in row for row in self.rows)

    @property
    def leaked(self) -> float:
        return 100 * len([row for row in self.rows if row.get("leaked", False)]) / self.guarded

    def average(self, key: str) -> float:
        total: float = sum(row[key] for row in self.scored)
        return total / len(self.scored)

    def at(self, checkpoint: str) -> "Lines":
        return Lines(tuple(row for row in self.rows if row["checkpoint"] == checkpoint))

    def group(self, key: str) -> "dict[str, Lines]":
        """By a key of the question."""
        groups: dict[str, list[Json]] = {}
        for row in self.rows:
            groups.setdefault(row["qa"][key], []).append(row)
        return {name: Lines(tuple(rows)) for name, rows in groups.items()}


@dataclass
class Run:
    """The files of one run."""

    folder: Path

    @cached_property
    def lines(self) -> Lines:
        text = (self.folder / "questions.jsonl").read_text(encoding="utf-8")
        return Lines(tuple(json.loads(line) for line in text.splitlines()))

    @cached_property
    def result(self) -> Json:
        loaded: Json = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return loaded

    @cached_property
    def text(self) -> str:
        """What `run` prints at its end."""
        return text_report(open_run(self.folder))

    @cached_property
    def report(self) -> tuple[Json, Json, str]:
        """The figures of `report`, the data of its page, and the words of it without markup."""
        into = self.folder / "report"
        publish_report(self.folder, into=into)
        figures: Json = json.loads((into / "report.json").read_text(encoding="utf-8"))
        page = (into / "report.html").read_text(encoding="utf-8")
        block = re.search(r'data-block="page">\s*([A-Za-z0-9+/=]+)', page)
        assert block is not None
        words = " ".join(re.sub(r"<[^>]+>", " ", page.partition('class="headlines"')[2]).split())
        return figures, json.loads(gzip.decompress(b64decode(block[1]))), words


INVENTIVE = '''
class Adapter:
    """Invents a third of its answers, refuses a third, and quotes too much in the others."""

    def setup(self):
        self.lines, self.asked = [], 0

    def ingest_day(self, day, content, metadata):
        self.lines += [line.strip() for line in content.splitlines() if line.strip()]

    def query(self, question, context):
        self.asked += 1
        if self.asked % 3 == 0:
            return "There is no record of that."
        if self.asked % 3 == 1:
            return "It came to 987,654 zebras, as Zebediah Quux told us in Ulaanbaatar."
        words = set(question.lower().split())
        ranked = sorted(self.lines, key=lambda line: -len(words & set(line.lower().split())))
        return " ".join(ranked[:10])
'''


@pytest.fixture(scope="module", params=["bm25", "inventive"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A system on the sample persona, with group questions and so with leaks."""
    folder = tmp_path_factory.mktemp("recomputation")
    adapter = str(request.param)
    if adapter == "inventive":
        adapter = str(folder / "adapter.py")
        Path(adapter).write_text(INVENTIVE, encoding="utf-8")
    run_bench(
        into=folder / "run",
        adapter=adapter,
        ranges=CHECKPOINTS,
        groups_enabled=True,
        heatmap_png=False,
    )
    return Run(folder / "run")


def approximate(values: Iterable[float]) -> Any:
    return pytest.approx(list(values), abs=1e-9)


def test_the_run_has_something_to_recompute(run: Run) -> None:
    lines = run.lines
    assert 0 < lines.silence < lines.ceiling < FULL
    if "bm25" not in run.result["adapterName"]:
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
    leaks = run.result["leaks"]
    assert (leaks["answers"], leaks["leaked"]) == (
        lines.guarded,
        sum(row.get("leaked", False) for row in lines.rows),
    )


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


def check_printed(figure: str, value: float) -> None:
    """Hold a printed figure against a value, to the last digit that is printed."""
    _, _, decimals = figure.partition(".")
    assert float(figure) == pytest.approx(value, abs=0.5 * 10 ** -len(decimals) + 1e-9), figure


def find(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None, pattern
    return found.groups()


def of_100(marks: float) -> float:
    return 100 * marks / FULL


def check_headline(text: str, lines: Lines) -> None:
    """Check the figures of one headline, which may be wrapped."""
    (score,) = find(r"([\d.]+) of 100", text)
    silence, ceiling = find(r"silence ([\d.]+) · ceiling ([\d.]+)", text)
    (invented,) = find(r"invented ([\d.]+) %", text)
    leaked, guarded = find(r"leaked ([\d.]+) % of (\d+)", text)
    check_printed(score, of_100(lines.score))
    check_printed(silence, of_100(lines.silence))
    check_printed(ceiling, of_100(lines.ceiling))
    check_printed(invented, lines.invented)
    check_printed(leaked, lines.leaked)
    assert int(guarded) == lines.guarded
    way = re.search(r"(-?[\d.]+) % of the way", text)
    if way is not None:
        assert lines.share_of_way is not None
        check_printed(way[1], 100 * lines.share_of_way)


def test_the_headline_that_run_prints(run: Run) -> None:
    headline = " ".join(run.text.partition("Result")[2].partition("Intervals")[0].split())
    check_headline(headline, run.lines)
    (questions,) = find(r"(\d+) questions", headline)
    assert int(questions) == run.lines.questions


def test_each_category_that_run_prints(run: Run) -> None:
    groups = run.lines.group("category") | {"OVERALL": run.lines}
    for name, lines in groups.items():
        row = rf"^{name} +(\d+)!? +([\d.]+) +\S+ +([\d.]+) +([\d.]+)\^? +(\S+)"
        questions, score, silence, ceiling, way = find(row, run.text)
        assert int(questions) == lines.questions
        for figure, marks in ((score, lines.score), (silence, lines.silence)):
            check_printed(figure, of_100(marks))
        check_printed(ceiling, of_100(lines.ceiling))
        if re.fullmatch(r"-?[\d.]+", way):
            assert lines.share_of_way is not None
            check_printed(way, 100 * lines.share_of_way)


def test_each_checkpoint_and_difficulty_that_run_prints(run: Run) -> None:
    for label in CHECKPOINTS:
        lines = run.lines.at(label)
        questions, score = find(rf"^{label} .* (\d+) +([\d.]+) +[\d.]+–[\d.]+$", run.text)
        assert int(questions) == lines.questions
        check_printed(score, of_100(lines.score))
    flat = " ".join(run.text.split())
    for name, lines in run.lines.group("difficulty").items():
        pattern = rf"\b{name} ([\d.]+) \([^)]*\) over (\d+) questions"
        score, questions = find(pattern, flat)
        check_printed(score, of_100(lines.score))
        assert int(questions) == lines.questions


def test_each_cell_of_the_heatmap_that_run_prints(run: Run) -> None:
    heatmap = run.text.partition("points of 100 (questions)")[2]
    assert heatmap
    for place, label in enumerate(CHECKPOINTS):
        lines = run.lines.at(label)
        for name, group in (lines.group("category") | {"OVERALL": lines}).items():
            (row,) = find(rf"^({name} .*)$", heatmap)
            score, questions = re.findall(r"([\d.]+) \((\d+)\)", row)[place]
            check_printed(score, of_100(group.score))
            assert int(questions) == group.questions
        for name, rate in (("invented", lines.invented), ("leaked", lines.leaked)):
            (row,) = find(rf"^({name} .*%.*)$", heatmap)
            check_printed(re.findall(r"([\d.]+) %", row)[place], rate)


def test_the_figures_of_the_report(run: Run) -> None:
    lines, (figures, _, _) = run.lines, run.report
    header = figures["header"]
    assert header["overall"]["value"] == pytest.approx(lines.score)
    assert header["bounds"]["floor"] == pytest.approx(lines.silence)
    assert header["bounds"]["ceiling"] == pytest.approx(lines.ceiling)
    assert header["bounds"]["share"]["value"] == pytest.approx(lines.share_of_way)
    rates = [header[key]["value"] for key in ("hallucination", "invented", "leaked")]
    assert rates == approximate(
        each / 100 for each in (lines.hallucination, lines.invented, lines.leaked)
    )
    (heatmap,) = figures["heatmaps"]
    for place, label in enumerate(CHECKPOINTS):
        there = lines.at(label)
        cells = {row["name"]: row["cells"][place] for row in heatmap["rows"]}
        assert cells["overall"]["value"] == pytest.approx(there.score)
        assert cells["invented"]["value"] == pytest.approx(there.invented / 100)
        assert cells["leaked"]["value"] == pytest.approx(there.leaked / 100)
        groups = there.group("category")
        cells = {
            row["name"]: row["cells"][place] for row in heatmap["rows"] if row["kind"] == "category"
        }
        assert {name: cell["value"] for name, cell in cells.items() if cell is not None} == {
            name: pytest.approx(group.score) for name, group in groups.items()
        }


def test_the_heatmap_of_the_page(run: Run) -> None:
    lines, (_, page, _) = run.lines, run.report
    (heatmap,) = page["heatmaps"]
    rows = {row["name"]: row for row in heatmap["rows"]}
    for place, label in enumerate(CHECKPOINTS):
        there = lines.at(label)
        for name, group in (there.group("category") | {"overall": there}).items():
            check_printed(
                rows[name]["cells"][place][2].removesuffix(" of 100"), of_100(group.score)
            )
        for name, rate in (("invented", there.invented), ("leaked", there.leaked)):
            check_printed(rows[name]["cells"][place][2].removesuffix(" %"), rate)
    for name, group in (lines.group("category") | {"overall": lines}).items():
        silence, ceiling = rows[name]["bounds"]
        check_printed(silence, of_100(group.silence))
        check_printed(ceiling.rstrip("^"), of_100(group.ceiling))


def test_the_headlines_of_the_page(run: Run) -> None:
    _, _, text = run.report
    (score,) = find(r"Score ([\d.]+) of 100", text)
    silence, ceiling = find(r"silence ([\d.]+) · ceiling ([\d.]+)", text)
    (invented,) = find(r"Invented ([\d.]+) % of judged answers", text)
    (leaked,) = find(r"Leaked ([\d.]+) % of answers that could leak", text)
    lines = run.lines
    check_printed(score, of_100(lines.score))
    check_printed(silence, of_100(lines.silence))
    check_printed(ceiling, of_100(lines.ceiling))
    check_printed(invented, lines.invented)
    check_printed(leaked, lines.leaked)


def test_the_figures_that_compare_prints(run: Run) -> None:
    shown = render_comparison(compare_runs(run.folder, run.folder))
    card = " ".join(shown.partition("\nA ")[2].partition("\nB ")[0].split())
    check_headline(card, run.lines)
    for name, lines in (run.lines.group("category") | {"overall": run.lines}).items():
        row = rf"^{name} +([\d.]+) +([\d.]+)\^? +([\d.]+)~?"
        silence, ceiling, score = find(row, shown)
        check_printed(silence, of_100(lines.silence))
        check_printed(ceiling, of_100(lines.ceiling))
        check_printed(score, of_100(lines.score))
