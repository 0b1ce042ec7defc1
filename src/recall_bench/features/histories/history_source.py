"""The files of a history: one file, a folder, or a zip file, read without unpacking it to disk."""

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Self

from recall_bench.core.errors import UsageError
from recall_bench.core.untrusted_json import UNPACKED_ALWAYS, UNPACKED_RATIO, open_regular_file

_MAX_FILES = 200_000
_MAX_BYTES = 4 * 1024 * 1024 * 1024
"""The largest file that is read at once."""
PEEK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """One file of a source."""

    source: "HistorySource"
    name: str
    """Its path in the source, with slashes."""

    @property
    def shown(self) -> str:
        """Its name in messages."""
        path = self.source.path
        return str(path) if self.source.is_file else f"{path}, {self.name}"

    @property
    def base(self) -> str:
        """The last part of its name, in lower case."""
        return PurePosixPath(self.name).name.lower()

    @property
    def parent(self) -> str:
        """The name of the folder that it is in."""
        return PurePosixPath(self.name).parent.name

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it to read its bytes; UsageError if it cannot be read, then or later."""
        try:
            with self.source.open_file(self.name) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise UsageError(
                f"{self.shown} cannot be unpacked ({error}); fetch the export again"
            ) from error
        except RuntimeError as error:
            # What zipfile raises for a password.
            raise UsageError(f"{self.shown} cannot be unpacked ({error}); unpack it") from error
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"{self.shown} cannot be read ({reason})") from error

    def read(self) -> bytes:
        """Its content; UsageError if it is too large to be read at once."""
        content = bytearray()
        with self.open() as file:
            while piece := file.read(PEEK_BYTES):
                content += piece
                if len(content) > _MAX_BYTES:
                    raise UsageError(f"{self.shown} has more than {_MAX_BYTES:,} bytes")
        return bytes(content)

    def peek(self) -> bytes:
        """The beginning of its content."""
        with self.open() as file:
            return file.read(PEEK_BYTES)


class _LimitedMember(io.RawIOBase):
    """A member of a zip file, unpacked up to a limit."""

    def __init__(self, member: IO[bytes], left: int) -> None:
        self._member = member
        self._left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        block = self._member.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise zipfile.BadZipFile("it unpacks to far more than its size")
        buffer[: len(block)] = block
        return len(block)


@dataclass(slots=True)
class HistorySource:
    """A file, a folder or a zip file with a history."""

    path: Path
    _zip: zipfile.ZipFile | None = None
    _raw: BinaryIO | None = None
    _names: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        if not self.path.exists():
            raise UsageError(f"{self.path} does not exist; name the file or folder of the export")
        if self.path.is_dir():
            self._names = tuple(self._walk_folder())
        elif self._is_zip():
            try:
                self._raw = open_regular_file(self.path)
                self._zip = zipfile.ZipFile(self._raw)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
                if self._raw is not None:
                    self._raw.close()
                raise UsageError(
                    f"{self.path} is a damaged zip file ({error}); fetch the export again"
                ) from error
            names = [member.filename for member in self._zip.infolist() if not member.is_dir()]
            self._names = tuple(sorted(name for name in names if not name.startswith("__MACOSX/")))
            self._check_count(len(names))
        else:
            self._names = (self.path.name,)
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()
        if self._raw is not None:
            self._raw.close()

    @property
    def is_file(self) -> bool:
        """Whether it is one file that is no archive."""
        return self._zip is None and not self.path.is_dir()

    @property
    def files(self) -> list[HistoryFile]:
        """Its files, by name."""
        return [HistoryFile(self, name) for name in self._names]

    def choose_files(self, names: str, missing: str) -> list[HistoryFile]:
        """The files whose last part of the name matches; UsageError if there is none.

        A file that was named itself may have any name.
        """
        chosen = [file for file in self.files if self.is_file or re.fullmatch(names, file.base)]
        if not chosen:
            raise UsageError(f"{self.path} holds no {missing}")
        return chosen

    @contextmanager
    def open_file(self, name: str) -> Iterator[BinaryIO]:
        """Open one of its files; raises what the system or the archive raises."""
        if self._zip is not None:
            info = self._zip.getinfo(name)
            limit = max(UNPACKED_ALWAYS, UNPACKED_RATIO * info.compress_size)
            with self._zip.open(info) as member:
                yield io.BufferedReader(_LimitedMember(member, limit), 1 << 20)
            return
        path = self.path if not self.path.is_dir() else self.path / name
        with open_regular_file(path) as file:
            yield file

    def _is_zip(self) -> bool:
        try:
            with open_regular_file(self.path) as file:
                return file.read(4) == b"PK\x03\x04"
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be read ({error.strerror}); check the path"
            ) from error

    def _walk_folder(self) -> Iterator[str]:
        count = 0
        for place, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(place, name)
                if name.startswith(".") or path.is_symlink() or not path.is_file():
                    continue
                count += 1
                self._check_count(count)
                yield path.relative_to(self.path).as_posix()

    def _check_count(self, count: int) -> None:
        if count > _MAX_FILES:
            raise UsageError(
                f"{self.path} holds more than {_MAX_FILES:,} files; name the part that is meant"
            )
