"""JSON of programs and files that are not ours, within limits on its size and depth."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap
from typing import Any, TypeVar

import msgspec

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""The largest reply that a system may send, over any transport."""

MAX_DEPTH = 64
"""The deepest nesting of lists and objects in what is recorded. How deep JSON can be read depends
on the stack of the reader, so what is written has to stay far below that."""

KindT = TypeVar("KindT")

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


def decode_untrusted_json(
    content: bytes | str | memoryview | mmap | msgspec.Raw, kind: type[KindT]
) -> KindT:
    """The value of this kind; msgspec.DecodeError if the content is anything else."""
    with refuse_deep_nesting():
        try:
            return msgspec.json.decode(content, type=kind)
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"it is not UTF-8 text: {error.reason}") from error


def decode_untrusted_line(
    decoder: msgspec.json.Decoder[KindT], line: bytes | str | msgspec.Raw
) -> KindT:
    """The value of a line; msgspec.DecodeError if it is anything else."""
    # Not `refuse_deep_nesting`: a journal has millions of lines, and entering it takes as long as
    # decoding a short one.
    try:
        return decoder.decode(line)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8 text: {error.reason}") from error
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def decode_plain_json(content: bytes | str) -> Any:  # noqa: ANN401 - any JSON
    """Any JSON value, nested no deeper than `MAX_DEPTH`, so that code may recurse over it.

    msgspec.DecodeError otherwise, also for halves of surrogate pairs, which no file can hold, and
    for numbers that are beyond what Python prints.
    """
    found = decode_untrusted_json(content, object)
    if is_too_deep(found):
        raise msgspec.DecodeError("it is nested too deeply")
    return found


@contextmanager
def refuse_deep_nesting() -> Iterator[None]:
    """Raise a DecodeError instead of the RecursionError of a value that is nested too deeply."""
    try:
        yield
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def is_too_deep(value: object) -> bool:
    """Whether a value has lists and objects within each other beyond `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for each in level for inner in _list_inner(each)]
        if not level:
            return False
    return True


def _list_inner(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def cut_deep_json(content: bytes) -> bytes:
    """The JSON with null in place of every list and object beyond `MAX_DEPTH`."""
    kept, depth, start = [], 0, 0
    for token in _TOKEN.finditer(content):
        sign = token[0]
        if sign in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                kept.append(content[start : token.start()] + b"null")
        elif sign in b"]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = token.end()
    return b"".join((*kept, content[start:])) if depth <= MAX_DEPTH else b""
