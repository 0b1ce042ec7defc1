"""`select` as a command: what it prints, writes and exits with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Invoke, Shown
from tests.features.selection.suites import write_suite

PICKS = '''
def select(prompt, memories):
    """Every memory that shares a telling word with the prompt."""
    said = {word.strip("?,!.").lower() for word in prompt.split()}
    telling = {"memory/kiln.md": "kiln", "memory/glaze.md": "glaze"}
    return [memory.name for memory in memories if telling.get(memory.name) in said]
'''

Select = Callable[..., Shown]


@pytest.fixture
def select(invoke: Invoke, tmp_path: Path) -> Select:
    """`select run` on a small suite with a Python callable, unless another selector is named."""
    write_suite(tmp_path)
    (tmp_path / "picks.py").write_text(PICKS)

    def run(*words: object, selector: str = "picks.py:select") -> Shown:
        places = ("--memories", tmp_path / "memory", "--tests", tmp_path / "tests")
        return invoke("select", "run", *places, "--selector", selector, *words)

    return run


def test_the_summary_counts_every_class(select: Select) -> None:
    shown = select("--json")

    summary = json.loads(shown.out)["summary"]
    assert shown.code == 0
    assert {name: summary[name] for name in ("perfect", "overrecall", "underrecall")} == {
        "perfect": 3,
        "overrecall": 0,
        "underrecall": 0,
    }
    assert (summary["error"], summary["skip"]) == (0, 0)


def test_what_so_few_tests_can_tell_is_said_before_anything_is_put(select: Select) -> None:
    shown = select()

    assert shown.err.index("3 tests: too few to distinguish two versions") < shown.err.index(
        "run folder"
    )
    assert "PERFECT" in shown.out


def test_everything_is_over_recalled_and_nothing_under(select: Select) -> None:
    shown = select("--json", selector="all")

    summary = json.loads(shown.out)["summary"]
    assert (summary["perfect"], summary["overrecall"], summary["underrecall"]) == (0, 3, 0)
    assert summary["false_positives"]["value"] == 1.0


def test_a_selector_that_crashes_is_reported_and_the_run_goes_on(
    select: Select, tmp_path: Path
) -> None:
    broken = PICKS + "\n_well = select\n\ndef select(prompt, memories):\n"
    broken += (
        "    if 'glaze' in prompt: raise KeyError('lost')\n    return _well(prompt, memories)\n"
    )
    (tmp_path / "picks.py").write_text(broken)

    shown = select("--json", "--into", "run")

    report = json.loads(shown.out)
    assert shown.code == 5
    assert (report["summary"]["perfect"], report["summary"]["error"]) == (2, 1)
    (failed,) = [row for row in report["tests"] if row["outcome"] == "ERROR"]
    assert failed["test"] == "two"
    assert "lost" in failed["message"]


def test_names_that_are_not_on_disk_are_extra_and_reported(select: Select, tmp_path: Path) -> None:
    (tmp_path / "picks.py").write_text(
        "def select(prompt, memories):\n    return ['memory/kiln.md', 'memory/ghost.md']\n"
    )

    report = json.loads(select("--json", "--only", "one").out)

    assert report["summary"]["unknown"] == {"memory/ghost.md": 1}
    assert report["tests"][0]["outcome"] == "OVERRECALL"


def test_the_result_file_has_an_entry_for_each_test(select: Select, tmp_path: Path) -> None:
    select("--into", "run", "--name", "v1")

    text = (tmp_path / "run" / "v1.result").read_text()
    entries = text.partition("[tests]")[2]
    assert [line for line in entries.splitlines() if line.startswith("---")] == [
        *("--- one.bench ---", "--- quiet.bench ---", "--- two.bench ---"),
    ]
    assert entries.count("Result: PERFECT") == 3
    assert "total_tests=3\nperfect=3 (100.0%)\noverrecall=0 (0.0%)\n" in text


def test_a_skipped_test_stands_in_the_result_file_of_every_repeat(
    select: Select, tmp_path: Path
) -> None:
    (tmp_path / "tests" / "blank.bench").write_text("[expected]\n\n[prompt]\n")

    select("--into", "run", "--repeats", "2")

    for name in ("run.result", "run-2.result"):
        text = (tmp_path / "run" / name).read_text()
        assert "# Tests: 4\n" in text
        assert "skip=1\n" in text
        assert "--- blank.bench ---\nPrompt (0):\nExpected (0):\nResult: SKIP\n" in text


def test_every_repeat_has_its_result_file(select: Select, tmp_path: Path) -> None:
    report = json.loads(select("--into", "run", "--repeats", "2", "--json").out)

    assert report["summary"]["trials"] == 6
    assert report["summary"]["steady"]["value"] == 1.0
    assert sorted(path.name for path in (tmp_path / "run").glob("*.result")) == [
        "run-2.result",
        "run.result",
    ]


def test_a_finished_run_asks_nothing_again(select: Select, tmp_path: Path) -> None:
    first = select("--into", "run", "--json")
    journal = (tmp_path / "run" / "journal.jsonl").read_bytes()

    again = select("--into", "run", "--json")

    assert "nothing was asked" in again.err
    assert json.loads(again.out) == json.loads(first.out)
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == journal


def test_a_run_without_marks_has_no_heatmap(select: Select, invoke: Invoke, tmp_path: Path) -> None:
    select("--into", "run")

    shown = invoke("heatmap", tmp_path / "run", "--output", tmp_path / "map.png")

    assert shown.code == 2
    assert "no marks to draw" in shown.err
    assert not (tmp_path / "map.png").exists()


def test_two_versions_stand_in_the_log(select: Select, tmp_path: Path) -> None:
    select("--into", "a", "--log", tmp_path / "log.md")
    select("--into", "b", "--log", tmp_path / "log.md", selector="all")

    text = (tmp_path / "log.md").read_text()
    assert text.count("\n## ") == 2
    assert "0 better and 3 worse of 3 tests" in text


def test_the_example_is_written_where_nothing_is(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("select", "example", tmp_path / "mine").code == 0
    assert len(list((tmp_path / "mine" / "tests").glob("*.bench"))) == 60
    assert invoke("select", "example", tmp_path / "mine").code == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--selector", "hybird"), "hybrid"),
        (("--tests", "nowhere"), "there is no folder nowhere"),
        (("--config", "k=0"), "k"),
        (("--name", "../out"), "is not a name for a file"),
        (("--log", "memory/kiln.md"), "something else than a log"),
    ],
)
def test_bad_input_is_one_sentence(select: Select, words: tuple[str, ...], says: str) -> None:
    shown = select(*words, selector="hybrid")

    assert shown.code == 2
    assert shown.err.count("error:") == 1
    assert says in shown.err


def test_tests_are_made_and_gone_on_with(invoke: Invoke, tmp_path: Path) -> None:
    made = invoke("select", "generate", "--out", "new", "--samples", 3, "--name", "t")
    again = invoke("select", "generate", "--out", "new", "--samples", 3, "--name", "t", "--json")

    assert made.code == again.code == 0
    assert sorted(path.name for path in (tmp_path / "new").glob("*.bench")) == [
        "t-001.bench",
        "t-002.bench",
        "t-003.bench",
    ]
    assert len(json.loads(again.out)["kept"]) == 3


def test_money_that_is_spent_ends_the_run_and_more_goes_on(select: Select, tmp_path: Path) -> None:
    log = ("--log", tmp_path / "log.md")

    shown = select("--max-cost", "0", "--into", "run", *log)

    assert shown.code == 8
    assert "--max-cost" in shown.err
    assert "log.md has no entry of it" in shown.err
    assert not (tmp_path / "log.md").exists()
    assert select("--max-cost", "1", "--into", "run", *log).code == 0
    assert (tmp_path / "log.md").read_text().count("\n## ") == 1


def test_a_run_that_was_given_no_folder_is_found_by_its_kind(
    select: Select, tmp_path: Path
) -> None:
    select(selector="none")

    (folder,) = (tmp_path / "recall-runs").iterdir()
    assert folder.name.startswith("select-none-")


def test_selections_are_not_judged_again(select: Select, invoke: Invoke) -> None:
    select("--into", "run")

    shown = invoke("rejudge", "run", "--judge", "offline")

    assert shown.code == 2
    assert "counted by selection/exact, which needs no judge" in shown.err


def test_a_program_finds_memory_whatever_the_folder_is_called(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_suite(tmp_path)
    (tmp_path / "memory").rename(tmp_path / "notes")
    script = tmp_path / "pick.sh"
    script.write_text("#!/bin/sh\ngrep -l kiln memory/*.md\n")
    script.chmod(0o755)

    places = ("--memories", "notes", "--tests", "tests", "--only", "one")
    shown = invoke("select", "run", *places, "--selector", f"command:{script}", "--json")

    assert shown.code == 0
    assert json.loads(shown.out)["summary"]["perfect"] == 1
