"""A canary hallucinated again and again: over sizes, repeats and runs."""

import msgspec
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.trial_states import TrialState
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.reporting.analyses.canaries import find_canaries
from tests.reporting.analyses.answer_tables import MADE_UP, SOUND, asked, table_of
from tests.written_runs import question

CALM = [asked(f"calm{n}", days=days) for n in range(30) for days in (100, 200, 300)]
"""Thirty questions that never hallucinate."""


def found(*rows: TrialRow) -> list[str]:
    return [each.question for each in find_canaries([table_of([*CALM, *rows])])]


def test_one_that_always_hallucinates_is_a_canary_with_its_counts() -> None:
    rows = [
        asked("bad", MADE_UP, days=days, repeat=repeat, category="negative-recall")
        for days in (100, 200)
        for repeat in (0, 1, 2)
    ]

    (canary,) = find_canaries([table_of([*CALM, *rows])])

    assert (canary.persona, canary.question) == ("ada", "bad")
    assert (canary.text, canary.category) == ("What about bad?", "negative-recall")
    assert (canary.asked, canary.hallucinated) == (6, 6)
    assert (canary.runs, canary.sizes, canary.repeats) == (1, 2, 3)


def test_a_secret_reported_again_and_again_is_a_leak_and_no_canary() -> None:
    rows = [asked("secret", MADE_UP, days=100 * n) for n in range(1, 7)]

    assert found(*rows) == ["secret"]
    assert found(*(msgspec.structs.replace(row, leaked=True) for row in rows)) == []


def test_twice_is_not_again_and_again() -> None:
    assert found(asked("bad", MADE_UP), asked("bad", MADE_UP, days=200)) == []


def test_a_system_that_repeats_itself_at_one_size_says_one_thing() -> None:
    rows = [asked("bad", MADE_UP, repeat=repeat) for repeat in range(5)]

    assert found(*rows) == []
    assert found(*rows, asked("bad", MADE_UP, days=200)) == ["bad"]


def test_two_slips_in_ten_are_allowed_and_three_are_not() -> None:
    def ten(slips: int) -> list[TrialRow]:
        marks = [SOUND] * slips + [MADE_UP] * (10 - slips)
        return [asked("bad", each, days=100 * place) for place, each in enumerate(marks, start=1)]

    assert found(*ten(2)) == ["bad"]
    assert found(*ten(3)) == []


def test_an_answer_that_was_not_judged_is_no_evidence() -> None:
    rows = [asked("bad", MADE_UP, days=days) for days in (100, 200)]

    for state in (
        TrialState.NOT_ANSWERED,
        TrialState.NOT_JUDGED,
        TrialState.OPEN,
        TrialState.MEASURED,
    ):
        assert found(*rows, asked("bad", state, days=300)) == []
    assert found(*rows, asked("bad", MADE_UP, days=300)) == ["bad"]


def test_runs_are_taken_together() -> None:
    """Neither run alone asks it often enough."""
    runs = [
        table_of([*CALM, asked("bad", MADE_UP), asked("bad", MADE_UP, repeat=1)]) for _ in range(2)
    ]

    (canary,) = find_canaries(runs)

    assert [find_canaries([run]) for run in runs] == [(), ()]
    assert (canary.asked, canary.runs, canary.sizes, canary.repeats) == (4, 2, 1, 2)


def test_the_same_name_in_another_persona_is_another_question() -> None:
    rows = [
        asked("bad", MADE_UP if persona == "bo" else SOUND, days=days, persona=persona)
        for persona in ("ada", "bo")
        for days in (100, 200, 300)
    ]

    (canary,) = find_canaries([table_of([*CALM, *rows])])

    assert canary.persona == "bo"


def test_canaries_come_by_persona_and_question() -> None:
    rows = [
        asked(name, MADE_UP, days=days, persona=persona)
        for persona in ("bo", "ada")
        for name in ("z", "a")
        for days in (300, 100, 200)
    ]

    canaries = find_canaries([table_of([*CALM, *rows])])

    names = [(each.persona, each.question) for each in canaries]
    assert names == [("ada", "a"), ("ada", "z"), ("bo", "a"), ("bo", "z")]


def other_question(text: str | None = None, reference: str | None = None) -> TrialTable:
    item = question("calm0")
    truth = item.truth if reference is None else item.truth.replace(reference=reference)
    item = msgspec.structs.replace(item, text=text or item.text, truth=truth)
    return table_of([asked("calm0", item=item)])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(other_question(text="What else?"), id="text"),
        pytest.param(other_question(reference="another"), id="reference"),
    ],
)
def test_runs_that_ask_different_things_by_one_name_are_refused(other: TrialTable) -> None:
    with pytest.raises(UsageError, match="ada/calm0: the runs ask different things by this name"):
        find_canaries([table_of(CALM), other])


def test_a_run_without_a_verdict_has_no_canaries() -> None:
    assert find_canaries([table_of([asked("q0", TrialState.OPEN)])]) == ()
    assert find_canaries([]) == ()
