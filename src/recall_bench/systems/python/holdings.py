"""What an in-process adapter says it holds, read from its own words.

Its methods run in the thread of the adapter, and so must whatever they return: a generator over
rows of a database reads them there.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from numbers import Integral

from recall_bench.errors import SystemFault
from recall_bench.systems.python.adapter import Adapter

INSPECTION_METHODS = ("stored_days", "stored_bytes")
"""Either makes an adapter one that can be looked into."""

_MAX_DAYS, _MAX_BYTES = 2**31, 2**63
"""More than these no message of ours carries."""


def read_stored_days(adapter: Adapter) -> object:
    """Each day once, ascending, or None if it does not say; perhaps an awaitable of that."""
    return _apply_reader(adapter.call("stored_days"), _parse_days)


def read_stored_bytes(adapter: Adapter) -> object:
    """A number, or None if it does not say; perhaps an awaitable of that."""
    return _apply_reader(adapter.call("stored_bytes"), _parse_bytes)


def _apply_reader(told: object, reading: Callable[[object], object]) -> object:
    return _apply_reader_later(told, reading) if inspect.isawaitable(told) else reading(told)


async def _apply_reader_later(
    told: Awaitable[object], reading: Callable[[object], object]
) -> object:
    return reading(await told)


def _parse_days(told: object) -> tuple[int, ...] | None:
    if told is None:
        return None
    if isinstance(told, str | bytes) or not isinstance(told, Iterable):
        raise SystemFault(
            f"stored_days() returned a {type(told).__name__}; return the numbers of the days"
        )
    return tuple(sorted({_parse_count(day, "stored_days", _MAX_DAYS) for day in told}))


def _parse_bytes(told: object) -> int | None:
    return None if told is None else _parse_count(told, "stored_bytes", _MAX_BYTES)


def _parse_count(told: object, method: str, most: int) -> int:
    # numpy's numbers are Integral and no int.
    if isinstance(told, Integral) and not isinstance(told, bool) and 0 <= int(told) < most:
        return int(told)
    raise SystemFault(
        f"{method}() told {told!r:.80}, which is no number from 0 on; tell whole numbers"
    )
