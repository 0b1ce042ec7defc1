"""Hallucination by category, over corpus size, beside recall, and by persona.

The rate is over judged answers: a question that was not answered had nothing made up. Recall is
over all trials that count, as every mean of a report: a question not answered has no points.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from recall_bench.analysis.hallucination.pattern import pattern_of
from recall_bench.analysis.hallucination.views import Course, HallucinationViews, Moment, Rate
from recall_bench.analysis.trials import Table, TrialRow
from recall_bench.core.question import CATEGORIES
from recall_bench.core.standing import State
from recall_bench.core.verdict import SCALES
from recall_bench.reporting.estimates import CELL_RESAMPLES, RATE, SEED
from recall_bench.statistics.clusters import RESAMPLES as HEADLINE
from recall_bench.statistics.estimate import Estimate, mean_estimate
from recall_bench.statistics.trend import FAR_DAYS, Trend, trend

FIRST: Final = ("negative-recall", "synthesis")
"""Where making things up is likeliest: nothing to find, or much to put together."""

RESAMPLES: Final = 2000
"""With another seed an end of an interval moves by 3 % of half its width."""

_RECALL_POINTS = SCALES["correctness"] + SCALES["completeness"]
_COUNTS = (State.JUDGED, State.NOT_ANSWERED)
_STEPS = 8
"""How many stretches the band of a line is drawn in."""

_Shape = tuple[tuple[tuple[float, ...], ...], ...]


def hallucination_views(
    table: Table, *, seed: int = SEED, resamples: int = RESAMPLES, headline: int = HEADLINE
) -> HallucinationViews:
    """All views of one run; the same rows and the same seed give the same numbers.

    `headline` is how often the rate over all is drawn again.
    """
    samples = [_sample(row) for row in table.rows]
    views = _Viewing(seed, resamples, headline)
    personas = _grouped(samples, lambda sample: sample.persona)
    return HallucinationViews(
        categories=views.categories(samples),
        overall=views.course(None, samples),
        personas=tuple(views.course(name, own) for name, own in personas.items())
        if len(personas) > 1
        else (),
    )


def recall_of(row: TrialRow) -> float | None:
    """Correctness and completeness as a share of full marks; None where there is no verdict."""
    standing = row.standing
    if standing.state is State.JUDGED:
        return (standing.correctness + standing.completeness) / _RECALL_POINTS
    return 0.0 if standing.state is State.NOT_ANSWERED else None


class _Sample(NamedTuple):
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


def _sample(row: TrialRow) -> _Sample:
    made_up = row.hallucinated
    return _Sample(
        persona=row.trial.scenario,
        question=row.trial.item,
        checkpoint=row.trial.checkpoint,
        category=row.category,
        # A checkpoint may be named after more days than the story has.
        days=row.cutoff,
        recall=recall_of(row),
        made_up=None if made_up is None else float(made_up),
        is_leak=bool(made_up and row.leaked),
        is_missing=row.state not in _COUNTS,
    )


class _Figure(NamedTuple):
    """The values of one figure, and whose they are."""

    values: list[float]
    days: list[int]
    questions: list[str]
    personas: list[str]


def _recall(samples: Iterable[_Sample]) -> _Figure:
    return _figure((each, each.recall) for each in samples)


def _made_up(samples: Iterable[_Sample]) -> _Figure:
    return _figure((each, each.made_up) for each in samples)


def _leaks(samples: Iterable[_Sample]) -> int:
    return sum(sample.is_leak for sample in samples)


def _figure(pairs: Iterable[tuple[_Sample, float | None]]) -> _Figure:
    known = [(value, s.days, s.question, s.persona) for s, value in pairs if value is not None]
    columns = [list(column) for column in zip(*known, strict=True)]
    return _Figure(*columns) if known else _Figure([], [], [], [])


def _shape(figure: _Figure) -> _Shape:
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
class _Viewing:
    seed: int
    resamples: int
    headline: int
    known: dict[_Shape, Estimate | None] = field(default_factory=dict)
    """The estimates of moments. Few answers make something up, so many moments are alike."""

    def categories(self, samples: Iterable[_Sample]) -> tuple[Rate, ...]:
        groups = _grouped(samples, lambda sample: sample.category)
        return tuple(
            Rate(
                name=name,
                rate=self.mean(_made_up(groups[name]), groups[name]),
                leaked=_leaks(groups[name]),
            )
            for name in _ordered(groups)
        )

    def course(self, name: str | None, samples: Sequence[_Sample]) -> Course:
        made_up = _made_up(samples)
        # The headline is drawn as often as wherever else it stands.
        headline = self if name is not None else replace(self, resamples=self.headline)
        rate = headline.mean(made_up, samples)
        groups = _grouped(samples, lambda sample: sample.checkpoint)
        # At one checkpoint sizes differ only because stories do, and so does all else.
        grows = len(groups) > 1
        hallucination = self._line(made_up) if grows else None
        recall = self._line(_recall(samples)) if grows else None
        pattern, reason = pattern_of(recall, hallucination, rate)
        moments = (self._moment(label, asked) for label, asked in groups.items())
        return Course(
            name=name,
            rate=rate,
            leaked=_leaks(samples),
            moments=tuple(sorted(moments, key=lambda moment: moment.days)),
            hallucination=hallucination,
            recall=recall,
            pattern=pattern,
            reason=reason,
        )

    def _moment(self, checkpoint: str, samples: Sequence[_Sample]) -> Moment:
        return Moment(
            checkpoint=checkpoint,
            days=max(sample.days for sample in samples),
            recall=self._point(_recall(samples), samples),
            hallucination=self._point(_made_up(samples), samples),
        )

    def _point(self, figure: _Figure, samples: Iterable[_Sample]) -> Estimate | None:
        shape = _shape(figure)
        if shape not in self.known:
            few = replace(self, resamples=min(self.resamples, CELL_RESAMPLES))
            self.known[shape] = few.mean(figure, ())
        found = self.known[shape]
        missing = sum(sample.is_missing for sample in samples)
        return None if found is None else found.but(missing=missing)

    def mean(self, figure: _Figure, samples: Iterable[_Sample]) -> Estimate | None:
        return mean_estimate(
            figure.values,
            figure.questions,
            figure.personas,
            seed=self.seed,
            missing=sum(sample.is_missing for sample in samples),
            limits=RATE,
            resamples=self.resamples,
        )

    def _line(self, figure: _Figure) -> Trend | None:
        return trend(
            figure.values,
            figure.days,
            figure.questions,
            figure.personas,
            seed=self.seed,
            limits=RATE,
            at=(*_band(figure.days), *FAR_DAYS),
            resamples=self.resamples,
        )


def _band(days: Sequence[float]) -> tuple[float, ...]:
    """Sizes within what was measured, where a band is drawn."""
    first, last = min(days, default=0.0), max(days, default=0.0)
    return tuple(first + (last - first) * step / _STEPS for step in range(_STEPS + 1))


def _grouped(
    samples: Iterable[_Sample], name: Callable[[_Sample], str]
) -> dict[str, list[_Sample]]:
    groups: dict[str, list[_Sample]] = {}
    for sample in samples:
        groups.setdefault(name(sample), []).append(sample)
    return groups


def _ordered(categories: Iterable[str]) -> list[str]:
    """Where making up is likeliest first, then ours as every table has them, then any other."""
    order = [*FIRST, *(name for name in CATEGORIES if name not in FIRST)]
    place = {name: number for number, name in enumerate(order)}
    return sorted(categories, key=lambda name: (place.get(name, len(place)), name))
