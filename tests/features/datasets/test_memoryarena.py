"""MemoryArena as fixed chains: the earlier subtasks with their gold, and never the one asked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.features.datasets.memoryarena import FILES, format_answer
from recall_bench.stories.catalogue import find_dataset
from tests.loops import loop_over_rows

SHOPPING = {
    "id": 7,
    "category": "tea_item_0",
    "questions": ["Product 1: a tea pot.", "Product 2: a cosy that fits it.", "Product 3: cups."],
    "answers": [
        {"target_asin": "P001", "attributes": ["blue", "one litre"]},
        {"target_asin": "P002", "attributes": ["wool"]},
        {"target_asin": "P003", "attributes": ["blue", "six"]},
    ],
}
MATHS = {
    "id": 1,
    "paper_name": "On widgets",
    "questions": ["What is f(1)?", "What is f(2)?"],
    "answers": ["$1$", "$4$"],
    "backgrounds": ["Let f be a square.", "Recall f."],
}
TRAVEL = {
    "id": 3,
    "base_person": {
        "name": "Odile",
        "query": "I am Odile. I want to see Ghent.",
        "daily_plans": [{"days": 1, "current_city": "Ghent", "lunch": "-", "dinner": None}],
    },
    "questions": ["I am Per. I join Odile for lunch.", "I am Ada. I join Per."],
    "answers": [
        [{"days": 1, "current_city": "Ghent"}, {"days": 2, "current_city": "Bruges"}],
        [{"days": 1, "current_city": "Ghent"}],
    ],
}
SEARCH = {"id": 9, "questions": ["Who?"], "answers": ["Nobody"]}

ROWS = {
    "bundled_shopping": [SHOPPING],
    "progressive_search": [SEARCH],
    "group_travel_planner": [TRAVEL],
    "formal_reasoning_math": [MATHS],
    "formal_reasoning_phys": [SEARCH],
}


def load(path: Path) -> Sequence[Scenario]:
    return find_dataset("memoryarena").load(path, {})


def write(folder: Path, name: str, rows: Sequence[Any]) -> Path:
    """As on the hub: a folder for each kind, a row on each line."""
    path = folder / name / "data.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    for name, rows in ROWS.items():
        write(tmp_path, name, rows)
    return tmp_path


def test_every_subtask_but_the_first_is_asked(arena: Path) -> None:
    scenarios = load(arena)

    assert [scenario.id for scenario in scenarios] == [
        "bundled_shopping-0001-02",
        "bundled_shopping-0001-03",
        "group_travel_planner-0001-02",
        "formal_reasoning_math-0001-02",
    ]
    assert [s.items[0].truth.category for s in scenarios] == [s.id[:-8] for s in scenarios]


def test_the_history_holds_the_earlier_gold_and_not_the_gold_asked_for(arena: Path) -> None:
    second, third = load(arena)[:2]

    assert [e.text for e in second.episodes] == [
        "task: Product 1: a tea pot.\n\nsolution: target_asin: P001\nattributes: blue, one litre",
    ]
    assert second.items[0].text == "Product 2: a cosy that fits it."
    assert second.items[0].truth.reference == "target_asin: P002\nattributes: wool"
    assert "P002" in third.episodes[-1].text
    assert not any("P003" in episode.text for episode in third.episodes)
    assert third.items[0].truth.source == "bundled_shopping/7/3"


def test_the_plan_that_a_group_joins_comes_first(arena: Path) -> None:
    (scenario,) = [s for s in load(arena) if s.id.startswith("group")]

    assert [e.id for e in scenario.episodes] == ["step-01", "step-02"]
    assert scenario.episodes[0].text == (
        "task: I am Odile. I want to see Ghent.\n\nsolution: days: 1\ncurrent_city: Ghent\nlunch: -"
    )
    assert scenario.episodes[1].at.isoformat() == "2024-01-02T00:00:00"


def test_a_background_is_posed_with_its_subtask(arena: Path) -> None:
    (scenario,) = [s for s in load(arena) if s.id.startswith("formal")]

    assert scenario.items[0].text == "Recall f.\n\nWhat is f(2)?"
    assert scenario.episodes[0].turns[0].text == "Let f be a square.\n\nWhat is f(1)?"


def test_a_background_of_the_whole_chain_opens_it(tmp_path: Path) -> None:
    path = write(tmp_path, FILES[3], [{**MATHS, "backgrounds": "Let f be a square."}])

    (scenario,) = load(path)

    assert [e.text for e in scenario.episodes] == [
        "task: Let f be a square.",
        "task: What is f(1)?\n\nsolution: $1$",
    ]
    assert scenario.items[0].text == "What is f(2)?"


def test_one_file_may_be_a_list(tmp_path: Path) -> None:
    path = tmp_path / "bundled_shopping.json"
    path.write_text(json.dumps([SHOPPING, SHOPPING], indent=2))

    assert len(load(path)) == 4


def test_line_separators_inside_a_row_end_no_line(tmp_path: Path) -> None:
    path = tmp_path / "bundled_shopping.jsonl"
    odd = {**SEARCH, "questions": ["a\u2028b", "c\x85d"], "answers": ["x", "y"]}
    path.write_text(json.dumps(odd, ensure_ascii=False), encoding="utf-8")

    assert load(path)[0].items[0].text == "c\x85d"


@loop_over_rows(
    ("answer", "text"),
    [
        (" B 12 ", "B 12"),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        (["a", "b"], "a, b"),
        ({"k": ["a", {"x": 1, "y": None}]}, "k: a, x: 1"),
        ([{"d": 1}, {"d": 2, "e": "f"}], "d: 1\n\nd: 2\ne: f"),
        (None, None),
        ("  ", None),
        ([], None),
        ({"k": None}, None),
    ],
)
def test_structured_answers_become_text_in_file_order(answer: object, text: str | None) -> None:
    assert format_answer(answer) == text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"answers": ["x"]}, "has 3 questions and 1 answers"),
        ({"questions": "x"}, "has no lists of `questions` and `answers`"),
        ({"questions": [], "answers": []}, "has no lists"),
        ({"questions": ["a", " ", "c"]}, "questions[1] is empty"),
        ({"answers": ["a", None, "c"]}, "answers[1] is empty"),
        ({"backgrounds": ["a"]}, "neither one text nor one for each of 3"),
        ({"backgrounds": ["a", 1, "c"]}, "are not text"),
        ({"base_person": {"name": "x"}}, "has no `query`"),
        ({"base_person": {"query": "x"}}, "has no `daily_plans`"),
    ],
)
def test_a_chain_that_is_wrong_is_named(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    path = write(tmp_path, FILES[0], [SHOPPING, {**SHOPPING, **changes}])

    with pytest.raises(Malformed) as raised:
        load(path)

    assert f"{path}, line 2: " in str(raised.value)
    assert told in str(raised.value)


def test_what_is_not_json_or_not_a_chain_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, FILES[0], [SHOPPING, 3])

    with pytest.raises(Malformed, match="line 2: is not a chain"):
        load(path)
    path.write_text("{")
    with pytest.raises(Malformed, match="line 1: cannot be read as JSON"):
        load(path)


def test_a_folder_that_lacks_a_file_is_not_read_in_part(arena: Path) -> None:
    (arena / FILES[1] / "data.jsonl").unlink()

    with pytest.raises(UsageError, match="lacks progressive_search; give the folder of all five"):
        load(arena)


def test_a_file_of_no_known_kind_is_a_wrong_request(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(SHOPPING))

    with pytest.raises(UsageError, match="no name of MemoryArena's files"):
        load(path)
    with pytest.raises(UsageError, match="there is no"):
        load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no corrections"):
        find_dataset("memoryarena").load(path, {"audit": path})


def test_the_card_says_that_this_is_not_task_completion() -> None:
    notes = " ".join(find_dataset("memoryarena").about.notes)

    assert "not MemoryArena's own task completion" in notes
    assert "701 of the 4,850" in notes
