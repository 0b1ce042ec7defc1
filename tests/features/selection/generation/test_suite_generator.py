"""The same seed makes the same tests, and no file is ever lost or overwritten."""

import errno
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.selection.bench_file import BenchTest, parse_bench, write_bench
from recall_bench.features.selection.generation.composer import load_phrases
from recall_bench.features.selection.generation.sample import SuiteRequest
from recall_bench.features.selection.generation.suite_generator import (
    MAX_DRAWS,
    _write_new,
    generate_tests,
)
from recall_bench.features.selection.suite import open_suite
from tests.features.selection.generation.sample_memories import TEXTS, TWIN, asked, written


def found_in(folder: Path) -> dict[str, BenchTest]:
    return {
        path.stem: parse_bench(path.read_text("utf-8"), path.name)
        for path in sorted((folder / "tests").glob("*.bench"))
    }


def said(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    return [(test.prompt, test.expected) for test in found_in(folder).values()]


def test_every_sample_becomes_a_test_that_a_suite_accepts(tmp_path: Path) -> None:
    outcome = generate_tests(asked(tmp_path, samples=12, name="ours"))

    suite = open_suite(tmp_path / "memory", tmp_path / "tests")
    assert list(suite.tests) == [f"ours-{n:03}" for n in range(1, 13)]
    assert suite.notes == ()
    assert outcome.written == tuple(f"ours-{n:03}.bench" for n in range(1, 13))
    assert (outcome.exit_code, outcome.failed, outcome.kept) == (0, (), ())
    assert outcome.usage == Usage()


def test_the_headers_tell_how_a_test_came_to_be(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, amount=3, name="one", seed=7))

    (test,) = found_in(tmp_path).values()
    names = (test.find_header("Picked names") or "").split(", ")
    digest = open_suite(tmp_path / "memory", tmp_path / "tests").corpus_digest
    assert [test.find_header(key) for key in ("Picked", "Expected", "Corpus", "Seed")] == [
        "3",
        str(len(test.expected)),
        digest,
        "7",
    ]
    assert [test.find_header(key) for key in ("Model", "Pool", "Sample", "Category")] == [
        "offline",
        "no",
        "1",
        None,
    ]
    assert len(set(names)) == 3
    assert set(test.expected) <= set(names)
    told = datetime.fromisoformat(test.find_header("Generated") or "")
    assert abs((datetime.now(UTC) - told).total_seconds()) < 60


def test_the_same_seed_makes_the_same_tests_and_another_makes_others(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        folder.mkdir()
        generate_tests(asked(folder, samples=6, seed=seed, name="t"))

    first, again, other = map(said, folders)
    assert first == again
    assert not set(first) & set(other)


def test_without_an_amount_one_to_five_are_picked(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, samples=25))

    picked = [int(test.find_header("Picked") or "") for test in found_in(tmp_path).values()]
    assert set(picked) == {1, 2, 3, 4, 5}


def test_a_small_folder_is_not_asked_for_more_than_it_has(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "a.md").write_text("Ingrid lives in Bergen with two dogs.", "utf-8")

    outcome = generate_tests(asked(tmp_path, samples=3))

    assert len(outcome.written) == 3
    with pytest.raises(UsageError, match="--amount: 2 memories cannot be picked from 1"):
        generate_tests(asked(tmp_path, amount=2))


def test_prompts_are_one_to_three_sentences_and_never_name_a_file(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, samples=30, name="t"))

    for prompt, expected in said(tmp_path):
        assert 1 <= len(re.findall(r"[.?!]\"?(?= [A-Z]|$)", prompt)) <= 4, prompt
        for name in expected:
            stem = name.removeprefix("memory/").removesuffix(".md")
            assert ".md" not in prompt
            assert "-" not in stem or stem.replace("-", " ") not in prompt.lower()
            assert stem not in prompt


def test_a_name_is_given_as_it_is_to_one_and_numbered_to_several(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, name="solo"))
    generate_tests(asked(tmp_path, samples=2, name="duo"))

    assert sorted(found_in(tmp_path)) == ["duo-001", "duo-002", "solo"]


