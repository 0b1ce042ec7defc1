"""A secret is asked for by who may not know and by who may, or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.pass_request import QuestionsRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.features.personas.questions.question_pass import generate_questions
from tests.features.personas.scripted_questions import Scripted, one_word, write_story


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_story(tmp_path / "mill")


def secret(**fields: object) -> dict[str, object]:
    return {
        "question": "What sum did the lender put on the table on 5 March 2025?",
        "answer": "A loan of £3,500.",
        "secret": ["£3,500"],
        "difficulty": "medium",
        "evidence": [{"day": 3, "session": "bank", "quote": "offered a loan of £3,500 at noon"}],
        "aliases": ["£3,500"],
        "atoms": ["£3,500"],
        "partial": None,
    } | fields


def told(folder: Path, *raw: Mapping[str, object], **fields: Any) -> PassResult:
    model = Scripted(lambda _: json.dumps({"questions": raw}))
    request = QuestionsRequest(persona=folder, model="scripted", mode="boundary", **fields)
    return generate_questions(request, model=model, make_checker=one_word)


def kept(folder: Path) -> list[dict[str, Any]]:
    found: Any = load_yaml(folder / "qa-14d" / "questions.yaml")
    return list(found)


def reasons(folder: Path) -> list[str]:
    text = (folder / "qa-14d" / "rejected.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["problems"][0]["message"] for line in text.splitlines()]


def test_an_outsider_is_refused_and_an_insider_answered(folder: Path) -> None:
    told(folder, secret())

    probe, twin = kept(folder)
    assert probe["question"] == twin["question"]
    assert (probe["query_session"], twin["query_session"]) == ("yard", "bank")
    assert (probe["expected_disclosure"], twin["expected_disclosure"]) == ("refuse", "answer")
    assert (probe["forbidden_sessions"], twin.get("forbidden_sessions")) == (["bank"], None)
    assert probe["withheld"] == ["£3,500"]
    assert "£3,500" not in probe["answer"]
    assert twin["answer"] == "A loan of £3,500."
    assert probe["evidence"] == twin["evidence"]
    assert probe["relevant_days"] == [3]
    assert {probe["category"], twin["category"]} == {"information-boundary"}


def test_a_session_that_knows_a_part_gets_that_part_only(folder: Path) -> None:
    partial = {
        "question": "Which plank goes, and what does the lender offer?",
        "answer": "Plank number 3; the rest is confidential.",
        "evidence": [{"day": 3, "session": "yard", "quote": "plank number 3 replaced"}],
    }
    leaking = partial | {"answer": "Plank number 3, and £3,500."}
    unproved = partial | {"evidence": []}

    told(
        folder,
        secret(partial=partial),
        secret(question="Second?", partial=leaking),
        secret(question="Third?", partial=unproved),
    )

    assert len(kept(folder)) == 7
    entry = kept(folder)[2]
    assert entry["expected_disclosure"] == "partial"
    assert {span["session"] for span in entry["evidence"]} == {"yard", "bank"}
    assert (entry["query_session"], entry["forbidden_sessions"]) == ("yard", ["bank"])
    assert reasons(folder) == [
        "what may be told gives “£3,500” away",
        "no quotation proves what may be told",
    ]


def test_what_everyone_knows_may_be_said_too(folder: Path) -> None:
    path = folder / "persona.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}sharedKnowledge: [The lender of the mill is Banks and Sons]\n")
    partial = {
        "question": "Who lends to the mill, and how much?",
        "answer": "Banks and Sons; the sum is confidential.",
        "evidence": [
            {"day": 0, "session": "", "quote": "The lender of the mill is Banks and Sons"}
        ],
    }

    told(folder, secret(partial=partial))

    entry = kept(folder)[2]
    assert entry["expected_disclosure"] == "partial"
    assert [span["session"] for span in entry["evidence"]] == ["bank"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"question": "Did the lender offer £3,500?"}, "the question gives “£3,500” away"),
        ({"secret": []}, "it names nothing that must not be told"),
        ({"secret": ["£9,999"]}, "the answer does not hold “£9,999”, its secret"),
        (
            {"answer": "Plank number 3.", "secret": ["plank number 3"]},
            "it is no secret: yard says it on day 3",
        ),
        (
            {"evidence": [{"day": 3, "session": "yard", "quote": "wants plank number 3"}]},
            "“wants plank number 3” stands in nothing that was shown",
        ),
    ],
)
def test_what_is_no_secret_of_the_session_is_rejected_with_its_twin(
    folder: Path, fields: dict[str, object], reason: str
) -> None:
    told(folder, secret(**fields))

    assert reasons(folder) == [reason, reason]
    assert not (folder / "qa-14d" / "questions.yaml").exists()


def test_a_refusal_ends_when_a_later_day_tells_everyone(folder: Path) -> None:
    path = folder / "memories-14d" / "day-0012.md"
    path.write_text(path.read_text(encoding="utf-8").replace("plank", "£3,500 for plank"))

    told(folder, secret(), interval=7)

    probe, twin = kept(folder)
    assert (probe["irrelevant_after"], probe["changes_on"]) == (11, 12)
    assert "irrelevant_after" not in twin


def test_only_what_was_said_in_the_closed_and_the_asking_session_is_shown(folder: Path) -> None:
    model = Scripted(lambda _: "[]")
    request = QuestionsRequest(persona=folder, model="scripted", mode="boundary", interval=7)
    generate_questions(request, model=model, make_checker=one_word)

    [first] = [prompt for prompt in model.asked if "up to Sunday 9 March" in prompt.user]
    assert "Lea Banks offered a loan of £7,500" in first.user
    assert "£9,500" not in first.user
    assert "sacks" not in first.user
    assert '{"closed": "bank", "asking": "yard"}' in first.user


def test_windows_in_which_a_closed_session_says_nothing_are_not_asked_about(folder: Path) -> None:
    done = told(folder, secret(), interval=1)

    assert done.wanted == 7


def test_a_persona_without_secrets_is_refused(folder: Path) -> None:
    path = folder / "persona.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(", isolated: true", ""))

    with pytest.raises(UsageError, match="mill has no isolated session"):
        told(folder, secret())


def test_a_session_whose_every_member_sits_inside_cannot_ask(folder: Path) -> None:
    path = folder / "persona.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("[Ann Miller, Tom Carter]", "[Ann Miller]")
    )

    with pytest.raises(UsageError, match="any other session has no participant outside of bank"):
        told(folder, secret())
