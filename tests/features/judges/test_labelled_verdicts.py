"""Labelled verdicts are read strictly, and the same answer counts once."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Evidence, Expects
from recall_bench.features.judges.labelled_verdicts import load_labels, merge_repeats
from tests.conftest import shared_data
from tests.features.judges.orchard import RECORD, labelled, written


def test_a_line_becomes_a_record_and_other_keys_are_not_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        RECORD | {"question_id": "q1", "checkpoint_days": 6, "system": "x", "latency_ms": 7},
        "",
        RECORD | {"answer": "The pear."},
    )

    first, second = load_labels(path)

    assert first.labels == {"correctness": 3, "completeness": 2, "grounded": 1}
    assert (first.cluster, first.checkpoint_days, first.relevant_days) == ("q1", 6, (2,))
    assert (second.cluster, second.checkpoint_days) == ("Which tree was felled?", None)


def test_the_third_mark_goes_by_either_name(tmp_path: Path) -> None:
    ours = {key: value for key, value in RECORD.items() if key != "hallucination"}
    path = written(
        tmp_path, ours | {"grounded": 0}, RECORD | {"hallucination": 0}, RECORD | {"grounded": 1}
    )

    assert [record.labels["grounded"] for record in load_labels(path)] == [0, 0, 1]


def test_a_byte_order_mark_and_missing_days_do_no_harm(tmp_path: Path) -> None:
    bare = {key: value for key, value in RECORD.items() if key != "relevant_days"}
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps(bare), encoding="utf-8-sig")

    (found,) = load_labels(path)

    assert found.relevant_days == ()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("{not json", "malformed", id="not JSON"),
        pytest.param("[1, 2]", "Expected `object`", id="a list"),
        pytest.param("[" * 100_000, "Expected `object`", id="a bottomless list"),
        pytest.param(RECORD | {"correctness": 4}, "correctness", id="off the scale"),
        pytest.param(RECORD | {"correctness": 2.0}, "correctness", id="a fraction"),
        pytest.param(RECORD | {"completeness": True}, "completeness", id="a yes"),
        pytest.param(RECORD | {"hallucination": "1"}, "hallucination", id="a word"),
        pytest.param(RECORD | {"grounded": 0}, "two different values", id="two names, two marks"),
        pytest.param(RECORD | {"reference": None}, "reference", id="null"),
        pytest.param(RECORD | {"question": "  "}, "question", id="blank"),
        pytest.param(RECORD | {"answer": 7}, "answer", id="a number for text"),
        pytest.param(RECORD | {"relevant_days": 3}, "relevant_days", id="one day"),
        pytest.param(RECORD | {"relevant_days": [0]}, "relevant_days", id="day nought"),
        pytest.param(RECORD | {"relevant_days": [10**30]}, "relevant_days", id="day of no story"),
        pytest.param(RECORD | {"checkpoint_days": 99_999_999}, "checkpoint_days", id="no date"),
        pytest.param(RECORD | {"answer": "\ud83d."}, "malformed", id="half an answer"),
        pytest.param(RECORD | {"category": "\ude00"}, "surrogate", id="half a name"),
        pytest.param(RECORD | {"question_id": "\ude00"}, "surrogate", id="half an id"),
        pytest.param(RECORD | {"checkpoint_days": "6d"}, "checkpoint_days", id="6d"),
        pytest.param(RECORD | {"question_id": 5}, "question_id", id="a numbered question"),
    ],
)
def test_a_line_that_is_none_is_named_with_what_is_wrong(
    tmp_path: Path, line: dict[str, object] | str, problem: str
) -> None:
    path = written(tmp_path, RECORD, line)

    with pytest.raises(Malformed) as raised:
        load_labels(path)

    assert f"{path}, line 2: " in str(raised.value)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_text_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_bytes(b'{"question": "\xff"}')

    with pytest.raises(Malformed, match="line 1: it is not UTF-8"):
        load_labels(path)


def test_an_empty_file_and_a_missing_one_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")

    with pytest.raises(Malformed, match="holds no labelled verdict"):
        load_labels(tmp_path / "empty.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        load_labels(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("labels", "majority"),
    [
        pytest.param([3, 3, 0], 3, id="most"),
        pytest.param([3, 0], 0, id="of two that tie the lower"),
        pytest.param([0, 0, 3, 3, 2], 0, id="only those that tie count"),
        pytest.param([0, 2, 3], 2, id="of three that tie the middle"),
        pytest.param([3, 3, 2, 2, 1, 1, 0, 0], 1, id="of four the lower middle"),
    ],
)
def test_one_answer_labelled_often_has_the_label_most_agree_on(
    labels: list[int], majority: int
) -> None:
    (found,) = merge_repeats([labelled("The quince.", (label, 2, 1)) for label in labels])

    assert found.labels == {"correctness": majority, "completeness": 2, "grounded": 1}


def test_merging_keeps_answers_apart_and_takes_the_earliest_checkpoint() -> None:
    records = [
        labelled("The quince.", checkpoint=30),
        labelled("The pear."),
        labelled("The quince.", checkpoint=12),
        labelled("The quince.", question="And which stood by the gate?"),
    ]

    found = merge_repeats(records)

    assert [(record.answer, record.checkpoint_days) for record in found] == [
        ("The quince.", 12),
        ("The pear.", None),
        ("The quince.", None),
    ]


def test_a_judge_gets_what_a_dataset_would_have_given_it() -> None:
    denied = labelled("None.", category="negative-recall").replace(reference="No tree was felled.")

    assert denied.item.truth.expects is Expects.ABSTAIN
    assert labelled("None.").item.truth.expects is Expects.ANSWER
    assert denied.item.truth.evidence == (Evidence(day=2),)


def test_the_published_verdicts_are_1659_different_answers_to_160_questions() -> None:
    records = load_labels(shared_data("judged/dev.jsonl"))

    found = merge_repeats(records)

    assert len(records) == 2402
    assert len(found) == 1659
    assert len({record.cluster for record in found}) == 160
