"""Results of a behaviour suite written by hand, to see which figures they give.

It is here and not in `testing`, because `testing` may not import `reporting`.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

from recall_bench.core.event import Answered, NotAnswered, Observed, TrialResult
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import BehaviourCard, Trial
from recall_bench.core.scenario import Item, Truth
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.suites.figures import SuiteResults

_AT = datetime(2025, 1, 1, tzinfo=UTC)


class ScriptedResults(SuiteResults):
    """Answers and observations without a run: what `build_erasure_figures` and others take."""

    def __init__(
        self,
        *,
        version: str = "3",
        offers: Sequence[str] = (),
        not_offered: Sequence[str] = (),
    ) -> None:
        card = BehaviourCard(
            suite="scripted",
            version=version,
            steps_digest="",
            offers=tuple(offers),
            not_offered=tuple(not_offered),
        )
        self.folder = cast("RunFolder", SimpleNamespace(plan=SimpleNamespace(behaviour=card)))
        self._results: dict[str, list[TrialResult]] = {}
        self._observed: dict[str, list[Observed]] = {}

    @property
    def stories(self) -> Sequence[str]:
        """The stories, in the order in which they were first mentioned."""
        return list(dict.fromkeys((*self._results, *self._observed)))

    def list_results(self, story: str) -> Iterator[TrialResult]:
        """Yield the answers of a story."""
        yield from self._results.get(story, ())

    def add_answer(
        self,
        story: str,
        phase: str,
        name: str,
        text: str | None,
        *,
        kind: str,
        right: str | None = None,
        wrong: Sequence[str] = (),
        passages: Sequence[str] = (),
    ) -> None:
        """Add an answer; None as the text is a failure to answer.

        `right` is the value that belongs in the answer, `wrong` are those that do not.
        """
        truth = Truth(
            reference=right or next(iter(wrong), ""),
            category="scripted",
            atoms=() if right is None else (right,),
            canaries=tuple(wrong),
        )
        trial = Trial(scenario=story, item=name, checkpoint=phase)
        item = Item(id=name, text="?", truth=truth, known_from=1, kind=kind)
        if text is None:
            failed = NotAnswered(
                at=_AT, trial=trial, fault="SystemFault", message="scripted", seconds=0.0
            )
            result = TrialResult(trial=trial, item=item, outcome=failed)
        else:
            found = tuple(Passage(text=each) for each in passages)
            answer = Answer(text=text, passages=found)
            answered = Answered(at=_AT, trial=trial, answer=answer, seconds=0.0)
            result = TrialResult(trial=trial, item=item, answered=answered)
        self._results.setdefault(story, []).append(result)

    def add_observation(self, story: str, phase: str, action: str, **values: object) -> None:
        """Add something that was observed, with the fields of an `Observed` event."""
        event = Observed(at=_AT, scenario=story, lane="memory", phase=phase, action=action)
        self._observed.setdefault(story, []).append(event.replace(**values))
