"""LoCoMo as it is read: its counts, its order, and what its labels mean."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects, Scenario, Truth
from recall_bench.features.datasets.locomo import NOT_MENTIONED, load
from recall_bench.stories.catalogue import find_dataset
from tests.conftest import shared_data

MENDED_ANYWAY = {"conv-26:q37", "conv-47:q38", "conv-50:q69"}
"""Citations that the audit finds misspelt, and so did we."""


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return list(load(shared_data("locomo/locomo10.json"), {}))


@pytest.fixture(scope="module")
def audited() -> list[Scenario]:
    audit = shared_data("locomo/locomo_audit_errors.json")
    return list(load(shared_data("locomo/locomo10.json"), {"audit": audit}))


def truths(scenarios: list[Scenario]) -> dict[str | None, Truth]:
    return {item.truth.source: item.truth for s in scenarios for item in s.items}


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


def test_denominators_are_as_the_card_says(scenarios: list[Scenario]) -> None:
    raw = json.loads(shared_data("locomo/locomo10.json").read_bytes())
    found = truths(scenarios).values()

    assert sum(bool(truth.evidence) for truth in found) == 1982
    assert sum(truth.category != "adversarial" for truth in found) == 1540
    assert sum("answer" not in asked for each in raw for asked in each["qa"]) == 444


def test_questions_are_known_by_conversation_and_place(scenarios: list[Scenario]) -> None:
    """Counted from 0, as the audit does it; a system is not told."""
    assert len(truths(scenarios)) == 1986
    assert scenarios[0].items[37].truth.source == "conv-26:q37"
    assert scenarios[0].items[37].text == "What did Melanie paint recently?"
    assert scenarios[0].items[37].truth.evidence == (
        Evidence(day=8, turn=5),
        Evidence(day=9, turn=16),
    )


def test_the_errata_that_change_nothing_are_where_the_card_says(scenarios: list[Scenario]) -> None:
    found = truths(scenarios)
    asked = [(s.id, item.text) for s in scenarios for item in s.items]

    assert [found[f"conv-26:q{n}"].distractors for n in (167, 178)] == [("Yes",), ("Yes",)]
    assert [found[f"conv-30:q{n}"].distractors for n in (79, 103)] == [("Not mentioned",)] * 2
    assert [source for source, truth in found.items() if not truth.evidence] == [
        *("conv-26:q30", "conv-26:q46"),
        *("conv-50:q39", "conv-50:q42"),
    ]
    assert len(asked) - len(set(asked)) == 12


def test_without_the_audit_the_gold_is_as_published(scenarios: list[Scenario]) -> None:
    raw = json.loads(shared_data("locomo/locomo10.json").read_bytes())
    found = truths(scenarios)

    misspelt = 0
    for each in raw:
        for number, asked in enumerate(each["qa"]):
            truth = found[f"{each['sample_id']}:q{number}"]
            if asked["category"] != 5:
                assert truth.reference == str(asked["answer"])
            cited = [f"D{one.day}:{(one.turn or 0) + 1}" for one in truth.evidence]
            misspelt += cited != list(dict.fromkeys(asked["evidence"]))
    assert misspelt == 9


def test_the_audit_changes_what_its_card_says_and_nothing_else(
    scenarios: list[Scenario], audited: list[Scenario]
) -> None:
    entries = json.loads(shared_data("locomo/locomo_audit_errors.json").read_bytes())
    before, after = truths(scenarios), truths(audited)
    answers = {name for name in before if before[name].reference != after[name].reference}
    citations = {name for name in before if before[name].evidence != after[name].evidence}

    assert Counter(entry["error_type"] for entry in entries) == {
        "HALLUCINATION": 33,
        "TEMPORAL_ERROR": 26,
        "ATTRIBUTION_ERROR": 24,
        "AMBIGUOUS": 13,
        "INCOMPLETE": 3,
        "WRONG_CITATION": 57,
    }
    assert len(answers) == 33 + 26 + 24 + 3
    assert len(citations - answers) == 57 - len(MENDED_ANYWAY)
    assert not citations & MENDED_ANYWAY
    assert len(citations & answers) == 32
    assert all(
        after[name]
        == before[name].replace(reference=after[name].reference, evidence=after[name].evidence)
        for name in before
    )
    assert [s.episodes for s in audited] == [s.episodes for s in scenarios]


def test_the_audit_is_laid_over_the_right_questions(audited: list[Scenario]) -> None:
    found = truths(audited)

    assert found["conv-30:q31"].reference == "five months"
    assert found["conv-30:q31"].evidence == (Evidence(day=1, turn=1), Evidence(day=15, turn=4))
    assert found["conv-26:q1"].reference == "2022"
    assert found["conv-26:q1"].evidence == (Evidence(day=1, turn=13),)
    assert found["conv-26:q43"].reference == "abstract art", "called ambiguous, so left alone"
    assert found["conv-47:q38"].reference.startswith("quit his IT"), "no remark for an answer"
    assert [source for source, truth in found.items() if not truth.evidence] == [
        *("conv-26:q30", "conv-26:q46"),
        "conv-47:q11",
        *("conv-50:q39", "conv-50:q42"),
    ]


def conversation(evidence: list[str], **changes: object) -> list[dict[str, object]]:
    asked = {"question": "Who?", "answer": 7, "category": 4, "evidence": evidence} | changes
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hello."}],
                "session_2_date_time": "2:00 pm on 9 May, 2023",
            },
            "qa": [{name: value for name, value in asked.items() if value != "left out"}],
        }
    ]


@pytest.mark.parametrize("answer", [None, "left out", "", 7.5, True, ["a"]])
@pytest.mark.parametrize("category", [4, 5])
def test_an_answer_that_is_not_there_never_becomes_the_word_undefined(
    tmp_path: Path, answer: object, category: int
) -> None:
    """Spelling whatever is there as text has given 444 questions the answer `undefined`."""
    key = "answer" if category == 4 else "adversarial_answer"
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(["D1:1"], category=category, **{key: answer})))

    with pytest.raises(Malformed, match=rf"conversation 1: .*question q0 has no {key} that"):
        load(path, {})


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_folder_stands_for_the_file_in_it(tmp_path: Path, is_packed: bool) -> None:
    plain = json.dumps(conversation(["D1:1"])).encode()
    name = "locomo10.json.gz" if is_packed else "locomo10.json"
    (tmp_path / name).write_bytes(gzip.compress(plain) if is_packed else plain)

    assert [scenario.id for scenario in find_dataset("locomo").load(tmp_path, {})] == ["conv-1"]


def entry(**changes: object) -> dict[str, object]:
    return {
        "question_id": "locomo_0_qa0",
        "question": "Who?",
        "golden_answer": "7",
        "category": 4,
        "error_type": "TEMPORAL_ERROR",
        "cited_evidence": ["D1:1"],
        "correct_evidence": [],
        "reasoning": "Nobody says.",
        "correct_answer": "8",
    } | changes


def laid_over(folder: Path, *entries: dict[str, object]) -> Truth:
    (folder / "small.json").write_text(json.dumps(conversation(["D1:1"])))
    (folder / "audit.json").write_text(json.dumps(entries))
    (scenario,) = load(folder / "small.json", {"audit": folder / "audit.json"})
    return scenario.items[0].truth


def test_a_correction_takes_answer_and_citation_from_the_audit(tmp_path: Path) -> None:
    truth = laid_over(tmp_path, entry())

    assert (truth.reference, truth.evidence) == ("8", ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param(
            {"question_id": "locomo_1_qa0"}, "no question locomo_1_qa0", id="conversation"
        ),
        pytest.param({"question_id": "locomo_0_qa1"}, "no question locomo_0_qa1", id="question"),
        pytest.param({"question_id": "conv-1:q0"}, "no question conv-1:q0", id="name"),
        pytest.param({"question": "Why?"}, r"is 'Who\?' and not 'Why\?'", id="text"),
        pytest.param({"golden_answer": "9"}, "has the answer '7'", id="answer"),
        pytest.param({"cited_evidence": []}, "does not cite", id="citation"),
        pytest.param({"correct_evidence": ["D1:9"]}, "'D1:9' names a turn", id="turn"),
        pytest.param({"error_type": "ODD"}, "ODD", id="kind"),
        pytest.param({"correct_answer": " "}, "correct_answer", id="blank"),
    ],
)
def test_an_audit_of_something_else_is_refused(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(Malformed, match=rf"audit\.json, entry 1: .*{said}"):
        laid_over(tmp_path, entry(**changes))


def test_an_audit_that_corrects_a_question_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"entry 2: .*locomo_0_qa0 has an entry already"):
        laid_over(tmp_path, entry(error_type="AMBIGUOUS"), entry())


def test_a_correction_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corrections named 'audits'; available: 'audit'"):
        load(tmp_path, {"audits": tmp_path})


def test_a_date_without_a_session_is_no_episode(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(["D1:1"])))

    (scenario,) = load(path, {})

    assert [episode.id for episode in scenario.episodes] == ["D1"]
    assert scenario.items[0].truth.reference == "7"


def test_evidence_that_leads_nowhere_is_refused_unless_it_is_a_known_slip(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(["D1:2"])))

    with pytest.raises(Malformed, match=r"conversation 1.*D1:2"):
        load(path, {})


def test_a_file_that_is_not_there_or_not_json_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "none.json", {})
    (tmp_path / "torn.json").write_text("[{")
    with pytest.raises(Malformed, match="cannot be read as JSON"):
        load(tmp_path / "torn.json", {})
