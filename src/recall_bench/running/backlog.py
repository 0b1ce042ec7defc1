"""What of a plan is still to be done, and whether it may be: asked alike by every executor."""

from collections.abc import Iterable, Iterator

from recall_bench.core.budget import Budget
from recall_bench.core.event import Answered
from recall_bench.core.plan import Plan
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStates, find_due_reviews
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.core.work_unit import WorkUnit, list_states
from recall_bench.running.components import RunContext
from recall_bench.running.lifecycle import OpenTrials, list_open_trials
from recall_bench.systems.reply import is_paid

WITHOUT_VERDICT = frozenset({TrialState.ANSWERED, TrialState.NOT_JUDGED})


def is_finished(standing: ScenarioStates, shards: Iterable[WorkUnit] | None = None) -> bool:
    """Whether every trial of the scenario, or of these shards of it, has its final outcome."""
    if shards is not None:
        return all(state >= TrialState.NOT_ANSWERED for state in list_states(standing, shards))
    return all(
        standing.is_checkpoint_complete(row) for row in range(len(standing.checkpoint_plans))
    )


class Backlog:
    """What a run still has to do, and whether it may."""

    def __init__(self, plan: Plan, standings: TrialStates, company: RunContext) -> None:
        self._plan = plan
        self._standings = standings
        self._company = company
        # Answers that are only judged again were read, and paid for, in another run.
        reading = standings.reading_usage if company.asks else Usage()
        self.court = Budget(
            company.parallelism,
            spent=standings.usage + reading,
            allowed_usd=company.max_cost_usd,
            allowed_tokens=company.max_tokens,
            elsewhere=company.elsewhere,
            max_calls=company.max_calls,
            pays_reader=is_paid(company.reader),
        )

    @property
    def is_all_done(self) -> bool:
        """Whether the whole plan has its outcomes, and not just a part of it."""
        scenarios = self._standings.scenarios
        return self._company.shards is None and all(
            is_finished(scenarios[card.id]) for card in self._plan.scenarios
        )

    def is_anything_left(self, scenario: str) -> bool:
        """Whether anything is left to do for the scenario, whether or not it may be done."""
        standing = self._standings.scenarios.get(scenario)
        if standing is None:
            return self._list_units(scenario) != ()
        is_asked = not self._company.asks or self._is_finished(scenario, standing)
        return (
            not is_asked
            or self._is_verdict_missing(standing)
            or bool(self.find_due_reviews(scenario))
        )

    def is_work_possible(self, scenario: str, *, may_ask: bool = True) -> bool:
        """Whether anything can be done for the scenario as things are."""
        standing = self._standings.scenarios.get(scenario)
        if standing is None:
            return may_ask and self._list_units(scenario) != ()
        if may_ask and self._company.asks and not self._is_finished(scenario, standing):
            return True
        if self.court.stop_reason is None:
            return self._is_verdict_missing(standing) or bool(self.find_due_reviews(scenario))
        return self._company.bench.judge.card.computes and self._is_verdict_missing(standing)

    def refuse_if_spent(self, scenario: str) -> None:
        """Raise BudgetSpent before anything is fed for answers or verdicts that cannot be paid."""
        standing, company = self._standings.scenarios.get(scenario), self._company
        costs = is_paid(company.reader) or not company.bench.judge.card.computes
        if costs and (standing is None or not self._is_finished(scenario, standing)):
            self.court.refuse_if_spent()

    def list_open_trials(self, scenario: str) -> list[OpenTrials]:
        """What of the scenario is this run's to put, and was not put yet."""
        standing, shards = self._standings.scenarios[scenario], self._list_units(scenario)
        if shards is None:
            return list(list_open_trials(standing))
        places = {(shard.checkpoint, shard.repeat) for shard in shards}
        return [
            paper
            for paper in list_open_trials(standing)
            if places & {(None, None), (paper[0].checkpoint.label, paper[1])}
        ]

    def _list_units(self, scenario: str) -> tuple[WorkUnit, ...] | None:
        return None if self._company.shards is None else self._company.shards(scenario)

    def _is_finished(self, scenario: str, standing: ScenarioStates) -> bool:
        return is_finished(standing, self._list_units(scenario))

    def find_due_reviews(self, scenario: str) -> frozenset[int]:
        """Which verdicts the appellate judge has yet to see, by their places in the grid."""
        # Passes are drawn once a scenario has all its outcomes. A part that holds some of its
        # checkpoints never has them: it reviews its failures, and leaves the passes to whoever
        # goes on with the merged run, who draws what one process would have drawn.
        if self._company.bench.appellate is None:
            return frozenset()
        return find_due_reviews(scenario, self._standings.scenarios[scenario], self._plan)

    def list_first_verdicts(
        self, scenario: str, due: frozenset[int]
    ) -> Iterator[tuple[Answered, Verdict]]:
        """Each answer whose verdict is due for review, with that verdict, once."""
        standing = self._standings.scenarios[scenario]
        verdicts = {
            slot: judged.verdict
            for judged in self._company.judged(scenario)
            if (slot := standing.find_slot(judged.trial)) in due
        }
        for answered in self._company.unjudged(scenario, frozenset({TrialState.JUDGED})):
            first = verdicts.pop(standing.find_slot(answered.trial), None)
            if first is not None:
                yield answered, first

    @staticmethod
    def _is_verdict_missing(standing: ScenarioStates) -> bool:
        return standing.count_states(*WITHOUT_VERDICT) > 0
