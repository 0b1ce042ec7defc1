"""What the six views of hallucination say, as numbers.

The first, the row under the heatmap, is part of the heatmap; canaries have a file of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import SCALES
from recall_bench.metrics.bootstrap import RESAMPLES as HEADLINE
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.estimate import Estimate, estimate_mean
from recall_bench.metrics.trend import FAR_DAYS, Coefficient, Trend, estimate_trend
from recall_bench.reporting.formats import format_delta
from recall_bench.reporting.groups import group_by
from recall_bench.runs.estimates import CELL_RESAMPLES, RATE
from recall_bench.runs.trials import TrialRow, TrialTable


class HallucinationPattern(StrEnum):
    """What happens to hallucination while recall changes with corpus size."""

    HEALTHY = "healthy"
    """Recall falls, and hallucination does not rise with it: what is lost is said to be lost."""
    PATHOLOGICAL = "pathological"
    """Recall falls and hallucination rises: what is lost is made up."""
    INVENTING = "inventing"
    """Hallucination rises, and recall is not shown to fall."""
    STEADY = "steady"
    """Neither is shown to get worse. With few questions that says little."""
    UNKNOWN = "unknown"
    """There are not two sizes to compare, nothing was judged, or recall falls and it cannot be
    told whether hallucination rises with it."""


class CategoryRate(Record, frozen=True, kw_only=True):
    """How often one group of answers made something up."""

    name: str
    rate: Estimate | None
    """None where none of its answers was judged."""
    leaked: int = 0
    """Trials in the rate that told a secret: these have no mark for being grounded either."""


class CheckpointRates(Record, frozen=True, kw_only=True):
    """Recall beside hallucination at one checkpoint."""

    checkpoint: str
    days: int
    """Story days there were to feed by then; the most of any persona, where they differ."""
    recall: Estimate | None
    """Points for correctness and completeness, as a share of all there are."""
    hallucination: Estimate | None


class RateCourse(Record, frozen=True, kw_only=True):
    """How recall and hallucination go with corpus size, for one persona or all."""

    name: str | None
    """None for all personas together."""
    rate: Estimate | None
    leaked: int = 0
    """Trials in the rate that told a secret, which may well be true."""
    moments: tuple[CheckpointRates, ...]
    hallucination: Trend | None
    """Intercept, slope, and what they predict for sizes not seen."""
    recall: Trend | None
    pattern: HallucinationPattern
    reason: str
    """The rule as it applied, in one sentence with its figures."""


class HallucinationViews(Record, frozen=True, kw_only=True):
    """Rates by category, the course over corpus size, and both by persona."""

    categories: tuple[CategoryRate, ...]
    """Negative recall and synthesis first, where they are asked."""
    overall: RateCourse
    personas: tuple[RateCourse, ...]
    """One a persona where there are several, else none."""


MAX_FABRICATED_SHARE: Final = 0.5
"""A loss of which more than this share may be made up is not called healthy."""

_LEVEL_CHANGE = 1e-9
"""A line that changes less than this over all its days is level."""


def detect_pattern(
    recall: Trend | None, hallucination: Trend | None, rate: Estimate | None
) -> tuple[HallucinationPattern, str]:
    """Which pattern two lines over the same sizes show, and why, in a sentence."""
    if rate is None:
        return HallucinationPattern.UNKNOWN, "no answer was judged"
    if recall is None or hallucination is None:
        return HallucinationPattern.UNKNOWN, "there are not two corpus sizes to compare"
    if recall.slope.high is None or hallucination.slope.low is None:
        return (
            HallucinationPattern.UNKNOWN,
            "so few questions were asked that the slopes have no interval",
        )
    if _is_changing(recall, below=True):
        return _explain_falling(recall, hallucination)
    if _is_changing(hallucination, below=False):
        return HallucinationPattern.INVENTING, (
            f"hallucination rises, {_format_slope(hallucination.slope)}, and recall is not shown to "
            f"fall, {_format_slope(recall.slope, unit='')}"
        )
    return HallucinationPattern.STEADY, (
        f"recall is not shown to fall, {_format_slope(recall.slope)}, nor hallucination to rise, "
        f"{_format_slope(hallucination.slope, unit='')}; any change within these bounds fits the data"
    )


def _explain_falling(recall: Trend, hallucination: Trend) -> tuple[HallucinationPattern, str]:
    """Recall falls; whether hallucination rises with it, or is known not to."""
    fall, rise = -recall.slope.value, hallucination.slope.value
    lost, made_up = _format_slope(recall.slope), _format_slope(hallucination.slope, unit="")
    if _is_changing(hallucination, below=False):
        return HallucinationPattern.PATHOLOGICAL, (
            f"recall falls, {lost}, and hallucination rises, {made_up}: "
            f"{100 * rise / fall:.0f} made up for every 100 points lost"
        )
    # The steepest rise that the data leave possible.
    possible = max(hallucination.slope.high or 0.0, 0.0)
    told = f"recall falls, {lost}, and hallucination is not shown to rise, {made_up}"
    share = f"{100 * possible / fall:.0f} made up for every 100 points lost"
    if possible < MAX_FABRICATED_SHARE * fall:
        return HallucinationPattern.HEALTHY, f"{told}: at most {share}, by the fall as measured"
    return HallucinationPattern.UNKNOWN, (
        f"{told}; but up to {share} would fit the data as well, and from {100 * MAX_FABRICATED_SHARE:.0f} on that "
        "is not called healthy: ask more questions"
    )


def _is_changing(line: Trend, *, below: bool) -> bool:
    """Whether the whole interval of the slope is on that side of zero."""
    span = line.last_day - line.first_day
    end = line.slope.high if below else line.slope.low
    if end is None:
        return False
    return end * span < -_LEVEL_CHANGE if below else end * span > _LEVEL_CHANGE


def _format_slope(slope: Coefficient, *, unit: str = " points of 100 in 100 days") -> str:
    """What a hundred days change, in points of a hundred, with its interval."""
    low, high = slope.low or 0.0, slope.high or 0.0
    value, *ends = (format_delta(1e4 * each) for each in (slope.value, low, high))
    return f"{value}{unit} ({ends[0]} to {ends[1]})"


FIRST_CATEGORIES: Final = ("negative-recall", "synthesis")
"""Where making things up is likeliest: nothing to find, or much to put together."""

VIEW_RESAMPLES: Final = 2000
"""With another seed an end of an interval moves by 3 % of half its width."""

_RECALL_POINTS = SCALES["correctness"] + SCALES["completeness"]
_COUNTED_STATES = (TrialState.JUDGED, TrialState.NOT_ANSWERED)
_BAND_STEPS = 8
"""How many stretches the band of a line is drawn in."""

_ValueShape = tuple[tuple[tuple[float, ...], ...], ...]


def analyse_hallucination(
    table: TrialTable,
    *,
    seed: int = SEED,
    resamples: int = VIEW_RESAMPLES,
    headline: int = HEADLINE,
) -> HallucinationViews:
    """All views of one run; the same rows and the same seed give the same numbers.

    `headline` is how often the rate over all is drawn again.
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
    """What is wanted of a trial, looked up once: it is part of a dozen views."""

    persona: str
    question: str
    checkpoint: str
    category: str
    days: int
    recall: float | None
    made_up: float | None
    is_leak: bool
    is_missing: bool


