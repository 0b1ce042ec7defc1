"""Whether a run lost more than is tolerated: a paired test with a margin, both ways round.

If a run lost exactly what is tolerated, then what a question lost more than that is as likely to be
the one way as the other. So the margin is added to every difference, and the signs of whole
questions are turned round, as in every comparison here.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from recall_bench.analysis.contrasting import SEED
from recall_bench.analysis.gate.rules import FULL
from recall_bench.analysis.planning import fewest
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.statistics.clusters import RESAMPLES, Drawn, Grouping, grouping
from recall_bench.statistics.comparison import Marks
from recall_bench.statistics.estimate import Estimate, mean_estimate
from recall_bench.statistics.holm import holm
from recall_bench.statistics.power import ALPHA, detectable, power_at, standard_error
from recall_bench.statistics.signs import sign_flip_p

SIDE: Final = ALPHA / 2
"""How often a run that lost just what is tolerated may be said to have lost more: what lies beyond
one end of a 95 % interval."""


class Loss(Record, frozen=True, kw_only=True):
    """What a run has less than its baseline, beside what is tolerated; in points of 100."""

    margin: float
    difference: Estimate
    """Run less baseline. `missing` counts the trials that only one of the two has a mark for."""
    more_p: float
    """How likely so great a loss is if the true one is just the margin; one-sided."""
    more_adjusted: float | None = None
    """The same by Holm's steps, where this is one of several."""
    less_p: float
    """How likely so small a loss is if the true one is just the margin; one-sided."""
    floor: float | None = None
    """The lower end of the difference's interval, corrected for skew; None where nothing is to be
    ruled out. A few questions that lost everything pull it down further than they pull the mean."""
    noticed: float | None
    """The smallest true loss that data like these show four times in five; None where not even the
    largest that is possible would be, or that cannot be known."""
    power: float | None
    """How often they show the loss to be noticed; None where no question differs from another."""

    @property
    def is_shown(self) -> bool:
        """Whether both the test and the interval say that more than the margin was lost."""
        p_value = self.more_p if self.more_adjusted is None else self.more_adjusted
        high = self.difference.high
        return p_value <= SIDE and high is not None and high < -self.margin

    @property
    def is_ruled_out(self) -> bool:
        """Whether the test and both intervals say that no more than the margin was lost."""
        ends = self.difference.low, self.floor
        return self.less_p <= SIDE and all(low is not None and low > -self.margin for low in ends)


def loss(
    baseline: Marks,
    run: Marks,
    *,
    margin: float,
    notice: float,
    looks: int = 1,
    is_to_be_ruled_out: bool = False,
    resamples: int = RESAMPLES,
) -> Loss | None:
    """What the run lost on the trials that both have; None where there is none.

    Marks are from 0 to 100, and more is better. `looks` says how many such losses are looked at
    together, which takes larger ones to be noticed.
    """
    trials = sorted(baseline.keys() & run.keys(), key=str)
    if not trials:
        return None
    differences = [run[trial] - baseline[trial] for trial in trials]
    missing = len(baseline.keys() ^ run.keys())
    estimated = partial(_estimated, trials, differences, missing=missing, resamples=resamples)
    groups = grouping([trial.item for trial in trials], [trial.scenario for trial in trials])
    more_p = _more_than(margin, differences, groups)
    noticed, power = _strength(differences, groups, looks, notice - margin)
    is_possible = noticed is not None and margin + noticed <= FULL
    return Loss(
        margin=margin,
        difference=estimated(is_difference=True),
        more_p=more_p,
        less_p=1 - more_p,
        floor=estimated(is_difference=False).low if is_to_be_ruled_out else None,
        noticed=margin + noticed if noticed is not None and is_possible else None,
        power=power,
    )


def losses_by(
    baseline: Marks,
    run: Marks,
    category: Callable[[Trial], str],
    *,
    margin: float,
    notice: float,
    resamples: int = RESAMPLES,
) -> dict[str, Loss]:
    """The loss in each category that has a pair, adjusted for being several."""
    ours, theirs = _parts(baseline, category), _parts(run, category)
    both = [name for name in ours if ours[name].keys() & theirs.get(name, {}).keys()]
    found: dict[str, Loss] = {}
    for name in both:
        each = loss(
            ours[name],
            theirs[name],
            margin=margin,
            notice=notice,
            looks=len(both),
            resamples=resamples,
        )
        if each is not None:
            found[name] = each
    adjusted = holm({name: each.more_p for name, each in found.items()})
    return {name: each.but(more_adjusted=adjusted[name]) for name, each in found.items()}


def _estimated(
    trials: Sequence[Trial],
    differences: Sequence[float],
    *,
    missing: int,
    is_difference: bool,
    resamples: int,
) -> Estimate:
    """The mean of differences; unless they are said to be such, with an interval that is skewed."""
    found = mean_estimate(
        differences,
        [trial.item for trial in trials],
        [trial.scenario for trial in trials],
        seed=SEED,
        missing=missing,
        limits=(-FULL, FULL),
        is_difference=is_difference,
        resamples=resamples,
    )
    assert found is not None  # noqa: S101 - there is a trial
    return found


def _more_than(margin: float, differences: Sequence[float], groups: Grouping) -> float:
    """The one-sided p-value of a loss beyond the margin.

    Turning signs round is as likely to give a total as its opposite, so one side has half of both.
    """
    beyond = np.asarray(differences, np.float64)[:, np.newaxis] + margin
    sums = groups.sums(beyond, Drawn.QUESTIONS)[:, 0]
    half = sign_flip_p(sums, seed=SEED) / 2
    return half if float(sums.sum()) < 0 else 1 - half


def _strength(
    differences: Sequence[float], groups: Grouping, looks: int, wanted: float
) -> tuple[float | None, float | None]:
    """How much more than the margin is noticed, and how often what is wanted is.

    By what both the test, which is over questions, and the interval could have shown.
    """
    smallest, power = 0.0, 1.0
    for drawn in {Drawn.QUESTIONS, groups.drawn}:
        # The interval is the same however many are looked at; only the test is adjusted.
        alpha = ALPHA / looks if drawn is Drawn.QUESTIONS else ALPHA
        if drawn is Drawn.QUESTIONS and groups.questions < fewest(alpha):
            return None, 0.0
        known = standard_error(differences, groups, drawn)
        if known is None or known[0] == 0:
            return None, None
        smallest = max(smallest, detectable(*known, alpha=alpha))
        power = min(power, power_at(wanted, *known, alpha=alpha))
    return smallest, power


def _parts(marks: Marks, category: Callable[[Trial], str]) -> dict[str, dict[Trial, float]]:
    parts: dict[str, dict[Trial, float]] = {}
    for trial, mark in marks.items():
        parts.setdefault(category(trial), {})[trial] = mark
    return parts