def test_without_a_name_the_content_names_the_file(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, samples=3))

    assert all(re.fullmatch(r"[0-9a-f]{8}", stem) for stem in found_in(tmp_path))
    assert len(found_in(tmp_path)) == 3


@pytest.mark.parametrize("name", ["t", None])
def test_the_same_command_goes_on_and_changes_nothing_that_is_there(
    tmp_path: Path, name: str | None
) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    generate_tests(asked(whole, samples=6, name=name))
    generate_tests(asked(halves, samples=4, name=name))
    before = {path.name: path.read_bytes() for path in (halves / "tests").iterdir()}
    gone = sorted(before)[1]
    (halves / "tests" / gone).unlink()

    outcome = generate_tests(asked(halves, samples=6, name=name))

    assert len(outcome.kept) == 3
    assert len(outcome.written) == 3
    assert sorted(said(halves)) == sorted(said(whole))
    after = {path.name: path.read_bytes() for path in (halves / "tests").iterdir()}
    assert all(after[key] == before[key] for key in before if key != gone)


def test_a_batch_that_is_complete_is_left_alone(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, samples=2))

    outcome = generate_tests(asked(tmp_path, samples=2))

    assert (outcome.written, len(outcome.kept), outcome.exit_code) == ((), 2, 0)


@pytest.mark.parametrize("change", [{"seed": 2}, {"amount": 2}, {"pool": True}])
def test_a_file_of_another_batch_is_never_overwritten(
    tmp_path: Path, change: dict[str, object]
) -> None:
    generate_tests(asked(tmp_path, samples=2, name="t"))
    before = said(tmp_path)

    with pytest.raises(UsageError, match=r"t-001\.bench and 1 more are in .* already"):
        generate_tests(asked(tmp_path, **{"samples": 2, "name": "t", **change}))

    assert said(tmp_path) == before


def test_other_memories_are_another_batch(tmp_path: Path) -> None:
    generate_tests(asked(tmp_path, name="t"))
    written(tmp_path, new="Something else entirely is told here.")

    with pytest.raises(UsageError, match=r"t\.bench is in"):
        generate_tests(asked(tmp_path, name="t"))


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    request = asked(tmp_path, samples=2, name="t")
    mine = request.out / "t-002.bench"

    def meddle(_: str) -> None:
        if not mine.exists():
            mine.write_text("mine", "utf-8")

    with pytest.raises(UsageError, match="exists by now"):
        generate_tests(request, meddle)

    assert mine.read_text("utf-8") == "mine"
    assert sorted(path.name for path in request.out.iterdir()) == ["t-001.bench", "t-002.bench"]


def test_a_disk_without_links_gets_its_files_too_and_keeps_those_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    generate_tests(asked(tmp_path, name="t"))
    _write_new(tmp_path / "new", b"new")

    with pytest.raises(UsageError, match="exists by now"):
        _write_new(tmp_path / "new", b"newer")

    assert (tmp_path / "new").read_bytes() == b"new"
    assert sorted(path.name for path in (tmp_path / "tests").iterdir()) == ["t.bench"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(UsageError, match="cannot be written"):
        generate_tests(asked(tmp_path, name="t"))

    assert list((tmp_path / "tests").iterdir()) == []


def test_tests_that_recall_nothing_come_from_every_category(tmp_path: Path) -> None:
    count = len(load_phrases().small_talk)
    outcome = generate_tests(asked(tmp_path, samples=count, amount=0, name="idle"))

    tests = found_in(tmp_path).values()
    assert outcome.exit_code == 0
    assert all(test.expected == () and test.prompt for test in tests)
    assert {test.find_header("Picked") for test in tests} == {"0"}
    # A category whose message is close to a memory is drawn again.
    assert len({test.find_header("Category") for test in tests}) >= 12
    assert len({test.prompt for test in tests}) == count


def test_a_message_that_a_memory_has_to_do_with_is_drawn_again(tmp_path: Path) -> None:
    told: list[str] = []
    penguins = "Penguins, vikings, skeletons and snails: jokes, puns and limericks about them."
    near = {f"near-{n}": f"{penguins} Haikus about autumn rain, owls and snow." for n in (1, 2)}
    written(tmp_path, **near)

    generate_tests(asked(tmp_path, samples=48, amount=0, name="t"), told.append)

    assert any("is close to memory/near-" in each for each in told)
    assert not any("about penguins" in prompt for prompt, _ in said(tmp_path))


def test_a_sample_that_cannot_be_made_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    told: list[str] = []
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "blank.md").write_text("\n", "utf-8")
    (memory / "sister.md").write_text(TEXTS["sister"], "utf-8")

    outcome = generate_tests(asked(tmp_path, samples=60, amount=1, name="t"), told.append)

    assert len(outcome.written) + len(outcome.failed) == 60
    assert outcome.failed
    assert outcome.written
    assert outcome.exit_code == 1
    assert f"{MAX_DRAWS} draws made no test" in outcome.failed[0].reason
    assert f"{len(outcome.written)} of 60 tests" in outcome.in_words
    assert any("no sentence asks for memory/blank.md" in each for each in told)
    assert any("it repeats t-" in each for each in told)


