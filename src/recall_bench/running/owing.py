"""What of a plan is still to be done, and whether it may be: asked alike by every executor."""

from collections.abc import Iterable, Iterator

from recall_bench.core.event import Answered
from recall_bench.core.plan import Plan
from recall_bench.core.review import reviews_due
from recall_bench.core.shard import Shard, states
from recall_bench.core.standing import ScenarioStanding, Standings, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.running.company import Company
from recall_bench.running.court import Court
from recall_bench.running.desk import is_paid
from recall_bench.running.lifecycles import Paper, owed_papers

WITHOUT_VERDICT = frozenset({State.ANSWERED, State.NOT_JUDGED})


def is_finished(standing: ScenarioStanding, shards: Iterable[Shard] | None = None) -> bool:
    """Whether every trial of the scenario, or of these shards of it, has its final outcome."""
    if shards is not None:
        return all(state >= State.NOT_ANSWERED for state in states(standing, shards))
    return all(standing.is_complete(row) for row in range(len(standing.sheets)))


class Owing:
    """What a run still has to do, and whether it may."""

    def __init__(self, plan: Plan, standings: Standings, company: Company) -> None:
        self._plan = plan
        self._standings = standings
        self._company = company
        # Answers that are only judged again were read, and paid for, in another run.
        reading = standings.reading_usage if company.asks else Usage()
        self.court = Court(
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

    def owes(self, scenario: str) -> bool:
        """Whether anything is left to do for the scenario, whether or not it may be done."""
        standing = self._standings.scenarios.get(scenario)
        if standing is None:
            return self._shards(scenario) != ()
        is_asked = not self._company.asks or self._is_finished(scenario, standing)
        return not is_asked or self._has_answers(standing) or bool(self.due(scenario))

    def has_work(self, scenario: str, *, may_ask: bool = True) -> bool:
        """Whether anything can be done for the scenario as things are."""
        standing = self._standings.scenarios.get(scenario)
        if standing is None:
            return may_ask and self._shards(scenario) != ()
        if may_ask and self._company.asks and not self._is_finished(scenario, standing):
            return True
        if self.court.adjourned is None:
            return self._has_answers(standing) or bool(self.due(scenario))
        return self._company.bench.judge.card.computes and self._has_answers(standing)

    def refuse_if_spent(self, scenario: str) -> None:
        """Raise BudgetSpent before anything is fed for answers or verdicts that cannot be paid."""
        standing, company = self._standings.scenarios.get(scenario), self._company
        costs = is_paid(company.reader) or not company.bench.judge.card.computes
        if costs and (standing is None or not self._is_finished(scenario, standing)):
            self.court.refuse_if_spent()

    def papers(self, scenario: str) -> list[Paper]:
        """What of the scenario is this run's to put, and was not put yet."""
        standing, shards = self._standings.scenarios[scenario], self._shards(scenario)
        if shards is None:
            return list(owed_papers(standing))
        places = {(shard.checkpoint, shard.repeat) for shard in shards}
        return [
            paper
            for paper in owed_papers(standing)
            if places & {(None, None), (paper[0].checkpoint.label, paper[1])}
        ]

    def _shards(self, scenario: str) -> tuple[Shard, ...] | None:
        return None if self._company.shards is None else self._company.shards(scenario)

    def _is_finished(self, scenario: str, standing: ScenarioStanding) -> bool:
        return is_finished(standing, self._shards(scenario))

    def due(self, scenario: str) -> frozenset[int]:
        """Which verdicts the appellate judge has yet to see, by their places in the grid."""
        # Passes are drawn once a scenario has all its outcomes. A part that holds some of its
        # checkpoints never has them: it reviews its failures, and leaves the passes to whoever
        # goes on with the merged run, who draws what one process would have drawn.
        if self._company.bench.appellate is None:
            return frozenset()
        return reviews_due(scenario, self._standings.scenarios[scenario], self._plan)

    def first_verdicts(
        self, scenario: str, due: frozenset[int]
    ) -> Iterator[tuple[Answered, Verdict]]:
        """Each answer whose verdict is due for review, with that verdict, once."""
        standing = self._standings.scenarios[scenario]
        verdicts = {
            slot: judged.verdict
            for judged in self._company.judged(scenario)
            if (slot := standing.slot_of(judged.trial)) in due
        }
        for answered in self._company.unjudged(scenario, frozenset({State.JUDGED})):
            first = verdicts.pop(standing.slot_of(answered.trial), None)
            if first is not None:
                yield answered, first

    @staticmethod
    def _has_answers(standing: ScenarioStanding) -> bool:
        return standing.count(*WITHOUT_VERDICT) > 0
