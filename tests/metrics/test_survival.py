"""Facts asked again and again: how long they are known, and how sure that is."""

from math import sqrt

import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.core.errors import UsageError
from recall_bench.metrics.survival import (
    AskSeries,
    FactLifetime,
    Survival,
    build_cohort,
    estimate_survival,
)
from tests.loops import loop_over_rows
from tests.metrics.simulated import decaying
from tests.thoroughness import choose_number


def lives(*asks: str, gap: float = 10, failures: int = 1) -> list[tuple[float, float | None]]:
    """`++-` passed twice and failed, ten days apart."""
    series = [
        AskSeries(
            persona="p",
            question=f"q{number}",
            asks=[(5 + gap * place, mark == "+") for place, mark in enumerate(line) if mark != " "],
        )
        for number, line in enumerate(asks)
    ]
    found = build_cohort(series, failures=failures).lifetimes
    return [(each.known_for, each.lost_by) for each in found]


def lived(*known: tuple[float, float | None]) -> Survival:
    """Each fact a question of its own."""
    found = estimate_survival(
        [
            FactLifetime(persona="p", question=str(number), known_for=low, lost_by=high)
            for number, (low, high) in enumerate(known)
        ],
        seed=1,
        resamples=400,
    )
    assert found is not None
    return found


@loop_over_rows(
    ("asks", "failures", "expected"),
    [
        ("++-", 1, (10, 20)),
        ("+++", 1, (20, None)),
        ("+-", 1, (0, 10)),
        ("+-++", 1, (0, 10)),
        ("-++-", 1, (10, 20)),
        ("+  -", 1, (0, 30)),
        ("+", 1, (0, None)),
        ("+-++--", 2, (30, 40)),
        ("+-++-", 2, (30, None)),
        ("++++", 2, (20, None)),
        ("++-+", 2, (20, None)),
        ("---+", 2, (0, None)),
    ],
)
def test_a_lifetime_begins_with_the_first_pass_and_ends_with_a_row_of_failures(
    asks: str, failures: int, expected: tuple[float, float | None]
) -> None:
    assert lives(asks, failures=failures) == [expected]


def test_what_was_never_known_is_counted_and_not_lost() -> None:
    series = [AskSeries(persona="p", question="q", asks=[(1, False), (2, False)])]

    found = build_cohort(series)

    assert (found.lifetimes, found.never_known) == ((), 1)


def test_the_order_of_the_asks_changes_nothing() -> None:
    asks = [(20.0, False), (0.0, True), (10.0, True)]

    found = build_cohort([AskSeries(persona="p", question="q", asks=asks)]).lifetimes[0]

    assert (found.known_for, found.lost_by) == (10, 20)


def test_two_asks_at_one_age_are_refused() -> None:
    with pytest.raises(ValueError, match="a series of its own"):
        build_cohort([AskSeries(persona="p", question="q", asks=[(1, True), (1, False)])])


def test_no_failure_at_all_is_no_rule() -> None:
    with pytest.raises(UsageError, match="1 or more"):
        build_cohort([], failures=0)


def test_nothing_followed_is_no_survival() -> None:
    assert estimate_survival([], seed=1) is None
    assert (
        estimate_survival(
            [FactLifetime(persona="p", question="q", known_for=0, lost_by=None)], seed=1
        )
        is None
    )


def test_the_curve_falls_by_the_share_lost_of_those_at_risk() -> None:
    """Four facts: one lost by 10; one followed to 10; of the other two one lost by 20."""
    found = lived((0, 10), (10, None), (10, 20), (20, None))

    assert [(each.age, each.share, each.at_risk) for each in found.curve] == [
        (10, 0.75, 4),
        (20, 0.375, 2),
    ]
    assert (found.facts, found.lost) == (4, 2)


def test_a_fact_is_at_risk_up_to_the_age_at_which_it_was_last_known() -> None:
    found = lived((10, None), (20, None), (30, None), (0, 10))

    assert [(each.age, each.at_risk) for each in found.curve] == [(10, 4), (20, 2), (30, 1)]


def test_the_half_life_is_between_two_asks_at_a_steady_rate() -> None:
    found = lived((0, 10), (10, None), (10, 20), (20, None)).half_life

    assert found.value == pytest.approx(10 + 10 * np.log(0.75 / 0.5) / np.log(0.75 / 0.375))
    assert found.followed == 20


