"""The digest of a file, read in pieces, and of the files that a command line runs."""

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from recall_bench.core.plan import FileCard
from recall_bench.core.untrusted_json import open_regular_file

CHUNK = 1 << 20
"""Bytes read at a time."""

_PROGRAM_BYTES = 1 << 20
"""Bytes digested of a program's file: a script is read whole, the weights of a model are not."""

_SCRIPT_SUFFIXES = (".js", ".mjs", ".py", ".rb", ".sh", ".ts")


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


def digest_program(words: Sequence[str], program: Path) -> str | None:
    """Digest the program, unless it is found on the PATH, and the script that it runs.

    None if neither is a file that can be read. `program` is the full path of the first word. The
    digest is of sizes and beginnings.
    """
    # Not the whole path, because Windows adds a suffix.
    own = [program] if Path(words[0]).absolute().parent == program.parent else []
    files = [file for file in (*own, _find_script(words)) if file and _is_readable(file)]
    if not files:
        return None
    digest = sha256()
    for file in files:
        digest.update(b"%d\n" % file.stat().st_size)
        with file.open("rb") as opened:
            digest.update(opened.read(_PROGRAM_BYTES))
    return digest.hexdigest()[:12]


def is_file(word: str | Path) -> bool:
    """Whether a word is the path of a file; also False for what no path can be."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _find_script(words: Sequence[str]) -> Path | None:
    """The first argument that is a file and no value of an option.

    A value may be a log that grows with every call. What is named like a script is no value, as in
    `python -u tool.py`.
    """
    return next(
        (
            Path(word)
            for before, word in pairwise(words)
            if not word.startswith("-")
            and (not before.startswith("-") or word.endswith(_SCRIPT_SUFFIXES))
            and _is_readable(word)
        ),
        None,
    )


def _is_readable(word: str | Path) -> bool:
    return is_file(word) and os.access(word, os.R_OK)
