"""Pools and crews under schedules drawn by lot: nothing is lost, nothing is done twice."""

import random
from collections import Counter

import anyio
import pytest
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunSpec,
    RunUnit,
    TrialBatch,
    Unit,
    UnitFailure,
    UnitLimits,
    WorkerLost,
)
from recall_bench.engine.worker_pool import WorkerPool
from tests.engine.pool.pool_runs import until

pytestmark = pytest.mark.anyio

SPEC = RunSpec(run="run", plan=None, factory=None)  # type: ignore[arg-type]


async def idle(chance: random.Random) -> None:
    for _ in range(chance.randrange(4)):
        await breathe()


@pytest.mark.parametrize(
    ("max_calls", "size", "calls_each"), [(9, 4, 2), (3, 3, 1), (None, 4, None)]
)
async def test_a_limit_on_calls_is_divided_among_the_workers(
    max_calls: int | None, size: int, calls_each: int | None
) -> None:
    async def start(number: int) -> "Mortal":
        raise WorkerLost("not needed")

    async with WorkerPool(start, 4, max_calls) as pool:
        assert (pool.size, pool.calls_each) == (size, calls_each)


class Mortal:
    """A worker that dies by lot, does one thing at a time, and counts what it did."""

    def __init__(self, number: int, chance: random.Random, done: Counter[str]) -> None:
        self.number = number
        self.is_dead = self.is_closed = False
        self.is_briefed = False
        self._chance = chance
        self._done = done
        self._busy = 0

    async def perform(self, message: RunUnit, told: OnEvents) -> None:
        assert (message.spec is None) == self.is_briefed, "told of a run twice, or never"
        self.is_briefed = True
        self._busy += 1
        assert self._busy == 1, "two things at a time"
        try:
            await idle(self._chance)
            self._die_perhaps()
            self._done[message.unit.scenario] += 1
        finally:
            self._busy -= 1

    def _die_perhaps(self) -> None:
        self.is_dead = self.is_dead or self._chance.random() < 0.15
        if self.is_dead:
            raise WorkerLost(f"worker {self.number} died", has_begun=True)

    async def stop(self, run: str, reason: UnitFailure) -> None:
        await idle(self._chance)

    async def close(self) -> None:
        await idle(self._chance)
        assert not self.is_closed, "closed twice"
        self.is_closed = True


def assignment(number: int) -> Unit:
    name = f"s{number}"
    if number % 3 == 0:
        return Unit(scenario=name, saves=("1d",))
    if number % 3 == 1:
        return Unit(scenario=name)
    return Unit(scenario=name, batches=(TrialBatch(checkpoint="1d", repeat=0, items=(1,)),))


@pytest.mark.parametrize("seed", range(20))
async def test_a_crew_of_mortals_does_everything_once(seed: int) -> None:
    chance, done, cancelled = random.Random(seed), Counter[str](), set[str]()
    started: list[Mortal] = []

    async def start(number: int) -> Mortal:
        await idle(chance)
        if chance.random() < 0.1:
            raise WorkerLost(f"worker {number} did not start")
        started.append(Mortal(number, chance, done))
        return started[-1]

    async def see_through(pool: WorkerPool, number: int, scope: anyio.CancelScope) -> None:
        what = assignment(number)
        with scope:
            while True:
                try:
                    await pool.perform(SPEC, what, UnitLimits, lambda message: None)
                    return
                except WorkerLost:
                    await idle(chance)
        cancelled.add(what.scenario)

    with anyio.fail_after(60):
        async with (
            WorkerPool(start, chance.randrange(1, 9)) as pool,
            anyio.create_task_group() as group,
        ):
            scopes = [anyio.CancelScope() for _ in range(60)]
            for number, scope in enumerate(scopes):
                group.start_soon(see_through, pool, number, scope)
            for scope in chance.sample(scopes, 10):
                await idle(chance)
                scope.cancel()
    assert pool.doing == {}
    assert not {name: times for name, times in done.items() if times > 1}
    assert {f"s{number}" for number in range(60)} - done.keys() <= cancelled
    assert len(done) >= 50
    assert all(worker.is_closed for worker in started)
    assert pool.lost == sum(worker.is_dead for worker in started)


async def test_workers_that_never_start_are_not_hired_for_ever() -> None:
    started = 0

    async def start(number: int) -> Mortal:
        nonlocal started
        started += 1
        raise WorkerLost("no room")

    with anyio.fail_after(60):
        async with WorkerPool(start, 4) as pool:
            with pytest.raises(SystemGone, match="as soon as they start: no room"):
                await pool.perform(SPEC, assignment(1), UnitLimits, lambda message: None)
            with pytest.raises(SystemGone):
                await pool.perform(SPEC, assignment(2), UnitLimits, lambda message: None)
    assert started <= 16


async def test_a_worker_that_finds_no_room_makes_the_crew_smaller_and_no_less() -> None:
    chance, done = random.Random(0), Counter[str]()
    refused = anyio.Event()

    async def start(number: int) -> Mortal:
        if number == 1:
            worker = Mortal(number, chance, done)
            worker._die_perhaps = lambda: None  # type: ignore[method-assign]
            return worker
        refused.set()
        raise UsageError("found no place on the cluster")

    with anyio.fail_after(60):
        async with WorkerPool(start, 3) as pool:
            await refused.wait()
            await until(lambda: pool.why_fewer is not None)
            assert (pool.present, pool.size) == (1, 3)
            for number in range(6):
                await pool.perform(SPEC, assignment(number), UnitLimits, lambda message: None)
    assert sum(done.values()) == 6


async def test_a_crew_is_left_while_its_workers_are_still_being_hired() -> None:
    async def start(number: int) -> Mortal:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(60):
        async with WorkerPool(start, 4):
            await breathe()


async def test_who_takes_much_longer_than_others_is_named() -> None:
    """By the pool's own record of what such assignments usually take."""
    release, started = anyio.Event(), []

    class Patient(Mortal):
        async def perform(self, message: RunUnit, told: OnEvents) -> None:
            if message.unit.scenario == "s2":
                await release.wait()

        def _die_perhaps(self) -> None:
            pass

    async def start(number: int) -> Mortal:
        started.append(Patient(number, random.Random(0), Counter()))
        return started[-1]

    async def perform(pool: WorkerPool, number: int) -> None:
        await pool.perform(SPEC, assignment(number), UnitLimits, lambda message: None)

    with anyio.fail_after(60):
        async with WorkerPool(start, 2) as pool, anyio.create_task_group() as group:
            group.start_soon(perform, pool, 2)
            await until(lambda: bool(pool.doing))
            assert pool.find_stragglers(least_s=0) == [], "nothing to compare it with"
            for number in (5, 8, 11):
                await perform(pool, number)
            await anyio.sleep(0.05)
            assert [each.what for each in pool.find_stragglers(least_s=0)] == ["s2@1d#0"]
            assert pool.find_stragglers() == []
            release.set()
