"""Records that share a question are not independent: what that does to an interval.

A system asked the same question at ten checkpoints gives much the same answer ten times. So
questions are drawn, never records, and an effective size says how many independent records
would tell as much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.record import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESAMPLES: Final = 1000
SEED: Final = 20_260_101
LEVEL: Final = 0.95
"""The share of intervals that should hold the truth."""

_CELLS = 1 << 21
_DEFINED = 0.9
"""A figure that exists in a smaller share of the resamples has no interval."""


def draw_resamples(question: Ints, count: int = RESAMPLES) -> Iterator[Floats]:
    """How often each record is drawn when as many questions as there are are drawn again.

    One row a resample, in as many pieces as keep the memory small. The same questions give the
    same draws every time.
    """
    if not len(question):
        return
    questions = int(question.max()) + 1
    chance = np.random.default_rng(SEED)
    step = max(1, _CELLS // max(len(question), questions))
    even = np.full(questions, 1 / questions)
    for start in range(0, count, step):
        drawn = chance.multinomial(questions, even, size=min(step, count - start))
        yield drawn.astype(np.float64)[:, question]


def compute_interval(parts: Sequence[Floats]) -> tuple[float, float] | None:
    """The middle 95 % of a figure's values, NaN meaning undefined; None if it too often is."""
    if not parts:
        return None
    values = np.concatenate(parts)
    defined = values[~np.isnan(values)]
    if not len(defined) or len(defined) < _DEFINED * len(values):
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def estimate_effective_size(hits: Bools, question: Ints) -> float | None:
    """How many independent records would give this share as surely; None where there is none.

    Never more than the records there are. Where all records agree nothing shows how alike the
    answers to one question are, so each question counts once.
    """
    if not len(hits):
        return None
    share = float(hits.mean())
    sums = np.bincount(question, weights=hits - share)
    asked = len(np.unique(question))
    if asked < 2 or share in {0.0, 1.0}:
        return float(asked)
    variance = asked / (asked - 1) * float(sums @ sums) / len(hits) ** 2
    # Answers to one question may also differ more than chance has it: that proves nothing.
    alone = share * (1 - share) / len(hits)
    return max(1.0, share * (1 - share) / max(variance, alone))


def number_names(names: Sequence[str]) -> Ints:
    """Each name as a number: equal names, equal numbers, counted from 0 without a gap."""
    place: dict[str, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)


def compute_auc(weights: Floats, score: Floats, positive: Bools) -> Floats:
    """The chance that a positive record outscores a negative one, ties counting half."""
    if not len(score):
        return np.full(len(weights), np.nan)
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    drawn, is_positive = weights[:, order], positive[order]
    above = np.add.reduceat(np.where(is_positive, drawn, 0.0), starts, axis=1)
    below = np.add.reduceat(np.where(is_positive, 0.0, drawn), starts, axis=1)
    beaten = np.cumsum(below, axis=1) - below / 2
    return _divide((above * beaten).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))


def compute_pass_figures(weights: Floats, passed: Bools, positive: Bools) -> dict[str, Floats]:
    """Accuracy, Cohen's kappa, sensitivity and specificity of a yes or no."""
    right_yes = weights @ (passed & positive)
    wrong_yes = weights @ (passed & ~positive)
    wrong_no = weights @ (~passed & positive)
    right_no = weights @ (~passed & ~positive)
    total = right_yes + wrong_yes + wrong_no + right_no
    agreed = _divide(right_yes + right_no, total)
    by_chance = _divide(
        (right_yes + wrong_yes) * (right_yes + wrong_no)
        + (right_no + wrong_no) * (right_no + wrong_yes),
        total**2,
    )
    return {
        "accuracy": agreed,
        "kappa": _divide(agreed - by_chance, 1 - by_chance),
        "sensitivity": _divide(right_yes, right_yes + wrong_no),
        "specificity": _divide(right_no, right_no + wrong_yes),
    }


def compute_weighted_kappa(weights: Floats, given: Ints, label: Ints, top: int) -> Floats:
    """Agreement beyond chance on the whole scale, a miss by two costing four times one by one."""
    points = np.arange(top + 1)
    cost = (points[:, None] - points[None, :]) ** 2
    seen = weights @ ((given - label) ** 2)
    # One-hot columns turn both margins into products with the weights.
    as_given = weights @ (given[:, None] == points)
    as_labelled = weights @ (label[:, None] == points)
    by_chance = ((as_given @ cost) * as_labelled).sum(axis=1)
    return 1 - _divide(seen * weights.sum(axis=1), by_chance)


def compute_brier(weights: Floats, probability: Floats, positive: Bools) -> Floats:
    """The mean squared distance of the probability from what was so."""
    return _divide(weights @ (probability - positive) ** 2, weights.sum(axis=1))


def compute_reliability(
    weights: Floats, probability: Floats, positive: Bools, bins: int
) -> tuple[Floats, Floats]:
    """For each bin of probability, its mean probability and its share of positives."""
    place = find_bins(probability, bins)
    member = place[:, None] == np.arange(bins)
    held = weights @ member
    stated = _divide(weights @ (member * probability[:, None]), held)
    observed = _divide(weights @ (member & positive[:, None]), held)
    return stated, observed


def find_bins(probability: Floats, bins: int) -> Ints:
    """The bin each probability falls into; the last one holds 1 as well."""
    return np.minimum((probability * bins).astype(np.int64), bins - 1)


def _divide(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole != 0)


BINS: Final = 10

FEWEST_QUESTIONS: Final = 5
"""Fewer questions than this do not show how much questions differ: there is no interval."""