def _sample_trial(row: TrialRow) -> _TrialSample:
    made_up = row.is_hallucination
    return _TrialSample(
        persona=row.trial.scenario,
        question=row.trial.item,
        checkpoint=row.trial.checkpoint,
        category=row.category,
        # A checkpoint may be named after more days than the story has.
        days=row.cutoff,
        recall=score_recall(row),
        made_up=None if made_up is None else float(made_up),
        is_leak=bool(made_up and row.leaked),
        is_missing=row.state not in _COUNTED_STATES,
    )


class _SampleColumns(NamedTuple):
    """The values of one figure, and whose they are."""

    values: list[float]
    days: list[int]
    questions: list[str]
    personas: list[str]


def _collect_recall(samples: Iterable[_TrialSample]) -> _SampleColumns:
    return _build_columns((each, each.recall) for each in samples)


def _collect_made_up(samples: Iterable[_TrialSample]) -> _SampleColumns:
    return _build_columns((each, each.made_up) for each in samples)


def _count_leaks(samples: Iterable[_TrialSample]) -> int:
    return sum(sample.is_leak for sample in samples)


def _build_columns(pairs: Iterable[tuple[_TrialSample, float | None]]) -> _SampleColumns:
    known = [(value, s.days, s.question, s.persona) for s, value in pairs if value is not None]
    columns = [list(column) for column in zip(*known, strict=True)]
    return _SampleColumns(*columns) if known else _SampleColumns([], [], [], [])


