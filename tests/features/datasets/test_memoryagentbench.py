"""MemoryAgentBench: a row is a scenario, its text comes in pieces, and golds have alternatives."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.features.datasets.memoryagentbench import cut_text
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.newer_files import EXAMPLES, FACTS, MOVIES, SUMMARY
from tests.loops import loop_over_rows


def load_rows(folder: Path, *rows: object) -> tuple[Scenario, ...]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tuple(find_dataset("memoryagentbench").load(path, {}))


def test_a_question_says_what_upstreams_prompts_say(tmp_path: Path) -> None:
    facts, examples = load_rows(tmp_path, FACTS, EXAMPLES)

    assert facts.items[0].text.startswith("Where does Ada live?\n\nThe facts are numbered;")
    assert facts.items[0].truth.reference == "Bruges"
    assert facts.items[0].truth.aliases == ("Brugge",)
    assert facts.items[0].truth.category == "conflict-resolution/factconsolidation_sh"
    assert examples.items[0].text.endswith("my card is gone")
    assert examples.items[0].truth.category == "test-time-learning/icl_banking77"


def test_movies_are_left_out_and_model_graded_tasks_marked(tmp_path: Path) -> None:
    (summary,) = load_rows(tmp_path, MOVIES, SUMMARY)

    assert summary.items[0].truth.grading == "model"
    assert summary.items[0].truth.facts == (("a kiln is opened",),)


def test_splits_of_a_folder_are_read_in_turn(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "B.json").write_text(json.dumps([EXAMPLES]))
    (tmp_path / "data" / "A.jsonl").write_text(json.dumps(FACTS))
    (tmp_path / "data" / "entity2id.json").write_text("{}")

    scenarios = find_dataset("memoryagentbench").load(tmp_path, {})

    assert [len(scenario.items) for scenario in scenarios] == [2, 1]


@loop_over_rows(
    ("text", "pieces"),
    [
        ("one\ntwo\nthree\n", ["one\ntwo\n", "three\n"]),
        ("one two three", ["one two ", "three"]),
        ("onetwothree", ["onetwoth", "ree"]),
        ("short", ["short"]),
    ],
)
def test_a_text_is_cut_at_lines_else_at_blanks_and_nothing_is_lost(
    text: str, pieces: list[str]
) -> None:
    assert list(cut_text(text, 8)) == pieces


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"answers": [["Bruges"]]}, "2 questions and 1 answers"),
        ({"answers": [[" "], ["Ada"]]}, "question 1 has no answer"),
        ({"metadata": {"source": "chess"}}, "source 'chess' is not one of"),
        ({"context": ""}, "context"),
    ],
)
def test_another_shape_is_named(tmp_path: Path, changed: dict[str, object], told: str) -> None:
    with pytest.raises(Malformed, match=told):
        load_rows(tmp_path, {**FACTS, **changed})


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="export the splits"):
        find_dataset("memoryagentbench").load(tmp_path, {})
    with pytest.raises(UsageError, match="there is no"):
        find_dataset("memoryagentbench").load(tmp_path / "none", {})