def test_what_another_test_in_the_folder_asks_is_not_asked_again(tmp_path: Path) -> None:
    told: list[str] = []
    generate_tests(asked(tmp_path, name="first"))
    ((prompt, expected),) = said(tmp_path)
    theirs = BenchTest(expected=expected, prompt=f"  {prompt.upper()} !!")
    (tmp_path / "tests" / "first.bench").unlink()
    (tmp_path / "tests" / "sub").mkdir()
    (tmp_path / "tests" / "sub" / "theirs.bench").write_text(write_bench(theirs), "utf-8")

    generate_tests(asked(tmp_path, name="first"), told.append)

    assert told[0] == "sample 1 is drawn again: it repeats sub/theirs.bench"
    assert said(tmp_path)[0][0] != prompt


def test_an_unreadable_test_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "broken.bench").write_text("no sections", "utf-8")

    with pytest.raises(Malformed, match=r"broken\.bench"):
        generate_tests(asked(tmp_path))


def test_with_a_pool_a_twin_of_what_is_asked_for_is_expected_too(tmp_path: Path) -> None:
    pooled, plain = tmp_path / "pooled", tmp_path / "plain"
    for folder, pool in ((pooled, True), (plain, False)):
        folder.mkdir()
        written(folder, loaf=TWIN)
        generate_tests(asked(folder, samples=30, amount=1, pool=pool, name="t"))

    twins = {"memory/loaf.md", "memory/rye-bread.md"}
    with_one = [set(expected) for _, expected in said(pooled) if twins & set(expected)]
    assert with_one
    assert all(expected == twins for expected in with_one)
    assert all(len(expected) == 1 for _, expected in said(plain))
    others = [expected for _, expected in said(pooled) if not twins & set(expected)]
    assert all(len(expected) == 1 for expected in others)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"samples": 0}, "--samples"),
        ({"amount": -1}, "--amount"),
        ({"name": "../up"}, "--name"),
        ({"name": ""}, "--name"),
        ({"max_cost_usd": float("nan")}, "--max-cost"),
        ({"memories": Path("/nowhere")}, "--memories"),
        ({"model": "nobody"}, "--model"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        generate_tests(asked(tmp_path, **change))

    assert not (tmp_path / "tests").exists()


def test_a_memory_that_no_test_can_name_is_said_at_once(tmp_path: Path) -> None:
    (written(tmp_path) / "two\nlines.md").write_text("Ingrid lives in Bergen.", "utf-8")

    with pytest.raises(UsageError, match="control character"):
        generate_tests(asked(tmp_path))

    assert not (tmp_path / "tests").exists()


def test_a_folder_of_tests_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tests").write_text("", "utf-8")

    with pytest.raises(UsageError, match="--out"):
        generate_tests(asked(tmp_path))


def test_a_request_says_what_it_leaves_open(tmp_path: Path) -> None:
    request = SuiteRequest(memories=tmp_path, out=tmp_path)

    assert (request.samples, request.amount, request.model, request.pool) == (
        1,
        None,
        "offline",
        False,
    )
