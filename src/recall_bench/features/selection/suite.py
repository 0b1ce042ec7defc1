"""A selection suite: a folder of memories and a folder of tests, as a scenario."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from recall_bench.core.errors import BenchError, DataError, Malformed, UsageError, raise_problems
from recall_bench.core.plan import FileCard
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
)
from recall_bench.features.selection.bench_file import BenchTest, parse_bench
from recall_bench.features.selection.memory_file import MemoryFile, read_memory

MEMORY_PREFIX = "memory/"
"""The prefix of every memory's name, independent of its folder."""


def read_memories(folder: Path) -> dict[str, bytes]:
    """Return every memory's bytes by name, sorted; UsageError if there is none."""
    if not folder.is_dir():
        raise UsageError(f"--memories: there is no folder {folder}")
    paths = {
        f"{MEMORY_PREFIX}{path.relative_to(folder).as_posix()}": path
        for path in folder.rglob("*.md")
        if path.is_file()
    }
    if not paths:
        raise UsageError(f"--memories: {folder} holds no .md file")
    return {name: paths[name].read_bytes() for name in sorted(paths)}


def decode_text(content: bytes, where: str) -> str:
    """Decode a memory or a test; Malformed, with the byte, if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(where, f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def digest_corpus(memories: Mapping[str, bytes]) -> str:
    """Return the sha-256 over every memory's name and bytes, by name."""
    digest = sha256()
    for name in sorted(memories):
        digest.update(name.encode() + b"\0" + memories[name] + b"\0")
    return digest.hexdigest()


NO_RECALL, RECALL = "no-recall", "recall"
"""The two categories of tests."""

EXAMPLE = Path(__file__).parent / "example"
"""The example suite of the package: `memory` and `tests`."""

_EPOCH = date(2000, 1, 1)
"""Memories have no dates: they are a day apart, by name."""
_SCENARIO_ID = "selection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tests and their memories."""

    memories: tuple[MemoryFile, ...]
    """Sorted by name."""
    folder: Path
    """The folder of the memories."""
    tests: Mapping[str, BenchTest]
    """The tests to run, by file name without its suffix, sorted."""
    skipped: Mapping[str, BenchTest]
    """Tests with an empty prompt: they are counted, not run."""
    files: tuple[FileCard, ...]
    corpus_digest: str
    """Identifies all bytes of the memories."""
    notes: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of all memories."""
        return frozenset(memory.name for memory in self.memories)

    def build_scenario(self) -> Scenario:
        """Build a scenario: an episode for each memory, and an item for each test."""
        days = {memory.name: day for day, memory in enumerate(self.memories, start=1)}
        return Scenario(
            id=_SCENARIO_ID,
            epoch=_EPOCH,
            episodes=tuple(
                Episode(
                    id=memory.name,
                    day=days[memory.name],
                    at=compute_story_date(_EPOCH, days[memory.name]),
                    text=memory.text,
                )
                for memory in self.memories
            ),
            items=tuple(_build_item(name, test, days) for name, test in self.tests.items()),
        )


def open_suite(memories: Path, tests: Path, only: Sequence[str] = ()) -> Suite:
    """Read both folders; Problems holds everything that is wrong."""
    bytes_of = read_memories(memories)
    tests_by_name = dict(_read_tests(tests, only))
    problems: list[BenchError] = []
    memories_read: list[MemoryFile] = []
    put: dict[str, BenchTest] = {}
    skipped: dict[str, BenchTest] = {}
    for name, content in bytes_of.items():
        try:
            memories_read.append(read_memory(name, decode_text(content, name)))
        except DataError as problem:
            problems.append(problem)
    for name, content in tests_by_name.items():
        try:
            test = parse_bench(decode_text(content, f"{name}.bench"), f"{tests / name}.bench")
        except DataError as problem:
            problems.append(problem)
            continue
        (put if test.prompt.strip() else skipped)[name] = test
        problems += _find_absent(name, test, bytes_of)
    raise_problems(problems)
    digest = digest_corpus(bytes_of)
    return Suite(
        memories=tuple(memories_read),
        folder=memories,
        tests=put,
        skipped=skipped,
        files=tuple(
            FileCard(name=f"{name}.bench", sha256=sha256(content).hexdigest(), bytes=len(content))
            for name, content in tests_by_name.items()
        ),
        corpus_digest=digest,
        notes=tuple(_collect_notes({**put, **skipped}, digest)),
    )


def _read_tests(folder: Path, only: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        raise UsageError(f"--tests: there is no folder {folder}")
    paths = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in folder.rglob("*.bench")
        if path.is_file()
    }
    if not paths:
        raise UsageError(f"--tests: {folder} holds no .bench file")
    chosen = [
        name
        for name in sorted(paths)
        if not only or any(fnmatchcase(name, pattern) for pattern in only)
    ]
    if not chosen:
        raise UsageError(f"--only: no test in {folder} is named {' or '.join(only)}")
    for name in chosen:
        yield name, paths[name].read_bytes()


def _find_absent(name: str, test: BenchTest, memories: Mapping[str, bytes]) -> Iterator[BenchError]:
    gone = [name for name in test.expected if name not in memories]
    if gone:
        yield DataError(
            f"{name}.bench: expects {', '.join(gone)}, which the folder of memories does not "
            "hold; restore the memory or correct the test"
        )


def _collect_notes(tests: Mapping[str, BenchTest], digest: str) -> Iterator[str]:
    frozen = {
        name: value
        for name, test in tests.items()
        for key, value in test.headers
        if key.lower() == "corpus"
    }
    drifted = [name for name, value in frozen.items() if value != digest]
    if drifted:
        yield (
            f"{len(drifted)} of {len(tests)} tests were made for other memories than these "
            f"({drifted[0]} first): what was complete then may not be now"
        )
    prompts: dict[str, str] = {}
    twins = []
    for name, test in tests.items():
        first = prompts.setdefault(" ".join(test.prompt.split()).lower(), name)
        if first != name and test.prompt.strip():
            twins.append(f"{name} = {first}")
    if twins:
        yield f"{len(twins)} tests repeat the prompt of another ({twins[0]}): they count twice"


def _build_item(name: str, test: BenchTest, days: Mapping[str, int]) -> Item:
    return Item(
        id=name,
        text=test.prompt,
        truth=Truth(
            reference="\n".join(test.expected) or "nothing",
            category=RECALL if test.expected else NO_RECALL,
            expects=Expects.ANSWER if test.expected else Expects.ABSTAIN,
            evidence=tuple(Evidence(day=days[name]) for name in test.expected),
            source=name,
            cited=test.expected,
        ),
        known_from=len(days),
    )
