"""One run against the baseline, over the trials that are the same in both."""

from collections.abc import Callable, Iterable

from recall_bench.analysis.contrasts import Contrast, Part, View
from recall_bench.analysis.likeness import unlike
from recall_bench.analysis.pairing import Pairs
from recall_bench.analysis.planning import fewest
from recall_bench.analysis.trials import Table
from recall_bench.core.plan import Trial
from recall_bench.core.question import CATEGORIES
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import POINTS, RATE, SEED
from recall_bench.statistics.comparison import Comparison, Marks, compare, compare_by
from recall_bench.statistics.estimate import Limits, mean_estimate

_VIEW_RESAMPLES = 2000
"""Enough for a line in a view that nothing is decided by."""


def contrast(letter: str, first: Table, second: Table, pairs: Pairs, *, resamples: int) -> Contrast:
    """What the second run has more than the first; UsageError where they share no mark."""
    points = _Both(pairs, first.points, second.points, POINTS, resamples)
    grounded = _Both(pairs, first.hallucinations, second.hallucinations, RATE, resamples)
    guarded = _Both(pairs, first.leaks, second.leaks, RATE, resamples)
    overall = points.part("overall")
    if overall is None:
        raise UsageError(
            f"A and {letter} have no trial in common that both have a mark for; "
            "there is nothing to compare"
        )
    category = {(row.trial.scenario, row.trial.item): row.category for row in first.rows}
    return Contrast(
        letter=letter,
        is_identical=_is_identical(first, second, pairs),
        unlike=unlike(first.plan, second.plan),
        owed=len(pairs.trials),
        only_first=len(points.first.keys() - points.second.keys()),
        only_second=len(points.second.keys() - points.first.keys()),
        neither=len(pairs.trials - points.first.keys() - points.second.keys()),
        dropped=pairs.dropped,
        overall=overall,
        difference_share=overall.comparison.difference.value / FULL_MARKS,
        categories=points.parts(lambda trial: category[trial.scenario, trial.item]),
        checkpoints=points.views([c.label for c in first.plan.checkpoints], _checkpoint),
        personas=points.views([card.id for card in first.plan.scenarios], _persona),
        hallucination=grounded.part("hallucination"),
        leaks=guarded.part("leaks"),
    )


class _Both:
    """One kind of mark in both runs."""

    def __init__(
        self, pairs: Pairs, first: Marks, second: Marks, limits: Limits, resamples: int
    ) -> None:
        self.first, self.second = pairs.of(first), pairs.of(second)
        self._trials = sorted(self.first.keys() & self.second.keys(), key=str)
        self._limits = limits
        self._resamples = resamples

    def part(self, name: str) -> Part | None:
        """Over all trials."""
        found = compare(
            self.first, self.second, seed=SEED, limits=self._limits, resamples=self._resamples
        )
        return None if found is None else self._part(name, found, self._trials)

    def parts(self, category: Callable[[Trial], str]) -> tuple[Part, ...]:
        """Over each category, in the order every table prints them."""
        found = compare_by(
            self.first,
            self.second,
            category,
            seed=SEED,
            limits=self._limits,
            resamples=self._resamples,
        )
        trials = _grouped(self._trials, category)
        usual = [name for name in CATEGORIES if name in found]
        others = [name for name in found if name not in CATEGORIES]
        return tuple(self._part(name, found[name], trials[name]) for name in (*usual, *others))

    def views(self, names: Iterable[str], named: Callable[[Trial], str]) -> tuple[View, ...]:
        """Over each of the names that has a pair."""
        trials = _grouped(self._trials, named)
        missing = _grouped(self.first.keys() ^ self.second.keys(), named)
        return tuple(
            self._view(name, trials[name], len(missing.get(name, ())))
            for name in names
            if name in trials
        )

    def _part(self, name: str, found: Comparison, trials: list[Trial]) -> Part:
        if found.difference.questions < fewest():
            found = found.but(detectable=None)
        means = _mean(self.first, trials), _mean(self.second, trials)
        return Part(name=name, first=means[0], second=means[1], comparison=found)

    def _view(self, name: str, trials: list[Trial], missing: int) -> View:
        reach = self._limits[1] - self._limits[0]
        difference = mean_estimate(
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
        means = _mean(self.first, trials), _mean(self.second, trials)
        return View(name=name, first=means[0], second=means[1], difference=difference)


def _is_identical(first: Table, second: Table, pairs: Pairs) -> bool:
    ours = {row.trial: row.standing for row in first.rows}
    theirs = {row.trial: row.standing for row in second.rows}
    return all(ours[trial] == theirs[trial] for trial in pairs.trials)


def _grouped(trials: Iterable[Trial], named: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(named(trial), []).append(trial)
    return groups


def _mean(marks: Marks, trials: list[Trial]) -> float:
    """Over these trials, of which there is one at least."""
    return sum(marks[trial] for trial in trials) / len(trials)


def _checkpoint(trial: Trial) -> str:
    return trial.checkpoint


def _persona(trial: Trial) -> str:
    return trial.scenario
