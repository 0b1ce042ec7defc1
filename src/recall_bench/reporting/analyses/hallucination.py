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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple

import numpy as np

from recall_bench.core.grouping import group_by
from recall_bench.core.plain_text import join_words
from recall_bench.core.record import Record
from recall_bench.core.scenario import NEGATIVE, SYNTHESIS, order_categories
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import SCALES
from recall_bench.engine.runs.counted_marks import RATE
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import RESAMPLES as HEADLINE
from recall_bench.metrics.bootstrap import (
    SEED,
    Bools,
    Floats,
    Ints,
    QuestionNumbers,
    number_names,
)
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

_LEVEL_CHANGE = 1e-9
"""A line that changes less than this is level."""


def select_forecasts(line: Trend) -> tuple[tuple[Prediction, ...], str]:
    """The predictions beyond what was measured that say something, and why there are no others."""
    beyond = [each for each in line.predictions if each.is_beyond]
    shown = tuple(each for each in beyond if each.doubt is None)
    silent = group_by((each for each in beyond if each.doubt is not None), lambda each: each.doubt)
    reasons = [
        f"no forecast for {join_words(f'{each.days:,.0f}' for each in sizes)} days: {doubt}"
        for doubt, sizes in silent.items()
    ]
    return shown, "; ".join(reasons)


