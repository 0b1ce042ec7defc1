"""Caches beside a journal: files that are passed over if they are damaged or of other code.

Each has a seal that needs a key of this user, which lies in the cache folder. A file
with another key's seal is ignored.
"""

import os
import secrets
import sys
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

from recall_bench.core.atomic_file import write_shared_file
from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.untrusted_file import read_regular_file

CACHE, FIGURES, PAGE = ".journal.cache", ".figures.cache", ".page.cache"

MIN_BYTES = 4 << 20
"""A smaller journal is read in no noticeable time."""
DIGEST_BYTES = 16
_KEY_BYTES = 32


def is_large(journal_bytes: int) -> bool:
    """Whether a journal of this size is worth a cache."""
    return journal_bytes >= MIN_BYTES


def read_sealed_file(path: Path, magic: bytes) -> memoryview | None:
    """Read the content of a file; None if it is not whole or not ours, OSError if there is none."""
    whole = read_regular_file(path)
    start = len(magic) + DIGEST_BYTES
    content = memoryview(whole)[start:]
    return content if whole[:start] == magic + _seal(content) else None


def write_sealed_file(path: Path, magic: bytes, content: bytes) -> None:
    """Write a file with a seal of its content; OSError if that fails."""
    write_shared_file(path, magic + _seal(content), content)


def _seal(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES, key=_load_key()).digest()


def _load_key() -> bytes:
    """Load the key of this user, which is made first if there is none; OSError if that fails."""
    path = find_cache_folder() / "seal.key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        try:
            # Of two processes that make one, the first decides.
            with suppress(FileExistsError):
                os.link(made, path)
        finally:
            made.unlink()
    key = read_regular_file(path)
    if len(key) != _KEY_BYTES:
        raise OSError(f"{path}: is not a key; delete it")
    return key


@cache
def digest_code(*more: str) -> str:
    """Digest the code that reads journals and computes figures: other code may find others.

    `more` are folders of the package whose code counts as well.
    """
    total = blake2b(sys.byteorder.encode(), digest_size=DIGEST_BYTES)
    package = Path(__file__).parents[1]
    for name in ("core", "metrics", "runs", *more):
        for file in sorted((package / name).glob("*.py")):
            total.update(file.name.encode() + file.read_bytes())
    return total.hexdigest()
