"""Open-loop load on one memory: arrivals come when they are due, whether or not replies do.

A client that waits for a reply before it sends the next request slows down with the system and
never sees the queue that it would have stood in: the times it measures leave out the worst
("coordinated omission"). Here every arrival has its time beforehand, and its latency counts from
that time, so that waiting for a free place counts too.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from recall_bench.core.errors import SystemFault, SystemTimeout
from recall_bench.core.memory import Memory
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.retry import limit_time
from recall_bench.core.scenario import Episode, Item, Question
from recall_bench.features.suites.behaviour import LoadStep
from recall_bench.features.suites.latency import make_histogram, to_microseconds
from recall_bench.metrics.planted_strings import contains
from recall_bench.systems.reply_limits import check_reply

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

_MOST_WAITING = 2000
"""Arrivals beyond this many that wait for a reply are refused, and counted as errors."""
_LAST_REPLIES_S = 10.0
"""How long replies are awaited after the last arrival."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMeasurement:
    """What one memory did under load."""

    arrivals: int
    seconds: float
    values: dict[str, float]
    histograms: dict[str, str]


@dataclass(slots=True)
class _Tally:
    """Counts and times while the load lasts."""

    asked: int = 0
    answered: int = 0
    right: int = 0
    written: int = 0
    errors: int = 0
    timeouts: int = 0
    refused: int = 0
    query: "HdrHistogram" = field(default_factory=make_histogram)
    service: "HdrHistogram" = field(default_factory=make_histogram)
    ingest: "HdrHistogram" = field(default_factory=make_histogram)


class LoadGenerator:
    """Sends arrivals to one memory."""

    def __init__(
        self,
        *,
        memory: Memory,
        questions: Sequence[tuple[Item, Question]],
        episodes: Sequence[Episode],
        most: int,
        answer_timeout_s: float | None,
        feed_timeout_s: float,
    ) -> None:
        self._memory = memory
        self._questions = questions
        self._episodes = iter(episodes)
        self._places = anyio.Semaphore(most)
        self._writing = anyio.Lock()
        self._answer_timeout_s = answer_timeout_s
        self._feed_timeout_s = feed_timeout_s
        self._tally = _Tally()
        self._due: dict[int, tuple[float, HdrHistogram]] = {}
        """By number, when each arrival was due that has no reply yet, and where it is counted."""

    async def run(self, step: LoadStep) -> LoadMeasurement:
        """Send all arrivals of a step, and wait for the replies for a while."""
        started = time.perf_counter()
        arrivals = list(draw_arrivals(step))
        with anyio.move_on_after(step.seconds + _LAST_REPLIES_S) as limit:
            async with anyio.create_task_group() as group:
                for number, (due, is_write) in enumerate(arrivals):
                    await _sleep_until(started + due)
                    self._send(group, number, started + due, is_write=is_write)
        tally = self._tally
        if limit.cancelled_caught:
            tally.timeouts += len(self._due)
            for due, histogram in self._due.values():
                # They took at least this long.
                histogram.record_value(to_microseconds(time.perf_counter() - due))
        values = {
            "planned_s": step.seconds,
            "arrivals": len(arrivals),
            "asked": tally.asked,
            "answered": tally.answered,
            "right": tally.right,
            "written": tally.written,
            "errors": tally.errors + tally.refused,
            "timeouts": tally.timeouts,
        }
        return LoadMeasurement(
            arrivals=len(arrivals),
            seconds=time.perf_counter() - started,
            values={name: float(count) for name, count in values.items()},
            histograms={
                name: histogram.encode().decode()
                for name, histogram in (
                    ("query", tally.query),
                    ("service", tally.service),
                    ("ingest", tally.ingest),
                )
                if histogram.get_total_count()
            },
        )

    def _send(self, group: TaskGroup, number: int, due: float, *, is_write: bool) -> None:
        episode = next(self._episodes, None) if is_write else None
        self._tally.asked += episode is None
        if len(self._due) >= _MOST_WAITING:
            self._tally.refused += 1
            return
        tally = self._tally
        self._due[number] = (due, tally.query if episode is None else tally.ingest)
        if episode is not None:
            group.start_soon(self._write, number, episode)
        else:
            group.start_soon(self._ask, number, *self._questions[number % len(self._questions)])

    async def _ask(self, number: int, item: Item, question: Question) -> None:
        tally, (due, _) = self._tally, self._due[number]
        try:
            async with self._places:
                began = time.perf_counter()
                overrun = SystemTimeout("no answer in time")
                answer = self._memory.answer(question)
                reply = await limit_time(self._answer_timeout_s, answer, overrun)
                ended = time.perf_counter()
            check_reply(reply)
        except SystemTimeout:
            tally.timeouts += 1
            tally.query.record_value(to_microseconds(time.perf_counter() - due))
        except SystemFault:
            tally.errors += 1
        else:
            tally.answered += 1
            tally.query.record_value(to_microseconds(ended - due))
            tally.service.record_value(to_microseconds(ended - began))
            content = "\n".join((getattr(reply, "text", ""), *(p.text for p in reply.passages)))
            tally.right += all(contains(content, atom) for atom in item.truth.atoms)
        del self._due[number]

    async def _write(self, number: int, episode: Episode) -> None:
        tally, (due, _) = self._tally, self._due[number]
        try:
            # The contract promises a memory its episodes one after the other.
            async with self._writing:
                overrun = SystemTimeout("not ingested in time")
                await limit_time(self._feed_timeout_s, self._memory.ingest(episode), overrun)
        except SystemTimeout:
            tally.timeouts += 1
            tally.ingest.record_value(to_microseconds(time.perf_counter() - due))
        except SystemFault:
            tally.errors += 1
        else:
            tally.written += 1
            tally.ingest.record_value(to_microseconds(time.perf_counter() - due))
        del self._due[number]


def draw_arrivals(step: LoadStep) -> Iterator[tuple[float, bool]]:
    """Draw the time of each arrival, and whether it writes: a Poisson process from the seed."""
    chance = RandomStream(step.seed, "arrivals", step.phase)
    now = 0.0
    while True:
        uniform = (chance.draw_bits() + 1) / (1 << 64)
        now += -math.log(uniform) / step.rate
        if now >= step.seconds:
            return
        yield now, chance.is_hit(step.write_share)


async def _sleep_until(moment: float) -> None:
    remaining_s = moment - time.perf_counter()
    await anyio.sleep(max(0.0, remaining_s))
