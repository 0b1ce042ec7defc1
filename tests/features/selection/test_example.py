"""The example that comes with the package: forty memories, sixty tests, labels over all of them."""

from collections import Counter
from pathlib import Path

import pytest

from recall_bench.features.selection.bench_file import BenchTest, write_bench
from recall_bench.features.selection.memory_file import BODY, HINT, KEYWORDS, METADATA, MemoryFile
from recall_bench.features.selection.suite import EXAMPLE, Suite, digest_corpus, open_suite

MEMORIES, TESTS = EXAMPLE / "memory", EXAMPLE / "tests"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return open_suite(MEMORIES, TESTS)


@pytest.fixture(scope="module")
def tests(suite: Suite) -> dict[str, BenchTest]:
    return dict(suite.tests)


def form(memory: MemoryFile) -> str:
    if memory.text.startswith(f"<{METADATA}>"):
        return "parts"
    return "front matter" if memory.text.startswith("---\n") else "plain"


def test_it_holds_what_it_promises(suite: Suite) -> None:
    expected = [len(test.expected) for test in suite.tests.values()]

    assert len(suite.memories) == 40
    assert list(suite.tests) == [f"bench-{number:03}" for number in range(1, 61)]
    assert not suite.skipped
    assert Counter(map(bool, expected)) == {True: 48, False: 12}
    assert set(expected) == {0, 1, 2, 3, 4}


def test_every_kind_of_memory_file_is_there(suite: Suite) -> None:
    assert Counter(map(form, suite.memories)) == {"parts": 24, "front matter": 10, "plain": 6}


def test_every_memory_is_read_as_it_is_meant(suite: Suite) -> None:
    for memory in suite.memories:
        words = len(memory.body.split())
        assert 60 <= words <= 150, f"{memory.name}: {words} words"
        assert not any(f"<{tag}" in memory.body for tag in (METADATA, HINT, KEYWORDS, BODY))
        assert not memory.body.startswith("---")
        if form(memory) != "plain":
            assert memory.hint, memory.name
            assert memory.keywords, memory.name
            assert memory.metadata, memory.name


def test_no_two_memories_are_pointed_to_by_the_same_line(suite: Suite) -> None:
    assert len({memory.pointer for memory in suite.memories}) == 40


def test_what_overtakes_a_memory_names_one_that_there_is(suite: Suite) -> None:
    overtaken = {
        f"memory/{memory.metadata['overtakes']}.md"
        for memory in suite.memories
        if "overtakes" in memory.metadata
    }

    assert overtaken
    assert overtaken <= suite.names


def test_every_memory_is_expected_by_some_test(suite: Suite) -> None:
    """And what is expected is there, or the suite would not open."""
    assert {name for test in suite.tests.values() for name in test.expected} == suite.names


def test_tests_and_memories_belong_together(suite: Suite, tests: dict[str, BenchTest]) -> None:
    files = {f"memory/{path.name}": path.read_bytes() for path in MEMORIES.iterdir()}

    assert digest_corpus(files) == suite.corpus_digest
    assert {test.find_header("Corpus") for test in tests.values()} == {suite.corpus_digest}
    assert not suite.notes, "made for other memories, or twice the same prompt"


def test_headers_say_how_a_test_came_to_be(tests: dict[str, BenchTest]) -> None:
    for name, test in tests.items():
        told = dict(test.headers)
        assert list(told)[:6] == ["Generated", "Picked", "Expected", "Corpus", "Pool", "Kind"], name
        assert told["Expected"] == told["Picked"] == str(len(test.expected)), name
        assert told["Pool"] == "all", name
        assert told["Kind"].startswith("no-recall: ") == (not test.expected), name


def test_every_kind_of_prompt_is_there(tests: dict[str, BenchTest]) -> None:
    kinds = Counter(test.find_header("Kind") for test in tests.values() if test.expected)
    quiet = [test.find_header("Kind") for test in tests.values() if not test.expected]

    assert set(kinds) == {
        "confusable",
        "consequence",
        "correction",
        "direct",
        "indirect",
        "paraphrase",
        "two topics",
    }
    assert min(kinds.values()) >= 5
    assert len(set(quiet)) == 12
    assert any("\n# " in test.prompt for test in tests.values())


def test_no_prompt_names_the_file_it_wants(tests: dict[str, BenchTest]) -> None:
    for test in tests.values():
        assert ".md" not in test.prompt
        assert not any(Path(name).stem in test.prompt.lower() for name in test.expected)


def test_files_are_as_we_write_them(tests: dict[str, BenchTest]) -> None:
    for name, test in tests.items():
        assert test.as_written is None, name
        assert write_bench(test) == (TESTS / f"{name}.bench").read_text(encoding="utf-8")
