"""What the encoder reads: the truth, the nearest of the history, and the answer claim by claim."""

import pytest

from recall_bench.core.scenario import Expects
from recall_bench.judging.encoder.history_sentences import HistorySentences
from recall_bench.judging.encoder.judge_input import (
    TruthText,
    compose_input,
    find_nearest,
    split_claims,
)
from recall_bench.text.encoder.encoder import Marker, Piece
from tests.judging.harbour import harbour

TRUTH = TruthText(
    "What did berth 7 cost a week?", ("$465",), stale=("$420",), evidence=("Berth 7 is $465 now.",)
)


def show(pieces: tuple[Piece, ...]) -> str:
    return " ".join(f"<{p.name}>" if isinstance(p, Marker) else p for p in pieces)


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        pytest.param("It is $465.", ["It is $465."], id="one sentence"),
        pytest.param("It is $465. Ask Nell.", ["It is $465.", "Ask Nell."], id="two sentences"),
        pytest.param(
            "The inspection was moved to the 19th because the crane had to be oiled first.",
            ["The inspection was moved to the 19th", "because the crane had to be oiled first."],
            id="a reason is a claim of its own",
        ),
        pytest.param("- $465\n- weekly", ["$465", "weekly"], id="a list"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_an_answer_is_split_into_claims(answer: str, claims: list[str]) -> None:
    assert split_claims(answer) == claims


@pytest.mark.parametrize(
    ("answer", "marker"),
    [
        ("It was $465.", Marker.IN_REFERENCE),
        ("It was $420.", Marker.IN_STALE),
        ("It was $7,300.", Marker.NOWHERE),
        ("Ask about berth 7.", Marker.SHOWN),
    ],
)
def test_a_value_is_marked_by_where_it_stands(answer: str, marker: Marker) -> None:
    assert marker in compose_input(TRUTH, answer, []).answer


def test_a_value_of_the_reference_that_is_not_said_is_marked() -> None:
    assert Marker.UNSAID in compose_input(TRUTH, "It was cheap.", []).truth
    assert Marker.UNSAID not in compose_input(TRUTH, "It was $465.", []).truth


def test_the_truth_comes_whole_and_in_order() -> None:
    composed = compose_input(TRUTH._replace(expects=Expects.WITHHOLD), "No.", ["Nell pays."])

    assert show(composed.truth) == (
        "<WITHHOLD> What did berth 7 cost a week? <REFERENCE> <UNSAID> $465 <STALE> $420 "
        "<EVIDENCE> Berth 7 is $465 now. <NEAREST> Nell pays."
    )


def test_only_what_was_fed_is_near() -> None:
    history = HistorySentences(harbour().episodes)
    last = max(sentence.day for sentence in history.sentences)
    (place,) = history.find_nearest("crane inspection", last, 1)
    first = history.sentences[place].day

    assert "rane" in history.sentences[place].text
    assert not any(
        history.sentences[near].day >= first
        for near in history.find_nearest("crane inspection", first - 1, 5)
    )


def test_evidence_is_not_shown_twice() -> None:
    history = HistorySentences(harbour().episodes)
    text = history.sentences[0].text

    assert text not in find_nearest([text], history, 99, [text])
