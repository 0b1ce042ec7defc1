"""The mixed view changes with its questions; the fixed one only with the system."""

import pytest

from recall_bench.core.plan import FULL
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.analyses.degradation import measure_degradation
from tests.reporting.analyses.decay_tables import RIGHT, WRONG, table_of
from tests.written_runs import question

DAYS = range(10, 101, 10)


def steady(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
    """Knows what is easy and not what is hard, however much it was told."""
    return RIGHT if item.truth.difficulty == "easy" else WRONG


def worse(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
    """Loses a question with every ten days, whatever it is about."""
    return RIGHT if int(item.id[1:]) * 10 > told else WRONG


def hardening() -> tuple[Item, ...]:
    """The later a question comes, the more of its kind are hard."""
    return tuple(
        question(f"q{n}", known_from=n, difficulty="hard" if n % 10 < n // 10 else "easy")
        for n in range(1, 101)
    )


def test_harder_questions_lower_the_mixed_view_of_a_steady_system_and_not_the_fixed_one() -> None:
    found = measure_degradation(table_of({"ada": hardening()}, DAYS, steady), seed=1, resamples=500)

    mixed, fixed = found.mixed_trend, found.fixed_trend
    assert mixed is not None
    assert mixed.slope.high is not None
    assert mixed.slope.high < 0
    assert found.mixed[0].mean is not None
    assert found.mixed[-1].mean is not None
    assert found.mixed[0].mean.value - found.mixed[-1].mean.value > 1
    assert fixed is not None
    assert fixed.slope.value == pytest.approx(0)
    assert len({each.mean.value for each in found.fixed if each.mean is not None}) == 1


def test_a_system_that_gets_worse_shows_in_the_fixed_view() -> None:
    items = tuple(question(f"q{n}") for n in range(1, 31))

    found = measure_degradation(table_of({"ada": items}, DAYS, worse), seed=1, resamples=500)

    assert found.fixed_trend is not None
    assert found.fixed_trend.slope.high is not None
    assert found.fixed_trend.slope.high < 0


@pytest.mark.parametrize("count", [4, 20])
def test_a_steady_system_is_not_known_to_stay_so_from_the_questions_asked(count: int) -> None:
    """Of 4 questions none changes: six in ten others could, and the note says how few these are."""
    items = tuple(question(f"q{n}") for n in range(count))

    found = measure_degradation(table_of({"ada": items}, DAYS, steady), seed=1, resamples=50)

    line = found.fixed_trend
    assert line is not None
    assert line.is_agreed
    assert line.slope.low is not None
    assert line.slope.high is not None
    steepest = 6 * sum(abs(day - 55) / 2 for day in DAYS) / sum((day - 55) ** 2 for day in DAYS)
    assert line.slope.high == pytest.approx((1 - 0.025 ** (1 / count)) * steepest)
    assert line.slope.low == pytest.approx(-line.slope.high)
    few = [note for note in found.notes if f"fixed view follows only {count} questions" in note]
    assert bool(few) is (count < 20)


def test_the_same_questions_are_asked_at_every_point_of_the_fixed_view() -> None:
    table = table_of({"ada": hardening()}, DAYS, steady)

    found = measure_degradation(table, seed=1, resamples=50)

    card = found.cohort
    assert card is not None
    assert {each.mean.questions for each in found.fixed if each.mean} == {card.questions}
    assert (card.last, card.checkpoints) == ("100d", len(found.fixed))
    assert card.questions + card.left_out == 100


def test_the_stretch_is_the_one_a_slope_is_known_best_from() -> None:
    """10 questions over 4 checkpoints, 31 over 3, or 91 over 2: 10 x 500, 31 x 200, 91 x 50."""
    items = tuple(
        question(f"q{n}", known_from=10 if n < 10 else 20 if n < 31 else 30) for n in range(91)
    )

    found = measure_degradation(
        table_of({"ada": items}, (10, 20, 30, 40), steady), seed=1, resamples=50
    )

    assert found.cohort is not None
    assert (found.cohort.first, found.cohort.questions) == ("20d", 31)
    fewer = items[:24]
    found = measure_degradation(
        table_of({"ada": fewer}, (10, 20, 30, 40), steady), seed=1, resamples=50
    )
    assert found.cohort is not None
    assert (found.cohort.first, found.cohort.questions) == ("10d", 10)


def test_a_question_overtaken_on_the_way_is_left_out() -> None:
    items = (
        *(question(f"q{n}") for n in range(8)),
        question("moved", known_until=35),
    )

    found = measure_degradation(table_of({"ada": items}, DAYS, steady), seed=1, resamples=50)

    assert found.cohort is not None
    assert (found.cohort.questions, found.cohort.left_out) == (8, 1)


def test_a_question_without_marks_in_one_repeat_is_not_followed_past_it() -> None:
    def unjudged(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        is_open = (item.id, told, repeat) == ("q0", 50, 1)
        return TrialStatus(TrialState.NOT_JUDGED) if is_open else RIGHT

    items = tuple(question(f"q{n}") for n in range(8))
    found = measure_degradation(
        table_of({"ada": items}, DAYS, unjudged, repeats=2), seed=1, resamples=50
    )

    assert found.cohort is not None
    assert (found.cohort.questions, found.cohort.left_out) == (7, 1)
    assert found.mixed[4].mean is not None
    assert (found.mixed[4].mean.trials, found.mixed[4].mean.missing) == (15, 1)


def test_a_story_that_is_over_is_not_followed_on() -> None:
    """Bob's story ends on day 50: at 100d his memory is what it was."""
    items = tuple(question(f"q{n}") for n in range(8))

    found = measure_degradation(
        table_of({"ada": items, "bob": items}, DAYS, steady, ends={"bob": 50}),
        seed=1,
        resamples=50,
    )

    assert found.cohort is not None
    assert found.cohort.personas == 1
    assert found.mixed[-1].mean is not None
    assert found.mixed[-1].mean.personas == 2


def test_the_mixed_view_is_what_was_asked_at_each_checkpoint() -> None:
    def some(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        return TrialStatus(TrialState.NOT_ANSWERED) if item.id == "q0" else RIGHT

    items = tuple(question(f"q{n}") for n in range(4))
    found = measure_degradation(table_of({"ada": items}, (10, 20), some), seed=1, resamples=50)

    assert [each.mean.value for each in found.mixed if each.mean] == [FULL_MARKS * 3 / 4] * 2


def test_a_checkpoint_called_full_is_as_many_days_as_the_story_has() -> None:
    items = tuple(question(f"q{n}") for n in range(4))
    table = table_of({"ada": items}, (10, FULL), steady, ends={"ada": 30})

    found = measure_degradation(table, seed=1, resamples=50)

    assert [each.days for each in found.mixed] == [10, 30]
    assert found.mixed_trend is not None
    assert found.mixed_trend.last_day == 30


def test_one_checkpoint_has_no_fixed_view_and_says_so() -> None:
    items = tuple(question(f"q{n}") for n in range(4))

    found = measure_degradation(table_of({"ada": items}, (10,), steady), seed=1, resamples=50)

    assert (found.fixed, found.cohort, found.fixed_trend, found.mixed_trend) == (
        (),
        None,
        None,
        None,
    )
    assert found.reason is not None
    assert "no fixed view" in found.reason
    assert "no survival" in found.reason


def test_a_run_without_marks_says_only_that() -> None:
    def unasked(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        return TrialStatus(TrialState.OPEN)

    found = measure_degradation(
        table_of({"ada": [question("q")]}, DAYS, unasked), seed=1, resamples=50
    )

    assert found.reason == "no answer has marks yet"
    assert [each.mean for each in found.mixed] == [None] * len(DAYS)
