"""Inventions and leaks by category, over corpus size, beside recall, and by persona.

An answer that is not grounded is hallucinated: it is either *invented* or it *leaks*. Inventions
are counted over judged answers, leaks over those in which a leak could be noticed. Recall is over
all trials that count: a question not answered has no points.

Recall *falls* if the whole 95 % interval of its slope is below zero; invention *rises* if the
whole interval of its slope is above zero. Then the pattern is

* pathological: recall falls and invention rises;
* inventing: invention rises, and recall does not fall;
* healthy: recall falls, invention does not rise, and the upper end of its slope is less than
  half of what recall loses: most of what is lost is not invented;
* unknown: recall falls, invention does not rise, and its upper end is not as low as that;
* steady: neither changes significantly, which does not prove that neither changes.

Steady data are called something else about once in twenty. The pattern is of inventions alone; that
leaks rise is said beside it.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Literal

import numpy as np

from recall_bench.core.plain_text import join_words
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import NEGATIVE, SYNTHESIS, order_categories
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import SCALES
from recall_bench.engine.runs.counted_marks import RATE
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import RESAMPLES as HEADLINE
from recall_bench.metrics.bootstrap import SEED, Ints, QuestionNumbers, number_names
from recall_bench.metrics.estimate import Estimate, MarkTally, estimate_tallies
from recall_bench.metrics.trend import (
    FAR_DAYS,
    Coefficient,
    Prediction,
    Trend,
    estimate_grouped_trend,
)
from recall_bench.reporting.formats import format_number, format_rise, format_slope


class HallucinationPattern(StrEnum):
    """What happens to invention while recall changes with corpus size."""

    HEALTHY = "healthy"
    """Recall falls, and invention does not rise with it."""
    PATHOLOGICAL = "pathological"
    """Recall falls and invention rises: what is lost is invented."""
    INVENTING = "inventing"
    """Invention rises, and recall does not fall significantly."""
    STEADY = "steady"
    """Neither gets significantly worse. With few questions that says little."""
    UNKNOWN = "unknown"
    """There are not two sizes to compare, nothing was judged, or recall falls and it is unclear
    whether invention rises with it."""


class CategoryRate(Record, frozen=True, kw_only=True):
    """The rates of one category."""

    name: str
    rate: Estimate | None
    """Answers that are invented or leak; None if none was judged."""
    leaked: int = 0
    """Leaks in the rate: they are not grounded either."""
    invention: Estimate | None = None
    """Answers that are invented; None if none was judged."""
    leak: Estimate | None = None
    """Answers that leak, of those that could; None if none could."""


class CheckpointRates(Record, frozen=True, kw_only=True):
    """Recall beside inventions and leaks at one checkpoint."""

    checkpoint: str
    days: int
    """Story days fed by then, the most of any persona."""
    recall: Estimate | None
    """Points for correctness and completeness, as a share of full marks."""
    hallucination: Estimate | None
    """Both kinds together."""
    invention: Estimate | None = None
    leak: Estimate | None = None


class RateCourse(Record, frozen=True, kw_only=True):
    """Recall, inventions and leaks over corpus size, of one persona or all."""

    name: str | None
    """None for all personas together."""
    rate: Estimate | None
    """Answers that are invented or leak."""
    leaked: int = 0
    """Leaks in the rate."""
    invention: Estimate | None = None
    leak: Estimate | None = None
    """Of the answers that could."""
    moments: tuple[CheckpointRates, ...]
    hallucination: Trend | None
    """Of both kinds together: intercept, slope, and predictions for larger sizes."""
    inventions: Trend | None = None
    leaks: Trend | None = None
    recall: Trend | None
    pattern: HallucinationPattern
    reason: str
    """Why this pattern, in one sentence with figures."""


class HallucinationViews(Record, frozen=True, kw_only=True):
    """Rates by category, the course over corpus size, and both by persona."""

    categories: tuple[CategoryRate, ...]
    """Negative recall and synthesis first, where they are asked."""
    overall: RateCourse
    personas: tuple[RateCourse, ...]
    """One a persona if there are several, else none."""


MAX_FABRICATED_SHARE: Final = 0.5
"""A loss is healthy only if at most this share of it may be invented."""
FIRST_CATEGORIES: Final = (NEGATIVE, SYNTHESIS)
"""Where invention is likeliest."""
VIEW_RESAMPLES: Final = 2000
"""With another seed an end of an interval moves by 3 % of half its width."""

_LEVEL_CHANGE = 1e-9
"""A line that changes less than this is level."""
_RECALL_POINTS = SCALES["correctness"] + SCALES["completeness"]
_BAND_STEPS = 8
"""Pieces in which the band of a line is drawn."""


def select_forecasts(line: Trend) -> tuple[tuple[Prediction, ...], str]:
    """The predictions beyond what was measured that say something, and why there are no others."""
    beyond = [prediction for prediction in line.predictions if prediction.is_beyond]
    doubtful = group_by((p for p in beyond if p.doubt is not None), lambda p: p.doubt)
    reasons = [
        f"no forecast for {join_words(f'{p.days:,.0f}' for p in predictions)} days: {doubt}"
        for doubt, predictions in doubtful.items()
    ]
    return tuple(p for p in beyond if p.doubt is None), "; ".join(reasons)


def find_start(line: Trend) -> Coefficient | None:
    """The rate that the line says at no days, its ends cut; None where it says no rate."""
    start = line.intercept
    if not -_LEVEL_CHANGE <= start.value <= 1 + _LEVEL_CHANGE:
        return None
    value, low, high = (
        None if end is None else min(1.0, max(0.0, end))
        for end in (start.value, start.low, start.high)
    )
    return Coefficient(value=value or 0.0, low=low, high=high)


def detect_pattern(
    recall: Trend | None, invention: Trend | None, rate: Estimate | None
) -> tuple[HallucinationPattern, str]:
    """The pattern of two lines over the same sizes, and the reason in a sentence."""
    if rate is None:
        return HallucinationPattern.UNKNOWN, "no answer was judged"
    if recall is None or invention is None:
        return HallucinationPattern.UNKNOWN, "there are not two corpus sizes to compare"
    highest = invention.slope.high
    if highest is None or None in (recall.slope.low, recall.slope.high, invention.slope.low):
        return (
            HallucinationPattern.UNKNOWN,
            "so few questions were asked that the slopes have no interval",
        )
    if _is_changing(recall, below=True):
        return _explain_falling(recall, invention, highest)
    invented = format_rise(invention.slope, scale=100, digits=2)
    recalled = format_rise(recall.slope, scale=100, digits=2)
    if is_rising(invention):
        return HallucinationPattern.INVENTING, (
            f"invention rises, {_format_change(invention)}, and recall does not fall "
            f"significantly, {recalled}"
        )
    return HallucinationPattern.STEADY, (
        f"recall does not fall significantly, {_format_change(recall)}, nor does invention "
        f"rise, {invented}; any change within these bounds fits the data"
    )


def _explain_falling(
    recall: Trend, invention: Trend, highest: float
) -> tuple[HallucinationPattern, str]:
    """The pattern if recall falls; `highest` is the steepest rise of invention that fits."""
    fall, rise = -recall.slope.value, invention.slope.value
    invented = format_rise(invention.slope, scale=100, digits=2)
    lost = _format_change(recall)
    if is_rising(invention):
        return HallucinationPattern.PATHOLOGICAL, (
            f"recall falls, {lost}, and invention rises, {invented}: "
            f"{format_number(100 * rise / fall, 0)} invented for every 100 points lost"
        )
    possible = max(highest, 0.0)
    finding = f"recall falls, {lost}, and invention does not rise significantly, {invented}"
    share = f"{format_number(100 * possible / fall, 0)} invented for every 100 points lost"
    if possible < MAX_FABRICATED_SHARE * fall:
        return HallucinationPattern.HEALTHY, f"{finding}: at most {share}, by the fall as measured"
    return HallucinationPattern.UNKNOWN, (
        f"{finding}; but up to {share} would fit the data as well, and from "
        f"{100 * MAX_FABRICATED_SHARE:g} on that is not called healthy: ask more questions"
    )


def is_rising(line: Trend) -> bool:
    """Whether the whole interval of the slope is above zero."""
    return _is_changing(line, below=False)


def _is_changing(line: Trend, *, below: bool) -> bool:
    """Whether the whole interval of the slope is on that side of zero."""
    span = line.last_day - line.first_day
    end = line.slope.high if below else line.slope.low
    if end is None:
        return False
    return end * span < -_LEVEL_CHANGE if below else end * span > _LEVEL_CHANGE


def _format_change(line: Trend) -> str:
    return format_slope(line.slope, scale=100, digits=2, unit=" points of 100")


def analyse_hallucination(
    table: TrialTable,
    *,
    seed: int = SEED,
    resamples: int = VIEW_RESAMPLES,
    headline: int = HEADLINE,
) -> HallucinationViews:
    """All views of one run; the same rows and the same seed give the same numbers.

    `headline` is the number of resamples of the overall rate.
    """
    views = _ViewBuilder(table.rows, seed, resamples)
    whole = np.arange(len(table.rows))
    personas = views.split(whole, lambda row: row.trial.scenario)
    return HallucinationViews(
        categories=views.estimate_categories(whole),
        # The headline is resampled as often as in other reports.
        overall=views.build_course(None, whole, headline),
        personas=tuple(views.build_course(name, own, resamples) for name, own in personas.items())
        if len(personas) > 1
        else (),
    )


def measure_recall(row: TrialRow) -> float | None:
    """The share of the points for correctness and completeness; None without a verdict."""
    status = row.status
    if status.state is TrialState.JUDGED:
        return (status.correctness + status.completeness) / _RECALL_POINTS
    return 0.0 if status.state is TrialState.NOT_ANSWERED else None


_Figure = Literal["recall", "made up", "invented", "leaked"]
"""`made up` is invented or leaked."""
_FIGURES: dict[_Figure, Callable[[TrialRow], float | None]] = {
    "recall": measure_recall,
    "made up": lambda row: row.is_hallucination,
    "invented": lambda row: row.is_invention,
    "leaked": lambda row: row.leaked,
}
_RATES: tuple[_Figure, ...] = ("made up", "invented", "leaked")


class _ViewBuilder:
    """Estimates every figure as a share of the best value; trials are given by their places."""

    def __init__(self, rows: Sequence[TrialRow], seed: int, resamples: int) -> None:
        self._rows, self._seed, self._resamples = rows, seed, resamples
        names = [(row.trial.scenario, row.trial.item) for row in rows]
        self._questions = number_names(names)
        templates = [row.item.template for row in rows]
        self._numbers = QuestionNumbers.build_by_name(dict(zip(names, templates, strict=True)))
        # NaN for a trial that has no such value.
        self._values = {
            figure: np.array([np.nan if (v := measure(row)) is None else v for row in rows], float)
            for figure, measure in _FIGURES.items()
        }
        # A checkpoint may stand for more days than the story has.
        self._days = np.array([row.cutoff for row in rows], np.int64)
        self._is_leak = np.array([bool(row.is_hallucination and row.leaked) for row in rows], bool)
        counted = (TrialState.JUDGED, TrialState.NOT_ANSWERED)
        self._is_missing = np.array([row.state not in counted for row in rows], bool)

    def split(self, places: Ints, name: Callable[[TrialRow], str]) -> dict[str, Ints]:
        """Split trials by name, names in the order they first occur."""
        groups = group_by(places.tolist(), lambda place: name(self._rows[place]))
        return {key: np.array(group, np.int64) for key, group in groups.items()}

    def estimate_categories(self, whole: Ints) -> tuple[CategoryRate, ...]:
        """Estimate the rates of each category, those that tempt most to invent first."""
        groups = self.split(whole, lambda row: row.category)
        first = [name for name in FIRST_CATEGORIES if name in groups]
        order = [*first, *order_categories(groups.keys() - set(first))]
        means = self._estimate([groups[name] for name in order], _RATES, self._resamples)
        return tuple(
            CategoryRate(
                name=name,
                rate=rate,
                leaked=int(np.count_nonzero(self._is_leak[groups[name]])),
                invention=invention,
                leak=leak,
            )
            for name, (rate, invention, leak) in zip(order, means, strict=True)
        )

    def build_course(self, name: str | None, places: Ints, resamples: int) -> RateCourse:
        """Build the course of a persona, or of all."""
        ((rate, invention, leak),) = self._estimate([places], _RATES, resamples)
        groups = self.split(places, lambda row: row.trial.checkpoint)
        # At one checkpoint, sizes differ only between stories. All lines come before the many means
        # of the moments, because they have draws in common.
        figures: tuple[_Figure, ...] = ("invented", "recall", "made up", "leaked")
        lines = {figure: self._fit_line(places, figure) for figure in figures if len(groups) > 1}
        pattern, reason = detect_pattern(lines.get("recall"), lines.get("invented"), rate)
        leaks = lines.get("leaked")
        if leaks is not None and is_rising(leaks):
            reason += f"; but leaks rise, {_format_change(leaks)}"
        cell_resamples = min(self._resamples, CELL_RESAMPLES)
        means = self._estimate(list(groups.values()), ("recall", *_RATES), cell_resamples)
        moments = [
            CheckpointRates(
                checkpoint=label,
                days=int(self._days[group].max()),
                recall=figures[0],
                hallucination=figures[1],
                invention=figures[2],
                leak=figures[3],
            )
            for (label, group), figures in zip(groups.items(), means, strict=True)
        ]
        return RateCourse(
            name=name,
            rate=rate,
            leaked=int(np.count_nonzero(self._is_leak[places])),
            invention=invention,
            leak=leak,
            moments=tuple(sorted(moments, key=lambda moment: moment.days)),
            hallucination=lines.get("made up"),
            inventions=lines.get("invented"),
            leaks=leaks,
            recall=lines.get("recall"),
            pattern=pattern,
            reason=reason,
        )

    def _estimate(
        self, groups: Sequence[Ints], figures: Sequence[_Figure], resamples: int
    ) -> list[tuple[Estimate | None, ...]]:
        """Estimate figures of each group of trials, all together."""
        tallies = []
        for places in groups:
            missing = int(np.count_nonzero(self._is_missing[places]))
            for figure in figures:
                values, questions = self._values[figure][places], self._questions[places]
                is_known = ~np.isnan(values)
                # No trial is missing where a leak could not be noticed.
                lacks = 0 if figure == "leaked" else missing
                tally = MarkTally(questions[is_known], values[is_known], RATE, resamples, lacks)
                tallies.append(tally)
        means = iter(estimate_tallies(tallies, self._numbers, seed=self._seed))
        return [tuple(next(means) for _ in figures) for _ in groups]

    def _fit_line(self, places: Ints, figure: _Figure) -> Trend | None:
        values = self._values[figure][places]
        is_known = ~np.isnan(values)
        days = self._days[places][is_known]
        if not len(days):
            return None
        first, last = float(days.min()), float(days.max())
        band = (first + (last - first) * step / _BAND_STEPS for step in range(_BAND_STEPS + 1))
        return estimate_grouped_trend(
            values[is_known],
            days,
            self._numbers.group(self._questions[places][is_known]),
            seed=self._seed,
            limits=RATE,
            at=(*band, *FAR_DAYS),
            resamples=self._resamples,
        )
