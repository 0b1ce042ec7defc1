"""`run --shard` and `merge`, as people use them."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock

from recall_bench.core.atomic_file import identify_process
from recall_bench.core.event import RunResumed
from recall_bench.engine.runs.journal import read_events
from tests.commands import Invoke
from tests.features.personas.killed_commands import contents, in_child
from tests.gardener import write_persona
from tests.thoroughness import IS_EXHAUSTIVE, choose_number

PLAIN = ("--no-heatmap-png", "--adapter", "bm25")


def run(invoke: Invoke, into: str, *words: object, code: int = 0) -> str:
    shown = invoke("run", *PLAIN, "--into", into, *words)
    assert shown.code == code, shown.err
    return shown.err


def untimed(content: Any) -> Any:
    """The content without everything that says when, or how long."""
    if isinstance(content, dict):
        return {
            name: untimed(value)
            for name, value in content.items()
            if not name.endswith("Ms") and name not in ("timestamp", "latency")
        }
    return [untimed(each) for each in content] if isinstance(content, list) else content


def result(folder: str) -> Any:
    return untimed(json.loads(Path(folder, "result.json").read_text()))


def timeless(text: str) -> str:
    """A report without its times; a row of a table without its seconds."""
    kept = [line for line in text.splitlines() if not line.startswith(("Started", "Latency"))]
    return re.sub(r"\d+(\.\d+)? ?m?s\b", "", "\n".join(kept))


@pytest.fixture
def gardeners(invoke: Invoke) -> tuple[str, ...]:
    """A persona of ten days in the folder of the test."""
    write_persona(Path("data"))
    return ("--data", "data", "--ranges", "3d", "--ranges", "6d", "--ranges", "10d")


FEWER = () if IS_EXHAUSTIVE else ("--sample", 5, "--ranges", "5d,10d,15d")
"""Three checkpoints twice are six work units for four parts."""


def test_four_parts_of_the_sample_persona_make_the_run_of_one_process(invoke: Invoke) -> None:
    wanted = ("--lifecycle", "fresh", "--repeats", 2, *FEWER)
    trials = choose_number(100, 496)
    for number in range(1, 5):
        said = run(invoke, f"p{number}", *wanted, "--shard", f"{number}/4")
        assert re.search(rf"note: part {number}/4: (\d+) of \1 trials\n", said)
    one = invoke("run", *PLAIN, "--into", "one", *wanted, "-v")

    merged = invoke("merge", "p1", "p2", "p3", "p4", "--into", "all", "--no-heatmap-png", "-v")

    assert merged.code == 0, merged.err
    assert f"note: merged 4 folders: {trials} of {trials} trials were asked\n" in merged.err
    assert result("all") == result("one")
    assert timeless(merged.out).partition("\nPage ")[0] == timeless(one.out).partition("\nPage ")[0]
    for name in ("questions.jsonl", "failures.jsonl"):
        lines = [Path(each, name).read_text().splitlines() for each in ("all", "one")]
        assert [untimed(json.loads(line)) for line in lines[0]] == [
            untimed(json.loads(line)) for line in lines[1]
        ]


def test_a_merged_run_is_reported_on_one_screen(invoke: Invoke, gardeners: tuple[str, ...]) -> None:
    for number in (1, 2):
        run(invoke, f"p{number}", *gardeners, "--lifecycle", "fresh", "--shard", f"{number}/2")

    merged = invoke("merge", "p1", "p2", "--into", "all", "--no-heatmap-png")

    assert merged.code == 0, merged.err
    assert "\nResult " in merged.out
    assert "checkpoint   fed to" not in merged.out
    assert len(merged.out.splitlines()) < 40
    assert merged.out.splitlines()[-1] == "Page         recall-bench report all  # writes the page"


def test_what_is_missing_is_said_and_done_by_the_ordinary_command(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    run(invoke, "p2", *gardeners, "--lifecycle", "fresh", "--shard", "2/3")

    merged = invoke("merge", "p2", "--into", "all", "--no-heatmap-png")
    said = run(invoke, "all", *gardeners, "--lifecycle", "fresh")
    run(invoke, "one", *gardeners, "--lifecycle", "fresh")

    assert merged.code == 4
    assert "missing: part 1/3, 3/3" in merged.err
    assert "to continue" in merged.err
    assert "nobody was asked" not in said
    assert result("all") == result("one")


def test_a_part_that_is_finished_asks_nothing_again(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    run(invoke, "p", *gardeners, "--lifecycle", "fresh", "--shard", "1/2")
    before = Path("p/journal.jsonl").read_bytes()

    said = run(invoke, "p", *gardeners, "--lifecycle", "fresh", "--shard", "1/2")

    assert "note: this part was finished on " in said
    assert Path("p/journal.jsonl").read_bytes() == before
    assert b'"run_ended"' not in before


def test_a_part_that_was_cut_short_goes_on(invoke: Invoke, gardeners: tuple[str, ...]) -> None:
    wanted = (*gardeners, "--lifecycle", "fresh", "--shard", "1/2")
    run(invoke, "p", *wanted)
    journal = Path("p/journal.jsonl")
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) * 3 // 4])

    said = run(invoke, "p", *wanted)

    assert "was finished" not in said
    assert journal.read_bytes().count(b'"type":"answered"') == whole.count(b'"type":"answered"')


def test_a_folder_with_another_part_is_refused(invoke: Invoke, gardeners: tuple[str, ...]) -> None:
    run(invoke, "p", *gardeners, "--shard", "1/2")

    other = run(invoke, "p", *gardeners, "--shard", "2/2", code=2)
    whole = run(invoke, "p", *gardeners, code=2)

    assert other == (
        "error: p holds part 1/2 of it, and part 2/2 of it was asked for; "
        "choose another folder with --into\n"
    )
    assert "p holds part 1/2 of it, and the whole run was asked for" in whole


def test_a_part_with_nothing_to_ask_is_merged_all_the_same(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    """One persona that is forked is one shard, and cannot be asked in two places."""
    wanted = (*gardeners, "--lifecycle", "forked")
    first = run(invoke, "p1", *wanted, "--shard", "1/2")
    second = run(invoke, "p2", *wanted, "--shard", "2/2")

    merged = invoke("merge", "p1", "p2", "--into", "all", "--no-heatmap-png")

    assert "part 1/2: 19 of 19 trials" in first
    assert "part 2/2: 0 of 0 trials; the plan has fewer work units than shards" in second
    assert merged.code == 0


def test_a_part_without_a_folder_gets_one_of_its_own(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    shown = invoke("run", *PLAIN, *gardeners, "--shard", "2/8")

    assert shown.code == 0
    (folder,) = Path("recall-runs").iterdir()
    assert folder.name.endswith("-part-2-of-8")
    assert "Part         2/8 of the plan" in shown.out


@pytest.mark.parametrize("word", ["0/4", "5/4", "two", "1/0"])
def test_what_is_no_part_is_refused(invoke: Invoke, word: str) -> None:
    shown = invoke("run", "--shard", word, "--into", "p")

    assert shown.code == 2
    assert "is not a shard of a run" in shown.err
    assert shown.err.count("\n") == 1


def test_folders_that_cannot_be_merged_are_refused(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    run(invoke, "p", *gardeners, "--shard", "1/2")
    Path("empty").mkdir()
    Path("taken").mkdir()
    Path("taken/note.txt").write_text("mine")

    def said(*words: object) -> str:
        shown = invoke("merge", *words)
        assert shown.code == 2
        assert shown.err.count("\n") == 1
        return shown.err

    assert "empty: is not a run folder" in said("p", "empty", "--into", "all")
    assert "p and p/../p are one folder" in said("p", "p/../p", "--into", "all")
    assert "p and p are one folder" in said("p", "p", "--into", "all")
    assert "taken: exists and was not changed" in said("p", "--into", "taken")
    assert "p: holds another run" in said("p", "--into", "p")
    with FileLock("p/.journal.jsonl.lock"):
        assert "p: a run is still writing" in said("p", "--into", "all")
    assert not Path("all").exists()


def test_what_a_killed_merge_left_is_in_no_ones_way(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    run(invoke, "p", *gardeners, "--shard", "1/1")
    Path("all").mkdir()
    machine = identify_process().rpartition("-")[2]
    Path(f"all/.journal.jsonl.{4194305:x}-0-{machine}.0.part").write_text("half a li")

    shown = invoke("merge", "p", "--into", "all", "--no-heatmap-png")

    assert shown.code == 0, shown.err
    assert not list(Path("all").glob(".*.part"))


def test_a_merge_that_was_killed_anywhere_is_done_by_the_same_command(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    """Killed around everything that it writes: the new journal, and each of its views."""
    for number in (1, 2):
        run(invoke, f"p{number}", *gardeners, "--shard", f"{number}/2")
    command = ["merge", "p1", "p2", "--no-heatmap-png", "--into"]
    assert in_child([*command, "whole"]) == 0

    kills, moment, stride = 0, 0, choose_number(151, 61)
    while in_child([*command, "all"], moment) is None:
        kills, moment = kills + 1, moment + stride

    assert kills > 610 / stride
    assert contents(Path("all")) == contents(Path("whole"))
    assert not list(Path("all").glob(".*.part"))


def test_a_run_that_is_no_merge_of_these_folders_is_left_as_it_is(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    for number in (1, 2):
        run(invoke, f"p{number}", *gardeners, "--lifecycle", "fresh", "--shard", f"{number}/2")
    assert invoke("merge", "p1", "--into", "all", "--no-heatmap-png").code == 4
    before = contents(Path("all"))

    shown = invoke("merge", "p1", "p2", "--into", "all", "--no-heatmap-png")

    assert shown.code == 2
    assert "all: holds another run, or these folders as an earlier version merged" in shown.err
    assert "name another with --into" in shown.err
    assert contents(Path("all")) == before


def test_a_merge_by_an_earlier_version_is_the_same_merge(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    """It wrote lines without checksums, and parts without their environment."""
    for number in (1, 2):
        run(invoke, f"p{number}", *gardeners, "--shard", f"{number}/2")
    command = ("merge", "p1", "p2", "--into", "all", "--no-heatmap-png")
    assert invoke(*command).code == 0
    journal = Path("all/journal.jsonl")
    events = [
        each.replace(environment=None) if isinstance(each, RunResumed) else each
        for each in read_events(journal)
    ]
    assert any(isinstance(each, RunResumed) for each in events)
    former = b"".join(msgspec.json.encode(each) + b"\n" for each in events)
    assert former != journal.read_bytes()
    journal.write_bytes(former)

    shown = invoke(*command)

    assert shown.code == 0, shown.err
    assert journal.read_bytes() == former


def test_what_cannot_be_merged_leaves_nothing_behind(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    """That two parts overlap is only known once the new journal is begun."""
    run(invoke, "whole", *gardeners)
    run(invoke, "p", *gardeners, "--shard", "1/1")
    Path("mine").mkdir()

    for into in ("deep/all", "mine"):
        shown = invoke("merge", "whole", "p", "--into", into)

        assert shown.code == 2
        assert "was asked in whole and in p" in shown.err
    assert not Path("deep").exists()
    assert list(Path("mine").iterdir()) == []


def test_a_part_that_is_unfinished_is_named_with_what_it_lacks(
    invoke: Invoke, gardeners: tuple[str, ...]
) -> None:
    for number in (1, 2):
        run(invoke, f"p{number}", *gardeners, "--lifecycle", "fresh", "--shard", f"{number}/2")
    journal = Path("p1/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if b'"type":"answered"' in line)
    journal.write_bytes(b"".join(lines[:first]))
    lost = sum(b'"type":"answered"' in line for line in lines)

    merged = invoke("merge", "p1", "p2", "--into", "all", "--no-heatmap-png")

    assert merged.code == 4
    assert f"; unfinished: part 1/2 ({lost} left)\n" in merged.err
    assert "missing" not in merged.err
