"""Every protocol has a name, a version and a digest, and no two share them."""

import msgspec
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.datasets.protocols import longmemeval_protocol, string_match
from recall_bench.judging.protocols.protocol import (
    ComputedProtocol,
    ModelProtocol,
    ProtocolCard,
    ProtocolScore,
    Submission,
)
from recall_bench.judging.protocols.registry import find_protocol, list_cards
from tests.loops import loop_over_rows

RELEASED = {
    ("beam/nuggets", "1"): "84e61821a89588c2",
    ("choice/letter", "1"): "2b8c125c68227639",
    ("halumem/official-rules", "1"): "f02114a65cb82f3f",
    ("locomo/official", "1"): "5da01ee3b1de2c83",
    ("longmemeval-v2/official-rules", "2"): "8eb18eae0b5c7899",
    ("longmemeval/official-rules", "1"): "bca2879ae39e96b0",
    ("match/substring", "2"): "f86f96410d55794d",
    ("memoryagentbench/official", "2"): "bb0614af56cf7a06",
    ("personamem/official", "1"): "dc517d13497efa3a",
    ("squad/exact", "1"): "9ecc662d44d89386",
    ("squad/f1", "1"): "0ade002f24849553",
}


def test_rules_do_not_change_under_a_version() -> None:
    """A failure here asks for a new version of the protocol, and a line in the changelog."""
    assert {(card.name, card.version): card.digest[:16] for card in list_cards()} == RELEASED


def test_a_protocol_is_found_by_its_name() -> None:
    assert find_protocol("locomo/official") is string_match.LOCOMO_OFFICIAL
    assert find_protocol("longmemeval/official-rules") is longmemeval_protocol.LONGMEMEVAL_RULES


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no protocol named 'locomo'; .*locomo/official"):
        find_protocol("locomo")


@loop_over_rows("card", list_cards(), ids=lambda card: card.name)
def test_a_card_says_whether_a_model_is_asked(card: ProtocolCard) -> None:
    assert isinstance(
        find_protocol(card.name), ModelProtocol if card.asks_model else ComputedProtocol
    )
    assert find_protocol(card.name).card is card


@loop_over_rows("card", [card for card in list_cards() if not card.asks_model])
def test_a_score_survives_being_written_down(card: ProtocolCard) -> None:
    protocol = find_protocol(card.name)
    assert isinstance(protocol, ComputedProtocol)
    golds = ("B",) if card.name in ("choice/letter", "personamem/official") else ("Plum",)
    options = {"A": "Fig", "B": "Plum"}

    score = protocol.grade(
        Submission(answer="B", golds=golds, category="single-hop", options=options)
    )

    assert msgspec.json.decode(msgspec.json.encode(score), type=ProtocolScore) == score
    assert score.protocol == card


@loop_over_rows("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_score_off_the_scale_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        ProtocolScore(protocol=string_match.LOCOMO_CARD, value=value, reason="")


def test_a_changed_rule_changes_the_digest() -> None:
    cards = [ProtocolCard.declare("x", "1", *rules) for rules in (("a", "b"), ("a", "c"), ("ab",))]

    assert len({card.digest for card in cards}) == 3
