"""Files that appear complete or not at all."""

import os
from contextlib import suppress
from filecmp import cmp
from pathlib import Path
from typing import Self

from recall_bench.core.errors import DISK_FULL, BenchError, JournalLost, UsageError
from recall_bench.core.temporary_files import name_beside, sweep_once

_BUFFER = 1 << 20


class AtomicFile:
    """A file that is replaced on `commit`; without it the old one stays unchanged."""

    def __init__(self, path: Path, *, is_private: bool = False) -> None:
        """A private file can be read by its owner alone, from its first byte on."""
        self._path = path
        self._opener = _open_private if is_private else None
        self._is_committed = False

    def __enter__(self) -> Self:
        try:
            # A link stays a link, and a device or pipe must not be replaced.
            self._target = self._path.resolve()
            if self._target.exists() and not self._target.is_file():
                raise UsageError(f"{self._path}: is not a file; name one to write to")
            self._target.parent.mkdir(parents=True, exist_ok=True)
            sweep_once(self._target.parent)
            self._beside = name_beside(self._target)
            self._file = open(self._beside, "wb", buffering=_BUFFER, opener=self._opener)
        except OSError as error:
            raise self._make_error(error) from error
        return self

    def write(self, text: bytes) -> None:
        """Append to the new content."""
        try:
            self._file.write(text)
        except OSError as error:
            raise self._make_error(error) from error

    def flush(self) -> None:
        """Sync the new content to disk, so that only the renaming is left."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._make_error(error) from error

    def is_unchanged(self) -> bool:
        """Whether the new content is that of the file which it would replace."""
        self.flush()
        return self._target.is_file() and cmp(self._beside, self._target, shallow=False)

    def commit(self) -> None:
        """Replace the old content with the new."""
        self.flush()
        try:
            self._file.close()
            self._beside.replace(self._target)
        except OSError as error:
            raise self._make_error(error) from error
        self._is_committed = True

    def __exit__(self, *_: object) -> None:
        if not self._is_committed:
            # A full disk fails again on closing; the first failure is the one to report.
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._beside.unlink()

    def _make_error(self, error: OSError) -> BenchError:
        if error.errno in DISK_FULL:
            return JournalLost(f"{self._path}: {JournalLost.FULL_DISK}")
        return UsageError(f"{self._path}: cannot be written ({error.strerror or error})")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def replace_file(path: Path, content: bytes, *, is_private: bool = False) -> None:
    """Write one file atomically; a private one can be read by its owner alone."""
    with AtomicFile(path, is_private=is_private) as file:
        file.write(content)
        file.commit()


def open_cache(folder: Path, what: str) -> Path:
    """Make the folder of a cache; UsageError, which names its content, if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{what} cannot be kept in {folder} ({error.strerror or error}); name another folder"
        ) from error
    return folder


def write_shared_file(path: Path, *parts: bytes) -> None:
    """Write the parts as one file, atomically, to a folder that several machines may write to.

    Raises OSError. The file is not synced: a lost cache entry is made again.
    """
    path.parent.mkdir(exist_ok=True)
    sweep_once(path.parent)
    beside = name_beside(path)
    try:
        with beside.open("wb") as file:
            file.writelines(parts)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
