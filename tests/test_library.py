"""Everything the command line does is one import away, and the list of names is a promise."""

import ast
import asyncio
import json
import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import recall_bench
from recall_bench.core.event import Answered
from recall_bench.core.plan import ReviewMode
from recall_bench.core.settings import JudgeShows
from recall_bench.engine.assembly import assemble
from recall_bench.judging.rubric.passages import ExcerptMode
from tests.gardener import write_persona


def test_the_public_names() -> None:
    """A name leaves this list only with a major version."""
    assert recall_bench.__all__ == [
        "Answer",
        "AnswerRow",
        "BenchError",
        "CATEGORIES",
        "Calendar",
        "Checkpoint",
        "DataError",
        "Episode",
        "Exhibit",
        "Finished",
        "Item",
        "Judge",
        "JudgeCard",
        "JudgeFault",
        "Lifecycle",
        "Memory",
        "MemorySystem",
        "Passage",
        "Plan",
        "Question",
        "RunFolder",
        "Scenario",
        "Settings",
        "Snapshots",
        "Summary",
        "SystemBusy",
        "SystemCard",
        "SystemFault",
        "SystemGone",
        "Trial",
        "Truth",
        "Turn",
        "UsageError",
        "Verdict",
        "arun",
        "compare",
        "compare_suites",
        "draw_heatmap",
        "estimate",
        "evaluate",
        "export",
        "export_run",
        "gate",
        "heatmap_grid",
        "heatmap_json",
        "import_run",
        "judge",
        "list_personas",
        "load_persona",
        "load_story",
        "merge",
        "open_run",
        "parse_range",
        "parse_ranges",
        "questions_in_range",
        "read_answer_rows",
        "read_result",
        "read_settings",
        "rejudge",
        "report",
        "result_json",
        "run",
        "run_matrix",
        "run_suite",
        "summarise",
        "text_report",
        "verdict_changes",
        "wait_for_batches",
    ]


