"""Tests do not wait for the disk: killing a process loses nothing that the system has taken."""

import os
import stat
from typing import IO


def skip_flushes() -> None:
    """Let `os.fsync` check its file and return.

    Only a power cut could tell, and no test has one. Whether the product flushes what it must, and
    what happens when that fails, is tested with an `os.fsync` of those tests.
    """
    setattr(os, "fsync", _check_file)  # noqa: B010 - mypy forbids the plain assignment


def _check_file(file: int | IO[bytes]) -> None:
    number = file if isinstance(file, int) else file.fileno()
    assert stat.S_ISREG(os.fstat(number).st_mode)
