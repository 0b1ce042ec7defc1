"""The files of a batch folder: requests of all runs, and what the batch service returned."""

import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from recall_bench.core.atomic_file import name_beside, sweep_once
from recall_bench.core.errors import ModelGone, UsageError
from recall_bench.features.models.batch_formats import BatchFailure, parse_line, read_result

MAX_LINES = 50_000
"""OpenAI's limit for one file."""
MAX_BYTES = 100_000_000
"""OpenAI allows 200 MB, compatible services 100."""

_QUIET_S = 2.0
"""While calls wait, requests are written when no other came for this time."""
REQUEST_FILE = re.compile(r"batch-(\d{4,})\.jsonl")


class BatchFiles:
    """Collects and writes requests, and reads results as they appear."""

    def __init__(
        self, folder: Path, shown: str, claim: Callable[[str], None] = lambda _: None
    ) -> None:
        """`shown` is the folder as the user wrote it.

        `claim` is called with the name of a request file just before the file appears.
        """
        self._claim = claim
        self._folder = folder
        self._shown = shown
        self._states: dict[str, tuple[int, int]] = {}
        """Size and time of each file when it was read."""
        self._lines: dict[str, bytes] = {}
        """The collected requests by key."""
        self._bytes = 0
        self._added_at = 0.0
        self._keys: dict[str, list[str]] = {}
        """The keys of the requests by file."""
        self._requests: Counter[str] = Counter()
        self._results: set[tuple[str, str]] = set()
        self.bodies: dict[str, Mapping[str, Any]] = {}
        """Completions by the key of their request."""
        self.torn: set[str] = set()
        """Files that end within a line: they are still being written, or were cut off."""
        self.failures: defaultdict[str, list[BatchFailure]] = defaultdict(list)

    def is_awaited(self, key: str) -> bool:
        """Whether a request was written or collected and has no result yet."""
        return self._requests[key] > len(self.failures[key]) and key not in self.bodies

    def find_request_files(self, keys: Collection[str]) -> list[str]:
        """The names of the request files that hold one of the requests."""
        return [name for name, own in self._keys.items() if not set(keys).isdisjoint(own)]

    def find_keys(self, names: Iterable[str]) -> set[str]:
        """The keys of the requests in these files."""
        return {key for name in names for key in self._keys.get(name, ())}

    def add_request(self, key: str, line: bytes) -> None:
        """Collect a request; a full file is written."""
        if len(self._lines) >= MAX_LINES or self._bytes + len(line) >= MAX_BYTES:
            self.write_requests()
        self._lines[key] = line
        self._bytes += len(line) + 1
        self._added_at = time.monotonic()
        self._requests[key] += 1

    def write_if_quiet(self) -> None:
        """Write the requests, unless others may follow."""
        if time.monotonic() - self._added_at >= _QUIET_S:
            self.write_requests()

    def write_requests(self) -> None:
        """Write the collected requests to the next file, which appears complete or not at all."""
        if not self._lines:
            return
        sweep_once(self._folder)
        beside = name_beside(self._folder / "batch")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                file.writelines(line + b"\n" for line in self._lines.values())
                file.flush()
                os.fsync(file.fileno())
            path = self._claim_name()
            self._claim(path.name)
            beside.replace(path)
            self._states[path.name] = _identify(path)
        except OSError as error:
            raise UsageError(
                f"{self._shown}: requests cannot be written ({error.strerror or error})"
            ) from error
        finally:
            with suppress(OSError):
                beside.unlink()
        self._keys[path.name] = list(self._lines)
        self._lines.clear()
        self._bytes = 0

    def _claim_name(self) -> Path:
        """Make the next file, empty; another process may take a number at the same time."""
        matches = (REQUEST_FILE.fullmatch(path.name) for path in self._folder.iterdir())
        number = max((int(match[1]) for match in matches if match), default=0)
        while True:
            number += 1
            path = self._folder / f"batch-{number:04}.jsonl"
            with suppress(FileExistsError):
                path.open("xb").close()
                return path

    def read_new(self) -> None:
        """Read the files that are new or have changed; ModelGone if one cannot be understood."""
        for path in sorted(self._folder.glob("*.jsonl")):
            with suppress(FileNotFoundError):
                state = _identify(path)
                if self._states.get(path.name) != state and path.is_file():
                    self._states[path.name] = state
                    is_ours = REQUEST_FILE.fullmatch(path.name)
                    (self._read_requests if is_ours else self._read_results)(path)

    def _read_requests(self, path: Path) -> None:
        self._requests.subtract(self._keys.pop(path.name, ()))
        keys = (line.get("custom_id") for _, line in self._read_lines(path))
        self._keys[path.name] = [key for key in keys if isinstance(key, str)]
        self._requests.update(self._keys[path.name])

    def _read_results(self, path: Path) -> None:
        for number, line in self._read_lines(path):
            key = line.get("custom_id")
            place = (str(key), str(line.get("id") or path.name))
            if not isinstance(key, str) or place in self._results:
                continue
            self._results.add(place)
            result = read_result(line)
            if result is None:
                raise ModelGone(
                    f"{path}, line {number}: is not a result of a batch; remove the file from the "
                    "folder"
                )
            if isinstance(result, BatchFailure):
                self.failures[key].append(result)
            else:
                self.bodies.setdefault(key, result)

    def _read_lines(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of a file with their line numbers, and whether its last line is whole."""
        lines = path.read_bytes().split(b"\n")
        self.torn.discard(path.name)
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            line = parse_line(text)
            if line is not None:
                yield number, line
            elif number == len(lines):
                self.torn.add(path.name)
            else:
                raise ModelGone(
                    f"{path}, line {number}: is not a JSON object; put the file right or remove it"
                )


def _identify(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns
