"""`report` says what a run's numbers mean, and writes it all down."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.event import Judged, RunEnded
from recall_bench.engine.runs.journal import encode_events, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.reporting import publication
from recall_bench.reporting.charts import gallery
from recall_bench.reporting.heatmap import heatmap_picture
from recall_bench.reporting.run_report import RunReport
from tests.commands import Invoke, Shown
from tests.sketched_pictures import write_sketch

Run = Callable[..., Shown]


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    def carry_out(folder: str, *flags: object) -> Shown:
        words = ("--data", data, "--ranges", "5d", "10d", "--into", folder)
        return invoke("run", *words, "--no-heatmap-png", *flags)

    return carry_out


def test_every_section_is_printed_and_every_figure_is_in_the_json(
    run: Run, invoke: Invoke, data: Path
) -> None:
    run("r", "--adapter", "bm25")

    shown = invoke("report", "r", "--data", data)

    assert shown.code == 0, shown.err
    for title in ("Invented and leaked", "Degradation", "Failures", "Cost", "Canaries"):
        assert f"\n{title}\n{'─' * len(title)}\n" in shown.out
    told = json.loads(Path("r/report/report.json").read_text())
    assert told["header"]["overall"]["value"] == summarise(RunFolder.open(Path("r"))).overall.mean
    assert told["header"]["status"] == "valid"
    assert {row["name"] for row in told["heatmaps"][0]["rows"]} >= {"factual-recall"}
    assert sorted(path.name for path in Path("r/report").iterdir()) == [
        "report.html",
        "report.json",
    ]


def test_the_json_is_printed_as_it_is_written(run: Run, invoke: Invoke, data: Path) -> None:
    run("r", "--adapter", "bm25")

    shown = invoke("report", "r", "--data", data, "--json", "--into", "elsewhere")

    assert json.loads(shown.out) == json.loads(Path("elsewhere/report.json").read_text())
    assert not Path("r/report").exists()


@pytest.fixture
def sketched_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sketches, and no process for them: `tests/reporting/test_publication.py` draws a report's."""

    @contextmanager
    def sketch_charts(figures: Path, target: Path) -> Iterator[Callable[[], list[Path]]]:
        report = msgspec.json.decode(figures.read_bytes(), type=RunReport)
        yield lambda: list(gallery.draw_charts(report, target))

    monkeypatch.setattr(publication, "_draw_charts", sketch_charts)
    for module in (gallery, heatmap_picture):
        monkeypatch.setattr(module, "write_picture", write_sketch)


@pytest.mark.usefixtures("sketched_pictures")
def test_pictures_are_drawn_if_wanted(run: Run, invoke: Invoke, data: Path) -> None:
    run("r", "--adapter", "bm25")

    shown = invoke("report", "r", "--data", data, "--pictures")

    assert shown.code == 0, shown.err
    names = {path.name for path in Path("r/report/pictures").iterdir()}
    assert {"heatmap.png", "heatmap.svg", "category-curves.png"} <= names
    assert len(names) > 6


def test_a_run_beside_others_is_weighed_against_them(run: Run, invoke: Invoke, data: Path) -> None:
    run("r", "--adapter", "bm25")
    run("s", "--adapter", "recency", "--config", "days=1")

    shown = invoke("report", "r", "--beside", "s", "--data", data)

    assert shown.code == 0, shown.err
    assert "Score against query seconds p50" in shown.out
    told = json.loads(Path("r/report/report.json").read_text())
    assert {each["name"].split()[0] for each in told["paretos"][0]["contenders"]} == {
        "bm25",
        "recency",
    }


def test_without_its_days_the_report_does_without_and_says_so(run: Run, invoke: Invoke) -> None:
    run("r", "--adapter", "bm25")

    shown = invoke("report", "r")

    assert shown.code == 0
    assert "note: the days of the evidence are not shown: gardener" in shown.err
    assert "--data" in shown.err


def test_days_of_another_story_are_refused(run: Run, invoke: Invoke, data: Path) -> None:
    run("r", "--adapter", "bm25")
    day = next(data.glob("*/memories-*/day-0001.md"))
    day.write_text("Another day altogether.\n")

    shown = invoke("report", "r", "--data", data)

    assert shown.code == 3
    assert "its days in" in shown.err
    assert not Path("r/report").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere",), 2, "nowhere"),
        (("r", "--into", "r/journal.jsonl"), 2, "is a file; name a folder"),
        (("r", "--beside", "nowhere"), 2, "nowhere"),
        (("r", "--canaries", "r/journal.jsonl"), 3, "journal.jsonl"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, invoke: Invoke, words: tuple[str, ...], code: int, said: str
) -> None:
    run("r", "--adapter", "none")

    shown = invoke("report", *words)

    assert shown.code == code
    assert said in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_a_run_without_verdicts_has_nothing_to_report(run: Run, invoke: Invoke) -> None:
    run("r", "--adapter", "none", "--judge", "stub")
    journal = Path("r/journal.jsonl")
    kept = [each for each in read_events(journal) if not isinstance(each, Judged | RunEnded)]
    journal.write_bytes(b"".join(encode_events(kept)))

    shown = invoke("report", "r")

    assert shown.code == 2
    assert "none of its answers has marks yet" in shown.err


def test_a_stub_and_an_invalid_run_are_said_to_be(
    run: Run, invoke: Invoke, adapter: Callable[..., Path]
) -> None:
    run("stub", "--adapter", "none", "--judge", "stub")
    run("invalid", "--adapter", adapter(query='raise KeyError("x")'))

    assert "STUB JUDGE: scores mean nothing" in invoke("report", "stub").out
    failed = invoke("report", "invalid").out
    assert "INVALID" in failed
    assert "Result " not in failed, "failures are no low score"
