"""The optional methods of an adapter that erase, list and consolidate, and how they are read.

    forget(subject)             erase everything about a subject given in words
    delete(id)                  erase one episode by the id it was ingested with
    delete_session(session)     erase a whole session
    delete_person(name)         erase everything that a person said or that is about them
    keep_days(days)             from now on, keep nothing older than `days` days before the latest
    stored()                    list every entry: texts, or mappings with `text`, `id` and `day`
    consolidate()               do now what is done from time to time: summaries, merging
    reopen()                    called instead of `setup` if `state_dir` holds what an earlier
                                process left: go on with it

Each is plain or `async`. A method that raises NotImplementedError is not offered. Methods that
erase return None if they do not know, whether they erased something, or how many entries.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from numbers import Integral

from recall_bench.core.errors import NotOffered, SystemFault
from recall_bench.core.memory import (
    EraseReply,
    EraseScope,
    Offer,
    StoredEntry,
    parse_kept_days,
)
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.reply_limits import MAX_COUNT, check_entries

_METHODS = {
    Offer.FORGET: "forget",
    Offer.DELETE: "delete",
    Offer.DELETE_SESSION: "delete_session",
    Offer.DELETE_PERSON: "delete_person",
    Offer.RETAIN: "keep_days",
    Offer.STORED: "stored",
    Offer.CONSOLIDATE: "consolidate",
    Offer.REOPEN: "reopen",
}


def find_offers(adapter: Adapter) -> frozenset[Offer]:
    """The optional parts of which the adapter defines the method."""
    return frozenset(offer for offer, method in _METHODS.items() if adapter.defines(method))


def erase_entries(adapter: Adapter, scope: EraseScope, value: str) -> object:
    """Call the method that erases in this scope: an EraseReply, or an awaitable of it."""
    argument = parse_kept_days(value) if scope is EraseScope.DAYS else value
    method = _METHODS[scope.offer]
    return _call_method(adapter, method, partial(_parse_erasure, method), argument)


def read_stored_entries(adapter: Adapter) -> object:
    """Call `stored`: the entries as a tuple, or an awaitable of it."""
    return _call_method(adapter, "stored", _parse_entries)


def consolidate_entries(adapter: Adapter) -> object:
    """Call `consolidate`."""
    return _call_method(adapter, "consolidate", lambda _: None)


def reopen_adapter(adapter: Adapter) -> object:
    """Call `reopen`."""
    return _call_method(adapter, "reopen", lambda _: None)


def _call_method(
    adapter: Adapter, method: str, parse: Callable[[object], object], *arguments: object
) -> object:
    if not adapter.defines(method):
        raise _make_error(adapter, method)
    try:
        value = adapter.call(method, *arguments)
    except NotImplementedError as error:
        raise _make_error(adapter, method) from error
    if inspect.isawaitable(value):
        return _parse_later(adapter, method, value, parse)
    return parse(value)


async def _parse_later(
    adapter: Adapter, method: str, value: Awaitable[object], parse: Callable[[object], object]
) -> object:
    try:
        return parse(await value)
    except NotImplementedError as error:
        raise _make_error(adapter, method) from error


def _make_error(adapter: Adapter, method: str) -> NotOffered:
    return NotOffered(f"{adapter.where} has no {method}()")


def _parse_erasure(method: str, value: object) -> EraseReply:
    match value:
        case None:
            return EraseReply()
        case EraseReply():
            return value
        case bool():
            return EraseReply(confirmed=value)
        case Integral() if 0 <= int(value) < MAX_COUNT:
            return EraseReply(confirmed=int(value) > 0, count=int(value))
        case _:
            raise SystemFault(
                f"{method}() returned {value!r:.80}; return None, whether it erased something, or "
                "how many entries"
            )


def _parse_entries(value: object) -> tuple[StoredEntry, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise SystemFault(
            f"stored() returned a {type(value).__name__}; return a list of texts, or of mappings "
            "with 'text'"
        )
    return check_entries(map(_parse_entry, value))


def _parse_entry(value: object) -> StoredEntry:
    match value:
        case StoredEntry():
            return value
        case str():
            return StoredEntry(text=str.__str__(value))
        case Mapping():
            text, name, day = value.get("text"), value.get("id"), value.get("day")
            if isinstance(text, str) and (day is None or isinstance(day, Integral)):
                return StoredEntry(
                    text=str.__str__(text),
                    id=None if name is None else str(name),
                    day=None if day is None else int(day),
                )
    raise SystemFault(
        f"stored() listed {value!r:.80}; an entry is a text, or a mapping with 'text'"
    )
