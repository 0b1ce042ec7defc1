"""One run against another, trial by trial: differences, intervals and p-values."""

from collections.abc import Callable, Iterable, Mapping

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord, Key, group_by
from recall_bench.core.scenario import order_categories
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.counted_marks import POINTS, RATE
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.comparison import (
    PairedComparison,
    TrialMarks,
    adjust_p_values,
    compare,
    compare_by_category,
    estimate_difference,
)
from recall_bench.metrics.estimate import Estimate, Limits
from recall_bench.metrics.power import find_fewest_questions
from recall_bench.reporting.judge_scores import OrderAgreement
from recall_bench.reporting.run_pairs import (
    DroppedTrials,
    RunDifference,
    TrialPairs,
    find_differences,
)


class ContrastPart(ComputedRecord, frozen=True, kw_only=True):
    """A group of pairs: both means, and the tested difference.

    `detectable` is None if there are too few questions to detect any difference.
    """

    name: str
    first: float
    second: float
    comparison: PairedComparison

    def adjust(self, p_value: float) -> "ContrastPart":
        """The same with the p-value as one of several."""
        return self.replace(comparison=self.comparison.replace(p_adjusted=p_value))


class ContrastView(ComputedRecord, frozen=True, kw_only=True):
    """A group of pairs without a test."""

    name: str
    first: float
    second: float
    difference: Estimate


class Contrast(ComputedRecord, frozen=True, kw_only=True):
    """One run against the baseline."""

    letter: str
    is_identical: bool
    """Whether every trial that both owe has the same outcome and marks."""
    unlike: tuple[RunDifference, ...]
    """What differs besides the system, if that was allowed."""
    owed: int
    """Trials that both owe."""
    only_first: int
    """Trials with a mark in the baseline only."""
    only_second: int
    """Trials with a mark in this run only."""
    neither: int
    """Trials without a mark in both."""
    dropped: tuple[DroppedTrials, ...]
    overall: ContrastPart
    difference_share: float
    """The difference as a share of full marks."""
    categories: tuple[ContrastPart, ...]
    checkpoints: tuple[ContrastView, ...]
    personas: tuple[ContrastView, ...]
    hallucination: ContrastPart | None
    """The share of ungrounded answers among those judged in both; None if there are none."""
    inventions: ContrastPart | None
    """The share of invented answers among those judged in both; None if there are none."""
    leaks: ContrastPart | None
    """The share of leaks among the guarded answers in both; None if there are none."""
    judges: tuple[ContrastPart, ...] = ()
    """The difference by each judge that both runs have, by its name; empty if that is one."""
    order: OrderAgreement | None = None
    """What these judges say about the order of the two runs; None if there is one judge."""
    order_said: str | None = None
    """The same in a sentence."""


_VIEW_RESAMPLES = 2000
"""Enough for a view without a test."""


def compare_pair(
    letter: str, first: TrialTable, second: TrialTable, pairs: TrialPairs, *, resamples: int
) -> Contrast:
    """The second run against the first; UsageError if no trial has a mark in both."""
    is_protocol = first.scale is not None
    points = PairedMarks(
        pairs, first.points, second.points, POINTS, resamples, is_protocol=is_protocol
    )
    overall = points.compare_all("overall")
    if overall is None:
        raise UsageError(
            f"A and {letter} have no trial in common that both have a mark for; "
            "there is nothing to compare"
        )

    def compare_rates(name: str, ours: TrialMarks, theirs: TrialMarks) -> ContrastPart | None:
        return PairedMarks(pairs, ours, theirs, RATE, resamples).compare_all(name)

    category = {(row.trial.scenario, row.trial.item): row.category for row in first.rows}
    return Contrast(
        letter=letter,
        is_identical=pairs.is_identical(first, second),
        unlike=find_differences(first.plan, second.plan),
        owed=len(pairs.trials),
        only_first=len(points.first.keys() - points.second.keys()),
        only_second=len(points.second.keys() - points.first.keys()),
        neither=len(pairs.trials - points.first.keys() - points.second.keys()),
        dropped=pairs.dropped,
        overall=overall,
        difference_share=overall.comparison.difference.value / FULL_MARKS,
        categories=points.compare_categories(lambda trial: category[trial.scenario, trial.item]),
        checkpoints=points.view_groups(
            [checkpoint.label for checkpoint in first.plan.checkpoints],
            lambda trial: trial.checkpoint,
        ),
        personas=points.view_groups(
            [card.id for card in first.plan.scenarios], lambda trial: trial.scenario
        ),
        hallucination=compare_rates("hallucination", first.hallucinations, second.hallucinations),
        inventions=compare_rates("invented", first.inventions, second.inventions),
        leaks=compare_rates("leaks", first.leaks, second.leaks),
    )


