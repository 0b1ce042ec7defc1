"""One run gives one heatmap, whichever of its files it is read from; wrong files say why."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.scenario import CATEGORIES, Item
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.result_files import export_files
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
from recall_bench.reporting.heatmap.heatmap_picture import draw_picture
from tests.conftest import shared_data
from tests.written_runs import (
    ADA,
    ALL_OF_ADA,
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    bounded_story,
    plan_of,
    trial,
)

Json = dict[str, Any]


def all_three(story: Story) -> tuple[HeatmapData, HeatmapData, HeatmapData]:
    result, progress = story.folder / "result.json", story.folder / "progress.jsonl"
    export_files(story.open(), result=result, progress=progress)
    return load_heatmap(story.folder), load_heatmap(result), load_heatmap(progress)


def measured(data: HeatmapData) -> list[tuple[float | None, int, int | None]]:
    """All scores without what only some files know."""
    return [
        (None, 0, eligible) if cell is None else (round(cell.value, 9), cell.trials, eligible)
        for row in (*data.table.categories, data.table.total)
        for cell, eligible in zip(row.cells, row.eligible, strict=True)
    ]


def overall(data: HeatmapData, place: int = 0) -> Estimate:
    """What was measured in a column."""
    cell = data.table.total.cells[place]
    assert cell is not None
    return cell


def labels(data: HeatmapData) -> list[str]:
    return [column.label for column in data.table.columns]


def percents(data: HeatmapData) -> list[float | None]:
    """The last row: what is invented or leaked."""
    return [None if cell is None else 100 * cell.value for cell in data.table.rows[-1].cells]


def test_intervals_come_with_a_result_and_not_with_progress(finished: Story) -> None:
    folder, result, progress = all_three(finished)

    assert (
        folder.intervals == result.intervals == "95 % bootstrap interval over questions (seed 42)"
    )
    whole, read, bare = (overall(data, 1) for data in (folder, result, progress))
    assert whole.low is not None
    assert read.replace(personas=1) == whole
    assert progress.intervals is None
    assert (bare.low, progress.counts_trials) == (None, True)


def test_a_question_put_twice_is_one_question_everywhere(tmp_path: Path) -> None:
    story = ada_story(tmp_path, repeats=2)
    for repeat in (0, 1):
        story.both(trial("cat", repeat=repeat))
        story.both(trial("dog", repeat=repeat), POOR)

    folder, result, _ = all_three(story)

    for data in (folder, result):
        assert (overall(data).questions, overall(data).trials) == (2, 4)


def test_folder_result_and_progress_agree(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    for each in ALL_OF_ADA:
        story.both(each, INVENTED if each.item == "dog" else PERFECT)
        if each.item == "dog":
            story.not_answered(trial("dog", each.checkpoint, scenario="bob"))
        else:
            story.both(trial(each.item, each.checkpoint, scenario="bob"), POOR)
    story.end()

    folder, result, progress = all_three(story)

    assert folder.invalid == "2 of 10 trials failed, budget 5 %"
    assert replace(folder, table=result.table) == result
    assert [row.name for row in result.table.shown] == [row.name for row in folder.table.shown]
    for one, other in zip(folder.table.shown, result.table.shown, strict=True):
        assert (one.kind, one.scale, one.eligible) == (other.kind, other.scale, other.eligible)
        for cell, read in zip(one.cells, other.cells, strict=True):
            assert (cell is None) == (read is None)
            if cell is not None and read is not None:
                assert read.value == pytest.approx(cell.value)
                assert read.replace(value=cell.value, personas=cell.personas, low=cell.low) == (
                    cell.replace(high=read.high)
                )
    assert progress.table.rows[-1].name == "invented or leaked"
    assert measured(folder) == measured(progress)


def test_headline_and_bounds_are_the_same_from_folder_and_result(tmp_path: Path) -> None:
    story = bounded_story(tmp_path, [PERFECT, POOR, PERFECT, INVENTED] * 6, ceiling=(2, 1, 1))

    folder, result, progress = all_three(story)

    assert folder.headline is not None
    assert folder.headline.startswith("79 of 100 (65 to 90) · silence 17 · ceiling 67 · ")
    assert folder.headline.endswith(" · invented 25 %")
    assert result.headline == folder.headline
    total, read = folder.table.total.bounds, result.table.total.bounds
    assert total is not None
    assert read is not None
    assert (total.floor, total.ceiling) == (1.0, 4.0) == (read.floor, read.ceiling)
    assert [row.bounds and row.bounds.floor for row in result.table.categories] == [
        row.bounds and row.bounds.floor for row in folder.table.categories
    ]
    assert (progress.headline, progress.table.total.bounds) == (None, None)


def test_a_run_in_progress_says_how_far_it_is_everywhere(story: Story) -> None:
    story.both(trial("cat"))
    story.both(trial("dog"))

    for data in all_three(story):
        assert (data.done, data.planned_checkpoints) == (1, 2)
        assert labels(data) == ["2d", "4d"]
        assert overall(data).value == 6.0
        assert data.table.total.cells[1] is None


def test_a_persona_not_started_is_still_to_do_everywhere(tmp_path: Path) -> None:
    story = Story(tmp_path, {"ada": ADA}, plan_of({"ada": ADA, "bob": ADA}))
    for each in ALL_OF_ADA:
        story.both(each)

    for data in all_three(story):
        assert (data.done, data.planned_checkpoints) == (2, 4)
        assert "2 personas: ada, bob" in data.subtitle[0]


def test_a_stub_judge_is_known_everywhere(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=JudgeCard(name="stub", version="1"))

    assert [data.is_stub for data in all_three(story)] == [True, True, True]


def test_a_dry_run_shows_only_what_it_visits(tmp_path: Path) -> None:
    story = ada_story(tmp_path, dry_run=True)
    story.both(trial("cat"))
    story.both(trial("dog"))
    story.end()

    for data in all_three(story):
        assert labels(data) == ["2d"]
        assert (data.done, data.planned_checkpoints) == (1, 1)


def test_the_caption_names_system_persona_judge_date_and_dataset(finished: Story) -> None:
    for data in all_three(finished):
        words = " ".join((data.title, *data.subtitle))
        for fact in ("scripted 1", "ada", "judge exact 1", "2026-05-24", "3 questions"):
            assert fact in words
        assert finished.plan.dataset_digest[:12] in words


def categories(scores: dict[str, tuple[float, int]], eligible: int = 5) -> list[Json]:
    return [
        {
            "category": name,
            "meanScore": scores.get(name, (0, 0))[0],
            "questionCount": scores.get(name, (0, 0))[1],
            "eligibleCount": eligible if name in scores else 0,
        }
        for name in CATEGORIES
    ]


def part(label: str, days: int, mean: float, count: int, **more: Any) -> Json:
    return {
        "range": {"label": label, "days": days},
        "daysIngested": days,
        "questionsEvaluated": count,
        "overallScore": mean,
        "hallucinationRate": 25,
        "categoryScores": categories({"synthesis": (mean, count)} if count else {}),
        "difficultyScores": {},
        **more,
    }


def original(*parts: Json, persona: str = "ea", **metadata: Any) -> Json:
    """A result as the public harness writes it: ranges as configured, not by days."""
    return {
        "timestamp": "2026-05-24T19:49:30.797Z",
        "adapterName": "MemPalace",
        "ranges": [{"label": "60d", "days": 60}, {"label": "30d", "days": 30}],
        "personas": [{"personaId": persona, "adapterName": "MemPalace", "rangeResults": parts}],
        "heatmap": [],
        "metadata": {"judgeModel": "some-model", "groupsEnabled": False, **metadata},
    }


def read(tmp_path: Path, result: Json) -> HeatmapData:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    return load_heatmap(path)


def test_columns_go_by_days_and_cells_by_label(tmp_path: Path) -> None:
    data = read(tmp_path, original(part("60d", 60, 2.0, 4), part("30d", 30, 5.0, 3)))

    assert labels(data) == ["30d", "60d"]
    row = data.table.get("synthesis")
    assert row is not None
    assert [cell and (cell.value, cell.trials) for cell in row.cells] == [(5.0, 3), (2.0, 4)]
    assert percents(data) == [25.0, 25.0]


def test_a_mean_over_nothing_is_no_measurement(tmp_path: Path) -> None:
    data = read(tmp_path, original(part("30d", 30, 0, 0, hallucinationRate=0)))

    assert data.table.total.cells == (None, None)
    assert percents(data) == [None, None]
    assert data.table.rows[0].eligible[0] == 0


def test_a_result_that_lacks_checkpoints_says_so(tmp_path: Path) -> None:
    data = read(tmp_path, original(part("30d", 30, 5.0, 3)))

    assert (data.done, data.planned_checkpoints) == (1, 2)


@pytest.mark.parametrize("key", ["answer", "referenceAnswer"])
def test_either_name_of_the_reference_is_accepted(tmp_path: Path, key: str) -> None:
    row = {"qa": {"id": "q", "question": "?", key: "yes"}, "systemAnswer": "no", "score": None}

    data = read(tmp_path, original(part("30d", 30, 5.0, 3, questionResults=[row])))

    assert overall(data).value == 5.0


def test_a_run_without_a_judge_that_scored_nothing_is_a_stub(tmp_path: Path) -> None:
    nothing = part("30d", 30, 0, 3, hallucinationRate=100)

    assert read(tmp_path, original(nothing, judgeModel=None)).is_stub
    assert not read(tmp_path, original(nothing)).is_stub
    assert not read(tmp_path, original(part("30d", 30, 1.0, 3), judgeModel=None)).is_stub
    assert not read(tmp_path, original(part("30d", 30, 0, 0), judgeModel=None)).is_stub
    assert not read(tmp_path, original(judgeModel=None)).is_stub


def test_personas_are_pooled_by_their_questions(tmp_path: Path) -> None:
    result = original(part("30d", 30, 6.0, 1))
    result["personas"] += original(part("30d", 30, 2.0, 3), persona="it")["personas"]

    data = read(tmp_path, result)

    assert (overall(data).value, overall(data).trials) == (3.0, 4)
    assert data.table.total.eligible[0] == 10


HEADER: Json = {
    "type": "header",
    "timestamp": "2026-05-24T19:49:30.797Z",
    "adapterName": "MemPalace",
    "ranges": [{"label": "30d", "days": 30}, {"label": "60d", "days": 60}],
    "groupsEnabled": False,
}


def progress(tmp_path: Path, *records: Json, tail: str = "") -> HeatmapData:
    path = tmp_path / "progress.jsonl"
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text + tail, encoding="utf-8")
    return load_heatmap(path)


def checkpoint(label: str, days: int, mean: float, count: int) -> Json:
    return {"type": "checkpoint", "personaId": "ea", **part(label, days, mean, count)}


def test_a_repeated_checkpoint_holds_as_last_written(tmp_path: Path) -> None:
    data = progress(
        tmp_path,
        HEADER,
        checkpoint("30d", 30, 1.0, 3),
        HEADER,
        checkpoint("30d", 30, 5.0, 3),
    )

    assert overall(data).value == 5.0
    assert (data.done, data.planned_checkpoints) == (1, 2)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    data = progress(tmp_path, HEADER, checkpoint("30d", 30, 1.0, 3), tail='{"type":"check')

    assert data.done == 1


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([], "no header line"),
        ([checkpoint("30d", 30, 1.0, 3)], "no header line"),
        ([HEADER, {"type": "checkpoint"}], "line 2: .*missing required field"),
        ([HEADER, {"personaId": "ea", "systemAnswer": "x"}], "line 2: "),
        ([HEADER, checkpoint("30d", 30, 9.02, 3)], r"line 2: .*<= 6.*overallScore"),
    ],
)
def test_a_malformed_progress_file_says_what_is_wrong(
    tmp_path: Path, records: list[Json], problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        progress(tmp_path, *records)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"timestamp": 1}', "\xff", "{", '{"personas": [{}]}']
)
def test_a_malformed_result_says_what_is_wrong(tmp_path: Path, content: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(content, encoding="latin-1")

    with pytest.raises(DataError, match=r"result\.json: is not a result\.json \(.+\)"):
        load_heatmap(path)


def test_a_path_to_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_heatmap(tmp_path / "result.json")


def test_the_published_progress_file_can_be_drawn(tmp_path: Path) -> None:
    data = load_heatmap(shared_data("conformance/original-progress.jsonl"))

    draw_picture(data, tmp_path / "heatmap.png")

    assert len(labels(data)) == 30
    assert labels(data)[-1] == "180d"
    assert (data.done, data.planned_checkpoints) == (30, 30)
    first, second, *_ = data.table.categories
    assert len(data.table.categories) == 8
    assert sum(cell.trials for cell in data.table.total.cells if cell is not None) == 1639
    assert first.cells[0] is not None
    assert first.cells[0].value == 6.0
    assert second.eligible[0] == 0
    assert percents(data)[2] == pytest.approx(100 * 2 / 24)
    assert not data.is_stub
    assert (tmp_path / "heatmap.png").stat().st_size > 10_000


def test_a_result_from_before_rows_were_named_has_the_same_heatmap(finished: Story) -> None:
    _, named, _ = all_three(finished)
    path = finished.folder / "result.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["estimates"]["rows"]
    path.write_text(json.dumps(document), encoding="utf-8")

    old = load_heatmap(path)

    assert [row.name for row in old.table.shown] == [row.name for row in named.table.shown]
    assert [row.cells for row in old.table.shown] == [row.cells for row in named.table.shown]
    # Still older ones do not tell inventions and leaks apart.
    for name in ("inventionRate", "leakRate"):
        del document["estimates"][name]
        for checkpoint in document["estimates"]["checkpoints"]:
            del checkpoint[name]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_heatmap(path).table.rows[-1].name == "invented or leaked"
