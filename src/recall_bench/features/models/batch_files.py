"""The files of a batch folder: requests of all runs, and what the batch service returned."""

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_bench.core.errors import ModelGone, UsageError
from recall_bench.core.temporary_files import name_beside, sweep_once
from recall_bench.features.models.faults import truncate_line

MAX_LINES = 50_000
"""OpenAI's limit for one file."""
MAX_BYTES = 100_000_000
"""OpenAI allows 200 MB, compatible services 100."""

EXPIRED = "batch_expired"
CANCELLED = "batch_cancelled"
NO_RESULT = "no_result"
"""Our own code for a request that a finished batch says nothing of."""

_QUIET_S = 2.0
"""While calls wait, requests are written when no other came for this time."""
REQUEST_FILE = re.compile(r"batch-(\d{4,})\.jsonl")


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """Why the service has no reply to a request."""

    code: str
    message: str
    status: int | None
    """Of the HTTP response, if there was one."""

    def __str__(self) -> str:
        where = self.code if self.status is None else f"status {self.status}"
        return truncate_line(f"the batch service failed ({where}): {self.message}")


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
        self._seen: dict[str, tuple[int, int]] = {}
        self._lines: list[bytes] = []
        self._bytes = 0
        self._added_at = 0.0
        self._collected: list[str] = []
        self._keys: dict[str, list[str]] = {}
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
        wanted = set(keys)
        return [name for name, held in self._keys.items() if not wanted.isdisjoint(held)]

    def find_keys(self, names: Iterable[str]) -> set[str]:
        """The keys of the requests in these files."""
        return {key for name in names for key in self._keys.get(name, ())}

    def add_request(self, key: str, line: bytes) -> None:
        """Collect a request; a full file is written."""
        if len(self._lines) >= MAX_LINES or self._bytes + len(line) >= MAX_BYTES:
            self.write_requests()
        self._lines.append(line)
        self._bytes += len(line) + 1
        self._added_at = time.monotonic()
        self._collected.append(key)
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
                file.writelines(line + b"\n" for line in self._lines)
                file.flush()
                os.fsync(file.fileno())
            path = self._claim_name()
            self._claim(path.name)
            beside.replace(path)
            self._seen[path.name] = _identify(path)
        except OSError as error:
            raise UsageError(
                f"{self._shown}: requests cannot be written ({error.strerror or error})"
            ) from error
        finally:
            with suppress(OSError):
                beside.unlink()
        self._keys[path.name] = self._collected
        self._collected = []
        self._lines.clear()
        self._bytes = 0

    def _claim_name(self) -> Path:
        """Make the next file, empty; another process may take a number at the same time."""
        numbers = [
            int(match[1])
            for path in self._folder.iterdir()
            if (match := REQUEST_FILE.fullmatch(path.name))
        ]
        number = max(numbers, default=0)
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
                if self._seen.get(path.name) != state and path.is_file():
                    self._seen[path.name] = state
                    is_ours = REQUEST_FILE.fullmatch(path.name)
                    (self._read_requests if is_ours else self._read_results)(path)

    def _read_requests(self, path: Path) -> None:
        self._requests.subtract(self._keys.pop(path.name, ()))
        self._keys[path.name] = [
            key for _, line in self._read_objects(path) for key in _find_key(line)
        ]
        self._requests.update(self._keys[path.name])

    def _read_results(self, path: Path) -> None:
        for number, line in self._read_objects(path):
            for key in _find_key(line):
                result = (key, str(line.get("id") or path.name))
                if result not in self._results:
                    self._results.add(result)
                    self._add_result(key, line, f"{path}, line {number}")

    def _add_result(self, key: str, line: Mapping[str, Any], where: str) -> None:
        match line:
            case {"response": {"status_code": 200, "body": dict(body)}}:
                self.bodies.setdefault(key, body)
            case {"response": {"status_code": int(status), **response}}:
                code, message = _find_error(response.get("body"))
                self.failures[key].append(BatchFailure(code, message, status))
            case {"error": dict(error)}:
                self.failures[key].append(BatchFailure(*_find_error(error), None))
            case {"result": {"type": "succeeded", "message": dict(body)}}:
                self.bodies.setdefault(key, body)
            case {"result": {"type": "errored", **result}}:
                code, message = _find_error(result)
                refused = 400 if code == "invalid_request_error" else None
                self.failures[key].append(BatchFailure(code, message, refused))
            case {"result": {"type": "expired" | "canceled" as how}}:
                code = EXPIRED if how == "expired" else CANCELLED
                self.failures[key].append(BatchFailure(code, f"it was {how}", None))
            case _:
                raise ModelGone(
                    f"{where}: is not a result of a batch; remove the file from the folder"
                )

    def _read_objects(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of a file with their line numbers, and whether its last line is whole."""
        lines = path.read_bytes().split(b"\n")
        self.torn.discard(path.name)
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                if number == len(lines):
                    self.torn.add(path.name)
                    return
                found = None
            if not isinstance(found, dict):
                raise ModelGone(
                    f"{path}, line {number}: is not a JSON object; put the file right or remove it"
                )
            yield number, found


def _identify(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _find_key(line: Mapping[str, Any]) -> Iterator[str]:
    key = line.get("custom_id")
    if isinstance(key, str):
        yield key


def _find_error(body: object) -> tuple[str, str]:
    """The code and the message of an error, which may be wrapped."""
    match body:
        case {"error": dict(inner)}:
            return _find_error(inner)
        case dict():
            code = body.get("code") or body.get("type") or "error"
            return str(code), str(body.get("message") or "no reason given")
    return "error", "no reason given"
