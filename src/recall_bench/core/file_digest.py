"""The digest of a file, read in pieces."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from recall_bench.core.foreign_file import open_regular_file
from recall_bench.core.plan import FileCard

CHUNK = 1 << 20
"""Bytes read at a time."""


def digest_file(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Return the sha-256 of a file; `on_bytes` receives the number of bytes read."""
    total, done = sha256(), 0
    with open_regular_file(path) as file:
        while block := file.read(CHUNK):
            total.update(block)
            done += len(block)
            if on_bytes is not None:
                on_bytes(done)
    return total.hexdigest()


def describe_file(path: Path, name: str | None = None) -> FileCard:
    """Return the card of a file, under another name if one is given."""
    digest = digest_file(path)
    return FileCard(name=name or path.name, sha256=digest, bytes=path.stat().st_size)
