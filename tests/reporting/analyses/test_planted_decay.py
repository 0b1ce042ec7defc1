"""A system that forgets at a rate that is known: the rate is found again, by the real machinery."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.library import run
from recall_bench.metrics.survival import HalfLife, Survival, estimate_survival
from recall_bench.reporting.analyses.degradation import (
    Degradation,
    measure_degradation,
    select_grown,
)
from recall_bench.reporting.analyses.fact_survival import (
    cut_at_horizon,
    follow_facts,
    round_to_grid,
)
from recall_bench.systems.python.adapter import DayMetadata
from tests.faulty.decay import Decaying
from tests.reporting.analyses.decay_tables import facts, forgetting, table_of
from tests.reporting.analyses.locker_story import write_lockers
from tests.thoroughness import choose_number

PLANTED = 20.0


def holds(found: HalfLife, truth: float) -> bool:
    """An end that is not known lies beyond what was followed."""
    low = found.followed if found.low is None else found.low
    return low <= truth <= (np.inf if found.high is None else found.high)


def followed(table: TrialTable, seed: int) -> Survival:
    found = estimate_survival(
        follow_facts(select_grown(table), failures=2).lifetimes, seed=seed, resamples=200
    )
    assert found is not None
    known = cut_at_horizon(found)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("half_life", "gap", "sample"),
    [
        pytest.param(100, 20, None, id="asked at every checkpoint"),
        pytest.param(25, 20, None, id="half lost by about the next checkpoint"),
        pytest.param(100, 20, 25, id="a sample asked again"),
        pytest.param(100, 4, None, id="more checkpoints than a curve has steps"),
    ],
)
def test_a_planted_half_life_is_within_its_interval_and_without_bias(
    half_life: float, gap: int, sample: int | None
) -> None:
    """It should be 95 times in 100, within three standard errors of the rounds."""
    chance = default_rng(7)
    rounds, hits, values = choose_number(50, 100), 0, []
    for number in range(rounds):
        told = {"ada": facts(80, until=200, chance=chance)}
        rule = forgetting(half_life, chance)
        table = table_of(told, range(gap, 301, gap), rule, sample=sample, seed=number)
        found = followed(table, number).half_life
        values.append(found.value or np.inf)
        hits += holds(found, half_life)

    assert hits / rounds >= 0.95 - 3 * sqrt(0.95 * 0.05 / rounds)
    # A tenth for 100 rounds; the error of a median falls with the root of their number.
    assert np.median(values) == pytest.approx(half_life, rel=1 / sqrt(rounds))


def test_a_grid_keeps_true_all_that_is_said_of_a_fact() -> None:
    chance = default_rng(3)
    told = {"ada": facts(80, until=200, chance=chance)}
    table = table_of(told, range(2, 301, 2), forgetting(100, chance), sample=20)
    exact = follow_facts(select_grown(table), failures=2).lifetimes

    coarse = round_to_grid(exact, steps=8)

    assert len({age for each in coarse for age in (each.known_for, each.lost_by) if age}) <= 8
    for fine, rough in zip(exact, coarse, strict=True):
        assert rough.known_for <= fine.known_for
        assert (rough.lost_by is None) == (fine.lost_by is None)
        assert fine.lost_by is None or (rough.lost_by or 0) >= fine.lost_by


def measured(folder: Path, half_life: float, seed: int) -> Degradation:
    run(
        adapter="tests.faulty.decay:Decaying",
        config={"half_life": half_life, "seed": seed},
        data=folder / "data",
        ranges="every:10",
        into=folder / f"run-{half_life}-{seed}",
        heatmap_png=False,
        in_process=True,
    )
    table = read_trials(RunFolder.open(folder / f"run-{half_life}-{seed}"))
    return measure_degradation(table, seed=1, resamples=500)


def test_the_engine_runs_a_system_that_forgets_and_the_report_finds_out(tmp_path: Path) -> None:
    """Of four intervals three hold what was planted: all of them do 81 times in 100."""
    write_lockers(tmp_path / "data", 100)

    found = [measured(tmp_path, PLANTED, seed) for seed in range(1, 5)]

    halves = [each.survivals[0].survival.half_life for each in found]
    assert sum(holds(each, PLANTED) for each in halves) >= 3
    assert sum(holds(each, 3 * PLANTED) for each in halves) == 0
    assert np.median([each.value or np.inf for each in halves]) == pytest.approx(PLANTED, rel=0.2)
    assert all(each.fixed_trend is not None and each.fixed_trend.slope.value < 0 for each in found)


def test_a_system_that_forgets_nothing_has_no_half_life(tmp_path: Path) -> None:
    write_lockers(tmp_path / "data", 40)

    found = measured(tmp_path, 1e9, 1)

    whole = found.survivals[0].survival
    assert (whole.lost, whole.half_life.value, found.never_known) == (0, None, 0)
    assert found.fixed_trend is not None
    assert found.fixed_trend.slope.value == 0


DAY = DayMetadata(day_number=1, date="2025-04-01", persona_id="")


def kept(memory: Decaying) -> int:
    memory.finalize_ingestion()
    return len(memory.lines)


def test_half_of_the_lines_are_left_after_each_half_life() -> None:
    memory = Decaying(half_life=30, seed=1)
    memory.setup()
    memory.ingest_day(1, "\n".join(f"line {number}" for number in range(4000)), DAY)
    left = []
    for day in (31, 61, 91):
        memory.ingest_day(day, "", DAY)
        left.append(kept(memory))

    assert left == pytest.approx([2000, 1000, 500], rel=0.1)


def test_what_is_forgotten_goes_by_the_seed_alone() -> None:
    def lines(seed: int) -> list[str]:
        memory = Decaying(half_life=30, seed=seed)
        memory.ingest_day(1, "\n".join(f"line {number}" for number in range(100)), DAY)
        memory.ingest_day(31, "", DAY)
        memory.finalize_ingestion()
        return [line.text for line in memory.lines]

    assert lines(1) == lines(1) != lines(2)


@pytest.mark.parametrize("half_life", [0, -1])
def test_no_half_life_is_refused(half_life: float) -> None:
    from recall_bench.core.errors import UsageError

    with pytest.raises(UsageError, match="half_life"):
        Decaying(half_life=half_life)
