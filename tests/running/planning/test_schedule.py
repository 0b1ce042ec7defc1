"""Shards are handed out longest first, and no run is over before its longest."""

from recall_bench.running.plan_schedule import (
    PlannedTask,
    compute_makespan,
    find_critical,
    find_useful_workers,
)
from tests.loops import loop_over_rows


def task(name: str, seconds: float, **more: object) -> PlannedTask:
    return PlannedTask(name=name, seconds=seconds, calls_s=seconds, **more)  # type: ignore[arg-type]


TASKS = [task("a", 6), task("b", 4), task("c", 3), task("d", 3), task("e", 2)]


@loop_over_rows(("workers", "seconds"), [(1, 18), (2, 9), (3, 6), (99, 6)])
def test_workers_share_the_work(workers: int, seconds: float) -> None:
    assert compute_makespan(TASKS, workers) == seconds


def test_more_workers_than_keep_the_longest_shard_company_save_nothing() -> None:
    assert find_useful_workers(TASKS) == 3
    assert find_critical(TASKS) == ("a", 6)


def test_a_shard_waits_until_its_checkpoint_was_fed() -> None:
    passing = [
        task("feed", 10),
        task("x", 5, after="feed", offset_s=2.0),
        task("y", 5, after="feed", offset_s=10.0),
    ]

    assert compute_makespan(passing, 1) == 20
    assert compute_makespan(passing, 2) == 15
    assert compute_makespan(passing, 9) == 15
    assert find_critical(passing) == ("y", 15)


def test_a_limit_of_calls_holds_however_many_work() -> None:
    assert compute_makespan(TASKS, 99, max_calls=2) == 9
    assert compute_makespan(TASKS, 1, max_calls=2) == 18


def test_a_worker_opens_a_scenario_once_however_many_shards_of_it_it_takes() -> None:
    opened = [task(name, 2, scenario="ada", opening_s=3.0) for name in "abcd"]

    assert compute_makespan(opened, 1) == 3 + 8
    assert compute_makespan(opened, 2) == 3 + 4
    assert find_critical(opened)[1] == 3 + 2


def test_a_worker_starts_once() -> None:
    started = [task(name, 2, scenario=name, start_s=5.0, opening_s=1.0) for name in "abcd"]

    assert compute_makespan(started, 1) == 5 + 4 * 3
    assert compute_makespan(started, 4) == 5 + 3
