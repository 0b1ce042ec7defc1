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

Steady data are called something else about once in twenty.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from recall_bench.core.plain_text import join_words
from recall_bench.core.record import Record
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import SCALES
from recall_bench.metrics.bootstrap import RESAMPLES as HEADLINE
from recall_bench.metrics.bootstrap import SEED, TemplateNames
from recall_bench.metrics.estimate import Estimate, estimate_mean
from recall_bench.metrics.trend import (
    FAR_DAYS,
    Coefficient,
    Prediction,
    Trend,
    estimate_trend,
)
from recall_bench.reporting.formats import format_delta, format_number
from recall_bench.reporting.groups import group_by, order_categories
from recall_bench.runs.estimates import CELL_RESAMPLES, RATE
from recall_bench.runs.trials import TrialRow, TrialTable


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


def detect_pattern(
    recall: Trend | None, invention: Trend | None, rate: Estimate | None
) -> tuple[HallucinationPattern, str]:
    """The pattern of two lines over the same sizes, and the reason in a sentence."""
    if rate is None:
        return HallucinationPattern.UNKNOWN, "no answer was judged"
    if recall is None or invention is None:
        return HallucinationPattern.UNKNOWN, "there are not two corpus sizes to compare"
    if recall.slope.high is None or invention.slope.low is None:
        return (
            HallucinationPattern.UNKNOWN,
            "so few questions were asked that the slopes have no interval",
        )
    if _is_changing(recall, below=True):
        return _explain_falling(recall, invention)
    fall, rise = _format_slope(recall.slope), _format_slope(invention.slope)
    if _is_changing(invention, below=False):
        return HallucinationPattern.INVENTING, (
            f"invention rises, {rise}, and recall does not fall significantly, "
            f"{_format_slope(recall.slope, unit='')}"
        )
    return HallucinationPattern.STEADY, (
        f"recall does not fall significantly, {fall}, nor does invention rise, "
        f"{_format_slope(invention.slope, unit='')}; any change within these bounds fits the "
        "data"
    )


def _explain_falling(recall: Trend, invention: Trend) -> tuple[HallucinationPattern, str]:
    """The pattern if recall falls."""
    fall, rise = -recall.slope.value, invention.slope.value
    lost, invented = _format_slope(recall.slope), _format_slope(invention.slope, unit="")
    if _is_changing(invention, below=False):
        return HallucinationPattern.PATHOLOGICAL, (
            f"recall falls, {lost}, and invention rises, {invented}: "
            f"{format_number(100 * rise / fall, 0)} invented for every 100 points lost"
        )
    # The steepest rise within the interval.
    possible = max(invention.slope.high or 0.0, 0.0)
    finding = f"recall falls, {lost}, and invention does not rise significantly, {invented}"
    share = f"{format_number(100 * possible / fall, 0)} invented for every 100 points lost"
    if possible < MAX_FABRICATED_SHARE * fall:
        return HallucinationPattern.HEALTHY, f"{finding}: at most {share}, by the fall as measured"
    return HallucinationPattern.UNKNOWN, (
        f"{finding}; but up to {share} would fit the data as well, and from "
        f"{100 * MAX_FABRICATED_SHARE:g} on that is not called healthy: ask more questions"
    )


def _is_changing(line: Trend, *, below: bool) -> bool:
    """Whether the whole interval of the slope is on that side of zero."""
    span = line.last_day - line.first_day
    end = line.slope.high if below else line.slope.low
    if end is None:
        return False
    return end * span < -_LEVEL_CHANGE if below else end * span > _LEVEL_CHANGE


def _format_slope(slope: Coefficient, *, unit: str = " points of 100 in 100 days") -> str:
    """The change in a hundred days, in points of 100, with its interval."""
    low, high = slope.low or 0.0, slope.high or 0.0
    value, *ends = (format_delta(1e4 * each) for each in (slope.value, low, high))
    return f"{value}{unit} ({ends[0]} to {ends[1]})"


FIRST_CATEGORIES: Final = ("negative-recall", "synthesis")
"""Where invention is likeliest."""

