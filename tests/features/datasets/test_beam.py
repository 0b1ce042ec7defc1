"""BEAM: batches are episodes, numbered messages are evidence, and rubrics are kept as nuggets."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects, Scenario
from recall_bench.stories.catalogue import find_dataset, find_source
from tests.features.datasets.beam_files import BATCHES, LATER, MESSAGES, QUESTIONS, write_chat
from tests.loops import loop_over_rows


def load_only(folder: Path, size: str = "100k") -> Scenario:
    (scenario,) = find_dataset(f"beam-{size}").load(folder, {})
    return scenario


def test_a_batch_is_an_episode_with_its_date_and_without_the_marks(tmp_path: Path) -> None:
    scenario = load_only(write_chat(tmp_path))

    assert scenario.id == "beam-100k-1"
    assert [(e.day, e.at.date().isoformat(), len(e.turns)) for e in scenario.episodes] == [
        (1, "2024-03-15", 4),
        (2, "2024-04-01", 2),
    ]
    assert scenario.episodes[0].turns[0].text == "The kiln reaches cone six by noon."
    assert "->->" not in scenario.episodes[0].text


def test_sources_in_lists_and_in_mappings_become_turns(tmp_path: Path) -> None:
    items = {item.truth.category: item for item in load_only(write_chat(tmp_path)).items}

    assert items["knowledge_update"].truth.evidence == (
        Evidence(day=1, turn=0, speaker="user"),
        Evidence(day=2, turn=0, speaker="user"),
    )
    assert items["instruction_following"].truth.evidence == (
        Evidence(day=1, turn=2, speaker="user"),
    )
    assert items["abstention"].truth.evidence == ()
    assert items["abstention"].truth.expects is Expects.ABSTAIN


def test_the_gold_is_read_under_any_of_its_names_and_else_from_the_rubric(tmp_path: Path) -> None:
    bare = {"summarization": [{"question": "What happened?", "rubric": ["a kiln", "a cone"]}]}
    items = load_only(write_chat(tmp_path / "a")).items
    (plain,) = load_only(write_chat(tmp_path / "b", questions=bare)).items

    assert [item.truth.reference for item in items] == [
        "The chat does not say which glaze the user likes.",
        "Cone ten",
        "Response should use metric units",
    ]
    assert items[2].truth.facts == (
        ("LLM response should contain: centimetres",),
        ("metric units alone",),
    )
    assert plain.truth.reference == "a kiln\na cone"


def test_the_form_of_the_download_script_reads_the_same(tmp_path: Path) -> None:
    flat = [
        [message for turn in MESSAGES for message in turn],
        [message for turn in LATER for message in turn],
    ]

    one = load_only(write_chat(tmp_path / "a"))
    other = load_only(write_chat(tmp_path / "b", chat=flat))

    assert [e.text for e in one.episodes] == [e.text for e in other.episodes]
    assert one.items == other.items
    # Its second batch has no date, and keeps that of the first.
    assert [e.at.date().isoformat() for e in other.episodes] == ["2024-03-15", "2024-03-15"]


def test_a_number_that_two_messages_have_names_none(tmp_path: Path) -> None:
    plans = [{"plan-1": BATCHES, "plan-2": None}, {"plan-1": None, "plan-2": BATCHES[1:]}]

    scenario = load_only(write_chat(tmp_path, chat=plans), "10m")

    assert [e.day for e in scenario.episodes] == [1, 2, 3]
    asked = {item.truth.category: item.truth for item in scenario.items}
    assert asked["knowledge_update"].evidence == (Evidence(day=1, turn=0, speaker="user"),)
    assert asked["knowledge_update"].cited == ("0", "4")


def test_chats_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10", "2", "1"):
        write_chat(tmp_path / "chats" / "500K", name=name)

    scenarios = find_dataset("beam-500k").load(tmp_path, {})

    assert [scenario.id for scenario in scenarios] == ["beam-500k-1", "beam-500k-2", "beam-500k-10"]


@pytest.mark.parametrize(
    ("chat", "questions", "told"),
    [
        ([{"batch": 1}], QUESTIONS, r"chat\.json, part 1: .*neither a batch"),
        ([[{"role": "tool", "content": "x"}]], QUESTIONS, r"part 1: .*Invalid enum value 'tool'"),
        ([], QUESTIONS, "holds no message"),
        (BATCHES, {"juggling": []}, "'juggling' is not one of BEAM's ten abilities"),
        (BATCHES, {"abstention": [{"question": "?", "rubric": []}]}, r"abstention 1: .*rubric"),
        (
            BATCHES,
            {"abstention": [{"question": "?", "rubric": ["x"], "source_chat_ids": [0.5]}]},
            "0.5 is not the number of a message",
        ),
    ],
)
def test_another_shape_is_named_with_its_place(
    tmp_path: Path, chat: object, questions: object, told: str
) -> None:
    write_chat(tmp_path, chat=chat, questions=questions)

    with pytest.raises(Malformed, match=told):
        load_only(tmp_path)


def test_a_folder_without_chats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no chat of BEAM"):
        find_dataset("beam-1m").load(tmp_path, {})
    with pytest.raises(UsageError, match="is not a folder"):
        find_dataset("beam-1m").load(tmp_path / "none", {})


@loop_over_rows(("size", "chats"), [("100k", 20), ("500k", 35), ("1m", 35), ("10m", 10)])
def test_every_chat_has_two_addresses(size: str, chats: int) -> None:
    source = find_source(f"beam-{size}")

    assert len(source.files) == 2 * chats
    assert source.files[-1].name == f"{chats}/probing_questions/probing_questions.json"
