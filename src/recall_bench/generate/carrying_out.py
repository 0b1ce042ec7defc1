"""A pass carried out to its end, or to what stops it."""

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from recall_bench.errors import (
    BenchError,
    BudgetSpent,
    Interrupted,
    JournalLost,
    ModelGone,
    UsageError,
)
from recall_bench.generate.outcome import Stopped
from recall_bench.interruption import cancelled_by_signals

if TYPE_CHECKING:
    from recall_bench.models.model import Model

_ENDS = (BudgetSpent, Interrupted, JournalLost, ModelGone, UsageError)
"""The last is a file that cannot be written: the request was found sound before the work began."""


def carried_out(
    work: Callable[[], Awaitable[None]], closing: "Model | None" = None
) -> Stopped | None:
    """Do the work, and close the model, if one is named; why it was stopped early, or None.

    A signal, spent money, a model that is gone and a full disk stop a pass in good order: what
    was written stays, and the same command goes on. Anything else is raised.
    """
    try:
        anyio.run(_to_its_end, work, closing)
    except KeyboardInterrupt:
        return _stopped(Interrupted(signal.SIGINT))
    except _ENDS as end:
        return _stopped(end)
    except BaseExceptionGroup as group:
        return _stopped(_first(group))
    return None


async def _to_its_end(work: Callable[[], Awaitable[None]], closing: "Model | None") -> None:
    try:
        with anyio.CancelScope() as scope, cancelled_by_signals(scope) as received:
            await work()
    finally:
        if closing is not None:
            with anyio.CancelScope(shield=True):
                await closing.close()
    if received:
        raise Interrupted(received[0])


def _stopped(end: BenchError) -> Stopped:
    return Stopped(reason=str(end), exit_code=end.exit_code)


def _first(group: BaseExceptionGroup[BaseException]) -> BenchError:
    """The end that several tasks met together; another failure among them is raised."""
    ends, others = group.split(_ENDS)
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
