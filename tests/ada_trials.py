"""The two trials of the plan that tests share, with their answers and verdicts."""

from datetime import UTC, datetime

from recall_bench.core.event import Answered, Declared, Judged
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.verdict import Verdict

NOW = datetime(2024, 1, 1, tzinfo=UTC)
OLD = Trial(scenario="ada", item="old-name", checkpoint="2d")
NEW = Trial(scenario="ada", item="new-name", checkpoint="3d")
RIGHT, WRONG = Verdict.of(3, 2, 1), Verdict.of(0, 0, 1)


def answered(trial: Trial) -> Answered:
    return Answered(at=NOW, trial=trial, answer=Answer(text="Fig"), seconds=1.0)


def judged(trial: Trial, verdict: Verdict = RIGHT, **more: object) -> Judged:
    return Judged(at=NOW, trial=trial, verdict=verdict).replace(**more)


def declare_trials(plan: Plan, scenario: Scenario) -> TrialStates:
    """The states of a run that has asked nothing yet."""
    states = TrialStates(plan)
    states.apply_event(Declared(at=NOW, scenario="ada", items=scenario.items, days=(1, 2, 3)))
    return states
