"""The real 180-day persona runs, and costs and asks what the public harness does."""

import json
from pathlib import Path
from typing import Any

import pytest

import recall_bench
from recall_bench.core.settings import Settings
from recall_bench.engine.assembly import assemble
from tests.conftest import shared_data
from tests.thoroughness import choose_number

pytestmark = pytest.mark.slow


def counts(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            kind = json.loads(line)["type"]
            found[kind] = found.get(kind, 0) + 1
    return found


@pytest.mark.parametrize(
    ("ranges", "answered", "settled"),
    [
        (("30d", "90d", "6mo", "1y", "full"), 1_080, 5),
        (("every:7",), 4_100, 26),
    ],
    ids=["the named ranges", "every seventh day"],
)
def test_it_asks_as_often_and_feeds_as_little_as_published(
    tmp_path: Path, ranges: tuple[str, ...], answered: int, settled: int
) -> None:
    finished = recall_bench.run(
        data=shared_data("recall-ea"),
        adapter="none",
        judge="stub",
        ranges=ranges,
        into=tmp_path,
        heatmap_png=False,
    )

    assert finished.exit_code == 0
    found = counts(tmp_path)
    assert (found["ingested"], found["settled"]) == (180, settled)
    assert found["answered"] == found["judged"] == answered


def test_the_published_sweep_is_every_seventh_day(tmp_path: Path) -> None:
    published = tuple(f"{days}d" for days in range(7, 183, 7))
    given: dict[str, Any] = {"data": shared_data("recall-ea"), "adapter": "none", "into": tmp_path}

    plans = [
        assemble(Settings(ranges=ranges, **given)).plan for ranges in (published, ("every:7",))
    ]

    named, swept = ([checkpoint.days for checkpoint in plan.checkpoints] for plan in plans)
    assert len(named) == 26
    assert named[:-1] == swept[:-1]
    # Past the end, where "1y" above is too.
    assert (named[-1], swept[-1]) == (182, 180)


def test_a_long_sweep_feeds_every_day_once(tmp_path: Path) -> None:
    recall_bench.run(
        data=shared_data("recall-ea"),
        adapter="none",
        judge="stub",
        ranges=("every:2",),
        sample=1,
        into=tmp_path,
        heatmap_png=False,
    )

    found = counts(tmp_path)
    assert (found["ingested"], found["settled"]) == (180, 90)


def mean_of(adapter: str, into: Path) -> float:
    finished = recall_bench.run(
        data=shared_data("recall-ea"),
        adapter=adapter,
        ranges=(f"{choose_number(10, 30)}d",),
        into=into,
        heatmap_png=False,
    )
    assert finished.summary.overall.mean is not None
    return finished.summary.overall.mean


def test_built_ins_remember_more_than_nothing(tmp_path: Path) -> None:
    means = {name: mean_of(name, tmp_path / name) for name in ("none", "bm25", "hybrid")}

    assert min(means["bm25"], means["hybrid"]) > means["none"] + 0.5, means


def test_the_calendar_may_follow_the_text(tmp_path: Path) -> None:
    folder = shared_data("recall-ea/executive-assistant")

    by_metadata = recall_bench.load_persona(folder)
    by_text = recall_bench.load_persona(folder, calendar=recall_bench.Calendar.TEXT)

    shift = {
        before.day: (after.at - before.at).days
        for before, after in zip(by_metadata.episodes, by_text.episodes, strict=True)
    }
    assert {shift[day] for day in range(20, 68)} == {0}
    assert {shift[day] for day in range(68, 181)} == {-1}
