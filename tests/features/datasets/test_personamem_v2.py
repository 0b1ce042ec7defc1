"""PersonaMem-v2: the persona is not told, options have a fixed order, and snippets are evidence."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Scenario
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.newer_files import (
    HISTORY,
    LINK,
    ROWS,
    list_personamem_files,
    spell_rows,
    write_all,
)

BENCHMARK = "benchmark/text/benchmark.csv"


def load_all(folder: Path) -> tuple[Scenario, ...]:
    return tuple(find_dataset("personamem-v2-32k").load(folder, {}))


def test_a_history_is_fed_without_what_states_the_persona(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_personamem_files()))

    assert [turn.speaker for turn in scenario.episodes[0].turns] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert "rower" not in scenario.episodes[0].text


def test_a_question_offers_right_and_wrong_in_an_order_that_never_changes(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_personamem_files()))
    first, second = scenario.items

    assert first.text == "Plan my morning."
    assert f"({first.truth.choice}) Row first, then breakfast." in first.choices
    assert [choice[4:] for choice in first.choices] == [
        "Go for a swim.",
        "Sleep in.",
        "Read the news.",
        "Row first, then breakfast.",
    ]
    assert second.text == "What should I buy?"
    assert len(second.choices) == 4
    assert [item.truth.category for item in scenario.items] == [
        "neutral_preferences",
        "ask_to_forget",
    ]


def test_what_stands_in_the_history_word_for_word_is_evidence(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_personamem_files()))

    assert scenario.items[0].truth.evidence == (Evidence(day=1, turn=0, speaker="user"),)
    assert scenario.items[1].truth.evidence == ()


def test_twenty_messages_are_an_episode(tmp_path: Path) -> None:
    long = [{"role": "user", "content": f"Lap {number}."} for number in range(41)]
    files = {**list_personamem_files(), LINK: json.dumps(long)}

    (scenario,) = load_all(write_all(tmp_path, files))

    assert [len(episode.turns) for episode in scenario.episodes] == [20, 20, 1]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (BENCHMARK, "persona_id\n7\n", "lacks the columns chat_history_32k_link"),
        (BENCHMARK, spell_rows([{**ROWS[0], "incorrect_answers": "none"}]), "not a list of texts"),
        (BENCHMARK, spell_rows([{**ROWS[0], "correct_answer": "Sleep in."}]), "other answers"),
        (BENCHMARK, spell_rows([{**ROWS[0], "pref_type": ""}]), "no value for pref_type"),
        (BENCHMARK, spell_rows([{**ROWS[0], "chat_history_32k_link": "../x"}]), "is not below"),
        (BENCHMARK, spell_rows([{**ROWS[0], "chat_history_32k_link": "é" * 5_000}]), "not below"),
        (LINK, json.dumps({"chat_history": []}), "holds no message"),
        (LINK, json.dumps([{"role": "user", "content": ["x"]}]), "message 1: .*role and text"),
        (LINK, json.dumps(HISTORY)[:-2], "is not as it should be"),
    ],
)
def test_another_shape_is_named(tmp_path: Path, name: str, content: str, told: str) -> None:
    write_all(tmp_path, {**list_personamem_files(), name: content})

    with pytest.raises(Malformed, match=told):
        load_all(tmp_path)


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no benchmark/text/benchmark\.csv"):
        load_all(tmp_path)
