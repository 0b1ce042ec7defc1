"""How a pass runs: its units concurrently, to the end or to an orderly stop, with a result."""

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
    ModelPending,
    UsageError,
)
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import Record
from recall_bench.core.runtime import cancel_on_signals, run_to_end
from recall_bench.core.usage import Usage
from recall_bench.stories.persona_files import format_days

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model


OnProgress = Callable[[str], None]
"""Receives one line of progress."""

INCOMPLETE = 10
"""Exit code of a pass with missing units."""


class MissingUnit(Record, frozen=True, kw_only=True):
    """A unit that could not be written, and why."""

    unit: str
    """Such as `day 237`."""
    reason: str
    day: int | None = None


class PassStop(Record, frozen=True, kw_only=True):
    """Why a pass stopped before its last unit."""

    reason: str
    exit_code: int


class PassResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a pass did.

    Every requested unit was written, existed before, is missing, or was not reached before a stop.
    """

    what: str
    """The units, in the plural: `days`."""
    folder: str
    wanted: int
    written: int
    kept: int
    """Units that existed before."""
    missing: tuple[MissingUnit, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences for the user."""
    fill: str | None = None
    """The command that writes the missing units."""
    usage: Usage = Usage()
    """The usage of this run."""
    spent: Usage = Usage()
    """The usage of all runs of the pass."""
    stopped: PassStop | None = None

    @property
    def exit_code(self) -> int:
        """0 if complete, 10 if units are missing, else the code of the stop."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return INCOMPLETE if self.missing else 0

    @property
    def in_words(self) -> str:
        """The result as text, several lines."""
        there = self.written + self.kept
        lines = [f"{there} of {self.wanted} {self.what} are in {self.folder}"]
        if not self.wanted:
            lines = [f"the request covers no {self.what}"]
        if self.kept:
            lines[0] += f" ({self.written} new, {self.kept} there before)"
        lines += self.notes
        if self.missing:
            lines.append(f"missing: {_list_missing(self.missing)}")
            lines.append(f"first, {self.missing[0].unit}: {self.missing[0].reason}")
        if self.fill is not None and (self.missing or self.stopped):
            lines.append(f"to fill them: {self.fill}")
        if self.spent.calls:
            lines.append(format_usage(self.usage, self.spent))
        return "\n".join(lines)


def _list_missing(missing: tuple[MissingUnit, ...]) -> str:
    days = [item.day for item in missing if item.day is not None]
    if len(days) == len(missing):
        return format_days(days)
    return ", ".join(item.unit for item in missing)


def format_usage(usage: Usage, spent: Usage) -> str:
    """The usage of this run, and of all runs where they differ."""
    text = _format_spending(usage) if usage.calls else "no calls"
    if usage.cached:
        text += f"; {format_quantity(usage.cached, 'reply', 'replies')} on record"
    if spent.calls > usage.calls:
        text += f"; with earlier runs {_format_spending(spent)}"
    return text


def _format_spending(usage: Usage) -> str:
    calls = format_quantity(usage.calls, "call")
    tokens = f"{usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"
    if usage.lacks_tokens:
        tokens = "tokens unknown"
    cost = f"{usage.cost_usd:.4f} USD"
    if usage.unpriced == usage.calls:
        cost = "price unknown"
    elif usage.unpriced:
        cost += f", {usage.unpriced} of unknown price"
    return f"{calls}, {tokens}, {cost}"


_STOPPING_ERRORS = (BudgetSpent, Interrupted, JournalLost, ModelGone, ModelPending, UsageError)
"""Errors that stop a pass in good order. UsageError is here a file that cannot be written."""


def run_pass(
    work: Callable[[], Awaitable[None]], owned_model: "Model | None" = None
) -> PassStop | None:
    """Run the work, then close the model, if given; the reason of an early stop, or None.

    A signal, an exhausted budget, an unavailable model, a reply that comes later and a full disk
    stop a pass in good order: the same command continues it. Other errors are raised.
    """
    try:
        run_to_end(_run_and_close, work, owned_model)
    except KeyboardInterrupt:
        return _make_stop(Interrupted(signal.SIGINT))
    except _STOPPING_ERRORS as end:
        return _make_stop(end)
    except BaseExceptionGroup as group:
        return _make_stop(_find_stopping_error(group))
    return None


async def _run_and_close(work: Callable[[], Awaitable[None]], owned_model: "Model | None") -> None:
    try:
        with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
            await work()
    finally:
        if owned_model is not None:
            with anyio.CancelScope(shield=True):
                await owned_model.close()
    if received:
        raise Interrupted(received[0])


def _make_stop(end: BenchError) -> PassStop:
    return PassStop(reason=str(end), exit_code=end.exit_code)


def _find_stopping_error(group: BaseExceptionGroup[BaseException]) -> BenchError:
    """The first stopping error of several tasks; any other error among them is raised."""
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
    concurrency: int,
    lag: int | None = None,
) -> None:
    """Make all units concurrently, started in their order.

    With a lag, a unit starts when all units at least that many places before it are done, so what
    it can see of them does not depend on the concurrency. An error of `make` ends all, except
    ModelPending: it is raised when every unit that does not depend on a pending one is done.
    """
    done = [anyio.Event() for _ in units]
    limit = anyio.CapacityLimiter(concurrency)
    pending: dict[int, ModelPending] = {}

    async def run_one(index: int) -> None:
        try:
            await make(units[index])
        except ModelPending as fault:
            pending[index] = fault
        finally:
            done[index].set()
            limit.release_on_behalf_of(index)

    async with anyio.create_task_group() as tasks:
        for index in range(len(units)):
            if lag is not None and index >= lag:
                await done[index - lag].wait()
                if any(other <= index - lag for other in pending):
                    break
            await limit.acquire_on_behalf_of(index)
            tasks.start_soon(run_one, index)
    if pending:
        # The last one raised counts all requests.
        raise list(pending.values())[-1]


async def run_parts(parts: Sequence[Unit], make: Callable[[Unit], Awaitable[None]]) -> None:
    """Make all parts of a unit concurrently; ModelPending is raised when all others are done."""
    await run_units(parts, make, concurrency=max(1, len(parts)))
