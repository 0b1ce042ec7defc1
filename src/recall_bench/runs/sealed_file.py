"""Caches beside a journal: files that are passed over if they are damaged or of other code."""

import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from recall_bench.core.atomic_file import write_shared_file
from recall_bench.core.foreign_file import read_regular_file

CACHE, FIGURES = ".journal.cache", ".figures.cache"

MIN_BYTES = 4 << 20
"""A smaller journal is read in no noticeable time."""
DIGEST_BYTES = 16


def is_large(journal_bytes: int) -> bool:
    """Whether a journal of this size is worth a cache."""
    return journal_bytes >= MIN_BYTES


def read_sealed_file(path: Path, magic: bytes) -> memoryview | None:
    """Read the content of a file; None if it is not whole, OSError if there is none."""
    whole = read_regular_file(path)
    start = len(magic) + DIGEST_BYTES
    content = memoryview(whole)[start:]
    return content if whole[:start] == magic + digest_content(content) else None


def write_sealed_file(path: Path, magic: bytes, content: bytes) -> None:
    """Write a file with the digest of its content; OSError if that fails."""
    write_shared_file(path, magic + digest_content(content) + content)


def digest_content(content: bytes | memoryview) -> bytes:
    """Digest the content of a file."""
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


@cache
def digest_code() -> str:
    """Digest the code that reads journals and computes figures: other code may find others."""
    total = blake2b(sys.byteorder.encode(), digest_size=DIGEST_BYTES)
    package = Path(__file__).parents[1]
    for name in ("core", "metrics", "runs"):
        for file in sorted((package / name).glob("*.py")):
            total.update(file.name.encode() + file.read_bytes())
    return total.hexdigest()
