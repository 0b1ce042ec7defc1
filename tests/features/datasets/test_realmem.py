"""RealMem: a query is asked before its own session is known, and cites earlier ones."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Scenario
from recall_bench.stories.catalogue import find_dataset
from tests.features.datasets.session_files import PERSON, write_person


def load_only(path: Path) -> Scenario:
    (scenario,) = find_dataset("realmem").load(path, {})
    return scenario


def test_a_query_is_asked_after_the_session_before_its_own(tmp_path: Path) -> None:
    scenario = load_only(write_person(tmp_path))

    (item,) = scenario.items
    assert (item.text, item.known_from, item.known_until) == ("What grows in bed seven?", 2, 2)
    assert item.asked_at is not None
    assert item.asked_at.date().isoformat() == "2025-12-20"
    assert item.truth.reference == "Leeks, as we planned."
    assert item.truth.category == "Dynamic Incremental"


def test_evidence_is_earlier_sessions_once_each(tmp_path: Path) -> None:
    (item,) = load_only(write_person(tmp_path)).items

    assert item.truth.evidence == (Evidence(day=1),)
    assert item.truth.cited == ("s-1", "s-3")
    assert item.truth.facts == (("Leeks in bed seven",),)


@pytest.mark.parametrize("marked", [None, False])
def test_a_turn_that_is_not_marked_is_no_query(tmp_path: Path, marked: bool | None) -> None:
    person = json.loads(json.dumps(PERSON))
    for session in person["dialogues"]:
        for turn in session["dialogue_turns"]:
            turn["is_query"] = marked

    assert load_only(write_person(tmp_path, person)).items == ()


def test_a_date_never_goes_back(tmp_path: Path) -> None:
    scenario = load_only(write_person(tmp_path))

    assert [episode.at.day for episode in scenario.episodes] == [15, 15, 20]
    assert "Odile" not in scenario.id


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        ([{**PERSON["dialogues"][0], "current_time": "Monday"}], "is not a date like"),
        ([{**PERSON["dialogues"][0], "current_time": "2025-13-15"}], "is not a date"),
        ([PERSON["dialogues"][0]] * 2, "two sessions are called s-1"),
        ([{**PERSON["dialogues"][0], "dialogue_turns": []}], "nothing is said"),
        ([], "dialogues"),
    ],
)
def test_another_shape_is_named(tmp_path: Path, sessions: object, told: str) -> None:
    with pytest.raises(Malformed, match=told):
        load_only(write_person(tmp_path, {"dialogues": sessions}))


def test_people_of_a_folder_are_read_in_turn(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    write_person(folder)

    assert len(find_dataset("realmem").load(tmp_path, {})) == 1
    with pytest.raises(UsageError, match="holds no"):
        find_dataset("realmem").load(tmp_path / "none", {})
