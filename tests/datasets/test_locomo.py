"""LoCoMo as it is read: its counts, its order, and what its labels mean."""

import json
from collections import Counter
from pathlib import Path

import pytest

from recall_bench.core.question import Expects, Scenario
from recall_bench.datasets.locomo import NOT_MENTIONED, load
from recall_bench.errors import Malformed, UsageError
from tests.conftest import shared_data


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return list(load(shared_data("locomo/locomo10.json")))


def test_there_are_as_many_of_everything_as_counted_elsewhere(scenarios: list[Scenario]) -> None:
    assert len(scenarios) == 10
    assert sum(len(scenario.episodes) for scenario in scenarios) == 272
    assert sum(len(e.turns) for scenario in scenarios for e in scenario.episodes) == 5882
    assert sum(len(scenario.items) for scenario in scenarios) == 1986


def test_sessions_are_in_story_order(scenarios: list[Scenario]) -> None:
    """`session_10` follows `session_9`, not `session_1`."""
    assert [e.id for e in scenarios[0].episodes] == [f"D{n}" for n in range(1, 20)]
    assert scenarios[0].episodes[0].at.isoformat() == "2023-05-08T13:56:00"


def test_categories_are_as_many_as_the_official_map_says(scenarios: list[Scenario]) -> None:
    found = Counter(item.truth.category for scenario in scenarios for item in scenario.items)

    assert found == {
        "multi-hop": 282,
        "temporal": 321,
        "open-domain": 96,
        "single-hop": 841,
        "adversarial": 446,
    }


def test_the_questions_vouch_for_the_names_of_their_categories(scenarios: list[Scenario]) -> None:
    items = [item for scenario in scenarios for item in scenario.items]
    multi = [item for item in items if item.truth.category == "multi-hop"]
    single = [item for item in items if item.truth.category == "single-hop"]
    temporal = [item for item in items if item.truth.category == "temporal"]

    assert sum(len(item.truth.evidence) > 1 for item in multi) / len(multi) > 0.9
    assert sum(len(item.truth.evidence) == 1 for item in single) / len(single) > 0.9
    assert sum(item.text.startswith(("When", "How long")) for item in temporal) > 250


def test_what_never_happened_is_to_be_denied_and_its_trap_is_no_reference(
    scenarios: list[Scenario],
) -> None:
    traps = [i for s in scenarios for i in s.items if i.truth.category == "adversarial"]

    assert {item.truth.expects for item in traps} == {Expects.ABSTAIN}
    assert {item.truth.reference for item in traps} == {NOT_MENTIONED}
    assert all(item.truth.distractors for item in traps)


def test_nothing_is_true_that_is_empty_or_undefined(scenarios: list[Scenario]) -> None:
    references = {item.truth.reference for scenario in scenarios for item in scenario.items}

    assert not references & {"", "None", "undefined", "nan"}


def test_every_reference_leads_to_a_turn(scenarios: list[Scenario]) -> None:
    cited = [e for s in scenarios for item in s.items for e in item.truth.evidence]
    bare = [i for s in scenarios for i in s.items if not i.truth.evidence]

    assert all(evidence.turn is not None for evidence in cited)
    assert len(bare) == 4


def test_a_photo_is_known_by_its_caption(scenarios: list[Scenario]) -> None:
    said = [t.text for s in scenarios for e in s.episodes for t in e.turns]

    assert sum("[shares a photo: " in text for text in said) == 1226


def conversation(evidence: list[str]) -> list[dict[str, object]]:
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hello."}],
                "session_2_date_time": "2:00 pm on 9 May, 2023",
            },
            "qa": [{"question": "Who?", "answer": 7, "category": 4, "evidence": evidence}],
        }
    ]


def test_a_date_without_a_session_is_no_episode(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(["D1:1"])))

    (scenario,) = load(path)

    assert [episode.id for episode in scenario.episodes] == ["D1"]
    assert scenario.items[0].truth.reference == "7"


def test_evidence_that_leads_nowhere_is_refused_unless_it_is_a_known_slip(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(["D1:2"])))

    with pytest.raises(Malformed, match=r"conversation 1.*D1:2"):
        list(load(path))


def test_a_file_that_is_not_there_or_not_json_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        list(load(tmp_path / "none.json"))
    (tmp_path / "torn.json").write_text("[{")
    with pytest.raises(Malformed, match="cannot be read as JSON"):
        list(load(tmp_path / "torn.json"))
