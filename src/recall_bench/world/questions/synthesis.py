"""Counts, sums and extremes over all threads of a process that began in one month."""

from collections.abc import Callable, Iterator
from typing import Any

from recall_bench.world.dates import month_name
from recall_bench.world.ledger import Fact, Thread
from recall_bench.world.questions.draft import Desk, Draft, sentence
from recall_bench.world.sources import Process
from recall_bench.world.values import summed

CATEGORY = "synthesis"

_COUNTED = range(2, 13)
_SUMMED = range(2, 9)
_COMPARED = range(3, 10)


def tallied(
    process: Process, month: str, threads: list[Thread], last_day: int, desk: Desk
) -> Iterator[Draft]:
    """The tallies of one process for one month that is over on `last_day`."""
    tallies = process.tallies
    asked = _Asked(process, month, last_day, desk)
    first = process.steps[0].when
    is_closed = desk.is_isolated(process.steps[0].session or process.session)
    if not (first and first.cue) or is_closed:
        return
    if tallies.count and len(threads) in _COUNTED:
        yield asked.count(tallies.count, threads)
    for slot, asks in tallies.total.items():
        if len(threads) in _SUMMED and (facts := _first_facts(threads, slot)):
            yield asked.total(asks, slot, facts)
    for extreme, op in ((tallies.highest, "highest"), (tallies.lowest, "lowest")):
        for slot, asks in extreme.items():
            if len(threads) in _COMPARED and (facts := _first_facts(threads, slot)):
                yield from asked.extreme(op, asks, slot, dict(zip(facts, threads, strict=True)))


def _first_facts(threads: list[Thread], slot: str) -> "_Facts":
    """The slot's value in each thread, or nothing if one told it late, twice or in a closet."""
    facts = []
    for thread in threads:
        told = thread.history(slot)
        if len(told) != 1 or told[0].learned != thread.began or told[0].value.amount is None:
            return []
        facts.append(told[0])
    return [_Hashable(fact) for fact in facts]


class _Hashable:
    """A fact as a key."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact


_Facts = list[_Hashable]


class _Asked:
    def __init__(self, process: Process, month: str, last_day: int, desk: Desk) -> None:
        self._process = process
        self._month = month
        self._last_day = last_day
        self._desk = desk

    def count(self, asks: list[str], threads: list[Thread]) -> Draft:
        number = len(threads)
        return self._draft(
            "count",
            asks,
            reference=sentence(str(number)),
            evidence=[thread.happenings[thread.first_step].told for thread in threads],
            atoms=[str(number)],
            distractors=[str(number + off) for off in (-2, -1, 1, 2) if number + off > 0],
        )

    def total(self, asks: list[str], slot: str, facts: _Facts) -> Draft:
        value = summed([key.fact.value for key in facts])
        return self._draft(
            "total",
            asks,
            slot=slot,
            reference=sentence(value.text),
            evidence=[key.fact.told for key in facts],
            atoms=[value.text],
            aliases=self._desk.aliases(value),
            distractors=self._desk.distractors(value),
        )

    def extreme(
        self, op: str, asks: list[str], slot: str, threads: dict[_Hashable, Thread]
    ) -> Iterator[Draft]:
        def amount(key: _Hashable) -> Any:  # noqa: ANN401 - a Decimal, known not to be None
            return key.fact.value.amount

        pick: Callable[..., _Hashable] = max if op == "highest" else min
        best = pick(threads, key=amount)
        if sum(1 for key in threads if amount(key) == amount(best)) > 1:
            return
        winner = threads[best]
        yield self._draft(
            op,
            asks,
            slot=slot,
            reference=sentence(f"{winner.name}, at {best.fact.value.text}"),
            evidence=[key.fact.told for key in threads],
            atoms=[winner.name, best.fact.value.text],
            distractors=[thread.name for key, thread in threads.items() if key is not best][:3],
        )

    def _draft(self, op: str, asks: list[str], *, slot: str | None = None, **truth: Any) -> Draft:  # noqa: ANN401
        query: dict[str, object] = {"op": op, "process": self._process.id, "month": self._month}
        if slot is not None:
            query["slot"] = slot
        wordings = [
            ask.replace("{month}", month_name(self._month)).replace(
                "{counted}", self._process.counted
            )
            for ask in asks
        ]
        return Draft(
            category=CATEGORY,
            kind=f"{CATEGORY}/{op}",
            wordings=wordings,
            known_from=self._last_day,
            query=query,
            is_synthesis=True,
            **truth,
        )
