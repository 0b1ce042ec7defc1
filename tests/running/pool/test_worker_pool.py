"""Pools and crews under schedules drawn by lot: nothing is lost, nothing is done twice."""

import random
from collections import Counter

import anyio
import pytest
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    GradeTask,
    OnMessage,
    RunSpec,
    Task,
    TaskFailure,
    TaskLimits,
    TrialBatch,
    WorkerLost,
)
from recall_bench.running.worker_pool import CallLimits, FairSemaphore, Lane, WorkerPool
from tests.running.pool.pool_runs import until

pytestmark = pytest.mark.anyio

SPEC = RunSpec(run="run", plan=None, factory=None)  # type: ignore[arg-type]


async def idle(chance: random.Random) -> None:
    for _ in range(chance.randrange(4)):
        await breathe()


@pytest.mark.parametrize("seed", range(20))
async def test_a_pool_gives_out_no_ticket_twice_and_forgets_none(seed: int) -> None:
    chance = random.Random(seed)
    tickets = chance.randrange(1, 6)
    pool = FairSemaphore(tickets)
    out = most = served = 0

    async def visit(scope: anyio.CancelScope) -> None:
        nonlocal out, most, served
        with scope:
            await idle(chance)
            async with pool.hold(chance.randrange(1, 9)) as held:
                assert held >= 1
                out += held
                most = max(most, out)
                try:
                    await idle(chance)
                finally:
                    out -= held
                served += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            scopes = [anyio.CancelScope() for _ in range(40)]
            for scope in scopes:
                group.start_soon(visit, scope)
            for scope in chance.sample(scopes, 15):
                await breathe()
                scope.cancel()
        async with pool.hold(tickets) as all_of_them:
            assert all_of_them == tickets
    assert most <= tickets
    assert served >= 25


async def test_who_waits_for_several_tickets_is_not_kept_by_one_that_is_held_for_long() -> None:
    pool = FairSemaphore(3)
    with anyio.fail_after(60):
        async with pool.hold(1), pool.hold(3) as held:
            assert held == 2


async def test_feeding_always_leaves_one_call_for_asking() -> None:
    limits, asked = CallLimits(3), anyio.Event()

    async def feed() -> None:
        async with limits.allow_feeding("system x"), limits.allow_calls(["system x"], 1):
            await asked.wait()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(feed)
            await anyio.wait_all_tasks_blocked()
            async with limits.allow_calls(["system x"], 4) as granted:
                assert granted == 1
            asked.set()


class Mortal:
    """A worker that dies by lot, does one thing of a lane at a time, and counts what it did."""

    def __init__(self, number: int, chance: random.Random, done: Counter[str]) -> None:
        self.number = number
        self.is_dead = self.is_closed = False
        self.is_briefed = False
        self._chance = chance
        self._done = done
        self._busy: Counter[Lane] = Counter()

    async def prepare(self, brief: RunSpec) -> None:
        await idle(self._chance)
        self._die_perhaps()
        assert not self.is_briefed, "told of a run twice"
        self.is_briefed = True

    async def perform(self, run: str, assignment: Task, terms: TaskLimits, told: OnMessage) -> None:
        assert self.is_briefed
        lane = Lane.pick(assignment)
        self._busy[lane] += 1
        assert self._busy[lane] == 1, "two things of a lane at a time"
        try:
            await idle(self._chance)
            self._die_perhaps()
            self._done[assignment.scenario] += 1
        finally:
            self._busy[lane] -= 1

    def _die_perhaps(self) -> None:
        self.is_dead = self.is_dead or self._chance.random() < 0.15
        if self.is_dead:
            raise WorkerLost(f"worker {self.number} died", has_begun=True)

    async def stop(self, run: str, reason: TaskFailure) -> None:
        await idle(self._chance)

    async def close(self) -> None:
        await idle(self._chance)
        assert not self.is_closed, "closed twice"
        self.is_closed = True


def assignment(number: int) -> Task:
    name = f"s{number}"
    if number % 3 == 0:
        return FeedTask(scenario=name, checkpoints=(), place="", ahead=1)
    if number % 3 == 1:
        return GradeTask(scenario=name, answers=())
    return AskTask(scenario=name, batches=(TrialBatch(checkpoint="1d", repeat=0, items=(1,)),))


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
                    await pool.perform(SPEC, what, TaskLimits, lambda message: None)
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
                await pool.perform(SPEC, assignment(1), TaskLimits, lambda message: None)
            with pytest.raises(SystemGone):
                await pool.perform(SPEC, assignment(2), TaskLimits, lambda message: None)
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
                await pool.perform(SPEC, assignment(number), TaskLimits, lambda message: None)
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
        async def perform(
            self, run: str, assignment: Task, terms: TaskLimits, told: OnMessage
        ) -> None:
            if assignment.scenario == "s2":
                await release.wait()

        def _die_perhaps(self) -> None:
            pass

    async def start(number: int) -> Mortal:
        started.append(Patient(number, random.Random(0), Counter()))
        return started[-1]

    async def perform(pool: WorkerPool, number: int) -> None:
        await pool.perform(SPEC, assignment(number), TaskLimits, lambda message: None)

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
