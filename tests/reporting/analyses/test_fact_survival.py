"""Facts are what can be lost; groups are compared where they are large enough."""

import pytest

from recall_bench.core.scenario import Expects, Item
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.engine.runs.trials import TrialRow
from recall_bench.metrics.survival import FactLifetime, estimate_survival
from recall_bench.reporting.analyses.degradation import (
    Degradation,
    measure_degradation,
    select_grown,
)
from recall_bench.reporting.analyses.fact_survival import (
    MIN_AT_RISK,
    SurvivalGroup,
    cut_at_horizon,
    follow_facts,
    is_known,
)
from tests.loops import loop_over_rows
from tests.reporting.analyses.decay_tables import RIGHT, WRONG, table_of
from tests.written_runs import question, trial

DAYS = range(10, 201, 10)


def row(status: TrialStatus, score: float | None = None) -> TrialRow:
    return TrialRow(
        trial=trial("q"), item=question("q"), days=2, cutoff=2, status=status, score=score
    )


@loop_over_rows(
    ("status", "score", "expected"),
    [
        (TrialStatus(TrialState.JUDGED, 3, 2, 1), None, True),
        (TrialStatus(TrialState.JUDGED, 2, 1, 1), None, True),
        (TrialStatus(TrialState.JUDGED, 2, 0, 1), None, False),
        (TrialStatus(TrialState.JUDGED, 3, 2, 0), None, False),
        (TrialStatus(TrialState.NOT_ANSWERED), None, False),
        (TrialStatus(TrialState.NOT_JUDGED), None, None),
        (TrialStatus(TrialState.ANSWERED), None, None),
        (TrialStatus(TrialState.OPEN), None, None),
        (TrialStatus(TrialState.MEASURED), 1.0, True),
        (TrialStatus(TrialState.MEASURED), 0.5, False),
        (TrialStatus(TrialState.MEASURED), None, None),
    ],
)
def test_known_is_what_no_judge_would_review_as_a_failure(
    status: TrialStatus, score: float | None, expected: bool | None
) -> None:
    assert is_known(row(status, score)) is expected


