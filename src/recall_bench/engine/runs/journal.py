"""The journal: an append-only file of events, and the only state of a run."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.append_log import (
    JOURNAL,
    AppendLog,
    LineChain,
    is_busy,
    make_lock,
    read_lines,
    split_link,
)
from recall_bench.core.errors import DataError
from recall_bench.core.event import Event
from recall_bench.core.plain_text import find_nearest
from recall_bench.engine.runs.journal_lines import JournalDecoder, JournalEncoder

__all__ = [
    "JOURNAL",
    "Journal",
    "JournalDecoder",
    "JournalEncoder",
    "encode_events",
    "explain_missing",
    "find_run_folders",
    "is_busy",
    "make_lock",
    "read_events",
    "read_events_of",
    "read_lines",
]

E = TypeVar("E", bound=Event)


def read_events(path: Path) -> Iterator[Event]:
    """Read every event, oldest first; DataError with the line that was changed."""
    chain, decoder = LineChain(), JournalDecoder(path)
    for number, (offset, line) in enumerate(read_lines(path), start=1):
        try:
            event = decoder.decode(chain.check(line), offset)
        except (msgspec.DecodeError, ValueError) as error:
            raise _refuse_line(path, number, error) from error
        yield event


def read_events_of(path: Path, kind: type[E]) -> Iterator[E]:
    """Read the events of one kind, oldest first; other lines are not decoded."""
    opening = f'{{"type":"{kind.__struct_config__.tag}"'.encode()
    decoder = JournalDecoder(path)
    for number, (offset, line) in enumerate(read_lines(path), start=1):
        if line.startswith(opening):
            try:
                event = decoder.decode(line, offset)
            except (msgspec.DecodeError, ValueError) as error:
                raise _refuse_line(path, number, error) from error
            if isinstance(event, kind):
                yield event


def encode_events(events: Iterable[Event]) -> Iterator[bytes]:
    """Encode the events of a whole journal as its lines."""
    encoder = JournalEncoder()
    for event in events:
        yield encoder.encode(event) + b"\n"


def _refuse_line(path: Path, number: int, error: Exception) -> DataError:
    return DataError(
        f"{path}, line {number}: not a journal event ({error}); the file was changed "
        "after it was written: restore it, or start again in another folder"
    )


class Journal(AppendLog):
    """Appends events to a journal file within a `with` block."""

    def __init__(self, path: Path) -> None:
        elsewhere = "choose another folder with --into"
        super().__init__(path, otherwise="choose another with --into", elsewhere=elsewhere)
        self._encoder = JournalEncoder()

    def _continue_after(self, end: int) -> None:
        last_link = split_link(self._read_last_line(end))[1]
        self._encoder = JournalEncoder(end, last_link, partial(_read_until, self._path, end))

    @property
    def chain(self) -> LineChain:
        """The links of its lines, up to the last one."""
        return self._encoder.chain

    def append(self, event: Event) -> None:
        """Write one event, without secrets, to the operating system."""
        self.append_line(self._encoder.encode(event))


def _read_until(path: Path, end: int) -> Iterator[tuple[int, bytes]]:
    return takewhile(lambda found: found[0] < end, read_lines(path))


def find_run_folders(root: Path) -> Iterator[Path]:
    """Every folder with a journal; links to folders are not followed, hidden ones not entered."""
    for folder, files in walk_folders(root):
        if JOURNAL in files:
            yield folder


def walk_folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Every folder with its files, in order; links are not followed, hidden ones not entered."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield Path(folder), sorted(files)


_NAMED_RUNS = 3
"""How many runs an error names."""


def explain_missing(folder: Path, error: OSError) -> str:
    """Why a folder is no run, and which runs may be meant."""
    problem = f"{folder}: is not a run folder"
    if below := [str(run) for run in islice(find_run_folders(folder), _NAMED_RUNS + 1)]:
        more = ", …" if len(below) > _NAMED_RUNS else ""
        return f"{problem}; name one of the runs in it: {', '.join(below[:_NAMED_RUNS])}{more}"
    journals = filter(Path.is_file, folder.parent.glob(f"*/{JOURNAL}"))
    beside = [journal.parent.name for journal in journals if journal.parent.name != folder.name]
    if (near := find_nearest(folder.name, beside)) is not None:
        return f"{problem}; did you mean {str(folder.parent / near)!r}?"
    if isinstance(error, FileNotFoundError) and not folder.exists():
        return f"there is no folder {folder}; runs are in recall-runs/ unless --into was given"
    return f"{problem}; its {JOURNAL} cannot be read ({error.strerror})"
