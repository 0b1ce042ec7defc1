"""Helpers for the loaders of public datasets; `stories/catalogue.py` lists all of them.

The elements of a large JSON array are decoded on demand: the file is mapped, one scan finds where
each element begins and ends, and an element is decoded in place, so that one element at a time is
in memory. A gzip file is first unpacked into a temporary file.
"""

import ast
import gzip
import json
import mmap
import shutil
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, TypeVar, overload

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Episode, Scenario, StoryTime, Turn
from recall_bench.core.untrusted_json import decode_untrusted_json, open_regular_file, open_unpacked
from recall_bench.stories.dataset_folder import GZIP, is_gzip

Row = TypeVar("Row")


class LazyScenarios(Sequence[Scenario]):
    """Scenarios that are built on demand, and not cached."""

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
        """Return one scenario, or a lazy slice."""
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
    """Return a lazy scenario for each row of the files.

    Files are large: only the rows of one file are in memory.
    """
    rows_of = lru_cache(maxsize=1)(read)
    ends = list(accumulate(len(rows_of(path)) for path in files))

    def build_row(number: int) -> Scenario:
        place = bisect_right(ends, number)
        return build(files[place], rows_of(files[place])[number - ends[place]])

    return LazyScenarios(ends[-1], build_row)


NonBlank = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""A text with something in it."""


def parse_literal(written: str) -> object:
    """Parse a value that was written as JSON or as Python prints it; None if it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            parsed: object = parse(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return parsed
    return None


def list_json_files(
    data: Path, what: str, inner: Iterable[str], pattern: str = "*.json"
) -> list[Path]:
    """List the JSON files of a dataset: the one given, or those in the first of these folders.

    Without such a folder, those in `data`. UsageError, which says to name `what`, without any.
    """
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise UsageError(f"there is no {data}; name {what} or a file of it")
    folder = next((data / name for name in inner if (data / name).is_dir()), data)
    files = sorted(folder.glob(pattern), key=lambda path: path.relative_to(folder).parts)
    if not files:
        raise UsageError(f"{data} holds no JSON file; name {what}")
    return files


def build_dialogue(name: str, *, day: int, at: StoryTime, turns: Iterable[Turn]) -> Episode:
    """Build an episode of turns; its text is a paragraph `speaker: text` per turn."""
    turns = tuple(turns)
    text = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    return Episode(id=name, day=day, at=at, text=text, turns=turns)


def refuse_corrections(name: str, layers: Mapping[str, Path]) -> None:
    """Raise UsageError for corrections of a dataset that has none."""
    if layers:
        raise UsageError(f"{name} has no corrections to lay over it; leave out {min(layers)!r}")


_Shape = TypeVar("_Shape")


def locate_file(data: Path, *names: str) -> Path:
    """Return `data` itself, or the file in that folder with one of the names.

    Each name may end in `.gz`. UsageError if there is none, or if there are several.
    """
    if not data.is_dir():
        return data
    alternatives = " or ".join(names)
    paths = (next((p for p in _list_spellings(data / name) if p.is_file()), None) for name in names)
    match [path for path in paths if path is not None]:
        case [path]:
            return path
        case []:
            raise UsageError(
                f"there is no {alternatives} in {data}, packed or not; name the file itself"
            )
        case several:
            spellings = ", ".join(path.name for path in several)
            raise UsageError(f"{data} holds {spellings}; name the one that is meant")


def _list_spellings(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}.gz")


def read_object(path: Path, shape: type[_Shape]) -> _Shape:
    """Read one JSON value from a small file, gzip or not; Malformed if it has another shape."""
    try:
        return decode_untrusted_json(_map_file(path), shape)
    except msgspec.DecodeError as error:
        raise Malformed(str(path), f"is not as it should be ({error})") from error


class JsonElements(ABC):
    """The JSON values of a file, gzip or not, decoded one by one.

    UsageError if there is no such file, Malformed if it is damaged.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self._kind = kind
        """The noun for an element in messages."""
        self._mapped = _map_file(path)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _slice(self, number: int) -> msgspec.Raw | bytes:
        """Return the bytes of one element."""

    def describe(self, number: int) -> str:
        """Return file and number of an element for messages; numbers count from 0."""
        return f"{self.path}, {self._kind} {number + 1}"

    def decode(self, number: int, shape: type[_Shape]) -> _Shape:
        """Decode the element with this number, from 0; Malformed if it has another shape."""
        try:
            return decode_untrusted_json(self._slice(number), shape)
        except msgspec.DecodeError as error:
            raise Malformed(self.describe(number), f"is not as it should be ({error})") from error
        finally:
            self._release()

    def _release(self) -> None:
        """Release the pages read so far; they are read again if needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


class JsonArray(JsonElements):
    """The elements of the JSON array in a file; Malformed if it is no array."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        try:
            self._raw = decode_untrusted_json(self._mapped, list[msgspec.Raw])
        except msgspec.DecodeError as error:
            place = f"{len(self._mapped)} bytes in all"
            raise Malformed(str(path), f"cannot be read as JSON ({error}; {place})") from error
        self._release()

    def __len__(self) -> int:
        return len(self._raw)

    def _slice(self, number: int) -> msgspec.Raw:
        return self._raw[number]


class JsonLines(JsonElements):
    """The lines of a file, a JSON value each; blank lines are skipped."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._ranges = tuple(_find_lines(self._mapped))
        self._release()

    def __len__(self) -> int:
        return len(self._ranges)

    def _slice(self, number: int) -> bytes:
        begin, end = self._ranges[number]
        return self._mapped[begin:end]


def open_rows(path: Path, kind: str) -> JsonElements:
    """Open a file of rows: a JSON array, or a JSON value on each line."""
    with open_regular_file(path) if path.is_file() else nullcontext() as file:
        packed = file is not None and file.peek(len(GZIP)).startswith(GZIP)
        content = open_unpacked(file) if file is not None and packed else file
        try:
            head = b"" if content is None else content.read(1 << 10).lstrip()
        except (OSError, EOFError, zlib.error):
            # Mapping the file names the damage.
            head = b""
    return JsonArray(path, kind) if head.startswith(b"[") else JsonLines(path, kind)


def _find_lines(mapped: mmap.mmap) -> Iterator[tuple[int, int]]:
    begin, size = 0, len(mapped)
    while begin < size:
        found = mapped.find(b"\n", begin)
        end = size if found < 0 else found
        if end - begin > _BLANK_AT_MOST or mapped[begin:end].strip():
            yield begin, end
        begin = end + 1


_BLANK_AT_MOST = 1 << 10
"""A longer line is not looked at to find out whether it is blank."""


def _map_file(path: Path) -> mmap.mmap:
    try:
        with open_regular_file(path) as file:
            if is_gzip(path):
                with open_unpacked(file) as content, TemporaryFile() as room:
                    shutil.copyfileobj(content, room, 1 << 20)
                    room.flush()
                    return mmap.mmap(room.fileno(), 0, access=mmap.ACCESS_READ)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; name the one you have") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error}); fetch it again") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); check it") from error
    except ValueError as error:
        # `mmap` raises it only for an empty file.
        raise Malformed(str(path), "is empty, and so cannot be read as JSON") from error
