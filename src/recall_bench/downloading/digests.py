"""What a file's bytes come to."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from recall_bench.errors import Malformed

CHUNK = 1 << 20
"""How much is read at a time."""

_GZIP = b"\x1f\x8b"


def digest_file(path: Path, told: Callable[[int], None] | None = None) -> str:
    """The sha-256 of a file as it is; `told` hears how many bytes were read."""
    total, done = sha256(), 0
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            total.update(block)
            done += len(block)
            if told is not None:
                told(done)
    return total.hexdigest()


def is_gzip(path: Path) -> bool:
    """Whether the file is gzip, whatever it is called."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def digest_content(path: Path) -> str:
    """The sha-256 of what a gzip file holds."""
    total = sha256()
    for block in unpack_blocks(path):
        total.update(block)
    return total.hexdigest()


def unpack_blocks(path: Path) -> Iterator[bytes]:
    """What a gzip file holds, block by block; Malformed if it is torn."""
    try:
        with gzip.open(path, "rb") as file:
            while block := file.read(CHUNK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error})") from error


def format_size(size: int) -> str:
    """A number of bytes for people: `2.8 MB`."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
