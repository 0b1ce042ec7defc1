"""What it takes to be a public dataset here. `catalogue.py` lists those there are."""

import gzip
import mmap
import shutil
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TypeVar, overload

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Scenario

Row = TypeVar("Row")

Load = Callable[[Path, Mapping[str, Path]], Sequence[Scenario]]
"""Reads the dataset's file, or the folder of its files, with optional corrections by name.

Scenarios come in file order and may be built one at a time, as they are asked for. What a system
gets to see of them (ids of scenarios, episodes and sessions) says nothing about the answers.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """Something about the published file that its loader knows and deals with."""

    name: str
    concerns: str
    """What is wrong, where and how often, and what is done about it: one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionLayer:
    """A correction of the gold that somebody published: laid over it only when asked for."""

    name: str
    """As `--errata` says it."""
    concerns: str
    """Who found what, and what laying it over changes: one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """One dataset in one of its sizes or views."""

    name: str
    """As `--dataset` says it: `longmemeval-s`."""
    family: str
    """Whose protocols it is measured by: `longmemeval`."""
    title: str
    load: Load
    has_dates: bool
    """Whether its times are real; if not, its sessions are dated a day apart, in their order."""
    notes: tuple[str, ...] = ()
    """What one should know before quoting a number, a sentence each."""
    errata: tuple[Erratum, ...] = ()
    layers: tuple[CorrectionLayer, ...] = ()


class LazyScenarios(Sequence[Scenario]):
    """Scenarios that are built when they are asked for, and not kept."""

    def __init__(self, size: int, build: Callable[[int], Scenario]) -> None:
        self._places = range(size)
        self._build = build

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Scenario: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Scenario]: ...

    def __getitem__(self, place: int | slice) -> Scenario | Sequence[Scenario]:
        """One scenario, built now; or some of them, built later."""
        chosen = self._places[place]
        if isinstance(chosen, int):
            return self._build(chosen)
        return LazyScenarios(len(chosen), lambda number: self._build(chosen[number]))

    def __iter__(self) -> Iterator[Scenario]:
        return map(self._build, self._places)


def load_file_by_file(
    files: Sequence[Path],
    read: Callable[[Path], Sequence[Row]],
    build: Callable[[Path, Row], Scenario],
) -> Sequence[Scenario]:
    """A scenario for each row of the files, which are used one after the other.

    Files are large: the rows of one at a time are in memory.
    """
    rows_of = lru_cache(maxsize=1)(read)
    ends = list(accumulate(len(rows_of(path)) for path in files))

    def build_row(number: int) -> Scenario:
        place = bisect_right(ends, number)
        return build(files[place], rows_of(files[place])[number - ends[place]])

    return LazyScenarios(ends[-1], build_row)


def refuse_corrections(name: str, layers: Mapping[str, Path]) -> None:
    """UsageError for a dataset that nobody has published corrections of."""
    if layers:
        raise UsageError(f"{name} has no corrections to lay over it; leave out {min(layers)!r}")


_PACKED = b"\x1f\x8b"
_Shape = TypeVar("_Shape")


def locate_file(data: Path, *names: str) -> Path:
    """The file that is meant: `data` itself, or the one in that folder with one of the names.

    Each name may have `.gz` behind it. UsageError if there is none, or if there are several.
    """
    if not data.is_dir():
        return data
    wanted = " or ".join(names)
    each = (next((p for p in _list_spellings(data / name) if p.is_file()), None) for name in names)
    match [path for path in each if path is not None]:
        case [path]:
            return path
        case []:
            raise UsageError(f"there is no {wanted} in {data}, packed or not; name the file itself")
        case several:
            found = ", ".join(path.name for path in several)
            raise UsageError(f"{data} holds {found}; name the one that is meant")


def _list_spellings(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}.gz")


class JsonArray:
    """The elements of the JSON array in a file, packed or not.

    UsageError if there is no such file, Malformed if it is no array or torn.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        """What an element is called in messages."""
        self._mapped = _map_file(path)
        try:
            self._raw = msgspec.json.decode(self._mapped, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            place = f"{len(self._mapped)} bytes in all"
            raise Malformed(str(path), f"cannot be read as JSON ({error}; {place})") from error
        self._release()

    def __len__(self) -> int:
        return len(self._raw)

    def describe(self, number: int) -> str:
        """How messages call the element with this number, counted from 0: by file and place."""
        return f"{self._path}, {self._kind} {number + 1}"

    def decode(self, number: int, shape: type[_Shape]) -> _Shape:
        """The element with this number, counted from 0; Malformed if it has another shape."""
        try:
            return msgspec.json.decode(self._raw[number], type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Malformed(self.describe(number), f"is not as it should be ({error})") from error
        finally:
            self._release()

    def _release(self) -> None:
        """Let the pages seen so far count as ours no longer; they are read again if needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _map_file(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            if file.read(len(_PACKED)) == _PACKED:
                return _unpack(file)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; name the one you have") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error}); fetch it again") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); check it") from error
    except ValueError as error:
        # The one complaint `mmap` has about a file that was opened.
        raise Malformed(str(path), "is empty, and so cannot be read as JSON") from error


def _unpack(file: BinaryIO) -> mmap.mmap:
    file.seek(0)
    with gzip.open(file) as packed, TemporaryFile() as room:
        shutil.copyfileobj(packed, room, 1 << 20)
        room.flush()
        return mmap.mmap(room.fileno(), 0, access=mmap.ACCESS_READ)
