"""What does not go together is refused in one sentence that names both places."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Declared, Event, RunEnded
from recall_bench.core.plan import Lifecycle, Plan, Shard
from recall_bench.core.scenario import Scenario
from recall_bench.features.archive.merge import merge_events
from tests.engine.runs.merging.apart import begun, go_on, source
from tests.faulty.fakes import ScriptedSystem


def part(plan: Plan, scenario: Scenario, number: int | None, of: int = 2) -> list[Event]:
    """A part of the plan, carried out; the whole if it has no number."""
    told = {scenario.id: scenario}
    wanted = None if number is None else Shard(number=number, of=of)
    return go_on(begun(plan, told, wanted), told, ScriptedSystem(lambda lived, question: "Fig"))


def refusal(*journals: list[Event]) -> str:
    with pytest.raises(UsageError) as refused:
        list(
            merge_events(
                [source(name, journal) for name, journal in zip("ab", journals, strict=True)]
            )
        )
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_two_parts_make_the_whole(plan: Plan, scenario: Scenario) -> None:
    journals = [part(plan, scenario, 1), part(plan, scenario, 2)]

    whole = list(merge_events([source("a", journals[0]), source("b", journals[1])]))

    assert isinstance(whole[-1], RunEnded)
    assert whole[-1].at == max(event.at for event in whole)


def test_other_plans_are_refused_with_what_differs(plan: Plan, scenario: Scenario) -> None:
    other = plan.replace(seed=7, lifecycle=Lifecycle.GROWING)

    said = refusal(part(plan, scenario, 1), part(other, scenario, 2))

    assert said == (
        "a and b are runs of different plans, with other lifecycle (fresh and growing), "
        "other seed (42 and 7); merge parts of one plan"
    )


def test_a_part_that_is_there_twice_is_refused(plan: Plan, scenario: Scenario) -> None:
    said = refusal(part(plan, scenario, 2), part(plan, scenario, 2))

    assert said == "a and b both hold part 2/2; name one"


def test_parts_of_another_division_are_refused(plan: Plan, scenario: Scenario) -> None:
    said = refusal(part(plan, scenario, 1), part(plan, scenario, 2, of=3))

    assert said == "a is one of 2 parts and b is one of 3; merge parts of one division"


def test_a_question_that_was_put_in_two_journals_is_refused(plan: Plan, scenario: Scenario) -> None:
    said = refusal(part(plan, scenario, None), part(plan, scenario, 1))

    assert "was asked in a and in b; " in said
    assert said.startswith("ada/")


def test_other_questions_are_refused(plan: Plan, scenario: Scenario) -> None:
    strange = part(plan, scenario, 2)
    at, declared = next((n, e) for n, e in enumerate(strange) if isinstance(e, Declared))
    strange[at] = declared.replace(days=(1, 2))

    said = refusal(part(plan, scenario, 1), strange)

    assert said == "a and b declare other questions or days for ada; merge parts of one plan"


def test_whole_runs_that_do_not_overlap_are_merged(plan: Plan, scenario: Scenario) -> None:
    """As when a plan was begun on two machines by hand, and one came to nothing."""
    done, idle = part(plan, scenario, None), begun(plan, {scenario.id: scenario})

    whole = list(merge_events([source("a", idle), source("b", done)]))

    assert isinstance(whole[-1], RunEnded)
    assert sum(isinstance(event, Declared) for event in whole) == 1
    assert sum(isinstance(event, RunEnded) for event in whole) == 1