def find_start(line: Trend) -> Coefficient | None:
    """The rate that the line says at no days, its ends cut; None where it says no rate."""
    start = line.intercept
    if not -_LEVEL_CHANGE <= start.value <= 1 + _LEVEL_CHANGE:
        return None
    value, low, high = (
        None if each is None else min(1.0, max(0.0, each))
        for each in (start.value, start.low, start.high)
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
    ends = (recall.slope.low, recall.slope.high, invention.slope.low)
    highest = invention.slope.high
    if highest is None or None in ends:
        return (
            HallucinationPattern.UNKNOWN,
            "so few questions were asked that the slopes have no interval",
        )
    if _is_changing(recall, below=True):
        return _explain_falling(recall, invention, highest)
    if is_rising(invention):
        return HallucinationPattern.INVENTING, (
            f"invention rises, {_format_change(invention)}, and recall does not fall "
            f"significantly, {_format_rise(recall)}"
        )
    return HallucinationPattern.STEADY, (
        f"recall does not fall significantly, {_format_change(recall)}, nor does invention rise, "
        f"{_format_rise(invention)}; any change within these bounds fits the data"
    )


def _explain_falling(
    recall: Trend, invention: Trend, highest: float
) -> tuple[HallucinationPattern, str]:
    """The pattern if recall falls; `highest` is the steepest rise of invention that fits."""
    fall, rise = -recall.slope.value, invention.slope.value
    lost, invented = _format_change(recall), _format_rise(invention)
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


def _format_rise(line: Trend) -> str:
    """The same without the unit."""
    return format_rise(line.slope, scale=100, digits=2)


FIRST_CATEGORIES: Final = (NEGATIVE, SYNTHESIS)
"""Where invention is likeliest."""

VIEW_RESAMPLES: Final = 2000
"""With another seed an end of an interval moves by 3 % of half its width."""

_RECALL_POINTS = SCALES["correctness"] + SCALES["completeness"]
_COUNTED_STATES = (TrialState.JUDGED, TrialState.NOT_ANSWERED)
_BAND_STEPS = 8
"""Pieces in which the band of a line is drawn."""


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
    samples = _sample_trials(table.rows)
    views = _ViewBuilder(table.rows, seed, resamples, headline)
    personas = samples.split(samples.persona)
    return HallucinationViews(
        categories=views.estimate_categories(samples),
        overall=views.build_course(None, samples),
        personas=tuple(views.build_course(name, own) for name, own in personas.items())
        if len(personas) > 1
        else (),
    )


def measure_recall(row: TrialRow) -> float | None:
    """The share of the points for correctness and completeness; None without a verdict."""
    status = row.status
    if status.state is TrialState.JUDGED:
        return (status.correctness + status.completeness) / _RECALL_POINTS
    return 0.0 if status.state is TrialState.NOT_ANSWERED else None


_Figure = Literal["recall", "made_up", "invented", "leaked"]


class _NamedColumn(NamedTuple):
    """Names as numbers."""

    names: tuple[str, ...]
    number: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrialSamples:
    """The values of trials, looked up once for all views."""

    question: Ints
    persona: _NamedColumn
    checkpoint: _NamedColumn
    category: _NamedColumn
    days: Ints
    figures: Mapping[_Figure, Floats]
    """NaN for a trial that has no such value. `made_up` is invented or leaked."""
    is_leak: Bools
    is_missing: Bools

    def split(self, column: _NamedColumn) -> dict[str, "_TrialSamples"]:
        """Split trials by name, names in the order they first occur."""
        found, first = np.unique(column.number, return_index=True)
        return {
            column.names[number]: self._select(column.number == number)
            for number in found[np.argsort(first)].tolist()
        }

    def _select(self, chosen: Bools) -> "_TrialSamples":
        return _TrialSamples(
            question=self.question[chosen],
            persona=_NamedColumn(self.persona.names, self.persona.number[chosen]),
            checkpoint=_NamedColumn(self.checkpoint.names, self.checkpoint.number[chosen]),
            category=_NamedColumn(self.category.names, self.category.number[chosen]),
            days=self.days[chosen],
            figures={name: values[chosen] for name, values in self.figures.items()},
            is_leak=self.is_leak[chosen],
            is_missing=self.is_missing[chosen],
        )


def _sample_trials(rows: Sequence[TrialRow]) -> _TrialSamples:
    made_up = [row.is_hallucination for row in rows]
    return _TrialSamples(
        question=number_names([(row.trial.scenario, row.trial.item) for row in rows]),
        persona=_number_column([row.trial.scenario for row in rows]),
        checkpoint=_number_column([row.trial.checkpoint for row in rows]),
        category=_number_column([row.category for row in rows]),
        # A checkpoint may stand for more days than the story has.
        days=np.array([row.cutoff for row in rows], np.int64),
        figures={
            "recall": _fill_column(measure_recall(row) for row in rows),
            "made_up": _fill_column(made_up),
            "invented": _fill_column(row.is_invention for row in rows),
            "leaked": _fill_column(row.leaked for row in rows),
        },
        is_leak=np.array(
            [bool(each and row.leaked) for each, row in zip(made_up, rows, strict=True)], np.bool_
        ),
        is_missing=np.array([row.state not in _COUNTED_STATES for row in rows], np.bool_),
    )


def _number_column(names: Sequence[str]) -> _NamedColumn:
    return _NamedColumn(tuple(dict.fromkeys(names)), number_names(names))


def _fill_column(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if each is None else each for each in values], np.float64)


def _number_templates(rows: Iterable[TrialRow]) -> QuestionNumbers:
    """The template and the persona of each question, in the order of their numbers."""
    return QuestionNumbers.build_by_name(
        {(row.trial.scenario, row.trial.item): row.item.template for row in rows}
    )


