"""A folder of memories as bytes: what is in it, and what names it."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from recall_bench.errors import Malformed, UsageError

MEMORY_PREFIX = "memory/"
"""What every memory's name begins with, wherever its folder lies."""


def read_memories(folder: Path) -> dict[str, bytes]:
    """Every memory's bytes by its name, sorted; UsageError if there is none."""
    if not folder.is_dir():
        raise UsageError(f"--memories: there is no folder {folder}")
    paths = {
        f"{MEMORY_PREFIX}{path.relative_to(folder).as_posix()}": path
        for path in folder.rglob("*.md")
        if path.is_file()
    }
    if not paths:
        raise UsageError(f"--memories: {folder} holds no .md file")
    return {name: paths[name].read_bytes() for name in sorted(paths)}


def decode_text(content: bytes, where: str) -> str:
    """A memory's or a test's text; Malformed, naming the byte, if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(where, f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def digest_corpus(memories: Mapping[str, bytes]) -> str:
    """Sha-256 over every memory's name and bytes, by name: a changed letter changes it."""
    digest = sha256()
    for name in sorted(memories):
        digest.update(name.encode() + b"\0" + memories[name] + b"\0")
    return digest.hexdigest()