def test_where_all_is_lost_at_once_half_is_lost_half_way() -> None:
    assert lived((0, 10), (0, 10)).half_life.value == 5.0


def test_a_half_life_that_was_not_reached_is_unknown() -> None:
    found = lived((0, 10), (20, None), (20, None), (20, None))

    assert found.half_life.value is None
    assert found.half_life.high is None
    assert found.curve[-1].share == 0.75


def test_where_nothing_is_lost_the_curve_stays() -> None:
    found = lived((20, None), (10, None))

    assert [each.share for each in found.curve] == [1.0, 1.0]
    assert found.half_life.value is None


@pytest.mark.parametrize("repeats", [1, 3])
def test_where_nothing_is_lost_others_could_have_been_as_many_as_go_unnoticed(repeats: int) -> None:
    """30 questions followed to day 10 and 11 to day 20: the exact interval of none of them."""
    long = [
        FactLifetime(persona="p", question=f"a{n}", known_for=20, lost_by=None) for n in range(11)
    ]
    short = [
        FactLifetime(persona="p", question=f"b{n}", known_for=10, lost_by=None) for n in range(19)
    ]

    found = estimate_survival([*long, *short] * repeats, seed=1, resamples=50)

    assert found is not None
    assert [each.low for each in found.curve] == pytest.approx(
        [0.025 ** (1 / 30), 0.025 ** (1 / 11)]
    )
    assert [each.high for each in found.curve] == [1.0, 1.0]
    assert (found.half_life.low, found.half_life.high) == (None, None), "beyond a half is excluded"


def test_so_few_that_half_could_be_lost_unnoticed_do_not_exclude_it() -> None:
    half = lived(*[(20.0, None)] * 4).half_life

    assert (half.value, half.high) == (None, None)
    assert half.low == pytest.approx(20 * np.log(0.5) / np.log(0.025 ** (1 / 4)))


def test_where_all_is_lost_others_could_be_known_still() -> None:
    found = lived(*[(0.0, 10.0)] * 12)

    assert (found.curve[0].share, found.curve[0].low) == (0.0, 0.0)
    assert found.curve[0].high == pytest.approx(1 - 0.025 ** (1 / 12))
    assert found.half_life.low == found.half_life.value == 5.0
    assert found.half_life.high is not None
    assert 5 < found.half_life.high < 10


def test_a_stretch_in_which_few_were_followed_and_none_lost_adds_doubt() -> None:
    """40 questions, one lost at first; ten are followed on."""
    found = lived((0, 10), *[(10.0, None)] * 29, *[(20.0, None)] * 10)

    first, second = found.curve
    assert (first.share, second.share) == (0.975, 0.975)
    assert second.low == pytest.approx(0.975 * 0.025 ** (1 / 10))
    assert first.low is not None
    assert first.low > 0.85


def test_where_many_are_lost_the_band_is_what_the_draws_say() -> None:
    """Nothing is lost from 10 to 20, and thirty questions of sixty leave less open than that."""
    found = lived(*[(0.0, 10.0)] * 30, *[(20.0, None)] * 30)

    assert found.curve[0].low == found.curve[1].low
    assert found.curve[0].high == found.curve[1].high


def test_a_stretch_with_a_loss_is_reported_by_draws() -> None:
    """Of a hundred draws with one loss in a hundred, hardly any holds four."""
    found = lived((0, 10), *[(10.0, None)] * 99)

    assert found.curve[0].low == pytest.approx(0.97, abs=0.001)


def test_questions_that_all_lost_one_repeat_of_two_agree() -> None:
    kept = [
        FactLifetime(persona="p", question=f"q{n}", known_for=10, lost_by=None) for n in range(12)
    ]
    lost = [FactLifetime(persona="p", question=f"q{n}", known_for=0, lost_by=10) for n in range(12)]

    found = estimate_survival([*kept, *lost], seed=1, resamples=50)

    assert found is not None
    share = 1 - 0.025 ** (1 / 12)
    assert found.curve[0].share == 0.5
    assert found.curve[0].low == pytest.approx(0.5 - 0.5 * share)
    assert found.curve[0].high == pytest.approx(0.5 + 0.5 * share)


