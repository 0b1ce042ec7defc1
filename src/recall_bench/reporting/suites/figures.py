"""The figures of a behaviour suite, and how they are read from a run folder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.event import NotAnswered, Observed, StoryStarted, TrialResult
from recall_bench.core.memory import Answer, SystemCard
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.bootstrap import ResampledUnit
from recall_bench.metrics.estimate import Estimate, estimate_mean
from recall_bench.metrics.planted_strings import contains, find_planted


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a figure: whether it happened, in one story, to one fact."""

    story: str
    subject: str
    happened: float
    phase: str = ""
    """When, if it can happen to one fact several times."""
    group: str = ""
    """What is resampled together within a story; empty for the whole story."""

    @property
    def unit(self) -> str:
        """What is resampled with all its cases."""
        return self.group or self.story


class Figure(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One measured number of a suite."""

    name: str
    """Stable, for gates and tables: `residue`, `residue/forget`."""
    label: str
    estimate: Estimate | None = None
    """None if nothing could be measured; `note` says why."""
    unit: str = "share"
    """`share` or `s`."""
    best: float | None = None
    """What a memory gets that does exactly what it should."""
    worst: float | None = None
    """What a memory gets that does nothing of it."""
    is_offered: bool = True
    """False if the system does not offer what is measured."""
    note: str = ""
    is_headline: bool = False
    is_difference: bool = False
    """Whether each case is a difference between two shares, and may be negative."""
    cases: tuple[Case, ...] = ()
    """What a share is the mean of, to pair it with that of another run; a report leaves it out."""


class BehaviourReport(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The figures of one suite for one system."""

    suite: str
    version: str
    system: SystemCard
    seed: int
    stories: int
    trials: int
    not_answered: int
    plan_digest: str
    is_finished: bool
    figures: tuple[Figure, ...]
    not_offered: tuple[str, ...] = ()

    def get_figure(self, name: str) -> Figure | None:
        """Return the figure with this name; None if the suite has none."""
        return next((figure for figure in self.figures if figure.name == name), None)


def make_share(
    cases: Iterable[Case],
    *,
    name: str,
    label: str,
    best: float = 0.0,
    note: str = "",
    is_headline: bool = False,
    is_difference: bool = False,
) -> Figure:
    """The figure of how often something happens, or of a difference between two such shares.

    Whole stories, or groups of a story, are resampled for its interval, and counted where all cases
    agree. Without cases it has no estimate.
    """
    counted = tuple(cases)
    estimate = estimate_mean(
        [case.happened for case in counted],
        [case.subject for case in counted],
        [case.unit for case in counted],
        limits=(-1.0 if is_difference else 0.0, 1.0),
        is_difference=is_difference,
        # What happens to one fact of a story happens to the others for the same reason.
        agreeing=ResampledUnit.PERSONAS,
    )
    return Figure(
        name=name,
        label=label,
        estimate=estimate,
        best=best,
        worst=1.0 - best,
        note=note,
        is_headline=is_headline,
        is_difference=is_difference,
        cases=counted,
    )


def withhold(figure: Figure, why: str) -> Figure:
    """The figure without a value: a memory that knows nothing has nothing to lose or to leak."""
    return figure.replace(estimate=None, cases=(), note=why) if figure.is_offered else figure


class SuiteResults:
    """What happened in the stories of a run: answers and observations."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._observed = _read_observations(folder)

    @property
    def stories(self) -> Sequence[str]:
        """The stories of the plan."""
        return [card.id for card in self.folder.plan.scenarios]

    def list_results(self, story: str) -> Iterator[TrialResult]:
        """Yield every trial of a story that came to an end; what is still to do shows nothing."""
        for result in self.folder.results(story):
            if result.answered is not None or result.outcome is not None:
                yield result

    def list_observed(self, story: str, action: str) -> Sequence[Observed]:
        """List what was observed in a story by this action."""
        return [event for event in self._observed.get(story, ()) if event.action == action]


def _read_observations(folder: RunFolder) -> Mapping[str, list[Observed]]:
    """By story, what the last attempt at it observed."""
    by_story: dict[str, list[Observed]] = {}
    for event in read_events(folder.path / JOURNAL):
        if isinstance(event, StoryStarted):
            by_story[event.scenario] = []
        elif isinstance(event, Observed):
            by_story.setdefault(event.scenario, []).append(event)
    return by_story


def is_answered(result: TrialResult) -> bool:
    """Whether there is an answer to look at: what failed shows neither presence nor absence."""
    return result.answered is not None


def has_canary(result: TrialResult) -> bool:
    """Whether an answer contains a planted string that should not be there."""
    return result.answered is not None and bool(
        find_planted(result.answered.answer.text, result.item.truth.canaries)
    )


def has_retrieved_canary(result: TrialResult) -> bool:
    """Whether a passage that the system returned contains such a string."""
    return result.answered is not None and bool(
        find_planted(_join_passages(result.answered.answer), result.item.truth.canaries)
    )


def has_atoms(result: TrialResult) -> bool:
    """Whether an answer contains everything that a right one contains."""
    return result.answered is not None and all(
        contains(result.answered.answer.text, atom) for atom in result.item.truth.atoms
    )


def has_retrieved_atoms(result: TrialResult) -> bool:
    """Whether the passages that the system returned contain everything a right answer does."""
    if result.answered is None:
        return False
    text = _join_passages(result.answered.answer)
    return all(contains(text, atom) for atom in result.item.truth.atoms)


def _join_passages(answer: Answer) -> str:
    return "\n".join(passage.text for passage in answer.passages)


def count_failures(folder: RunFolder) -> int:
    """Count the questions that the system failed to answer."""
    return sum(
        isinstance(result.outcome, NotAnswered)
        for story in folder.scenarios
        for result in folder.results(story)
    )
