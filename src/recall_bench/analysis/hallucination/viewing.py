"""Hallucination by category, over corpus size, beside recall, and by persona.

The rate is over judged answers: a question that was not answered had nothing made up. Recall is
over all trials that count, as every mean of a report: a question not answered has no points.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from recall_bench.analysis.hallucination.pattern import detect_pattern
from recall_bench.analysis.hallucination.views import (
    CategoryRate,
    CheckpointRates,
    HallucinationViews,
    RateCourse,
)
from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.core.question import CATEGORIES
from recall_bench.core.standing import TrialState
from recall_bench.core.verdict import SCALES
from recall_bench.reporting.estimates import CELL_RESAMPLES, RATE, SEED
from recall_bench.statistics.clusters import RESAMPLES as HEADLINE
from recall_bench.statistics.estimate import Estimate, estimate_mean
from recall_bench.statistics.trend import FAR_DAYS, Trend, estimate_trend

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
    personas = _group_samples(samples, lambda sample: sample.persona)
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
        groups = _group_samples(samples, lambda sample: sample.category)
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
        groups = _group_samples(samples, lambda sample: sample.checkpoint)
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


def _group_samples(
    samples: Iterable[_TrialSample], name: Callable[[_TrialSample], str]
) -> dict[str, list[_TrialSample]]:
    groups: dict[str, list[_TrialSample]] = {}
    for sample in samples:
        groups.setdefault(name(sample), []).append(sample)
    return groups


def _order_categories(categories: Iterable[str]) -> list[str]:
    """Where making up is likeliest first, then ours as every table has them, then any other."""
    order = [*FIRST_CATEGORIES, *(name for name in CATEGORIES if name not in FIRST_CATEGORIES)]
    place = {name: number for number, name in enumerate(order)}
    return sorted(categories, key=lambda name: (place.get(name, len(place)), name))
