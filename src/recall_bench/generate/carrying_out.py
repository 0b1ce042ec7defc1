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
from recall_bench.generate.outcome import PassStop
from recall_bench.interruption import cancel_on_signals

if TYPE_CHECKING:
    from recall_bench.models.model import Model

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
