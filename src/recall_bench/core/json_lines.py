"""Files with one JSON object a line."""

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import TypeVar

import msgspec

from recall_bench.core.errors import DataError, Malformed
from recall_bench.core.untrusted_json import decode_untrusted_line, read_regular_file

LineT = TypeVar("LineT")


def read_json_lines(
    path: Path,
    kind: type[LineT] | UnionType,
    *,
    name: str | None = None,
    may_be_torn: bool = False,
) -> Iterator[LineT]:
    """Every line of a file; Malformed names the first that is not of this kind.

    `name` stands for the path in messages. Where a process may be appending to the file, a last
    line without an end is left out if it is not of this kind.
    """
    where = name or str(path)
    try:
        content = read_regular_file(path)
    except OSError as error:
        raise DataError(f"{where}: cannot be read ({error.strerror})") from error
    lines = content.split(b"\n")
    decoder: msgspec.json.Decoder[LineT] = msgspec.json.Decoder(kind)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield decode_untrusted_line(decoder, line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if may_be_torn and number == len(lines):
                    return
                raise Malformed(f"{where}, line {number}", str(error)) from error
