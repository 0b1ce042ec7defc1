"""Whether a run lost more than is tolerated: a paired test with a margin, both ways round.

If a run lost exactly what is tolerated, then what a question lost more than that is as likely to be
the one way as the other. So the margin is added to every difference, and the signs of whole
questions are turned round, as in every comparison here. That test decides: it speaks of these
personas, which are those that the next run is put to as well. The interval is shown beside it.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from recall_bench.analysis.gate.rules import FULL_SCORE
from recall_bench.analysis.gate.strength import (
    QuestionSums,
    simulate_loss_power,
    simulate_proof_power,
)
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.reporting.estimates import SEED
from recall_bench.statistics.clusters import RESAMPLES, Floats, ResampledUnit, group_trials
from recall_bench.statistics.comparison import TrialMarks
from recall_bench.statistics.estimate import Estimate, estimate_mean
from recall_bench.statistics.holm import adjust_p_values
from recall_bench.statistics.power import ALPHA
from recall_bench.statistics.signs import compute_sign_flip_p

ONE_SIDED_ALPHA: Final = ALPHA / 2
"""How often a run that lost just what is tolerated may be said to have lost more: what lies beyond
one end of a 95 % interval."""


class GateLoss(Record, frozen=True, kw_only=True):
    """What a run has less than its baseline, beside what is tolerated; in points of 100."""

    margin: float
    difference: Estimate
    """Run less baseline. `missing` counts the trials that only one of the two has a mark for."""
    more_p: float
    """How likely so great a loss is if the true one is just the margin; one-sided."""
    more_adjusted: float | None = None
    """The same by Holm's steps, where this is one of several."""
    less_p: float | None = None
    """How likely so small a loss is if the true one is just the margin, one-sided, and with one
    more question that lost everything; None where nothing is to be ruled out."""
    power: float | None
    """How often data like these show the loss to be noticed, if it takes whole questions; where
    something is to be ruled out, how often they do so of a run that lost nothing. None where no
    question differs from another."""
    even_power: float | None = None
    """How often they show it if every question loses as much."""
    noticed: float | None = None
    """The smallest true loss, in whole questions, that they show four times in five; None where not
    even the loss of everything would be, or that cannot be known."""
    provable: float | None = None
    """The smallest margin that a run which lost nothing is shown to keep to four times in five."""

    @property
    def is_shown(self) -> bool:
        """Whether the test says that more than the margin was lost."""
        p_value = self.more_p if self.more_adjusted is None else self.more_adjusted
        return p_value <= ONE_SIDED_ALPHA

    @property
    def is_ruled_out(self) -> bool:
        """Whether the test says that no more than the margin was lost."""
        return self.less_p is not None and self.less_p <= ONE_SIDED_ALPHA


def measure_loss(
    baseline: TrialMarks,
    run: TrialMarks,
    *,
    margin: float,
    notice: float | None = None,
    looks: int = 1,
    is_to_be_ruled_out: bool = False,
    resamples: int = RESAMPLES,
) -> GateLoss | None:
    """What the run lost on the trials that both have; None where there is none.

    Marks are from 0 to 100, and more is better. How strong the data are is said of a loss of
    `notice`, and not at all without one. `looks` says how many such losses are looked at together,
    which takes larger ones to be noticed.
    """
    trials = sorted(baseline.keys() & run.keys(), key=str)
    if not trials:
        return None
    questions = _sum_questions(baseline, run, trials)
    found = GateLoss(
        margin=margin,
        difference=_estimate_difference(baseline, run, trials, resamples),
        more_p=_compute_one_sided_p(-questions.add_margin(margin)),
        power=None,
    )
    if is_to_be_ruled_out:
        found = found.replace(less_p=_compute_one_sided_p(questions.append_lost(margin)))
    if notice is None or questions.is_unchanged:
        return found
    if is_to_be_ruled_out:
        proof = simulate_proof_power(questions, margin=margin)
        return found.replace(power=proof.power, provable=proof.provable)
    shown = simulate_loss_power(questions, margin=margin, notice=notice, looks=looks)
    return found.replace(power=shown.power, even_power=shown.even_power, noticed=shown.noticed)


def measure_losses(
    baseline: TrialMarks,
    run: TrialMarks,
    category: Callable[[Trial], str],
    *,
    margin: float,
    notice: float,
    resamples: int = RESAMPLES,
) -> dict[str, GateLoss]:
    """The loss in each category that has a pair, adjusted for being several."""
    ours, theirs = _split_by_category(baseline, category), _split_by_category(run, category)
    both = [name for name in ours if ours[name].keys() & theirs.get(name, {}).keys()]
    found: dict[str, GateLoss] = {}
    for name in both:
        each = measure_loss(
            ours[name],
            theirs[name],
            margin=margin,
            notice=notice,
            looks=len(both),
            resamples=resamples,
        )
        if each is not None:
            found[name] = each
    adjusted = adjust_p_values({name: each.more_p for name, each in found.items()})
    return {name: each.replace(more_adjusted=adjusted[name]) for name, each in found.items()}


def _estimate_difference(
    baseline: TrialMarks, run: TrialMarks, trials: Sequence[Trial], resamples: int
) -> Estimate:
    """As every comparison shows it."""
    found = estimate_mean(
        [run[trial] - baseline[trial] for trial in trials],
        [trial.item for trial in trials],
        [trial.scenario for trial in trials],
        seed=SEED,
        missing=len(baseline.keys() ^ run.keys()),
        limits=(-FULL_SCORE, FULL_SCORE),
        is_difference=True,
        resamples=resamples,
    )
    assert found is not None  # noqa: S101 - there is a trial
    return found


def _sum_questions(baseline: TrialMarks, run: TrialMarks, trials: Sequence[Trial]) -> QuestionSums:
    marks = [(baseline[trial], run[trial] - baseline[trial], 1.0) for trial in trials]
    groups = group_trials([trial.item for trial in trials], [trial.scenario for trial in trials])
    sums = groups.sum_columns(np.asarray(marks, np.float64), ResampledUnit.QUESTIONS)
    return QuestionSums(before=sums[:, 0], change=sums[:, 1], asks=sums[:, 2])


def _compute_one_sided_p(sums: Floats) -> float:
    """How likely so large a total is by chance.

    Turning signs round is as likely to give a total as its opposite, so one side has half of both.
    """
    half = compute_sign_flip_p(sums, seed=SEED) / 2
    return half if float(sums.sum()) > 0 else 1 - half


def _split_by_category(
    marks: TrialMarks, category: Callable[[Trial], str]
) -> dict[str, dict[Trial, float]]:
    parts: dict[str, dict[Trial, float]] = {}
    for trial, mark in marks.items():
        parts.setdefault(category(trial), {})[trial] = mark
    return parts
