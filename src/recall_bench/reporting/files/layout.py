"""JSON for large documents: written as it is made, readable by people and by line tools."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

encode_compact = msgspec.json.Encoder().encode
"""JSON on one line."""


def encode_row(fields: object) -> msgspec.Raw:
    """Something that stays on one line wherever it is laid out."""
    return msgspec.Raw(encode_compact(fields))


def write_document(value: object, write: Callable[[bytes], object], depth: int = 0) -> None:
    """Write a document: mappings a key a line, iterators an element a line, the rest compact.

    An iterator is drawn on only when its turn comes, one element at a time.
    """
    lead, inside = b"\n", b"  " * (depth + 1)
    if isinstance(value, Mapping):
        write(b"{")
        for key, part in value.items():
            write(lead + inside + encode_compact(key) + b": ")
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"}" if lead == b"\n" else b"\n" + b"  " * depth + b"}")
    elif isinstance(value, Iterator):
        write(b"[")
        for part in value:
            write(lead + inside)
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"]" if lead == b"\n" else b"\n" + b"  " * depth + b"]")
    else:
        write(encode_compact(value))
