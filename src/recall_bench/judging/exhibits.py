"""What a judge is shown of an answer."""

from collections.abc import Callable, Iterable, Mapping

from recall_bench.core.event import Answered
from recall_bench.core.scenario import Episode, Scenario
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit


class ExhibitFactory:
    """Builds the exhibits of one scenario's answers."""

    def __init__(self, scenario: Scenario, states: ScenarioStates, *, window: int) -> None:
        self._states = states
        self._window = window
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._asked_at = {
            plan.checkpoint.label: (scenario.compute_date(plan.cutoff), plan.cutoff)
            for plan in states.checkpoint_plans
        }

    def build(self, answered: Answered, bill: Callable[[Usage], None]) -> Exhibit:
        """The answer with its question, its truth and the evidence the judge may see."""
        trial = answered.trial
        item = self._states.items[self._states.index[trial.item]]
        asked_at, days = self._asked_at[trial.checkpoint]
        cited = (evidence.day for evidence in item.truth.evidence)
        return Exhibit(
            scenario=trial.scenario,
            item=item,
            answer=answered.answer,
            asked_at=item.asked_at or asked_at,
            days=days,
            excerpts=select_excerpts(self._episodes, cited, window=self._window, until=days),
            bill=bill,
        )


def select_excerpts(
    episodes: Mapping[int, Episode], evidence: Iterable[int], *, window: int, until: int
) -> tuple[Episode, ...]:
    """The evidence days and `window` days on either side, none after `until`; none for window 0."""
    if not window:
        return ()
    days = {
        day
        for cited in evidence
        for day in range(max(cited - window, 1), min(cited + window, until) + 1)
    }
    return tuple(episodes[day] for day in sorted(days) if day in episodes)
