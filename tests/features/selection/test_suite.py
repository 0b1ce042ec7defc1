"""A suite as it is read: what is put, what is skipped, and what is refused."""

from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, Problems, UsageError
from recall_bench.core.scenario import Expects
from recall_bench.features.selection.bench_file import BenchTest, write_bench
from recall_bench.features.selection.suite import NO_RECALL, RECALL, open_suite
from tests.features.selection.suites import write_suite


def test_memories_are_called_after_their_place_below_memory(tmp_path: Path) -> None:
    write_suite(tmp_path)
    (tmp_path / "memory" / "trips").mkdir()
    (tmp_path / "memory" / "trips" / "rome.md").write_text("Rome in May.\n")

    suite = open_suite(tmp_path / "memory", tmp_path / "tests")

    assert [memory.name for memory in suite.memories] == [
        "memory/glaze.md",
        "memory/kiln.md",
        "memory/market.md",
        "memory/sister.md",
        "memory/trips/rome.md",
    ]


def test_every_memory_is_an_episode_and_every_test_an_item(tmp_path: Path) -> None:
    suite = open_suite(write_suite(tmp_path) / "memory", tmp_path / "tests")

    scenario = suite.build_scenario()

    assert [episode.id for episode in scenario.episodes] == sorted(suite.names)
    assert {item.id: item.truth.category for item in scenario.items} == {
        "one": RECALL,
        "two": RECALL,
        "quiet": NO_RECALL,
    }
    assert {item.truth.expects for item in scenario.items if item.id == "quiet"} == {
        Expects.ABSTAIN
    }


def test_a_test_without_a_prompt_is_skipped_and_counted(tmp_path: Path) -> None:
    write_suite(tmp_path, {"said": (("memory/kiln.md",), "The kiln?"), "blank": ((), " \n")})

    suite = open_suite(tmp_path / "memory", tmp_path / "tests")

    assert (list(suite.tests), list(suite.skipped)) == (["said"], ["blank"])


def test_a_memory_that_is_expected_and_not_there_is_stated_of_every_test(tmp_path: Path) -> None:
    gone = (("memory/gone.md",), "Where is it?")
    write_suite(tmp_path, {"a": gone, "b": gone})

    with pytest.raises(Problems, match=r"a\.bench: expects memory/gone\.md(.|\n)*b\.bench"):
        open_suite(tmp_path / "memory", tmp_path / "tests")


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    write_suite(tmp_path)
    (tmp_path / "memory" / "kiln.md").write_bytes(b"\xff")

    with pytest.raises(DataError, match=r"memory/kiln\.md: is not UTF-8"):
        open_suite(tmp_path / "memory", tmp_path / "tests")


def test_only_the_tests_that_are_named_are_read(tmp_path: Path) -> None:
    write_suite(tmp_path)

    assert list(open_suite(tmp_path / "memory", tmp_path / "tests", ["t*"]).tests) == ["two"]
    with pytest.raises(UsageError, match=r"no test in .* is named nine"):
        open_suite(tmp_path / "memory", tmp_path / "tests", ["nine"])


@pytest.mark.parametrize("part", ["memory", "tests"])
def test_a_folder_without_files_is_refused(tmp_path: Path, part: str) -> None:
    write_suite(tmp_path)
    for path in (tmp_path / part).iterdir():
        path.unlink()

    with pytest.raises(UsageError, match="holds no"):
        open_suite(tmp_path / "memory", tmp_path / "tests")


def test_the_digest_notices_a_changed_letter_and_a_changed_name(tmp_path: Path) -> None:
    write_suite(tmp_path)
    before = open_suite(tmp_path / "memory", tmp_path / "tests").corpus_digest
    market = tmp_path / "memory" / "market.md"
    market.write_text(market.read_text().replace("40", "45"))
    after = open_suite(tmp_path / "memory", tmp_path / "tests").corpus_digest
    market.rename(market.with_name("stall.md"))

    assert before != after != open_suite(tmp_path / "memory", tmp_path / "tests").corpus_digest


def test_tests_that_were_made_for_other_memories_are_noted(tmp_path: Path) -> None:
    write_suite(tmp_path)
    test = BenchTest(expected=(), prompt="Hello", headers=(("Corpus", "0" * 64),))
    (tmp_path / "tests" / "quiet.bench").write_text(write_bench(test))

    suite = open_suite(tmp_path / "memory", tmp_path / "tests")

    (note,) = suite.notes
    assert note.startswith("1 of 3 tests were made for other memories than these (quiet first)")


def test_a_prompt_that_is_put_twice_is_noted(tmp_path: Path) -> None:
    write_suite(tmp_path, {"a": ((), "Good  morning"), "b": ((), "good morning")})

    (note,) = open_suite(tmp_path / "memory", tmp_path / "tests").notes

    assert "b = a" in note
