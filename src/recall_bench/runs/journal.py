"""The journal: an append-only file of events, and the only state of a run."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.append_log import AppendLog, is_busy, make_lock, read_lines
from recall_bench.core.errors import DataError
from recall_bench.core.event import Event, decode_event, encode_event
from recall_bench.core.event_redaction import redact_event
from recall_bench.core.line_chain import LineChain, split_link
from recall_bench.core.suggestion import find_nearest

__all__ = [
    "JOURNAL",
    "Journal",
    "encode_events",
    "explain_missing",
    "find_run_folders",
    "is_busy",
    "make_lock",
    "read_events",
    "read_events_of",
    "read_lines",
    "read_with_offsets",
]

E = TypeVar("E", bound=Event)

JOURNAL = "journal.jsonl"


def read_events(path: Path) -> Iterator[Event]:
    """Read every event, oldest first; DataError with the line that was changed."""
    chain = LineChain()
    for number, (_, line) in enumerate(read_lines(path), start=1):
        yield _decode_line(path, number, line, chain)


def read_events_of(path: Path, kind: type[E]) -> Iterator[E]:
    """Read the events of one kind, oldest first; other lines are not decoded."""
    for _, event in read_with_offsets(path, kind):
        yield event


def read_with_offsets(path: Path, kind: type[E]) -> Iterator[tuple[int, E]]:
    """Read the events of one kind, each with its offset in the file."""
    opening = f'{{"type":"{kind.__struct_config__.tag}"'.encode()
    for number, (offset, line) in enumerate(read_lines(path), start=1):
        if line.startswith(opening):
            event = _decode_line(path, number, line)
            if isinstance(event, kind):
                yield offset, event


def encode_events(events: Iterable[Event]) -> Iterator[bytes]:
    """Encode the events of a whole journal as its lines."""
    chain = LineChain()
    for event in events:
        yield chain.add(encode_event(redact_event(event))) + b"\n"


def _decode_line(path: Path, number: int, line: bytes, chain: LineChain | None = None) -> Event:
    try:
        return decode_event(line if chain is None else chain.check(line))
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"{path}, line {number}: not a journal event ({error}); the file was changed "
            "after it was written: restore it, or start again in another folder"
        ) from error


class Journal(AppendLog):
    """Appends events to a journal file within a `with` block."""

    def __init__(self, path: Path) -> None:
        elsewhere = "choose another folder with --into"
        super().__init__(path, otherwise="choose another with --into", elsewhere=elsewhere)
        self._chain = LineChain()

    def _continue_after(self, end: int) -> None:
        self._chain = LineChain(split_link(self._read_last_line(end))[1])

    def append(self, event: Event) -> None:
        """Write one event, without secrets, to the operating system."""
        self.append_line(self._chain.add(encode_event(redact_event(event))))


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
    if below := [str(each) for each in islice(find_run_folders(folder), _NAMED_RUNS + 1)]:
        more = ", …" if len(below) > _NAMED_RUNS else ""
        return f"{problem}; name one of the runs in it: {', '.join(below[:_NAMED_RUNS])}{more}"
    beside = [each.parent.name for each in folder.parent.glob(f"*/{JOURNAL}")]
    if (near := find_nearest(folder.name, beside)) is not None:
        return f"{problem}; did you mean {str(folder.parent / near)!r}?"
    return f"{problem}; its {JOURNAL} cannot be read ({error.strerror})"