FIGURES: Final = (
    "auc",
    "accuracy",
    "kappa",
    "kappa_weighted",
    "sensitivity",
    "specificity",
    "brier",
)

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPairs:
    """One mark of many answers: what the judge gave and what the labels say."""

    given: Ints
    """The judge's points."""
    label: Ints
    """The points it should have given."""
    question: Ints
    """Which question each answer is to, numbered from 0 without a gap."""
    top: int
    """What the mark is out of."""
    level: int
    """The points from which on it is a pass."""
    probability: Floats | None = None
    """How likely the judge holds each a pass; None unless it says so for all of them."""

    @property
    def positive(self) -> Bools:
        """Which answers pass by their label."""
        return self.label >= self.level

    @property
    def passed(self) -> Bools:
        """Which answers pass by the judge."""
        return self.given >= self.level

    @property
    def score(self) -> Floats:
        """What ranks the answers: the probabilities, or for want of them the points."""
        if self.probability is not None:
            return self.probability
        return self.given.astype(np.float64)


class ReliabilityBin(Record, frozen=True, kw_only=True):
    """Answers that were about as likely to pass as one another, by the judge's own account."""

    start: float
    end: float
    n: int
    probability: float | None
    """The mean of what the judge said."""
    observed: float | None
    """The share that did pass."""
    interval: Interval | None
    """Of the observed share."""


class MarkAgreement(Record, frozen=True, kw_only=True):
    """How well a judge gives one mark."""

    n: int
    questions: int
    positives: int
    """Answers that pass by their label."""
    passed: int
    """Answers that pass by the judge."""
    scored_by: Literal["probabilities", "marks"]
    """What the AUC ranks by."""
    auc: float | None
    accuracy: float | None
    kappa: float | None
    kappa_weighted: float | None
    sensitivity: float | None
    """The share of true passes that it passes."""
    specificity: float | None
    """The share of true failures that it fails."""
    brier: float | None
    intervals: dict[str, Interval | None]
    """By figure."""
    effective: dict[str, float | None]
    """How many independent answers would tell the sensitivity and specificity as surely."""
    reliability: tuple[ReliabilityBin, ...] | None
    """None where the judge gives no probabilities."""


def measure_agreement(rulings: MarkPairs) -> MarkAgreement:
    """Every figure of agreement with its interval."""
    plain = _FigureDraws.compute(np.ones((1, len(rulings.label))), rulings)
    questions = len(np.unique(rulings.question))
    spread = [
        _FigureDraws.compute(weights, rulings)
        for weights in _resample_questions(rulings, questions)
    ]
    figures = {name: _drop_nan(values[0]) for name, values in plain.figures.items()}
    return MarkAgreement(
        n=len(rulings.label),
        questions=questions,
        positives=int(rulings.positive.sum()),
        passed=int(rulings.passed.sum()),
        scored_by="marks" if rulings.probability is None else "probabilities",
        auc=figures["auc"],
        accuracy=figures["accuracy"],
        kappa=figures["kappa"],
        kappa_weighted=figures["kappa_weighted"],
        sensitivity=figures["sensitivity"],
        specificity=figures["specificity"],
        brier=figures.get("brier"),
        intervals={
            name: compute_interval([part.figures[name] for part in spread])
            if figures.get(name) is not None
            else None
            for name in FIGURES
        },
        effective=_estimate_effective(rulings),
        reliability=_build_bins(rulings, plain, spread),
    )


@dataclass(frozen=True, slots=True)
class _FigureDraws:
    """All figures under each row of weights."""

    figures: dict[str, Floats]
    stated: Floats | None = None
    observed: Floats | None = None

    @classmethod
    def compute(cls, weights: Floats, rulings: MarkPairs) -> Self:
        positive, probability = rulings.positive, rulings.probability
        figures = compute_pass_figures(weights, rulings.passed, positive)
        figures["auc"] = compute_auc(weights, rulings.score, positive)
        figures["kappa_weighted"] = compute_weighted_kappa(
            weights, rulings.given, rulings.label, rulings.top
        )
        if probability is None:
            return cls(figures)
        figures["brier"] = compute_brier(weights, probability, positive)
        return cls(figures, *compute_reliability(weights, probability, positive, BINS))


def _resample_questions(rulings: MarkPairs, questions: int) -> Iterator[Floats]:
    """The resamples; none where there are too few questions to draw from."""
    return draw_resamples(rulings.question) if questions >= FEWEST_QUESTIONS else iter(())


def _estimate_effective(rulings: MarkPairs) -> dict[str, float | None]:
    positive, passed, question = rulings.positive, rulings.passed, rulings.question
    return {
        "sensitivity": estimate_effective_size(passed[positive], question[positive]),
        "specificity": estimate_effective_size(~passed[~positive], question[~positive]),
    }


def _build_bins(
    rulings: MarkPairs, plain: _FigureDraws, spread: list[_FigureDraws]
) -> tuple[ReliabilityBin, ...] | None:
    if rulings.probability is None or plain.stated is None or plain.observed is None:
        return None
    held = np.bincount(find_bins(rulings.probability, BINS), minlength=BINS)
    curves = [part.observed for part in spread if part.observed is not None]
    return tuple(
        ReliabilityBin(
            start=place / BINS,
            end=(place + 1) / BINS,
            n=int(held[place]),
            probability=_drop_nan(plain.stated[0, place]),
            observed=_drop_nan(plain.observed[0, place]),
            interval=compute_interval([curve[:, place] for curve in curves]),
        )
        for place in range(BINS)
    )


def _drop_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