class _ViewBuilder:
    """Estimates every figure as a share of the best value."""

    def __init__(self, rows: Iterable[TrialRow], seed: int, resamples: int, headline: int) -> None:
        self._numbers = _number_templates(rows)
        self._seed = seed
        self._resamples = resamples
        self._headline = headline

    def estimate_categories(self, samples: _TrialSamples) -> tuple[CategoryRate, ...]:
        """Estimate the rates of each category."""
        groups = samples.split(samples.category)
        first = [name for name in FIRST_CATEGORIES if name in groups]
        order = [*first, *order_categories(groups.keys() - set(first))]
        means = self._estimate_groups(
            [groups[name] for name in order], ("made_up", "invented", "leaked")
        )
        return tuple(
            CategoryRate(
                name=name,
                rate=rate,
                leaked=int(np.count_nonzero(groups[name].is_leak)),
                invention=invention,
                leak=leak,
            )
            for name, (rate, invention, leak) in zip(order, means, strict=True)
        )

    def build_course(self, name: str | None, samples: _TrialSamples) -> RateCourse:
        """Build the course of a persona, or of all."""
        # The headline is resampled as often as in other reports.
        resamples = self._resamples if name is not None else self._headline
        ((rate, invention, leak),) = self._estimate_groups(
            [samples], ("made_up", "invented", "leaked"), resamples
        )
        groups = samples.split(samples.checkpoint)
        # At one checkpoint, sizes differ only between stories. All lines come before the many means
        # of the moments, because they have draws in common.
        names: tuple[_Figure, ...] = ("invented", "recall", "made_up", "leaked")
        lines = {each: self._fit_line(samples, each) for each in names if len(groups) > 1}
        pattern, reason = detect_pattern(lines.get("recall"), lines.get("invented"), rate)
        leaks = lines.get("leaked")
        if leaks is not None and is_rising(leaks):
            reason += f"; but leaks rise, {_format_change(leaks)}"
        return RateCourse(
            name=name,
            rate=rate,
            leaked=int(np.count_nonzero(samples.is_leak)),
            invention=invention,
            leak=leak,
            moments=tuple(sorted(self._build_moments(groups), key=lambda moment: moment.days)),
            hallucination=lines.get("made_up"),
            inventions=lines.get("invented"),
            leaks=leaks,
            recall=lines.get("recall"),
            pattern=pattern,
            reason=reason,
        )

    def _build_moments(self, groups: Mapping[str, _TrialSamples]) -> Iterator[CheckpointRates]:
        means = self._estimate_groups(
            groups.values(),
            ("recall", "made_up", "invented", "leaked"),
            min(self._resamples, CELL_RESAMPLES),
        )
        for (checkpoint, samples), (recall, rate, invention, leak) in zip(
            groups.items(), means, strict=True
        ):
            yield CheckpointRates(
                checkpoint=checkpoint,
                days=int(samples.days.max()),
                recall=recall,
                hallucination=rate,
                invention=invention,
                leak=leak,
            )

    def _estimate_groups(
        self,
        groups: Iterable[_TrialSamples],
        figures: Sequence[_Figure],
        resamples: int | None = None,
    ) -> Iterator[tuple[Estimate | None, ...]]:
        """Estimate figures of each group of trials, all together."""
        tallies = [
            _tally_figure(samples, figure, resamples or self._resamples)
            for samples in groups
            for figure in figures
        ]
        means = iter(estimate_tallies(tallies, self._numbers, seed=self._seed))
        for _ in range(len(tallies) // len(figures)):
            yield tuple(next(means) for _ in figures)

    def _fit_line(self, samples: _TrialSamples, figure: _Figure) -> Trend | None:
        values = samples.figures[figure]
        is_known = ~np.isnan(values)
        days = samples.days[is_known]
        return estimate_grouped_trend(
            values[is_known],
            days,
            self._numbers.group(samples.question[is_known]),
            seed=self._seed,
            limits=RATE,
            at=(*_list_band_days(days.tolist()), *FAR_DAYS),
            resamples=self._resamples,
        )


def _tally_figure(samples: _TrialSamples, figure: _Figure, resamples: int) -> MarkTally:
    """Tally a figure; no trial is missing where a leak could not be noticed."""
    values = samples.figures[figure]
    is_known = ~np.isnan(values)
    missing = 0 if figure == "leaked" else int(np.count_nonzero(samples.is_missing))
    return MarkTally(samples.question[is_known], values[is_known], RATE, resamples, missing)


def _list_band_days(days: Sequence[float]) -> tuple[float, ...]:
    """The sizes at which a band is drawn."""
    first, last = min(days, default=0.0), max(days, default=0.0)
    return tuple(first + (last - first) * step / _BAND_STEPS for step in range(_BAND_STEPS + 1))