def fading(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
    """Facts last as long as their id says: `60-3` for sixty days."""
    return RIGHT if told - item.known_from < int(item.id.partition("-")[0]) else WRONG


def lasting_facts(days: int, count: int, category: str = "factual-recall") -> tuple[Item, ...]:
    return tuple(
        question(f"{days}-{n}-{category}", category, known_from=1 + n % 9) for n in range(count)
    )


def survivals(found: Degradation, by: SurvivalGroup) -> dict[str, float | None]:
    return {each.name: each.survival.half_life.value for each in found.survivals if each.by is by}


def test_categories_are_distinguished_in_the_order_of_every_table() -> None:
    items = (
        *lasting_facts(110, 25, "synthesis"),
        *lasting_facts(40, 25, "factual-recall"),
        *lasting_facts(40, 6, "temporal-reasoning"),
    )

    found = measure_degradation(table_of({"ada": items}, DAYS, fading), seed=1, resamples=50)

    halves = survivals(found, SurvivalGroup.CATEGORY)
    assert list(halves) == ["factual-recall", "synthesis"]
    assert halves["factual-recall"] == pytest.approx(35, abs=10)
    assert halves["synthesis"] == pytest.approx(105, abs=10)
    assert any("temporal-reasoning (6)" in note for note in found.notes)


def test_what_is_passed_by_denying_is_no_fact() -> None:
    """A memory that has forgotten everything is right to say that there is no such thing."""
    item = question("never")
    denied = item.replace(truth=item.truth.replace(expects=Expects.ABSTAIN))
    table = table_of({"ada": (denied, question("told"))}, DAYS, lambda *_: RIGHT)

    found = follow_facts(select_grown(table), failures=2)

    assert {each.question for each in found.lifetimes} == {"told"}


def test_known_never_known_and_too_seldom_asked_are_counted_apart() -> None:
    def rule(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        return WRONG if item.id == "never" else RIGHT

    items = (question("never"), question("late", known_from=195), question("known"))
    found = follow_facts(select_grown(table_of({"ada": items}, DAYS, rule)), failures=2)

    assert (len(found.lifetimes), found.never_known, found.unfollowed) == (1, 1, 1)


def test_one_slip_loses_nothing() -> None:
    def slips(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        return WRONG if told == 100 else RIGHT

    items = tuple(question(f"q{n}") for n in range(20))
    table = table_of({"ada": items}, DAYS, slips)

    assert measure_degradation(table, seed=1, resamples=50).survivals[0].survival.lost == 0
    assert (
        measure_degradation(table, seed=1, resamples=50, failures=1).survivals[0].survival.lost
        == 20
    )


def test_each_repeat_has_a_clock_of_its_own_and_adds_no_question() -> None:
    def rule(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        return RIGHT if told < 100 + 50 * repeat else WRONG

    items = tuple(question(f"q{n}") for n in range(20))
    found = measure_degradation(
        table_of({"ada": items}, DAYS, rule, repeats=2), seed=1, resamples=50
    )

    whole = found.survivals[0].survival
    assert (whole.facts, whole.questions, whole.lost) == (40, 20, 40)


@loop_over_rows(("questions", "repeats"), [(20, 1), (19, 1), (20, 2), (11, 2)])
def test_how_many_questions_stand_behind_survival_is_said(questions: int, repeats: int) -> None:
    items = tuple(question(f"q{n}") for n in range(questions))
    table = table_of({"ada": items}, DAYS, lambda *_: RIGHT, repeats=repeats)

    notes = measure_degradation(table, seed=1, resamples=50).notes

    few = f"survival follows only {questions} questions: with fewer than 20"
    assert any(few in note for note in notes) is (questions < 20)
    counted = f"these {questions * repeats} are {questions} questions"
    assert any(counted in note for note in notes) is (repeats > 1)


def test_a_few_questions_of_which_none_is_lost_are_not_sure_to_be_kept() -> None:
    items = tuple(question(f"q{n}") for n in range(11))

    found = measure_degradation(
        table_of({"ada": items}, DAYS, lambda *_: RIGHT), seed=1, resamples=50
    )

    last = found.survivals[0].survival.curve[-1]
    assert (last.share, last.high) == (1.0, 1.0)
    assert last.low == pytest.approx(0.025 ** (1 / 11))


def test_too_few_questions_for_a_curve_say_so() -> None:
    items = tuple(question(f"q{n}") for n in range(9))

    found = measure_degradation(
        table_of({"ada": items}, DAYS, lambda *_: RIGHT), seed=1, resamples=50
    )

    assert found.survivals == ()
    assert any("fewer than 10 questions were followed" in note for note in found.notes)


def test_a_story_that_is_over_loses_nothing_more() -> None:
    """Asked again after its end it would be asked twice at one age."""
    items = tuple(question(f"q{n}") for n in range(20))
    table = table_of({"ada": items}, DAYS, lambda *_: RIGHT, ends={"ada": 95})

    found = measure_degradation(table, seed=1, resamples=50, failures=1)

    assert found.survivals[0].survival.half_life.followed == 95 - 10, "first asked on day 10"


def test_the_last_few_do_not_decide_a_half_life() -> None:
    """Fifty facts are followed for 100 days and one is lost; two for 300, and both are lost."""
    many = [
        FactLifetime(persona="p", question=f"m{n}", known_for=100, lost_by=None) for n in range(49)
    ]
    one = [FactLifetime(persona="p", question="one", known_for=50, lost_by=100)]
    two = [
        FactLifetime(persona="p", question=f"t{n}", known_for=200, lost_by=300) for n in range(2)
    ]
    whole = estimate_survival([*many, *one, *two], seed=1, resamples=50)
    assert whole is not None
    assert whole.half_life.value is not None

    found = cut_at_horizon(whole)

    assert found is not None
    assert (found.half_life.value, found.half_life.followed) == (None, 100)
    assert all(each.at_risk >= MIN_AT_RISK for each in found.curve)


def test_fewer_facts_than_a_curve_needs_have_none() -> None:
    few = [FactLifetime(persona="p", question=f"q{n}", known_for=0, lost_by=10) for n in range(9)]
    whole = estimate_survival(few, seed=1, resamples=50)

    assert whole is not None
    assert cut_at_horizon(whole) is None
    again = estimate_survival(few * 4, seed=1, resamples=50)
    assert again is not None
    assert cut_at_horizon(again) is None, "asked four times they are as few"
