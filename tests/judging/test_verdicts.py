"""A reply is a complete verdict or a fault, never a guess."""

import pytest

from recall_bench.core.errors import UnreadableVerdict
from recall_bench.core.verdict import Verdict
from recall_bench.judging.verdicts import parse_marks, parse_strict

BARE = '{"correctness": 3, "completeness": 2, "hallucination": 1, "reasoning": "it says so"}'
FULL = Verdict.of(3, 2, 1, "it says so")


UNREADABLE = [
    pytest.param(BARE.replace("3", '"3"'), id="a number in quotes"),
    pytest.param(BARE.replace("3", "4"), id="off the scale"),
    pytest.param(BARE.replace("3", "-1"), id="below the scale"),
    pytest.param(BARE.replace("3", "3.5"), id="off the scale once rounded"),
    pytest.param(BARE.replace("3", "true"), id="a truth value"),
    pytest.param(BARE.replace("3", "NaN"), id="not a number"),
    pytest.param(BARE.replace("3", "1e999"), id="infinity"),
    pytest.param(BARE.replace("3", "null"), id="null"),
    pytest.param(BARE.replace("}", ', "also": NaN}'), id="not JSON elsewhere"),
    pytest.param('{"correctness": 3, "completeness": 2}', id="a mark missing"),
    pytest.param("Full marks from me!", id="no object"),
    pytest.param("3, 2, 1", id="numbers alone"),
    pytest.param(f"{{oops}} {BARE}", id="the first brace opens no JSON"),
    pytest.param(BARE[:-1], id="cut off"),
    pytest.param("[3, 2, 1]", id="a list"),
    pytest.param("[" * 100_000, id="nested too deeply"),
]


@pytest.mark.parametrize("key", ["hallucination", "grounded"])
def test_the_strict_reader_takes_one_bare_object(key: str) -> None:
    assert parse_strict(BARE.replace("hallucination", key)) == FULL


@pytest.mark.parametrize(
    "reply",
    [
        *UNREADABLE,
        pytest.param("", id="silence"),
        pytest.param(" \n", id="blanks"),
        pytest.param(f"```json\n{BARE}\n```", id="fenced"),
        pytest.param(f"Sure! {BARE}", id="prose before"),
        pytest.param(f"{BARE} Done.", id="prose after"),
        pytest.param(f"{BARE}{BARE}", id="two verdicts"),
        pytest.param(BARE.replace("3", "2.5"), id="a half"),
        pytest.param(BARE.replace("}", ', "grounded": 1}'), id="the third mark twice"),
        pytest.param(BARE.replace("}", ', "correctness": 3}'), id="a key twice"),
        pytest.param(BARE.replace("}", ', "bonus": 1}'), id="a mark that does not exist"),
        pytest.param(BARE.replace('"it says so"', "7"), id="a reason that is no text"),
    ],
)
def test_the_strict_reader_forgives_nothing(reply: str) -> None:
    with pytest.raises(UnreadableVerdict):
        parse_strict(reply)


def test_the_fault_shows_what_came_back() -> None:
    with pytest.raises(UnreadableVerdict, match="Full marks from me!"):
        parse_strict("Full marks from me!")


def test_a_long_reply_is_shown_in_part() -> None:
    with pytest.raises(UnreadableVerdict) as caught:
        parse_strict("blah " * 1000)

    assert len(str(caught.value)) < 300


def test_a_mapping_may_leave_out_the_reason() -> None:
    assert parse_marks({"correctness": 1, "completeness": 0, "grounded": 1}) == Verdict.of(1, 0, 1)


def test_the_strict_reader_can_learn_which_keys_were_asked_for() -> None:
    asked = ("reason", "correctness", "completeness", "grounded")
    ours = BARE.replace("hallucination", "grounded").replace("reasoning", "reason")

    assert parse_strict(ours, asked) == FULL
    with pytest.raises(UnreadableVerdict, match="exactly the keys reason, correctness"):
        parse_strict(BARE, asked)