VIEW_RESAMPLES: Final = 2000
"""With another seed an end of an interval moves by 3 % of half its width."""

_RECALL_POINTS = SCALES["correctness"] + SCALES["completeness"]
_COUNTED_STATES = (TrialState.JUDGED, TrialState.NOT_ANSWERED)
_BAND_STEPS = 8
"""Pieces in which the band of a line is drawn."""

_ValueShape = tuple[tuple[tuple[tuple[float, ...], ...], ...], ...]


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
    samples = [_sample_trial(row) for row in table.rows]
    views = _ViewBuilder(seed, resamples, headline)
    personas = group_by(samples, lambda sample: sample.persona)
    return HallucinationViews(
        categories=views.estimate_categories(samples),
        overall=views.build_course(None, samples),
        personas=tuple(views.build_course(name, own) for name, own in personas.items())
        if len(personas) > 1
        else (),
    )


def score_recall(row: TrialRow) -> float | None:
    """Correctness and completeness as a share of full marks; None where there is no verdict."""
    standing = row.standing
    if standing.state is TrialState.JUDGED:
        return (standing.correctness + standing.completeness) / _RECALL_POINTS
    return 0.0 if standing.state is TrialState.NOT_ANSWERED else None


class _TrialSample(NamedTuple):
    """The values of a trial, looked up once for all views."""

    persona: str
    question: str
    template: str | None
    checkpoint: str
    category: str
    days: int
    recall: float | None
    made_up: float | None
    """Invented or leaked."""
    invented: float | None
    leaked: float | None
    is_leak: bool
    is_missing: bool


def _sample_trial(row: TrialRow) -> _TrialSample:
    made_up = row.is_hallucination
    return _TrialSample(
        persona=row.trial.scenario,
        question=row.trial.item,
        template=row.item.template,
        checkpoint=row.trial.checkpoint,
        category=row.category,
        # A checkpoint may stand for more days than the story has.
        days=row.cutoff,
        recall=score_recall(row),
        made_up=None if made_up is None else float(made_up),
        invented=None if row.is_invention is None else float(row.is_invention),
        leaked=None if row.leaked is None else float(row.leaked),
        is_leak=bool(made_up and row.leaked),
        is_missing=row.state not in _COUNTED_STATES,
    )


class _SampleColumns(NamedTuple):
    """The values of one figure, with their questions and personas."""

    values: list[float]
    days: list[int]
    questions: list[str]
    personas: list[str]
    templates: TemplateNames


def _collect_values(
    samples: Iterable[_TrialSample], figure: Literal["recall", "made_up", "invented", "leaked"]
) -> _SampleColumns:
    known = [(value, each) for each in samples if (value := getattr(each, figure)) is not None]
    return _SampleColumns(
        values=[value for value, _ in known],
        days=[each.days for _, each in known],
        questions=[each.question for _, each in known],
        personas=[each.persona for _, each in known],
        templates={
            (each.persona, each.question): each.template
            for _, each in known
            if each.template is not None
        },
    )


def _summarise_values(figure: _SampleColumns) -> _ValueShape:
    """All that an estimate depends on: the values of each question by template and persona."""
    personas: dict[str, dict[object, dict[str, list[float]]]] = {}
    for value, question, persona in zip(
        figure.values, figure.questions, figure.personas, strict=True
    ):
        template = figure.templates.get((persona, question), (question,))
        found = personas.setdefault(persona, {}).setdefault(template, {})
        found.setdefault(question, []).append(value)
    return tuple(
        sorted(
            tuple(
                sorted(
                    tuple(sorted(tuple(sorted(values)) for values in questions.values()))
                    for questions in templates.values()
                )
            )
            for templates in personas.values()
        )
    )


