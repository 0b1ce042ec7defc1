"""What the days around the evidence say about an answer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import permutations

import pytest

from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth, compute_story_date
from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.history_index import (
    EvidenceIndex,
    EvidenceWindow,
    Tokens,
    collect_tokens,
    list_cited_days,
)
from recall_bench.judging.offline.phrase import level_text

EPOCH = date(2026, 1, 1)
DAYS = {
    3: "The pump was ordered from Brackwater.",
    4: "The pump cost $420. Nell signed for it.",
    5: "The slipway stayed shut. Nell signed for it.",
    6: "Rain all day.",
}


@pytest.fixture(scope="module")
def index() -> EvidenceIndex:
    episodes = tuple(
        Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)
        for day, text in DAYS.items()
    )
    return EvidenceIndex(
        Scenario(id="yard", epoch=EPOCH, episodes=episodes, items=()), ContentReader()
    )


def item(*days: int) -> Item:
    truth = Truth(
        reference="$420",
        category="factual-recall",
        evidence=tuple(Evidence(day=day) for day in days),
    )
    return Item(id="q1", text="What did the pump cost?", truth=truth, known_from=1)


def said(text: str) -> Tokens:
    return collect_tokens(ContentReader().read(text))


def window_of(index: EvidenceIndex, days: int, *evidence: int) -> EvidenceWindow:
    window = find_window(index, days, *evidence)
    assert window is not None
    return window


def find_window(index: EvidenceIndex, days: int, *evidence: int) -> EvidenceWindow | None:
    return index.get_window(index.list_days(list_cited_days(item(*evidence)), days))


def test_the_neighbours_of_an_evidence_day_belong_to_its_window(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    assert window.is_quote(level_text("ordered from Brackwater"))
    assert window.is_quote(level_text("Slipway stayed shut!"))
    assert not window.is_quote(level_text("rain all day"))


def test_no_day_after_the_checkpoint_is_looked_at(index: EvidenceIndex) -> None:
    assert window_of(index, 5, 4).is_quote(level_text("slipway"))
    assert not window_of(index, 4, 4).is_quote(level_text("slipway"))


def test_without_text_there_is_no_window(index: EvidenceIndex) -> None:
    assert find_window(index, 30) is None
    assert find_window(index, 50, 40) is None
    assert find_window(index, 2, 4) is None


def test_a_claim_is_supported_by_the_sentence_nearest_to_it(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    full = window.measure_support(said("the pump cost $420"))
    assert full == pytest.approx(1.0)
    assert 0 < window.measure_support(said("the pump cost $990")) < full
    assert window.measure_support(said("elephants waltz")) == 0
    assert window.measure_support(frozenset()) == 0


def test_words_of_two_sentences_do_not_support_one_claim_in_full(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    assert window.measure_support(said("the slipway cost $420")) < 1


def test_rare_words_tell_more_than_common_ones(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    pump, slipway, elephant = (window.sum_weights(said(w)) for w in ("pump", "slipway", "elephant"))
    assert 0 < pump < slipway < elephant


def test_a_repeated_sentence_counts_once(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    assert window.sentences.count(said("Nell signed for it.")) == 1


def test_the_nearest_sentences_are_those_that_share_most(index: EvidenceIndex) -> None:
    window = window_of(index, 30, 4)
    assert window.find_nearest(said("what the pump cost"), 1) == said("The pump cost $420.")
    assert window.find_nearest(said("what the pump cost"), 2) > said("The pump cost $420.")


def test_dates_are_those_of_the_windows_days(index: EvidenceIndex) -> None:
    assert window_of(index, 30, 4).dates == {"01-03", "01-04", "01-05"}


def test_no_sum_depends_on_the_order_of_a_set(index: EvidenceIndex) -> None:
    """The order of a set depends on the hash seed, and a float sum on its order."""
    window = window_of(index, 30, 4)
    places = {name: list(range(count)) for count, name in enumerate("abcd", start=1)}
    uneven = replace(window, weights=(0.9, 0.1, 0.2, 0.3, 0.7), postings=places)

    class Ordered(frozenset[str]):
        def __iter__(self) -> Iterator[str]:
            return iter(order)

    found = set()
    for order in permutations(places):
        tokens = Ordered(order)
        found.add((uneven.sum_weights(tokens), uneven.measure_support(tokens)))

    assert len(found) == 1
