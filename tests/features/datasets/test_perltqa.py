"""PerLTQA: records of a person are episodes, and a reference names the turns that tell it."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Evidence, Scenario
from recall_bench.features.datasets.question_scores import RetrievalScorer
from recall_bench.judging.methodologies import find_methodology
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.newer_files import ASKED, MEMORIES, list_perltqa_files, write_all


def load_all(folder: Path) -> tuple[Scenario, ...]:
    return tuple(find_dataset("perltqa").load(folder, {}))


def test_records_are_episodes_in_the_order_of_their_kinds(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_perltqa_files()))

    assert [episode.text for episode in scenario.episodes] == [
        "profile: Occupation: potter",
        "profile: Hobby: rowing",
        "relationship: Per Lund (teacher): Per taught Odile to row.",
        "event: Odile burnt a vase. (2023-03-01 10:00)",
        "Per Lund: What broke? (2023-03-02 18:00)\n\nOdile Roux: A vase. (2023-03-02 18:00)",
    ]
    assert "Odile" not in scenario.id


def test_references_to_fields_and_lists_of_records_are_evidence(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_perltqa_files()))
    cited = {item.truth.category: item.truth.evidence for item in scenario.items}

    assert cited["profile"] == (Evidence(day=1, turn=0, speaker="profile"),)
    assert cited["social_relationship"] == (Evidence(day=3, turn=0, speaker="relationship"),)
    # One of its two references names nothing.
    assert [(place.day, place.turn) for place in cited["dialogues"]] == [(5, 0), (5, 1)]


def test_one_line_of_a_dialogue_finds_it_by_the_figure_that_comes_first(tmp_path: Path) -> None:
    (scenario,) = load_all(write_all(tmp_path, list_perltqa_files()))
    methodology = find_methodology("perltqa", "strict")
    (asked,) = (item for item in scenario.items if item.truth.category == "dialogues")
    line = Passage(text="What broke?", day=5, turn=0)

    found = RetrievalScorer(methodology, scenario, 10).score(asked, [line])

    assert found.figures[methodology.headline[0]] == 1.0
    assert found.figures["turn recall@10"] == 0.5


def test_a_person_without_memories_is_left_out(tmp_path: Path) -> None:
    write_all(tmp_path / "Dataset" / "en_v2", list_perltqa_files())

    assert len(load_all(tmp_path)) == 1


@pytest.mark.parametrize(
    ("memories", "asked", "told"),
    [
        ({"Odile Roux": {"profile": "potter"}}, ASKED, "not a mapping of memories"),
        ({"Odile Roux": {"profile": [1]}}, ASKED, "not a mapping of memories"),
        ({"Odile Roux": {}}, ASKED, "there are no memories"),
        (MEMORIES, [{"Odile Roux": {"profile": [{"Question": 7}]}}], "no question and answer"),
        ([], ASKED, r"perltmem_en_v2\.json: is not as it should be"),
    ],
)
def test_another_shape_is_named(tmp_path: Path, memories: object, asked: object, told: str) -> None:
    files = {"perltmem_en_v2.json": json.dumps(memories), "perltqa_en_v2.json": json.dumps(asked)}
    write_all(tmp_path, files)

    with pytest.raises(Malformed, match=told):
        load_all(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        load_all(tmp_path / "perltqa_en_v2.json")
    with pytest.raises(UsageError, match="there is no perltmem"):
        load_all(tmp_path)