class PairedMarks:
    """One kind of mark in both runs."""

    def __init__(
        self,
        pairs: TrialPairs,
        first: TrialMarks,
        second: TrialMarks,
        limits: Limits,
        resamples: int,
        *,
        is_protocol: bool = False,
    ) -> None:
        self.first, self.second = pairs.select_marks(first), pairs.select_marks(second)
        self._trials = sorted(self.first.keys() & self.second.keys(), key=str)
        self._templates, self._limits, self._resamples = pairs.templates, limits, resamples
        self._right = limits[1] if is_protocol else None

    def compare_all(self, name: str) -> ContrastPart | None:
        """Over all trials."""
        comparison = compare(
            self.first,
            self.second,
            limits=self._limits,
            templates=self._templates,
            resamples=self._resamples,
            right=self._right,
        )
        return None if comparison is None else self._build_part(name, comparison, self._trials)

    def compare_categories(self, category: Callable[[Trial], str]) -> tuple[ContrastPart, ...]:
        """Over each category, in the order every table prints them."""
        comparisons = compare_by_category(
            self.first,
            self.second,
            category,
            limits=self._limits,
            templates=self._templates,
            resamples=self._resamples,
            right=self._right,
        )
        trials = group_by(self._trials, category)
        return tuple(
            self._build_part(name, comparisons[name], trials[name])
            for name in order_categories(comparisons)
        )

    def view_groups(
        self, names: Iterable[str], named: Callable[[Trial], str]
    ) -> tuple[ContrastView, ...]:
        """Over each named group that has a pair."""
        trials = group_by(self._trials, named)
        missing = group_by(self.first.keys() ^ self.second.keys(), named)
        return tuple(
            ContrastView(
                name=name,
                first=_average(self.first, trials[name]),
                second=_average(self.second, trials[name]),
                difference=estimate_difference(
                    self.first,
                    self.second,
                    trials[name],
                    limits=self._limits,
                    templates=self._templates,
                    missing=len(missing.get(name, ())),
                    resamples=min(self._resamples, _VIEW_RESAMPLES),
                ),
            )
            for name in names
            if name in trials
        )

    def _build_part(
        self, name: str, comparison: PairedComparison, trials: list[Trial]
    ) -> ContrastPart:
        if comparison.difference.questions < find_fewest_questions():
            comparison = comparison.replace(detectable=None)
        means = _average(self.first, trials), _average(self.second, trials)
        return ContrastPart(name=name, first=means[0], second=means[1], comparison=comparison)


def _average(marks: TrialMarks, trials: list[Trial]) -> float:
    """The mean over these trials, at least one."""
    return sum(marks[trial] for trial in trials) / len(trials)


def adjust_parts(parts: Mapping[Key, ContrastPart]) -> dict[Key, ContrastPart]:
    """Adjust the p-values of all parts together."""
    adjusted = adjust_p_values({key: part.comparison.p_value for key, part in parts.items()})
    return {key: part.adjust(adjusted[key]) for key, part in parts.items()}


def adjust_contrasts(contrasts: Mapping[Key, Contrast]) -> dict[Key, Contrast]:
    """Adjust p-values over all comparisons, and over all categories of all of them.

    One comparison alone stays as it is.
    """
    if len(contrasts) < 2:
        return dict(contrasts)
    overall = adjust_parts({key: contrast.overall for key, contrast in contrasts.items()})
    categories = adjust_parts(
        {
            (key, part.name): part
            for key, contrast in contrasts.items()
            for part in contrast.categories
        }
    )
    return {
        key: contrast.replace(
            overall=overall[key],
            categories=tuple(categories[key, part.name] for part in contrast.categories),
        )
        for key, contrast in contrasts.items()
    }
