"""What a judge is shown of an answer."""

from collections.abc import Callable, Iterator

from recall_bench.core.event import Answered
from recall_bench.core.scenario import Episode, Item, Scenario
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit


class ExhibitFactory:
    """Makes exhibits of one scenario's answers."""

    def __init__(self, scenario: Scenario, standing: ScenarioStates, *, window: int) -> None:
        self._standing = standing
        self._window = window
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._asked_at = {
            sheet.checkpoint.label: (scenario.compute_date(sheet.cutoff), sheet.cutoff)
            for sheet in standing.checkpoint_plans
        }

    def build(self, answered: Answered, bill: Callable[[Usage], None]) -> Exhibit:
        """The answer with its question, its truth and the evidence the judge may see."""
        trial = answered.trial
        item = self._standing.items[self._standing.index[trial.item]]
        asked_at, days = self._asked_at[trial.checkpoint]
        return Exhibit(
            scenario=trial.scenario,
            item=item,
            answer=answered.answer,
            asked_at=item.asked_at or asked_at,
            days=days,
            excerpts=tuple(self._collect_excerpts(item, days)) if self._window else (),
            bill=bill,
        )

    def _collect_excerpts(self, item: Item, days: int) -> Iterator[Episode]:
        """The evidence days and their neighbours, none later than the checkpoint."""
        wanted = {
            day
            for cited in item.truth.evidence
            for day in range(
                max(cited.day - self._window, 1), min(cited.day + self._window, days) + 1
            )
        }
        for day in sorted(wanted):
            if day in self._episodes:
                yield self._episodes[day]
