"""What became of a pass."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    Interrupted,
    JournalLost,
    ModelGone,
    UsageError,
)
from recall_bench.core.record import Record
from recall_bench.core.signals import cancel_on_signals
from recall_bench.core.usage import Usage
from recall_bench.datasets.persona_files import format_days

if TYPE_CHECKING:
    from recall_bench.models.model import Model


INCOMPLETE = 10
"""Exit code: some units could not be written; the command that is named fills them."""


class MissingUnit(Record, frozen=True, kw_only=True):
    """A unit that is not there, and why."""

    unit: str
    """In words: `day 237`."""
    reason: str
    day: int | None = None


class PassStop(Record, frozen=True, kw_only=True):
    """Why a pass ended before its last unit."""

    reason: str
    exit_code: int


class PassResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A pass that came to its end, or was stopped.

    Every unit that was wanted was written now, was there already, is missing, or was not come to
    because the pass was stopped.
    """

    what: str
    """What a unit is, in the plural: `days`."""
    folder: str
    wanted: int
    written: int
    kept: int
    """Units that were there before."""
    missing: tuple[MissingUnit, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences the user should read, such as what was rejected and where it is."""
    fill: str | None = None
    """The command that writes what is missing."""
    usage: Usage = Usage()
    """What this run spent."""
    spent: Usage = Usage()
    """What all runs of the pass spent."""
    stopped: PassStop | None = None

    @property
    def exit_code(self) -> int:
        """0 if everything is there, 10 if something is missing, else why it was stopped."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return INCOMPLETE if self.missing else 0

    @property
    def in_words(self) -> str:
        """What there is now, what is missing, and what to do about it; several lines."""
        there = self.written + self.kept
        lines = [f"{there} of {self.wanted} {self.what} are in {self.folder}"]
        if not self.wanted:
            lines = [f"no {self.what} are to be written for what was asked"]
        if self.kept:
            lines[0] += f" ({self.written} new, {self.kept} there before)"
        lines += self.notes
        if self.missing:
            lines.append(f"missing: {_list_missing(self.missing)}")
            lines.append(f"first, {self.missing[0].unit}: {self.missing[0].reason}")
        if self.fill is not None and (self.missing or self.stopped):
            lines.append(f"to fill them: {self.fill}")
        if self.spent.calls:
            lines.append(_format_usage(self.usage, self.spent))
        return "\n".join(lines)


def _list_missing(missing: tuple[MissingUnit, ...]) -> str:
    days = [each.day for each in missing if each.day is not None]
    if len(days) == len(missing):
        return format_days(sorted(days))
    return ", ".join(each.unit for each in missing)


def _format_usage(usage: Usage, spent: Usage) -> str:
    told = _format_spending(usage) if usage.calls else "no calls"
    if usage.cached:
        told += f"; {format_count(usage.cached, 'reply', 'replies')} on record"
    if spent.calls > usage.calls:
        told += f"; with earlier runs {_format_spending(spent)}"
    return told


def format_count(number: int, one: str, many: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {one if number == 1 else many}"


def _format_spending(usage: Usage) -> str:
    return f"{format_count(usage.calls, 'call', 'calls')}, {_format_tokens(usage)}, {_format_cost(usage)}"


def _format_tokens(usage: Usage) -> str:
    return f"{usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"


def _format_cost(usage: Usage) -> str:
    if usage.unpriced == usage.calls:
        return "price unknown"
    known = f"{usage.cost_usd:.4f} USD"
    return f"{known}, {usage.unpriced} of unknown price" if usage.unpriced else known


_STOPPING_ERRORS = (BudgetSpent, Interrupted, JournalLost, ModelGone, UsageError)
"""The last is a file that cannot be written: the request was found sound before the work began."""


def run_pass(
    work: Callable[[], Awaitable[None]], closing: "Model | None" = None
) -> PassStop | None:
    """Do the work, and close the model, if one is named; why it was stopped early, or None.

    A signal, spent money, a model that is gone and a full disk stop a pass in good order: what
    was written stays, and the same command goes on. Anything else is raised.
    """
    try:
        anyio.run(_run_and_close, work, closing)
    except KeyboardInterrupt:
        return _make_stop(Interrupted(signal.SIGINT))
    except _STOPPING_ERRORS as end:
        return _make_stop(end)
    except BaseExceptionGroup as group:
        return _make_stop(_find_stopping_error(group))
    return None


async def _run_and_close(work: Callable[[], Awaitable[None]], closing: "Model | None") -> None:
    try:
        with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
            await work()
    finally:
        if closing is not None:
            with anyio.CancelScope(shield=True):
                await closing.close()
    if received:
        raise Interrupted(received[0])


def _make_stop(end: BenchError) -> PassStop:
    return PassStop(reason=str(end), exit_code=end.exit_code)


def _find_stopping_error(group: BaseExceptionGroup[BaseException]) -> BenchError:
    """The end that several tasks met together; another failure among them is raised."""
    ends, others = group.split(_STOPPING_ERRORS)
    if others is not None:
        leaf: BaseException = others
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        raise leaf
    assert ends is not None  # noqa: S101 - a group that splits into nothing was empty
    leaf = ends
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if not isinstance(leaf, BenchError):
        raise leaf
    return leaf


Unit = TypeVar("Unit")


async def run_units(
    units: Sequence[Unit],
    make: Callable[[Unit], Awaitable[None]],
    *,
    at_once: int,
    lag: int | None = None,
) -> None:
    """Make every unit, at most so many at a time, begun in their order.

    With a lag, a unit is begun when all units that stand so many places or more before it are
    done: what it may look back on is the same however many are made at once. What `make` raises
    ends all of it.
    """
    done = [anyio.Event() for _ in units]
    limit = anyio.CapacityLimiter(at_once)

    async def run_one(index: int) -> None:
        try:
            await make(units[index])
        finally:
            done[index].set()
            limit.release_on_behalf_of(index)

    async with anyio.create_task_group() as tasks:
        for index in range(len(units)):
            if lag is not None and index >= lag:
                await done[index - lag].wait()
            await limit.acquire_on_behalf_of(index)
            tasks.start_soon(run_one, index)
