"""The files of one batch: existing tests, missing samples, new files, repeats."""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from recall_bench.core.errors import BenchError, DataError, UsageError, raise_problems
from recall_bench.core.temporary_files import name_beside, sweep_once
from recall_bench.features.selection.bench_file import BenchTest, parse_bench, write_bench
from recall_bench.features.selection.generation.sample import SuiteDraft, SuiteRequest
from recall_bench.features.selection.memory_file import MemoryFile, read_memory
from recall_bench.features.selection.suite import decode_text, digest_corpus, read_memories

VERSION = "1"
"""Increase it when the same seed draws other tests: an old batch is then not resumed."""

ENDING = ".bench"
_HEX = 8
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of file systems without hard links."""


class SampleBatch:
    """The samples of one request; its files are recognised by their headers, not their names."""

    def __init__(
        self, request: SuiteRequest, corpus: str, model: str, there: Mapping[str, BenchTest]
    ) -> None:
        self._request = request
        self._there = there
        self.id = _compute_id(request, corpus, model)
        self.kept = dict(self._find_existing())
        """File name by sample, of those that exist already."""

    def refuse_clashes(self) -> None:
        """UsageError if another file has the name of a missing sample."""
        taken = [
            path.name
            for sample in self.list_missing()
            if (path := self._choose_path(sample)) is not None and os.path.lexists(path)
        ]
        if taken:
            more = f" and {len(taken) - 1} more are" if len(taken) > 1 else " is"
            raise UsageError(
                f"--name: {taken[0]}{more} in {self._request.out} already, written by another "
                "command or for other memories; choose another --name or --out"
            )

    def list_missing(self) -> list[int]:
        """The samples without a file."""
        return [n for n in range(1, self._request.samples + 1) if n not in self.kept]

    def write(self, sample: int, test: BenchTest) -> str:
        """Write a new file atomically; returns its name. UsageError if it exists by now."""
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
        """The path of the sample; None if it is named by its content."""
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
    """A digest of everything that determines a sample; the number of samples does not."""
    parts = (VERSION, corpus, model, request.seed, request.amount, request.pool, request.name)
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def _link_new(beside: Path, path: Path) -> None:
    """Give the file its final name; FileExistsError if it is taken."""
    try:
        # Unlike a rename, a link fails if the file exists.
        path.hardlink_to(beside)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(path) from error
        beside.rename(path)


def _write_new(path: Path, content: bytes) -> None:
    beside = name_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_once(path.parent)
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
        raise UsageError(f"{path}: exists by now; choose another --name or --out") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCorpus:
    """A folder of memories and its digest."""

    memories: tuple[MemoryFile, ...]
    """Sorted by name."""
    digest: str
    """The same as in a suite over this folder."""


def open_corpus(folder: Path) -> MemoryCorpus:
    """Read every memory; UsageError if there is none, or one whose name no test can hold."""
    bytes_of = read_memories(folder)
    names = tuple(bytes_of)
    write_bench(BenchTest(expected=names, prompt=""))
    memories = tuple(read_memory(name, decode_text(bytes_of[name], name)) for name in names)
    return MemoryCorpus(memories=memories, digest=digest_corpus(bytes_of))


def open_tests(folder: Path) -> Mapping[str, BenchTest]:
    """Every test in the folder by relative path; empty if the folder does not exist.

    DataError if one cannot be read: a new test might repeat it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out: {folder} is not a folder; name one")
    tests = dict(_read_tests(folder))
    problems: list[BenchError] = [item for item in tests.values() if isinstance(item, DataError)]
    raise_problems(problems)
    return {name: item for name, item in tests.items() if isinstance(item, BenchTest)}


def _read_tests(folder: Path) -> Iterator[tuple[str, BenchTest | DataError]]:
    for path in sorted(folder.rglob("*.bench")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            try:
                yield name, parse_bench(decode_text(path.read_bytes(), str(path)), str(path))
            except DataError as problem:
                yield name, problem


NEARLY = 0.8
"""Share of common words from which two prompts with the same expectation count as repeats."""

_WORD = re.compile(r"\w+")


class KnownTests:
    """The tests that a new one must not repeat."""

    def __init__(self) -> None:
        self._by_prompt: dict[tuple[str, ...], str] = {}
        self._by_expected: dict[frozenset[str], list[tuple[frozenset[str], str]]] = {}

    def add(self, name: str, test: BenchTest | SuiteDraft) -> None:
        """Add a test under its name."""
        words = _split_words(test.prompt)
        self._by_prompt.setdefault(words, name)
        self._by_expected.setdefault(frozenset(test.expected), []).append((frozenset(words), name))

    def find_repeat(self, draft: SuiteDraft) -> str | None:
        """The test that the draft repeats, ignoring case and punctuation; None if it is new."""
        words = _split_words(draft.prompt)
        if words in self._by_prompt:
            return self._by_prompt[words]
        own = frozenset(words)
        alike = self._by_expected.get(frozenset(draft.expected), ())
        return next((name for other, name in alike if _measure_overlap(own, other) >= NEARLY), None)


def _split_words(prompt: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(prompt.casefold()))


def _measure_overlap(some: Iterable[str], others: Iterable[str]) -> float:
    one, two = frozenset(some), frozenset(others)
    return len(one & two) / len(one | two) if one or two else 1.0
