"""One run against the baseline, over the trials that are the same in both."""

from collections.abc import Callable, Iterable

from recall_bench.analysis.contrasts import Contrast, ContrastPart, ContrastView
from recall_bench.analysis.likeness import find_differences
from recall_bench.analysis.pairing import TrialPairs
from recall_bench.analysis.planning import count_fewest
from recall_bench.analysis.trials import TrialTable
from recall_bench.core.plan import Trial
from recall_bench.core.question import CATEGORIES
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import POINTS, RATE, SEED
from recall_bench.statistics.comparison import (
    PairedComparison,
    TrialMarks,
    compare,
    compare_by_category,
)
from recall_bench.statistics.estimate import Limits, estimate_mean

_VIEW_RESAMPLES = 2000
"""Enough for a line in a view that nothing is decided by."""


def compare_pair(
    letter: str, first: TrialTable, second: TrialTable, pairs: TrialPairs, *, resamples: int
) -> Contrast:
    """What the second run has more than the first; UsageError where they share no mark."""
    points = _PairedMarks(pairs, first.points, second.points, POINTS, resamples)
    grounded = _PairedMarks(pairs, first.hallucinations, second.hallucinations, RATE, resamples)
    guarded = _PairedMarks(pairs, first.leaks, second.leaks, RATE, resamples)
    overall = points.compare_all("overall")
    if overall is None:
        raise UsageError(
            f"A and {letter} have no trial in common that both have a mark for; "
            "there is nothing to compare"
        )
    category = {(row.trial.scenario, row.trial.item): row.category for row in first.rows}
    return Contrast(
        letter=letter,
        is_identical=_is_identical(first, second, pairs),
        unlike=find_differences(first.plan, second.plan),
        owed=len(pairs.trials),
        only_first=len(points.first.keys() - points.second.keys()),
        only_second=len(points.second.keys() - points.first.keys()),
        neither=len(pairs.trials - points.first.keys() - points.second.keys()),
        dropped=pairs.dropped,
        overall=overall,
        difference_share=overall.comparison.difference.value / FULL_MARKS,
        categories=points.compare_categories(lambda trial: category[trial.scenario, trial.item]),
        checkpoints=points.view_groups([c.label for c in first.plan.checkpoints], _get_checkpoint),
        personas=points.view_groups([card.id for card in first.plan.scenarios], _get_persona),
        hallucination=grounded.compare_all("hallucination"),
        leaks=guarded.compare_all("leaks"),
    )


class _PairedMarks:
    """One kind of mark in both runs."""

    def __init__(
        self,
        pairs: TrialPairs,
        first: TrialMarks,
        second: TrialMarks,
        limits: Limits,
        resamples: int,
    ) -> None:
        self.first, self.second = pairs.select_marks(first), pairs.select_marks(second)
        self._trials = sorted(self.first.keys() & self.second.keys(), key=str)
        self._limits = limits
        self._resamples = resamples

    def compare_all(self, name: str) -> ContrastPart | None:
        """Over all trials."""
        found = compare(
            self.first, self.second, seed=SEED, limits=self._limits, resamples=self._resamples
        )
        return None if found is None else self._build_part(name, found, self._trials)

    def compare_categories(self, category: Callable[[Trial], str]) -> tuple[ContrastPart, ...]:
        """Over each category, in the order every table prints them."""
        found = compare_by_category(
            self.first,
            self.second,
            category,
            seed=SEED,
            limits=self._limits,
            resamples=self._resamples,
        )
        trials = _group_trials(self._trials, category)
        usual = [name for name in CATEGORIES if name in found]
        others = [name for name in found if name not in CATEGORIES]
        return tuple(
            self._build_part(name, found[name], trials[name]) for name in (*usual, *others)
        )

    def view_groups(
        self, names: Iterable[str], named: Callable[[Trial], str]
    ) -> tuple[ContrastView, ...]:
        """Over each of the names that has a pair."""
        trials = _group_trials(self._trials, named)
        missing = _group_trials(self.first.keys() ^ self.second.keys(), named)
        return tuple(
            self._build_view(name, trials[name], len(missing.get(name, ())))
            for name in names
            if name in trials
        )

    def _build_part(self, name: str, found: PairedComparison, trials: list[Trial]) -> ContrastPart:
        if found.difference.questions < count_fewest():
            found = found.replace(detectable=None)
        means = _average(self.first, trials), _average(self.second, trials)
        return ContrastPart(name=name, first=means[0], second=means[1], comparison=found)

    def _build_view(self, name: str, trials: list[Trial], missing: int) -> ContrastView:
        reach = self._limits[1] - self._limits[0]
        difference = estimate_mean(
            [self.second[trial] - self.first[trial] for trial in trials],
            [trial.item for trial in trials],
            [trial.scenario for trial in trials],
            seed=SEED,
            missing=missing,
            limits=(-reach, reach),
            is_difference=True,
            resamples=min(self._resamples, _VIEW_RESAMPLES),
        )
        assert difference is not None  # noqa: S101 - there is a pair
        means = _average(self.first, trials), _average(self.second, trials)
        return ContrastView(name=name, first=means[0], second=means[1], difference=difference)


def _is_identical(first: TrialTable, second: TrialTable, pairs: TrialPairs) -> bool:
    ours = {row.trial: row.standing for row in first.rows}
    theirs = {row.trial: row.standing for row in second.rows}
    return all(ours[trial] == theirs[trial] for trial in pairs.trials)


def _group_trials(trials: Iterable[Trial], named: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(named(trial), []).append(trial)
    return groups


def _average(marks: TrialMarks, trials: list[Trial]) -> float:
    """Over these trials, of which there is one at least."""
    return sum(marks[trial] for trial in trials) / len(trials)


def _get_checkpoint(trial: Trial) -> str:
    return trial.checkpoint


def _get_persona(trial: Trial) -> str:
    return trial.scenario