def test_every_public_name_is_there_documented_and_typed() -> None:
    source = Path(recall_bench.__file__ or "").read_text(encoding="utf-8")
    typed = {
        alias.asname
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    for name in recall_bench.__all__:
        thing = getattr(recall_bench, name)
        assert name in typed
        assert name == "CATEGORIES" or thing.__doc__, name


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'memory'"):
        _ = recall_bench.memory


def test_a_benchmark_from_python(tmp_path: Path) -> None:
    folder = write_persona(tmp_path / "data")

    finished = recall_bench.run(
        adapter="bm25",
        data=tmp_path / "data",
        ranges=("5d", "10d"),
        into=tmp_path / "run",
        heatmap_png=False,
    )

    assert finished.exit_code == 0
    assert finished.summary.overall.judged == 15
    assert "gardener" in recall_bench.text_report(finished.folder)
    grid = recall_bench.heatmap_grid(finished.summary)
    assert grid["ranges"] == ["5d", "10d"]
    assert json.loads("".join(recall_bench.result_json(finished.folder)))["adapterName"] == "bm25"
    assert recall_bench.open_run(tmp_path / "run").is_finished
    assert [persona.id for persona in recall_bench.list_personas(folder.parent)] == ["gardener"]
    assert (tmp_path / "run" / "journal.jsonl").read_text().count(f'"{Answered.__name__.lower()}"')


def test_every_persona_that_list_names_can_be_loaded_by_name() -> None:
    assert recall_bench.load_persona("harbour-office").id == "harbour-office"


def test_questions_are_filtered_by_range(tmp_path: Path) -> None:
    scenario = recall_bench.load_persona(write_persona(tmp_path))

    asked = recall_bench.questions_in_range(scenario, "3d")

    assert [item.id for item in asked] == ["gardener-q001", "gardener-q002", "gardener-q003"]


class Parrot:
    """Answers with whatever it heard last."""

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.last = content.splitlines()[-1]

    def query(self, question: str) -> str:
        return self.last


def test_an_adapter_class_of_ones_own(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")

    finished = recall_bench.run(
        adapter=Parrot,
        data=str(tmp_path / "data"),
        ranges="5d",
        into=str(tmp_path / "run"),
        heatmap_png=False,
    )

    assert finished.is_valid
    assert finished.folder.plan.system.name == "Parrot"
    assert finished.summary.overall.judged == 5


def test_recorded_answers_are_judged_again_from_python(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    where: dict[str, Any] = {"data": tmp_path / "data", "heatmap_png": False}
    asked = recall_bench.run(adapter="bm25", ranges="5d,10d", into=tmp_path / "old", **where)

    finished = recall_bench.rejudge(tmp_path / "old", "stub", into=tmp_path / "new", **where)

    assert finished.exit_code == 0
    assert finished.folder.plan.judge.name == "stub"
    assert finished.folder.plan.answers_from == asked.folder.plan.digest
    changes = recall_bench.verdict_changes(asked.folder, finished.folder)
    assert changes.overall.answers == 15
    assert changes.overall.after == {"correctness": 0, "completeness": 0, "grounded": 0}
    assert changes.overall.lost > 0


def test_what_was_asked_cannot_change_when_it_is_judged_again(tmp_path: Path) -> None:
    with pytest.raises(recall_bench.UsageError, match="ranges: was decided when"):
        recall_bench.rejudge(tmp_path, ranges="5d")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("lifecycle", "eternal"),
        ("review", "all"),
        ("judge_shows", "some"),
        ("calendar", "lunar"),
        ("ingest", "thoughts"),
    ],
)
def test_a_word_that_means_nothing_is_refused(name: str, word: str) -> None:
    with pytest.raises(recall_bench.UsageError, match=f"{word!r} is not valid; choose one of"):
        recall_bench.read_settings(given={name: word})


def test_words_become_what_they_mean() -> None:
    settings = recall_bench.read_settings(given={"review": "failures", "lifecycle": "fresh"})

    assert settings.review is ReviewMode.FAILURES
    assert settings.lifecycle is recall_bench.Lifecycle.FRESH


def test_a_judge_is_shown_what_the_settings_can_say() -> None:
    assert {str(word) for word in JudgeShows} == {str(word) for word in ExcerptMode}


@pytest.mark.anyio
async def test_a_benchmark_inside_a_running_loop(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")

    finished = await recall_bench.arun(
        adapter="none", data=tmp_path / "data", ranges="5d", into=tmp_path / "run", judge="stub"
    )

    assert finished.exit_code == 0
    assert (tmp_path / "run" / "heatmap.png").exists()


@pytest.mark.anyio
async def test_other_tasks_go_on_while_a_run_is_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part of the run waits until a task of the loop has gone on; none waits in vain."""
    write_persona(tmp_path / "data")
    ticked = threading.Event()
    waited: dict[str, bool] = {}

    async def tick() -> None:
        while True:
            await anyio.sleep(0.001)
            ticked.set()

    def wait_for_tick(part: str) -> None:
        ticked.clear()
        waited[part] = ticked.wait(30)

    def assemble_late(*words: Any) -> Any:
        wait_for_tick("assembly")
        return assemble(*words)

    monkeypatch.setattr("recall_bench.library.assemble", assemble_late)
    ticker = asyncio.create_task(tick())
    finished = await recall_bench.arun(
        adapter="bm25",
        data=tmp_path / "data",
        ranges="5d",
        into=tmp_path / "run",
        heatmap_png=False,
        observe=lambda event, _: wait_for_tick(type(event).__name__),
    )
    ticker.cancel()

    assert finished.exit_code == 0
    assert {"assembly", "BoundsComputed", "Answered", "Judged"} <= waited.keys()
    assert all(waited.values())


@pytest.mark.anyio
async def test_a_notebook_calls_run_as_a_script_does(tmp_path: Path) -> None:
    """Its loop is running already, and it waits for the result."""
    write_persona(tmp_path / "data")
    where: dict[str, Any] = {"data": tmp_path / "data", "heatmap_png": False}

    finished = recall_bench.run(adapter=Parrot, ranges="5d", into=tmp_path / "run", **where)
    again = recall_bench.rejudge(tmp_path / "run", "stub", into=tmp_path / "new", **where)
    forecast = recall_bench.estimate(data=tmp_path / "data", adapter="none")

    assert finished.exit_code == again.exit_code == 0
    assert finished.summary.overall.judged == 5
    assert forecast.outline.personas


def test_a_result_is_shown_in_a_line_and_as_html(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    finished = recall_bench.run(
        adapter="bm25", data=tmp_path / "data", into=tmp_path / "run", heatmap_png=False
    )
    line, page = repr(finished), finished._repr_html_()

    for shown in (line, page):
        for word in ("bm25", "of 100", "silence", "ceiling", "invented"):
            assert word in shown
    assert len(line) < 250
    assert "\n" not in line
    assert page.count("<tr>") > 3
    assert "background:#" in page
    assert "<script" not in page
    assert repr(recall_bench.read_result(tmp_path / "run")) == line
    assert "judged" not in repr(finished.summary)
    assert repr(finished.folder) == f"RunFolder.open({str(tmp_path / 'run')!r})"


def test_a_result_is_shown_after_its_folder_is_gone(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    recall_bench.run(
        adapter="bm25", data=tmp_path / "data", into=tmp_path / "run", heatmap_png=False
    )
    found = recall_bench.read_result(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")

    assert "bm25" in repr(found)
    assert "bm25" in found._repr_html_()


def test_every_trial_is_a_row_of_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    write_persona(tmp_path / "data")
    finished = recall_bench.run(
        adapter=Parrot, data=tmp_path / "data", ranges=("5d", "10d"), into=tmp_path / "run"
    )

    frame = finished.to_pandas()

    assert len(frame) == finished.summary.overall.owed == 15
    assert frame["points"].mean() == pytest.approx(finished.summary.overall.mean)
    assert list(frame["checkpoint"].unique()) == ["5d", "10d"]
    first = frame.iloc[0]
    assert first["question"].endswith("?")
    assert first["answer"]
    assert first["seconds"] > 0
    assert str(frame["leaked"].dtype) == "boolean"


def test_every_trial_is_a_row_of_a_polars_frame(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    write_persona(tmp_path / "data")
    finished = recall_bench.run(
        adapter=Parrot, data=tmp_path / "data", ranges=("5d", "10d"), into=tmp_path / "run"
    )

    frame = finished.to_polars()

    assert frame.shape == (15, 21)
    assert frame["points"].mean() == pytest.approx(finished.summary.overall.mean)


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_missing_library_is_named_with_its_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_persona(tmp_path / "data")
    finished = recall_bench.run(adapter="none", data=tmp_path / "data", into=tmp_path / "run")
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(recall_bench.UsageError, match=re.escape(f"[{name}]'")):
        getattr(finished, f"to_{name}")()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"adaptor": "bm25"}, "there is no setting 'adaptor'; did you mean 'adapter'"),
        ({"parallelism": "2"}, "parallelism: expected a whole number, got '2'"),
        ({"parallelism": True}, "parallelism: expected a whole number, got True"),
        ({"error_budget": "half"}, "error_budget: expected a number, got 'half'"),
        ({"ranges": 30}, "ranges: expected a list of texts, got 30"),
        ({"ranges": ["5d", None]}, "ranges: expected a list of texts, got"),
        ({"into": 5}, "into: expected a path, got 5"),
        ({"into": ""}, "into: expected a path, got ''"),
        ({"config": "k=v"}, "config: expected a mapping, got 'k=v'"),
        ({"heatmap_png": "yes"}, "heatmap_png: expected True or False, got 'yes'"),
        ({"judge": 5}, "judge: expected a text, got 5"),
        ({"adapter": 3}, "int is neither an adapter nor a factory"),
    ],
)
def test_a_bad_argument_is_named(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(recall_bench.UsageError, match=re.escape(problem)):
        recall_bench.run(**given)


def test_none_leaves_a_setting_as_it_is() -> None:
    settings = recall_bench.read_settings(given={"top_k": None, "into": None, "ranges": None})

    assert settings == recall_bench.Settings()


@pytest.mark.parametrize(
    "call",
    [
        lambda: recall_bench.run({"adapter": "bm25"}),  # type: ignore[arg-type]
        lambda: recall_bench.open_run(3),  # type: ignore[arg-type]
        lambda: recall_bench.compare(None, None),  # type: ignore[arg-type]
        lambda: recall_bench.gate("runs/a", min_skore=3),
        lambda: recall_bench.load_persona("er-physican"),
        lambda: recall_bench.list_personas(7),  # type: ignore[arg-type]
    ],
)
def test_every_function_refuses_what_it_cannot_use(call: Callable[[], object]) -> None:
    with pytest.raises(recall_bench.UsageError):
        call()


def test_what_a_run_means_is_a_call_away(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    runs = [
        recall_bench.run(
            adapter=adapter,
            data=tmp_path / "data",
            ranges=("5d", "10d"),
            into=tmp_path / adapter,
            heatmap_png=False,
        ).folder.path
        for adapter in ("bm25", "none")
    ]

    published = recall_bench.report(runs[0], into=tmp_path / "report", data=tmp_path / "data")
    compared = recall_bench.compare(*runs)
    gated = recall_bench.gate(*reversed(runs), margin=5)
    imported = recall_bench.import_run(runs[0] / "result.json", into=tmp_path / "imported")

    assert [path.name for path in published.files] == ["report.html", "report.json"]
    assert "is worse than" in compared.conclusions[0]
    for shown in (repr(published), repr(compared), repr(gated)):
        assert len(shown) < 300
    assert (gated.verdict.value, gated.verdict.exit_code) == ("failed", 11)
    again = recall_bench.summarise(recall_bench.open_run(imported.folder))
    assert again.overall.mean == recall_bench.summarise(recall_bench.open_run(runs[0])).overall.mean
