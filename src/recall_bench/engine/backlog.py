"""What of a plan is still to be done, and whether the budget allows it."""

from collections.abc import Iterator

from recall_bench.core.budget import PAYS_ONCE, Budget
from recall_bench.core.event import Answered
from recall_bench.core.plan import Plan
from recall_bench.core.trial_states import (
    JUDGEABLE,
    ScenarioStates,
    TrialState,
    TrialStates,
    find_due_reviews,
)
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.core.work_unit import WorkUnit, list_states
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import RunContext
from recall_bench.engine.lifecycle import list_open_trials
from recall_bench.systems.reply import is_paid, list_paid_work

_RESTARTS_STORY = "the story that was cut off is repeated"
WITHOUT_VERDICT = frozenset({TrialState.ANSWERED, TrialState.NOT_JUDGED})


class Backlog:
    """What a run still has to do, and the budget it has for that."""

    def __init__(self, plan: Plan, states: TrialStates, context: RunContext) -> None:
        self._plan = plan
        self._states = states
        self._context = context
        # Answers that are only judged again were read, and paid for, in another run.
        reading = states.reading_usage if context.asks else Usage()
        self.budget = Budget(
            context.parallelism,
            spent=states.usage + reading,
            allowed_usd=context.max_cost_usd,
            allowed_tokens=context.max_tokens,
            elsewhere=context.spent_elsewhere,
            max_calls=context.max_calls,
            paid_work=list_paid_work(plan.system, context.reader, judges=not plan.unjudged),
            on_resume=PAYS_ONCE if plan.behaviour is None else _RESTARTS_STORY,
        )

    @property
    def is_run_done(self) -> bool:
        """Whether every trial of the plan has all its outcomes; never true of a shard."""
        return self._context.units is None and self._states.is_done

    def is_anything_left(self, scenario: str) -> bool:
        """Whether anything is left to do, whether or not the budget allows it."""
        trials = self._states.scenarios.get(scenario)
        if trials is None:
            return self._list_units(scenario) != ()
        is_asked = not self._context.asks or self._is_finished(scenario, trials)
        return (
            not is_asked
            or self._is_verdict_missing(trials)
            or bool(self.find_due_reviews(scenario))
            or bool(trials.find_due_verdicts())
        )

    def is_work_possible(self, scenario: str, *, may_ask: bool = True) -> bool:
        """Whether anything can be done for the scenario now."""
        trials = self._states.scenarios.get(scenario)
        if trials is None:
            return may_ask and self._list_units(scenario) != ()
        if may_ask and self._context.asks and not self._is_finished(scenario, trials):
            return True
        if self.budget.stop_reason is None:
            return (
                self._is_verdict_missing(trials)
                or bool(self.find_due_reviews(scenario))
                or bool(trials.find_due_verdicts())
            )
        return self._context.judges.judge.card.computes and self._is_verdict_missing(trials)

    def refuse_if_spent(self, scenario: str) -> None:
        """Raise BudgetSpent before feeding for answers or verdicts that cannot be paid for."""
        trials, context = self._states.scenarios.get(scenario), self._context
        costs = is_paid(context.reader) or not context.judges.judge.card.computes
        if costs and (trials is None or not self._is_finished(scenario, trials)):
            self.budget.refuse_if_spent()

    def list_open_trials(
        self,
        scenario: str,
        checkpoint: str | None = None,
        repeat: int | None = None,
        copy: int | None = None,
    ) -> list[OpenTrials]:
        """List what this run still has to ask of the scenario, or of one part of it."""
        trials, copies = self._states.scenarios[scenario], self._plan.copies
        found = list_open_trials(trials, checkpoint, repeat, copy, copies=copies)
        units = self._list_units(scenario)
        if units is None:
            return list(found)
        places = {(unit.checkpoint, unit.repeat) for unit in units}
        return [
            each
            for each in found
            if places & {(None, None), (each.point.checkpoint.label, each.repeat)}
        ]

    def _list_units(self, scenario: str) -> tuple[WorkUnit, ...] | None:
        return None if self._context.units is None else self._context.units(scenario)

    def _is_finished(self, scenario: str, trials: ScenarioStates) -> bool:
        units = self._list_units(scenario)
        return trials.has_outcomes(None if units is None else list_states(trials, units))

    def find_due_reviews(self, scenario: str) -> frozenset[int]:
        """Find the verdicts that still have to be reviewed, by their slots."""
        # Passes are drawn once a scenario has all its outcomes. A shard with only some of the
        # checkpoints never has them: it reviews its failures, and the merged run draws the same
        # passes that one process would have drawn.
        if self._context.judges.appellate is None:
            return frozenset()
        return find_due_reviews(scenario, self._states.scenarios[scenario], self._plan)

    def list_first_verdicts(
        self, scenario: str, due: frozenset[int]
    ) -> Iterator[tuple[Answered, Verdict]]:
        """List each answer whose verdict is due for review, with that verdict."""
        trials = self._states.scenarios[scenario]
        verdicts = {
            slot: judged.verdict
            for judged in self._context.find_verdicts(scenario)
            if (slot := trials.find_slot(judged.trial)) in due
        }
        for answered in self._context.find_answers(scenario, frozenset({TrialState.JUDGED})):
            first = verdicts.pop(trials.find_slot(answered.trial), None)
            if first is not None:
                yield answered, first

    def list_due_verdicts(self, scenario: str) -> Iterator[tuple[Answered, int]]:
        """List each answer that another judge still has to judge, with the place of that judge."""
        trials = self._states.scenarios[scenario]
        due: dict[int, list[int]] = {}
        for slot, judge in sorted(trials.find_due_verdicts()):
            due.setdefault(slot, []).append(judge)
        if due:
            for answered in self._context.find_answers(scenario, JUDGEABLE):
                for judge in due.pop(trials.find_slot(answered.trial), ()):
                    yield answered, judge

    @staticmethod
    def _is_verdict_missing(trials: ScenarioStates) -> bool:
        return trials.count_states(*WITHOUT_VERDICT) > 0
