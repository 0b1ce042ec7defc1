"""Workers, wherever they are, and who of them does what next."""

import itertools
import statistics
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio.abc import TaskGroup

from recall_bench.errors import SystemGone
from recall_bench.executors.assignments import (
    Ask,
    Assignment,
    Brief,
    Feed,
    Raised,
    Saved,
    Terms,
    Told,
    WorkerLost,
)

_HIRED_IN_VAIN = 3
"""After so many workers in a row that died before they did anything, no other is tried."""


class Colleague(Protocol):
    """A worker as its driver sees it. Several assignments may be under way at once."""

    async def brief(self, brief: Brief) -> None:
        """Tell it of a run."""
        ...

    async def perform(self, run: str, assignment: Assignment, terms: Terms, told: Told) -> None:
        """Have it carry out an assignment.

        Returns when it has; raises what the worker raised, or WorkerLost.
        """
        ...

    async def adjourn(self, run: str, reason: Raised) -> None:
        """Have it begin nothing new for a run."""
        ...

    async def close(self) -> None:
        """Let it end what it must, and go. Raises nothing, even if it is gone already."""
        ...


Hire = Callable[[int], Awaitable[Colleague]]
"""Starts the worker with this number, which is never given again; WorkerLost if it cannot."""


class Lane(StrEnum):
    """What a worker does one of at a time.

    The lanes of a worker go on beside each other, so that feeding waits for no asking and a slow
    judge idles no system.
    """

    FEED = "feed"
    ASK = "ask"
    GRADE = "grade"

    @classmethod
    def of(cls, assignment: Assignment) -> Self:
        """The lane an assignment belongs in."""
        match assignment:
            case Feed():
                return cls("feed")
            case Ask():
                return cls("ask")
        return cls("grade")


@dataclass(slots=True, kw_only=True)
class Doing:
    """An assignment under way."""

    what: str
    lane: Lane
    worker: int
    since: float
    """By the monotonic clock."""


@dataclass(slots=True)
class _Hand:
    """A worker and what the crew knows of it."""

    number: int
    colleague: Colleague
    briefed: set[str] = field(default_factory=set)
    briefing: anyio.Lock = field(default_factory=anyio.Lock)
    last: dict[Lane, tuple[str, str]] = field(default_factory=dict)
    """Which run and scenario it was last busy with."""
    is_lost: bool = False


@dataclass(slots=True, eq=False)
class _Waiting:
    wanted: tuple[str, str]
    given: anyio.Event = field(default_factory=anyio.Event)
    hand: _Hand | None = None