def _summarise_values(figure: _SampleColumns) -> _ValueShape:
    """All that an estimate depends on: what the trials of each question of each persona came to."""
    personas: dict[str, dict[str, list[float]]] = {}
    for value, question, persona in zip(
        figure.values, figure.questions, figure.personas, strict=True
    ):
        personas.setdefault(persona, {}).setdefault(question, []).append(value)
    return tuple(
        sorted(
            tuple(sorted(tuple(sorted(values)) for values in questions.values()))
            for questions in personas.values()
        )
    )


@dataclass(frozen=True, slots=True)
class _ViewBuilder:
    seed: int
    resamples: int
    headline: int
    known: dict[_ValueShape, Estimate | None] = field(default_factory=dict)
    """The estimates of moments. Few answers make something up, so many moments are alike."""

    def estimate_categories(self, samples: Iterable[_TrialSample]) -> tuple[CategoryRate, ...]:
        groups = group_by(samples, lambda sample: sample.category)
        return tuple(
            CategoryRate(
                name=name,
                rate=self.estimate_mean(_collect_made_up(groups[name]), groups[name]),
                leaked=_count_leaks(groups[name]),
            )
            for name in _order_categories(groups)
        )

    def build_course(self, name: str | None, samples: Sequence[_TrialSample]) -> RateCourse:
        made_up = _collect_made_up(samples)
        # The headline is drawn as often as wherever else it stands.
        headline = self if name is not None else replace(self, resamples=self.headline)
        rate = headline.estimate_mean(made_up, samples)
        groups = group_by(samples, lambda sample: sample.checkpoint)
        # At one checkpoint sizes differ only because stories do, and so does all else.
        grows = len(groups) > 1
        hallucination = self._fit_line(made_up) if grows else None
        recall = self._fit_line(_collect_recall(samples)) if grows else None
        pattern, reason = detect_pattern(recall, hallucination, rate)
        moments = (self._build_moment(label, asked) for label, asked in groups.items())
        return RateCourse(
            name=name,
            rate=rate,
            leaked=_count_leaks(samples),
            moments=tuple(sorted(moments, key=lambda moment: moment.days)),
            hallucination=hallucination,
            recall=recall,
            pattern=pattern,
            reason=reason,
        )

    def _build_moment(self, checkpoint: str, samples: Sequence[_TrialSample]) -> CheckpointRates:
        return CheckpointRates(
            checkpoint=checkpoint,
            days=max(sample.days for sample in samples),
            recall=self._estimate_point(_collect_recall(samples), samples),
            hallucination=self._estimate_point(_collect_made_up(samples), samples),
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
            resamples=self.resamples,
        )


def _list_band_days(days: Sequence[float]) -> tuple[float, ...]:
    """Sizes within what was measured, where a band is drawn."""
    first, last = min(days, default=0.0), max(days, default=0.0)
    return tuple(first + (last - first) * step / _BAND_STEPS for step in range(_BAND_STEPS + 1))


def _order_categories(categories: Iterable[str]) -> list[str]:
    """Where making up is likeliest first, then ours as every table has them, then any other."""
    order = [*FIRST_CATEGORIES, *(name for name in CATEGORIES if name not in FIRST_CATEGORIES)]
    place = {name: number for number, name in enumerate(order)}
    return sorted(categories, key=lambda name: (place.get(name, len(place)), name))
