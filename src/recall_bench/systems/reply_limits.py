"""The limits of a reply, the same for every transport."""

import math
from collections.abc import Iterable

import msgspec

from recall_bench.core.errors import NotAnAnswer, SystemFault
from recall_bench.core.memory import Answer, RetrievalReply, StoredEntry
from recall_bench.core.untrusted_json import MAX_DEPTH, MAX_REPLY_BYTES, is_too_deep

MAX_COUNT = 2**63
"""Larger numbers cannot be added up in a table of 64-bit integers."""


def check_reply(reply: Answer | RetrievalReply) -> None:
    """Raise NotAnAnswer if the journal could not hold the reply, or no report could add it up."""
    if is_too_deep(reply.tool_calls):
        raise NotAnAnswer(f"its tool_calls are nested deeper than {MAX_DEPTH} levels")
    if reply.usage is not None:
        usage = reply.usage
        for name in usage.__struct_fields__:
            value = getattr(usage, name)
            if not (math.isfinite(value) and 0 <= value < MAX_COUNT):
                raise NotAnAnswer(
                    f"its usage has {name} = {value:.6g}; usage is never below 0 nor above 64 bits"
                )
    for passage in reply.passages:
        if passage.day is not None and abs(passage.day) >= MAX_COUNT:
            raise NotAnAnswer("a passage has a day of more than 64 bits")
    try:
        size = len(msgspec.json.encode(reply))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotAnAnswer(f"its reply cannot be recorded: {error}") from error
    if size > MAX_REPLY_BYTES:
        raise NotAnAnswer(f"its reply has {size:,} bytes; {MAX_REPLY_BYTES:,} are allowed")


def check_entries(entries: Iterable[StoredEntry]) -> tuple[StoredEntry, ...]:
    """The entries that a memory lists; SystemFault if they are more than a reply may hold."""
    checked: list[StoredEntry] = []
    size = 0
    for entry in entries:
        if entry.day is not None and abs(entry.day) >= MAX_COUNT:
            raise SystemFault("an entry that it lists has a day of more than 64 bits")
        try:
            size += len(msgspec.json.encode(entry))
        except ValueError as error:
            raise SystemFault(f"an entry that it lists cannot be recorded: {error}") from error
        if size > MAX_REPLY_BYTES:
            raise SystemFault(f"it lists entries of more than {MAX_REPLY_BYTES:,} bytes")
        checked.append(entry)
    return tuple(checked)