@dataclass(frozen=True, slots=True)
class _ViewBuilder:
    seed: int
    resamples: int
    headline: int
    known: dict[_ValueShape, Estimate | None] = field(default_factory=dict)
    """Estimates by value shape: few answers hallucinate, and many checkpoints have equal values."""

    def estimate_categories(self, samples: Iterable[_TrialSample]) -> tuple[CategoryRate, ...]:
        groups = group_by(samples, lambda sample: sample.category)
        first = [name for name in FIRST_CATEGORIES if name in groups]
        order = [*first, *order_categories(groups.keys() - set(first))]
        return tuple(
            CategoryRate(
                name=name,
                rate=self.estimate_mean(_collect_values(groups[name], "made_up"), groups[name]),
                leaked=sum(sample.is_leak for sample in groups[name]),
                invention=self._estimate_point(
                    _collect_values(groups[name], "invented"), groups[name]
                ),
                leak=self._estimate_point(_collect_values(groups[name], "leaked"), ()),
            )
            for name in order
        )

    def build_course(self, name: str | None, samples: Sequence[_TrialSample]) -> RateCourse:
        made_up = _collect_values(samples, "made_up")
        invented, leaked = _collect_values(samples, "invented"), _collect_values(samples, "leaked")
        # The headline is resampled as often as in other reports.
        headline = self if name is not None else replace(self, resamples=self.headline)
        rate = headline.estimate_mean(made_up, samples)
        groups = group_by(samples, lambda sample: sample.checkpoint)
        # At one checkpoint, sizes differ only between stories.
        grows = len(groups) > 1
        inventions = self._fit_line(invented) if grows else None
        recall = self._fit_line(_collect_values(samples, "recall")) if grows else None
        pattern, reason = detect_pattern(recall, inventions, rate)
        moments = (self._build_moment(label, asked) for label, asked in groups.items())
        return RateCourse(
            name=name,
            rate=rate,
            leaked=sum(sample.is_leak for sample in samples),
            invention=headline.estimate_mean(invented, samples),
            leak=headline.estimate_mean(leaked, ()),
            moments=tuple(sorted(moments, key=lambda moment: moment.days)),
            hallucination=self._fit_line(made_up) if grows else None,
            inventions=inventions,
            leaks=self._fit_line(leaked) if grows else None,
            recall=recall,
            pattern=pattern,
            reason=reason,
        )

    def _build_moment(self, checkpoint: str, samples: Sequence[_TrialSample]) -> CheckpointRates:
        return CheckpointRates(
            checkpoint=checkpoint,
            days=max(sample.days for sample in samples),
            recall=self._estimate_point(_collect_values(samples, "recall"), samples),
            hallucination=self._estimate_point(_collect_values(samples, "made_up"), samples),
            invention=self._estimate_point(_collect_values(samples, "invented"), samples),
            leak=self._estimate_point(_collect_values(samples, "leaked"), ()),
        )

    def _estimate_point(
        self, figure: _SampleColumns, samples: Iterable[_TrialSample]
    ) -> Estimate | None:
        shape = _summarise_values(figure)
        if shape not in self.known:
            few = replace(self, resamples=min(self.resamples, CELL_RESAMPLES))
            self.known[shape] = few.estimate_mean(figure, ())
        found = self.known[shape]
        missing = sum(sample.is_missing for sample in samples)
        return None if found is None else found.replace(missing=missing)

    def estimate_mean(
        self, figure: _SampleColumns, samples: Iterable[_TrialSample]
    ) -> Estimate | None:
        return estimate_mean(
            figure.values,
            figure.questions,
            figure.personas,
            seed=self.seed,
            missing=sum(sample.is_missing for sample in samples),
            limits=RATE,
            templates=figure.templates,
            resamples=self.resamples,
        )

    def _fit_line(self, figure: _SampleColumns) -> Trend | None:
        return estimate_trend(
            figure.values,
            figure.days,
            figure.questions,
            figure.personas,
            seed=self.seed,
            limits=RATE,
            at=(*_list_band_days(figure.days), *FAR_DAYS),
            templates=figure.templates,
            resamples=self.resamples,
        )


def _list_band_days(days: Sequence[float]) -> tuple[float, ...]:
    """The sizes at which a band is drawn."""
    first, last = min(days, default=0.0), max(days, default=0.0)
    return tuple(first + (last - first) * step / _BAND_STEPS for step in range(_BAND_STEPS + 1))
