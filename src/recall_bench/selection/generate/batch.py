"""The files of one batch: which are there, which are owed, and how a new one comes to be."""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.selection.files.bench_file import BenchTest, write_bench
from recall_bench.selection.generate.request import SuiteRequest

VERSION = "1"
"""Raised when the same seed draws other tests than before: an old batch does not go on then."""

ENDING = ".bench"
_HEX = 8
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""What file systems say that know no links."""


class SampleBatch:
    """The samples of one request. Files are recognised by their headers, whatever their name."""

    def __init__(
        self, request: SuiteRequest, corpus: str, model: str, there: Mapping[str, BenchTest]
    ) -> None:
        self._request = request
        self._there = there
        self.id = _compute_id(request, corpus, model)
        self.kept = dict(self._find_existing())
        """File name by sample, of those that are there already."""

    def refuse_clashes(self) -> None:
        """UsageError if a file that is not this batch's is in the way of one that is owed."""
        taken = [
            path.name
            for sample in self.list_missing()
            if (path := self._choose_path(sample)) is not None and os.path.lexists(path)
        ]
        if taken:
            more = f" and {len(taken) - 1} more are" if len(taken) > 1 else " is"
            raise UsageError(
                f"--name: {taken[0]}{more} in {self._request.out} already, made by another "
                "command or of other memories; take another --name or --out"
            )

    def list_missing(self) -> list[int]:
        """The samples that have no file yet."""
        return [n for n in range(1, self._request.samples + 1) if n not in self.kept]

    def write(self, sample: int, test: BenchTest) -> str:
        """A new file, whole or not at all; its name. UsageError if there is one by now."""
        content = write_bench(test).encode()
        path = self._choose_path(sample)
        if path is not None:
            _write_new(path, content)
            return path.name
        digest = sha256("\n".join((*test.expected, "", test.prompt)).encode()).hexdigest()
        path = next(
            path
            for length in range(_HEX, len(digest) + 1)
            if not os.path.lexists(path := self._request.out / f"{digest[:length]}{ENDING}")
        )
        _write_new(path, content)
        return path.name

    def _choose_path(self, sample: int) -> Path | None:
        """Where the sample goes; None if that is for its content to say."""
        request = self._request
        if request.name is None:
            return None
        number = f"-{sample:03}" if request.samples > 1 else ""
        return request.out / f"{request.name}{number}{ENDING}"

    def _find_existing(self) -> Iterator[tuple[int, str]]:
        for name, test in sorted(self._there.items(), reverse=True):
            sample = test.find_header("Sample") or ""
            is_ours = test.find_header("Batch") == self.id and re.fullmatch(r"[1-9]\d{0,8}", sample)
            if is_ours and int(sample) <= self._request.samples:
                yield int(sample), name


def _compute_id(request: SuiteRequest, corpus: str, model: str) -> str:
    """Names all that decides what a sample is. How many are asked for does not."""
    parts = (VERSION, corpus, model, request.seed, request.amount, request.pool, request.name)
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def _link_new(beside: Path, path: Path) -> None:
    """Give the file its name; FileExistsError if another has it."""
    try:
        # A link, unlike a renaming, fails where there is a file already.
        path.hardlink_to(beside)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(path) from error
        beside.rename(path)


def _write_new(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _link_new(beside, path)
        finally:
            with suppress(FileNotFoundError):
                beside.unlink()
    except FileExistsError as error:
        raise UsageError(f"{path}: is there by now; take another --name or --out") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error
