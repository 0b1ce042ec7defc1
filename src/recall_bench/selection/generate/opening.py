"""The memories that tests are made of, and the tests that are there already."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recall_bench.errors import BenchError, DataError, Problems, UsageError
from recall_bench.selection.corpus import decode_text, digest_corpus, read_memories
from recall_bench.selection.files.bench_file import BenchTest, parse_bench, write_bench
from recall_bench.selection.files.memory_file import MemoryFile, read_memory


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCorpus:
    """A folder of memories, frozen."""

    memories: tuple[MemoryFile, ...]
    """Sorted by name."""
    digest: str
    """As a suite over the same folder has it."""


def open_corpus(folder: Path) -> MemoryCorpus:
    """Read every memory; UsageError if there is none, or one that no test can name."""
    bytes_of = read_memories(folder)
    names = tuple(bytes_of)
    write_bench(BenchTest(expected=names, prompt=""))
    memories = tuple(read_memory(name, decode_text(bytes_of[name], name)) for name in names)
    return MemoryCorpus(memories=memories, digest=digest_corpus(bytes_of))


def open_tests(folder: Path) -> Mapping[str, BenchTest]:
    """Every test in the folder by its path there; none if there is no folder yet.

    DataError if one cannot be read: nobody could tell whether a new test repeats it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out: {folder} is not a folder; name one")
    found = dict(_read_tests(folder))
    problems: list[BenchError] = [each for each in found.values() if isinstance(each, DataError)]
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return {name: each for name, each in found.items() if isinstance(each, BenchTest)}


def _read_tests(folder: Path) -> Iterator[tuple[str, BenchTest | DataError]]:
    for path in sorted(folder.rglob("*.bench")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            try:
                yield name, parse_bench(decode_text(path.read_bytes(), str(path)), str(path))
            except DataError as problem:
                yield name, problem
