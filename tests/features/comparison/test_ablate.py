"""`ablate` runs every variant once, goes on where it stopped, and prints one table."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Invoke, Shown

Ablate = Callable[..., Shown]


@pytest.fixture
def ablate(invoke: Invoke, data: Path) -> Ablate:
    def run(*flags: object) -> Shown:
        words = ("--data", data, "--ranges", "5d", "10d", "--into", "runs")
        return invoke("ablate", *words, *flags)

    return run


def journals() -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in Path("runs").glob("*/journal.jsonl")}


def test_one_table_on_stdout_and_the_rest_beside_it(ablate: Ablate) -> None:
    shown = ablate("--adapter", "bm25", "--grid", "k=1,2")

    assert shown.code == 0, shown.err
    assert shown.out.startswith("bm25 on gardener at 5d 10d · 10 questions, 15 trials")
    assert [line.split()[0] for line in shown.out.splitlines()[3:6]] == ["base", "k=1", "k=2"]
    assert "2 comparisons" in shown.out
    assert "runs: runs" in shown.err
    assert sorted(journals()) == ["base", "k=1", "k=2"]


def test_several_judges_give_a_range_and_say_what_depends_on_them(
    ablate: Ablate, tmp_path: Path
) -> None:
    (tmp_path / "harsh.py").write_text(
        "def judge(exhibit):\n    return {'correctness': 0, 'completeness': 0, 'grounded': 1}\n"
    )
    judges = ("--judges", f"offline,{tmp_path / 'harsh.py'}")

    shown = ablate("--adapter", "bm25", "--grid", "k=1", *judges, "--json")
    table = ablate("--adapter", "bm25", "--grid", "k=1", *judges)

    report = json.loads(shown.out)
    for row in report["rows"]:
        first, second = row["judges"]
        assert first["mean"] == row["mean"]
        assert second["mean"] == 1.0
        assert f"16.7–{100 * row['mean'] / 6:.1f}" in table.out
    assert len(report["orders"]) == 1
    assert report["orders"][0] in table.out
    words = " ".join(table.out.split())
    assert "judges: the lowest and the highest score by offline, " in words


def test_the_same_command_runs_nothing_again(ablate: Ablate) -> None:
    first = ablate("--adapter", "bm25", "--grid", "k=1")
    before = journals()

    second = ablate("--adapter", "bm25", "--grid", "k=1")

    assert second.out == first.out
    assert journals() == before


def test_an_unfinished_variant_goes_on(ablate: Ablate) -> None:
    first = ablate("--adapter", "bm25", "--grid", "k=1", "--json")
    journal = Path("runs/k=1/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))

    second = ablate("--adapter", "bm25", "--grid", "k=1", "--json")

    def scores(shown: Shown) -> list[object]:
        return [(row["mean"], row["trials"]) for row in json.loads(shown.out)["rows"]]

    assert scores(second) == scores(first)
    assert b"run_resumed" in journal.read_bytes()


def test_another_grid_adds_to_the_same_folder(ablate: Ablate) -> None:
    ablate("--adapter", "bm25", "--grid", "k=1")
    before = journals()

    ablate("--adapter", "bm25", "--grid", "k=2")

    assert journals().items() >= before.items()
    assert "k=2" in journals()


def test_another_base_in_the_same_folder_is_refused(ablate: Ablate) -> None:
    ablate("--adapter", "bm25", "--grid", "k=1")

    shown = ablate("--adapter", "bm25", "--config", "k=5", "--grid", "k=1")

    assert shown.code == 2
    assert "holds a run with other system" in shown.err


def test_settings_of_the_base_hold_for_every_variant(ablate: Ablate) -> None:
    shown = ablate(
        *("--config", "quotes=1", "--config", "rerank=true"), "--grid", "neighbours=1", "--json"
    )

    table = json.loads(shown.out)
    assert table["base"]["quotes"] == 1
    plan = json.loads(Path("runs/neighbours=1/journal.jsonl").read_text().splitlines()[0])["plan"]
    assert plan["system"]["config"]["quotes"] == 1
    assert plan["system"]["config"]["rerank"] is True
    assert plan["system"]["config"]["neighbours"] == 1


def test_full_runs_every_combination(ablate: Ablate) -> None:
    shown = ablate(
        "--adapter", "bm25", "--grid", "k=1,2", "--grid", "b=0.1,0.2", "--full", "--json"
    )

    assert [row["variant"] for row in json.loads(shown.out)["rows"]] == [
        "base",
        "k=1, b=0.1",
        "k=1, b=0.2",
        "k=2, b=0.1",
        "k=2, b=0.2",
    ]


def test_markdown_is_a_table(ablate: Ablate) -> None:
    shown = ablate("--adapter", "bm25", "--grid", "k=1", "--markdown")

    assert "| variant | score of 100 | difference |" in shown.out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--grid", "wieght=1"), "did you mean 'weight'"),
        (("--grid", "weight"), "KEY=VALUE,VALUE"),
        (("--config", "weight"), "KEY=VALUE"),
        (("--grid", "k=1", "--json", "--markdown"), "give one"),
        (("--full",), "--full needs at least one --grid"),
        (("--adapter", "bm25"), "the settings of bm25 are not known"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    ablate: Ablate, flags: tuple[str, ...], complaint: str
) -> None:
    shown = ablate(*flags)

    assert shown.code == 2
    assert complaint in shown.err
    assert shown.err.count("\n") == 1
    assert not Path("runs").exists()


def test_without_a_grid_every_part_of_the_hybrid_is_turned_round(ablate: Ablate) -> None:
    shown = ablate("--json")

    assert shown.code == 0, shown.err
    rows = json.loads(shown.out)["rows"]
    assert len(rows) == 14
    assert {row["trials"] for row in rows} == {15}