class Crew:
    """So many workers, hired when the block is entered and let go when it is left.

    One that dies is replaced. Runs may share a crew: each assignment goes to the next worker
    that is free, rather to one that knows its scenario.
    """

    def __init__(self, hire: Hire, size: int) -> None:
        self.size = size
        self.why_fewer: Exception | None = None
        """Why not so many could be hired, where they could not."""
        self.lost = 0
        """How many workers died."""
        self.doing: dict[int, Doing] = {}
        self.took: dict[Lane, deque[float]] = {lane: deque(maxlen=200) for lane in Lane}
        """How long the last assignments of each lane took, in seconds."""
        self._hire = hire
        self._numbers = itertools.count(1)
        self._tickets = itertools.count(1)
        self._hands: dict[int, _Hand] = {}
        self._free: dict[Lane, list[_Hand]] = {lane: [] for lane in Lane}
        self._waiting: dict[Lane, deque[_Waiting]] = {lane: deque() for lane in Lane}
        self._group: TaskGroup | None = None
        self._broken: Exception | None = None
        self._in_vain = 0

    @property
    def present(self) -> int:
        """How many workers are there now."""
        return len(self._hands)

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        for _ in range(self.size):
            self._group.start_soon(self._engage)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if self._group is None:
            return None
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as leaving:
                    for hand in self._hands.values():
                        leaving.start_soon(_let_go, hand.colleague)

    async def perform(
        self, brief: Brief, assignment: Assignment, terms: Callable[[], Terms], told: Told
    ) -> None:
        """Have the next free worker carry it out, on the terms of that moment.

        Raises what the worker raised, WorkerLost if it died over it, what asking for the terms
        raised, and what keeps the crew from having any worker at all.
        """

        def heard(message: bytes | Saved) -> None:
            self._in_vain = 0
            told(message)

        lane = Lane.of(assignment)
        hand = await self._taken(lane, (brief.run, assignment.scenario))
        ticket, started = next(self._tickets), time.monotonic()
        self.doing[ticket] = Doing(
            what=described(assignment), lane=lane, worker=hand.number, since=started
        )
        try:
            async with hand.briefing:
                if brief.run not in hand.briefed:
                    await hand.colleague.brief(brief)
                    hand.briefed.add(brief.run)
            await hand.colleague.perform(brief.run, assignment, terms(), heard)
            self._in_vain = 0
            self.took[lane].append(time.monotonic() - started)
        except WorkerLost:
            self._mourn(hand)
            raise
        finally:
            del self.doing[ticket]
            hand.last[lane] = (brief.run, assignment.scenario)
            self._release(hand, lane)

    async def adjourn(self, run: str, reason: Raised) -> None:
        """Have every worker begin nothing new for a run."""
        async with anyio.create_task_group() as group:
            for hand in self._hands.values():
                if run in hand.briefed:
                    group.start_soon(hand.colleague.adjourn, run, reason)

    def stragglers(self, times: float = 3.0, least_s: float = 10.0) -> list[Doing]:
        """What takes several times as long as such assignments usually do, longest first."""
        now, found = time.monotonic(), []
        for doing in list(self.doing.values()):
            took = self.took[doing.lane]
            usual = statistics.median(list(took)) if took else None
            if usual is not None and now - doing.since > max(least_s, times * usual):
                found.append(doing)
        return sorted(found, key=lambda doing: doing.since)

    async def _taken(self, lane: Lane, wanted: tuple[str, str]) -> _Hand:
        while (hand := await self._next(lane, wanted)).is_lost:
            # It died between being handed over and being taken.
            continue
        return hand

    async def _next(self, lane: Lane, wanted: tuple[str, str]) -> _Hand:
        free = self._free[lane]
        if free:
            chosen = next((hand for hand in free if hand.last.get(lane) == wanted), free[0])
            free.remove(chosen)
            return chosen
        if self._broken is not None:
            raise self._broken
        waiting = _Waiting(wanted)
        self._waiting[lane].append(waiting)
        try:
            await waiting.given.wait()
        except BaseException:
            if waiting.hand is not None:
                self._release(waiting.hand, lane)
            elif waiting in self._waiting[lane]:
                self._waiting[lane].remove(waiting)
            raise
        if waiting.hand is None:
            raise self._broken or SystemGone("there is no worker left")
        return waiting.hand

    def _release(self, hand: _Hand, lane: Lane) -> None:
        """Hand a worker to who has waited longest, or to one of the first who wants it most."""
        if hand.is_lost:
            return
        queue = self._waiting[lane]
        if not queue:
            self._free[lane].append(hand)
            return
        first = itertools.islice(queue, 2 * self.size)
        chosen = next((each for each in first if each.wanted == hand.last.get(lane)), queue[0])
        queue.remove(chosen)
        chosen.hand = hand
        chosen.given.set()

    async def _engage(self) -> None:
        """Hire one worker; tell those who wait if there will be none."""
        number = next(self._numbers)
        try:
            colleague = await self._hire(number)
        except WorkerLost as lost:
            self._in_vain += 1
            if self._in_vain >= _HIRED_IN_VAIN * max(self.size, 2):
                self._break(SystemGone(f"workers die as soon as they start: {lost}"))
            elif self._group is not None:
                self._group.start_soon(self._engage)
            return
        except Exception as error:  # noqa: BLE001 - raised by whoever waits for a worker
            self._break(error)
            return
        hand = self._hands[number] = _Hand(number, colleague)
        for lane in Lane:
            self._release(hand, lane)

    def _mourn(self, hand: _Hand) -> None:
        """Count a dead worker once, and hire another."""
        if hand.is_lost:
            return
        hand.is_lost = True
        self.lost += 1
        self._in_vain += 1
        self._hands.pop(hand.number, None)
        for free in self._free.values():
            if hand in free:
                free.remove(hand)
        if self._group is not None:
            self._group.start_soon(_let_go, hand.colleague)
        if self._in_vain >= _HIRED_IN_VAIN * max(self.size, 2):
            self._break(
                SystemGone(
                    f"{self._in_vain} workers died one after another, and none of them had "
                    "anything to show; the same command tries again"
                )
            )
        elif self._group is not None:
            self._group.start_soon(self._engage)

    def _break(self, error: Exception) -> None:
        """Nobody can be hired: whoever waits, or comes later, is told why."""
        if self._hands and not isinstance(error, SystemGone):
            # Some are at work, so it is one worker's trouble: the others go on.
            self.why_fewer = self.why_fewer or error
            return
        self._broken = self._broken or error
        for queue in self._waiting.values():
            while queue:
                queue.popleft().given.set()


async def _let_go(colleague: Colleague) -> None:
    with anyio.CancelScope(shield=True):
        await colleague.close()


def described(assignment: Assignment) -> str:
    """An assignment in a word or two, for people who watch."""
    match assignment:
        case Ask(papers=papers):
            first = papers[0]
            place = f"@{first.checkpoint}#{first.repeat}"
            more = f" and {len(papers) - 1} more" if len(papers) > 1 else ""
            return f"{assignment.scenario}{place}{more}"
        case Feed():
            return f"{assignment.scenario}, feeding"
        case _:
            return f"{assignment.scenario}, judging"
