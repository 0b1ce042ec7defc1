"""A prompt that is priced shows what the run would show, and nothing of later days."""

from datetime import UTC, datetime

from recall_bench.core.event import Answered, Declared
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.scenario import Scenario
from recall_bench.running.plan_cost import sample_answers
from recall_bench.running.plan_schedule import ScenarioWork, list_scenario_work

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def story_of(plan: Plan, scenario: Scenario) -> ScenarioWork:
    declared = Declared(at=NOW, scenario="ada", items=scenario.items, days=(1, 2, 3))
    [story] = list_scenario_work(plan, {"ada": declared})
    return story


def test_no_excerpt_is_later_than_the_checkpoint(plan: Plan, scenario: Scenario) -> None:
    wide = plan.replace(judge_memory_window=3)

    sampled = sample_answers(scenario, story_of(wide, scenario), wide, ())

    assert not sampled.are_real
    shown = {each.days: [episode.day for episode in each.excerpts] for each in sampled.exhibits}
    assert shown == {2: [1, 2], 3: [1, 2, 3]}


def test_an_answer_at_another_checkpoint_is_shown_as_this_plan_would(
    plan: Plan, scenario: Scenario
) -> None:
    asked = Trial(scenario="ada", item="old-name", checkpoint="1000d")
    answered = Answered(at=NOW, trial=asked, answer=Answer(text="Plum"), seconds=1.0)
    stranger = answered.replace(trial=asked.replace(item="of-another-dataset"))

    sampled = sample_answers(scenario, story_of(plan, scenario), plan, [answered, stranger])

    assert sampled.are_real
    [only] = sampled.exhibits
    assert (only.item.id, only.answer.text, only.days) == ("old-name", "Plum", 2)