@pytest.mark.parametrize(
    "known",
    [
        pytest.param([(20.0, None)] * 99 + [(10.0, 20.0)], id="none lost, then one"),
        pytest.param([(0.0, 10.0)] * 99 + [(10.0, 20.0)], id="all but one lost, then all"),
    ],
)
def test_neither_end_of_a_band_rises_with_age(known: list[tuple[float, float | None]]) -> None:
    first, second = lived(*known).curve

    assert first.low is not None
    assert first.high is not None
    assert second.low is not None
    assert second.high is not None
    assert first.low >= second.low
    assert first.high >= second.high


def test_the_band_holds_the_truth_where_most_runs_lose_nothing() -> None:
    """11 questions, 10 in 100 lost by day 20: three runs in ten lose none."""
    chance = default_rng(4)
    rounds, hits, quiet = 200, 0, 0
    for _ in range(rounds):
        lost = chance.random(11) < 0.1
        found = lived(*((0.0, 20.0) if each else (20.0, None) for each in lost))
        low, high = found.curve[-1].low, found.curve[-1].high
        assert low is not None
        assert high is not None
        hits += low <= 0.9 <= high
        quiet += not lost.any()

    assert quiet > 0.2 * rounds
    assert hits / rounds >= 0.93


def test_a_loss_seen_late_is_not_taken_to_have_happened_late() -> None:
    """Half the facts are asked often, half seldom; all are lost between 20 and 30."""
    often, seldom = [(20.0, 30.0)] * 20, [(0.0, 90.0)] * 20

    found = lived(*often, *seldom)

    assert found.half_life.value == pytest.approx(25, abs=0.1)
    assert found.curve[0].share == pytest.approx(1, abs=0.01)


def test_repeats_of_one_question_add_no_certainty() -> None:
    facts = build_cohort(
        decaying(default_rng(1), facts=40, half_life=60, gap=30, until=300)
    ).lifetimes

    once, thrice = estimate_survival(facts, seed=1), estimate_survival(facts * 3, seed=1)

    assert once is not None
    assert thrice is not None
    assert thrice.half_life == once.half_life


@pytest.mark.parametrize(
    ("half_life", "skipped"),
    [
        pytest.param(60, 0.0, id="asked at every checkpoint"),
        pytest.param(60, 0.6, id="asked at two of five"),
        pytest.param(20, 0.5, id="lost sooner than asked again"),
    ],
)
def test_a_planted_half_life_is_found_again(half_life: float, skipped: float) -> None:
    """In its interval 95 times in 100, less three standard errors of the rounds; and unbiased."""
    chance = default_rng(2)
    rounds, hits, values = choose_number(50, 100), 0, []
    for number in range(rounds):
        facts = decaying(chance, facts=80, half_life=half_life, gap=30, until=300, skipped=skipped)
        found = estimate_survival(build_cohort(facts).lifetimes, seed=number, resamples=200)
        assert found is not None
        known = found.half_life
        values.append(known.value or np.inf)
        hits += (known.low or 0) <= half_life <= (known.high or np.inf)

    assert hits / rounds >= 0.95 - 3 * sqrt(0.95 * 0.05 / rounds)
    # 8 % for 100 rounds; the error of a median falls with the root of their number.
    assert np.median(values) == pytest.approx(half_life, rel=0.8 / sqrt(rounds))


def test_slips_of_the_judge_do_not_shorten_a_half_life_that_asks_for_two_failures() -> None:
    """Nothing is ever lost, and one answer in ten is failed by mistake."""
    chance = default_rng(3)
    series = [
        AskSeries(
            persona="p",
            question=f"q{number}",
            asks=[(30.0 * ask, bool(chance.random() > 0.1)) for ask in range(11)],
        )
        for number in range(200)
    ]

    once = estimate_survival(build_cohort(series).lifetimes, seed=1, resamples=50)
    twice = estimate_survival(build_cohort(series, failures=2).lifetimes, seed=1, resamples=50)

    assert once is not None
    assert twice is not None
    assert once.half_life.value is not None
    assert twice.half_life.value is None
    assert twice.curve[-1].share > 0.85
