"""A day that tells the answer is delivered, cut off, lost, or simply missing."""

import pytest

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Evidence, Expects, Truth
from recall_bench.engine.runs.trial_log import (
    NO_PASSAGES,
    UNKNOWN_TRAIL,
    EvidenceTrail,
    FoundPassages,
    trace_evidence,
)

TRUTH = Truth(reference="x", category="synthesis", evidence=(Evidence(day=3), Evidence(day=5)))


def found(*days: int) -> FoundPassages:
    return FoundPassages.from_passages([Passage(text="…", day=day) for day in days])


@pytest.mark.parametrize(
    ("days", "cut", "lost", "trail"),
    [
        pytest.param(
            (3, 5, 9), (), None, EvidenceTrail(missing=0, cut=0, lost=0), id="all delivered"
        ),
        pytest.param((3,), (), None, EvidenceTrail(missing=1, cut=0), id="one is not; held or not"),
        pytest.param(
            (3,), (), (), EvidenceTrail(missing=1, cut=0, lost=0), id="one is not, and is held"
        ),
        pytest.param((3,), (5,), (), EvidenceTrail(missing=1, cut=1, lost=0), id="one was cut off"),
        pytest.param(
            (3,), (3,), (), EvidenceTrail(missing=1, cut=0, lost=0), id="more of a delivered day"
        ),
        pytest.param((), (3,), (5,), EvidenceTrail(missing=2, cut=1, lost=1), id="one of each"),
        pytest.param(
            (3, 5), (), (3,), EvidenceTrail(missing=0, cut=0, lost=0), id="what came is not lost"
        ),
    ],
)
def test_what_became_of_each_day(
    days: tuple[int, ...], cut: tuple[int, ...], lost: tuple[int, ...] | None, trail: EvidenceTrail
) -> None:
    assert trace_evidence(TRUTH, 9, found=found(*days), cut=cut, lost=lost) == trail


def test_of_a_system_that_shows_nothing_only_losses_are_known() -> None:
    assert trace_evidence(TRUTH, 9, found=None, lost=(5, 7)) == EvidenceTrail(lost=1)
    assert trace_evidence(TRUTH, 9, found=None) == UNKNOWN_TRAIL


def test_what_was_not_fed_is_not_held_whatever_the_memory_says() -> None:
    assert trace_evidence(TRUTH, 9, found=found(3), unfed=(5,)).lost == 1
    assert trace_evidence(TRUTH, 9, found=found(3), lost=(), unfed=(5,)).lost == 1
    assert trace_evidence(TRUTH, 9, found=found(3), unfed=(7,)).lost is None


def test_a_day_is_not_lost_if_another_utterance_of_it_came() -> None:
    truth = TRUTH.replace(evidence=(Evidence(day=3, turn=7),))
    other = FoundPassages.from_passages([Passage(text="…", day=3, turn=8)])

    assert trace_evidence(truth, 9, found=other, lost=(3,)) == EvidenceTrail(
        missing=1, cut=0, lost=0, is_exact=True
    )


SENTENCE = TRUTH.replace(evidence=(Evidence(day=3, start=40, end=60),))


@pytest.mark.parametrize(
    ("spans", "trail"),
    [
        pytest.param(
            [(0, 30), (35, 60)],
            EvidenceTrail(missing=0, cut=0, lost=0, is_exact=True),
            id="it is within a passage",
        ),
        pytest.param(
            [(0, 30), (41, 60)],
            EvidenceTrail(missing=1, cut=0, lost=0, is_exact=True),
            id="its first letter is not",
        ),
        pytest.param(
            [(0, 30), (90, 99)],
            EvidenceTrail(missing=1, cut=0, lost=0, is_exact=True),
            id="other sentences of the day",
        ),
        pytest.param(
            [(0, 30), None],
            EvidenceTrail(missing=0, cut=0, lost=0),
            id="a passage in other words may hold it",
        ),
        pytest.param([], EvidenceTrail(missing=0, cut=0, lost=0), id="no range is on record"),
    ],
)
def test_another_sentence_of_the_day_is_not_the_evidence(
    spans: list[tuple[int, int] | None], trail: EvidenceTrail
) -> None:
    came = FoundPassages.from_passages([Passage(text="…", day=3), Passage(text="…", day=3)], spans)

    assert trace_evidence(SENTENCE, 9, found=came, lost=()) == trail


def test_a_range_of_another_day_is_not_the_evidence() -> None:
    came = FoundPassages.from_passages([Passage(text="…", day=4)], [(35, 60)])

    assert trace_evidence(SENTENCE, 9, found=came, lost=()).missing == 1


def test_evidence_without_a_sentence_goes_by_the_day() -> None:
    came = FoundPassages.from_passages([Passage(text="…", day=day) for day in (3, 5)], [(0, 9)] * 2)

    assert trace_evidence(TRUTH, 9, found=came) == EvidenceTrail(missing=0, cut=0, lost=0)


def test_nothing_is_needed_to_decline_and_nothing_known_without_evidence() -> None:
    for truth in (TRUTH.replace(expects=Expects.ABSTAIN), TRUTH.replace(evidence=())):
        assert trace_evidence(truth, 9, found=NO_PASSAGES, lost=(3,)) == UNKNOWN_TRAIL


def test_a_day_that_is_still_to_come_is_not_missing() -> None:
    assert trace_evidence(TRUTH, 4, found=found(3)) == EvidenceTrail(missing=0, cut=0, lost=0)
    assert trace_evidence(TRUTH, 2, found=NO_PASSAGES) == UNKNOWN_TRAIL


@pytest.mark.parametrize(
    ("passage", "missing"),
    [
        pytest.param(Passage(text="…", day=3, turn=7), 0, id="the utterance"),
        pytest.param(Passage(text="…", day=3, turn=8), 1, id="another one of that day"),
        pytest.param(Passage(text="…", day=3, turns=(6, 7)), 0, id="among others"),
        pytest.param(Passage(text="…", day=3, turns=(8, 9)), 1, id="not among others"),
        pytest.param(Passage(text="…", day=3), 0, id="something of that day, nobody knows what"),
        pytest.param(Passage(text="…"), 1, id="something of some day"),
    ],
)
def test_where_the_utterance_is_known_another_one_does_not_do(
    passage: Passage, missing: int
) -> None:
    truth = TRUTH.replace(evidence=(Evidence(day=3, turn=7),))

    assert trace_evidence(truth, 9, found=FoundPassages.from_passages([passage])).missing == missing
