"""The one bootstrap: whole questions, templates or personas are resampled, and intervals follow.

A system asked one question at ten checkpoints gives much the same answer ten times, so ten trials
of one question are one piece of evidence. Two questions of one template ("how large a stake did X
have", "how large a stake did Y have") are passed or failed together more often than others, so
they are resampled together. The resampled unit (the cluster) is therefore the template, which for
most datasets is the question itself, and the persona where there are at least five. Every unit
gives an interval, and the widest is reported. Most figures are functions of sums over
trials (a mean, a line, a survival curve), so it is enough to resample the sums of whole clusters.
Figures that are not, such as an AUC, are recomputed from the weight of each cluster.

Resampled figures vary less than the truth, by one part in the number of clusters, and ignore how
badly a spread is known from a few clusters. Both intervals therefore cut off smaller tails, as
Student's distribution is wider than the normal one (Hesterberg 2015, "What Teachers Should Know
About the Bootstrap", section 5.3).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Interval = tuple[float, float]

LEVEL: Final = 0.95
"""The share of intervals that should contain the truth."""
SEED: Final = 42
"""The seed of every random draw, so that the same data give the same interval."""
ENOUGH_PERSONAS: Final = 5
"""From this many personas on, personas are resampled instead of questions."""
RESAMPLES: Final = 10_000

_NORMAL_POINT = NormalDist().inv_cdf((1 + LEVEL) / 2)
_DEFINED_SHARE = 0.9
"""A figure that is defined in a smaller share of the resamples has no interval."""
_CELLS = 1 << 20
_FEW_COLUMNS = 8
_EXACT = float(1 << 53)
"""Whole numbers below this are exact, and so are their sums."""
_EXACT_SINGLE = float(1 << 24)
"""The same in single precision, which takes half the time."""
_KEPT_CELLS = 1 << 24
"""Up to this size draws are cached, a byte each: a report uses the same ones thousands of times."""
_KEPT_BYTES = 1 << 25
"""The size of all draws that are cached."""
_KEPT_FRACTIONS = 1 << 17
"""The same for fractions. The order in which they are added decides whether two totals are equal,
which an interval depends on: beyond this, they are added as drawn."""
_TILE = 1 << 14
"""How many draws are made at a time, so that they stay in a processor's cache."""
_TOGETHER = 64
"""How many tables are resampled at once, so that their resamples stay in a processor's cache."""
_ONE_THREAD = 1 << 18
"""Up to this many multiplications OpenBLAS computes a product in the thread that asks for it. Its
other threads wait for work in a loop, which takes many times as long where a machine is busy."""


class ResampledUnit(StrEnum):
    """The unit that was resampled, and so the population an interval is about."""

    QUESTIONS = "questions"
    """Other questions to the same personas."""
    TEMPLATES = "templates"
    """Other templates of questions to the same personas."""
    PERSONAS = "personas"
    """Other personas, with their questions."""


TemplateNames = Mapping[tuple[str, str], str]
"""The template of a question, by persona and question; a question not listed shares none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGroups:
    """The question, the template and the persona of each trial, as numbers."""

    question: Ints
    """The number of each trial's question; a question belongs to one persona."""
    template: Ints
    """The number of each trial's template; a template belongs to one persona."""
    persona: Ints
    """The number of each trial's persona."""
    questions: int
    templates: int
    """As many as questions where no two share one."""
    personas: int

    @property
    def unit(self) -> ResampledUnit:
        """The unit that an interval is named after: personas if there are enough of them."""
        return (
            ResampledUnit.PERSONAS if self.personas >= ENOUGH_PERSONAS else ResampledUnit.QUESTIONS
        )

    @property
    def units(self) -> tuple[ResampledUnit, ...]:
        """The units to compute an interval with; the wider of the intervals is reported.

        A few personas that happen to agree give an interval narrower than their questions allow,
        and so may a few templates.
        """
        shares = (ResampledUnit.TEMPLATES,) if self.templates < self.questions else ()
        return tuple(dict.fromkeys((self.unit, *shares, ResampledUnit.QUESTIONS)))

    def sum_columns(self, columns: Floats, unit: ResampledUnit) -> Floats:
        """Sum columns of values, one row a trial, over each cluster: one row a cluster."""
        if not np.isfinite(columns).all():
            raise ValueError("a trial without a mark is counted as missing, not given as NaN")
        number, count = self._get_clusters(unit)
        totals = np.empty((count, columns.shape[1]))
        for place, column in enumerate(columns.T):
            totals[:, place] = np.bincount(number, weights=column, minlength=count)
        return totals

    def count_kinds(self, kind: Ints, kinds: int, unit: ResampledUnit) -> Floats:
        """Count the trials of each kind, numbered from 0, in each cluster: one row a cluster."""
        number, count = self._get_clusters(unit)
        counts = np.bincount(number * kinds + kind, minlength=count * kinds)
        return counts.reshape(count, kinds).astype(np.float64)

    def count_units(self, unit: ResampledUnit) -> int:
        """Count the questions, templates or personas."""
        return self._get_clusters(unit)[1]

    def _get_clusters(self, unit: ResampledUnit) -> tuple[Ints, int]:
        if unit is ResampledUnit.PERSONAS:
            return self.persona, self.personas
        if unit is ResampledUnit.TEMPLATES:
            return self.template, self.templates
        return self.question, self.questions


def group_trials(
    questions: Sequence[str], personas: Sequence[str], templates: TemplateNames | None = None
) -> TrialGroups:
    """Group trials by question, template and persona.

    One id in two personas is two questions, and one template in two personas is two templates.
    """
    # Most figures have many trials a question: what a question belongs to is looked up once.
    place: dict[tuple[str, str], int] = {}
    question = np.array(
        [place.setdefault(key, len(place)) for key in zip(personas, questions, strict=True)],
        dtype=np.int64,
    )
    template = number_names([_name_template(key, templates) for key in place])
    persona = number_names([name for name, _ in place])
    return TrialGroups(
        question=question,
        template=template[question],
        persona=persona[question],
        questions=len(place),
        templates=int(template.max(initial=-1)) + 1,
        personas=int(persona.max(initial=-1)) + 1,
    )


@dataclass(frozen=True, slots=True)
class QuestionNumbers:
    """The template and the persona of each question, all as numbers."""

    template: Ints
    persona: Ints

    @classmethod
    def build(cls, keys: Sequence[tuple[str, object]]) -> "QuestionNumbers":
        """Number questions by persona and template; one without a template has a key of its own."""
        return cls(number_names(keys), number_names([persona for persona, _ in keys]))

    @classmethod
    def build_by_name(cls, templates: Mapping[tuple[str, str], str | None]) -> "QuestionNumbers":
        """Number questions in this order, given the template of each persona and question."""
        # A name and a pair cannot be equal, so a question without a template has one of its own.
        return cls.build([(key[0], name or key) for key, name in templates.items()])

    def group(self, question: Ints) -> TrialGroups:
        """Group trials, given the number of the question of each."""
        occurring, place = _renumber(question)
        return self._group(occurring, place)

    def group_questions(self, asked: Ints) -> TrialGroups:
        """Group one trial of each of these questions, which are in order."""
        return self._group(asked, np.arange(len(asked)))

    def _group(self, asked: Ints, place: Ints) -> TrialGroups:
        templates, template = _renumber(self.template[asked])
        personas, persona = _renumber(self.persona[asked])
        return TrialGroups(
            question=place,
            template=template[place],
            persona=persona[place],
            questions=len(asked),
            templates=len(templates),
            personas=len(personas),
        )


def _renumber(numbers: Ints) -> tuple[Ints, Ints]:
    """List the numbers that occur, in order, and the place of each number in that list."""
    occurs = np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_)
    occurs[numbers] = True
    (occurring,) = occurs.nonzero()
    place = np.empty(len(occurs), np.int64)
    place[occurring] = np.arange(len(occurring))
    return occurring, place[numbers]


def _name_template(key: tuple[str, str], templates: TemplateNames | None) -> tuple[str, ...]:
    shared = None if templates is None else templates.get(key)
    return key if shared is None else (key[0], "", shared)


def resample(sums: Floats, *, seed: int, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """Yield the totals of resampled clusters, one row a resample, in pieces of bounded size.

    The order of the clusters does not matter.
    """
    ordered = sort_clusters(sums)
    clusters = len(ordered)
    if len(ordered.T) > _FEW_COLUMNS:
        # Weights cost more to draw, and then serve all columns at once.
        for weights in draw_weights(clusters, seed=seed, resamples=resamples):
            yield np.asarray(weights @ ordered, np.float64)
        return
    is_exact = bool(_are_exact(ordered[np.newaxis])[0])
    # Counting what is drawn pays if the counts are kept, or serve several columns.
    is_kept = clusters * resamples <= (_KEPT_CELLS if is_exact else _KEPT_FRACTIONS)
    if is_kept or (is_exact and len(ordered.T) > 2):
        yield _sum_draws(ordered, seed, resamples)
        return
    columns = ordered.T.copy()
    totals = np.empty((resamples, len(columns)))
    for part, places in _draw_places(clusters, seed, resamples):
        for number, column in enumerate(columns):
            # All places exist, and not to check them takes half the time.
            totals[part, number] = column.take(places, mode="clip").sum(axis=1)
    yield totals


def resample_ratios(
    tables: Sequence[Floats], *, seed: int, resamples: int = RESAMPLES
) -> Iterator[tuple[Sequence[int], Floats]]:
    """Yield the resampled ratios of the two columns of each table, one row a table.

    With each piece come the numbers of its tables. All tables have the same number of clusters,
    and are sorted. Whole numbers are summed together, because their order does not matter.
    """
    stacked = np.stack(tables)
    is_exact = _are_exact(stacked)
    if len(tables[0]) * resamples > _KEPT_CELLS and np.count_nonzero(is_exact) == 1:
        # Counting what is drawn does not pay for a single table.
        is_exact[:] = False
    together = np.flatnonzero(is_exact).tolist()
    for start in range(0, len(together), _TOGETHER):
        numbers = together[start : start + _TOGETHER]
        yield numbers, _draw_ratios(stacked[numbers], seed, resamples)
    for number in np.flatnonzero(~is_exact).tolist():
        pieces = resample(tables[number], seed=seed, resamples=resamples)
        yield [number], np.concatenate([divide_columns(piece) for piece in pieces])[np.newaxis]


def _are_exact(tables: Floats) -> Bools:
    """Whether the totals of each table are exact in any order: those of whole numbers are."""
    is_whole = (tables == np.rint(tables)).all(axis=(1, 2))
    is_small = tables.shape[1] * np.abs(tables).max(axis=(1, 2), initial=0) < _EXACT
    return np.asarray(is_whole & is_small, np.bool_)


def _draw_ratios(tables: Floats, seed: int, resamples: int) -> Floats:
    """Compute the resampled ratios of tables of whole numbers, one row a table."""
    count, clusters, _ = tables.shape
    # Sums first, then numbers of trials: the ratios are one half divided by the other.
    rows = tables.transpose(2, 0, 1).reshape(2 * count, clusters)
    totals = _sum_draws(rows.T, seed, resamples).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(totals[:count] / totals[count:], np.float64)


def divide_columns(sums: Floats) -> Floats:
    """Divide the first column by the second; not finite where that is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], np.float64)


def sort_clusters(sums: Floats) -> Floats:
    """Sort clusters by their sums, so that figures do not depend on their order."""
    return np.asarray(sums[np.lexsort(sums.T)], np.float64)


def draw_weights(
    clusters: int, *, seed: int = SEED, resamples: int = RESAMPLES, cells: int | None = None
) -> Iterator[Floats]:
    """Yield how often each cluster is drawn, one row a resample, in pieces of bounded size.

    `cells` is the number of values the caller computes for each row, where it exceeds `clusters`.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // max(clusters, cells or 0))
    even = np.full(clusters, 1 / clusters)
    for start in range(0, resamples, step):
        times = rng.multinomial(clusters, even, size=min(step, resamples - start))
        yield times.astype(np.float64)


_Counts = NDArray[np.uint8] | NDArray[np.uint32]


_COUNTS: dict[tuple[int, int, int], _Counts] = {}
"""The draws that were counted last, the latest at the end."""
_COUNTS_LOCK = Lock()
"""Held while draws are counted and kept: the explorer estimates in several threads."""


def _iterate_counts(
    clusters: int, seed: int, resamples: int, step: int
) -> Iterator[tuple[slice, _Counts]]:
    """Count how often each cluster is drawn; the rows of at most `step` resamples at a time."""
    if clusters * resamples <= _KEPT_CELLS:
        counts = _count_draws(clusters, seed, resamples)
        for start in range(0, resamples, step):
            yield slice(start, start + step), counts[start : start + step]
        return
    for part, places in _draw_places(clusters, seed, resamples):
        counted = _count_places(places)
        for start in range(0, len(counted), step):
            place = slice(part.start + start, min(part.start + start + step, part.stop))
            yield place, counted[start : start + step]


def _count_draws(clusters: int, seed: int, resamples: int) -> _Counts:
    """Count how often each cluster is drawn, one row a resample."""
    key = clusters, seed, resamples
    with _COUNTS_LOCK:
        counts = _COUNTS.pop(key, None)
        if counts is None:
            counts = np.empty((resamples, clusters), np.uint8)
            for part, places in _draw_places(clusters, seed, resamples):
                found = _count_places(places)
                if found.dtype.itemsize > counts.dtype.itemsize:
                    counts = counts.astype(np.uint32)
                counts[part] = found
            size = counts.nbytes + sum(counted.nbytes for counted in _COUNTS.values())
            while _COUNTS and size > _KEPT_BYTES:
                size -= _COUNTS.pop(next(iter(_COUNTS))).nbytes
        _COUNTS[key] = counts
        return counts


def _count_places(places: Ints) -> _Counts:
    """Count how often each cluster is drawn in each row; the places are overwritten."""
    places += np.arange(0, places.size, places.shape[1])[:, np.newaxis]
    counts = np.bincount(places.ravel(), minlength=places.size)
    table = counts.reshape(places.shape)
    is_small = places.shape[1] < 256 or counts.max() < 256
    return table.astype(np.uint8) if is_small else table.astype(np.uint32)


def _draw_places(clusters: int, seed: int, resamples: int) -> Iterator[tuple[slice, Ints]]:
    """Draw clusters by number, one row a resample; each part of the rows with its place.

    numpy draws the same numbers as 32-bit integers, which it would convert to count or look up.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _TILE // clusters)
    for start in range(0, resamples, step):
        shape = (min(step, resamples - start), clusters)
        yield slice(start, start + step), rng.integers(clusters, size=shape)


def _sum_draws(sums: Floats, seed: int, resamples: int) -> Floats:
    """Compute the totals of the clusters drawn, one row a resample."""
    # A column of totals is read at a time.
    totals = np.empty((resamples, sums.shape[1]), order="F")
    is_whole = np.array_equal(sums, np.rint(sums))
    is_exact = is_whole and len(sums) * np.abs(sums).max(initial=0) < _EXACT_SINGLE
    kind: type[np.float32 | np.float64] = np.float32 if is_exact else np.float64
    table = sums.astype(kind)
    step = max(1, _ONE_THREAD // sums.size)
    for part, counts in _iterate_counts(len(sums), seed, resamples, step):
        totals[part] = np.matmul(counts.astype(kind), table)
    return totals


def drop_each(sums: Floats) -> Floats:
    """Compute the totals without each cluster in turn, one row a cluster."""
    return np.asarray(sums.sum(axis=0) - sums, np.float64)


def number_names(names: Sequence[object]) -> Ints:
    """Number names from 0 without a gap; equal names get equal numbers."""
    place: dict[object, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)


def compute_percentile(draws: Floats, *, clusters: int) -> Interval | None:
    """The percentile interval, for figures that err both ways alike: differences, slopes."""
    tail = _widen_tail(clusters)
    return None if tail is None else _cut_between(draws, tail, 1 - tail)


def compute_bcas(values: Floats, draws: Floats, left_out: Floats) -> Iterator[Interval | None]:
    """Compute Efron's BCa intervals, for figures near a bound: a mean close to full marks.

    There is one row for each figure; `left_out` is the figure without each cluster in turn.
    """
    from scipy.special import ndtr, ndtri

    tail = _widen_tail(left_out.shape[1])
    if tail is None:
        yield from [None] * len(values)
        return
    count, edge = draws.shape[1], 0.5 / draws.shape[1]
    below = np.count_nonzero(draws < values[:, np.newaxis], axis=1) / count
    below += np.count_nonzero(draws == values[:, np.newaxis], axis=1) / count / 2
    bias = ndtri(np.clip(below, edge, 1 - edge))
    # With two clusters the tail is so thin that one minus the tail rounds to one.
    reach = float(-ndtri(tail))
    moved = bias + np.array([[-reach], [reach]])
    room = 1 - _measure_skews(left_out) * moved
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(room > 0, ndtr(bias + moved / room), [[0.0], [1.0]])
    for row, low, high in zip(draws, *shares.tolist(), strict=True):
        yield _cut_between(row, low, high)


def choose_wider(found: Iterable[Interval | None]) -> Interval | None:
    """Choose the widest interval; None if there is none."""
    intervals = [interval for interval in found if interval is not None]
    return max(intervals, key=lambda each: each[1] - each[0], default=None)


def _cut_between(draws: Floats, low: float, high: float) -> Interval | None:
    is_defined = np.isfinite(draws)
    defined = draws if is_defined.all() else draws[is_defined]
    if not len(defined) or len(defined) < _DEFINED_SHARE * len(draws):
        return None
    places = {_find_place(defined, share) + step for share in (low, high) for step in (0, 1)}
    # Sorted as far as it is read.
    ranked = np.partition(defined, sorted(places)) if len(defined) > 1 else defined
    return _interpolate(ranked, low), _interpolate(ranked, high)


def _find_place(draws: Floats, share: float) -> int:
    """Find the place, in order, of the value at or below this share; another one follows it."""
    return max(0, min(int(share * (len(draws) - 1)), len(draws) - 2))


def _interpolate(ranked: Floats, share: float) -> float:
    """Interpolate like numpy's `quantile`, without its checks."""
    if len(ranked) == 1:
        return float(ranked[0])
    start = _find_place(ranked, share)
    part = share * (len(ranked) - 1) - start
    below, above = float(ranked[start]), float(ranked[start + 1])
    step = above - below
    return above - step * (1 - part) if part >= 0.5 else below + step * part


@lru_cache(maxsize=4096)
def _widen_tail(clusters: int) -> float | None:
    """Compute the tail to cut off on each side; None for a single cluster."""
    from scipy.special import ndtr, stdtrit

    freedom = clusters - 1
    if freedom < 1:
        return None
    return float(ndtr(-math.sqrt(clusters / freedom) * stdtrit(freedom, (1 + LEVEL) / 2)))


def _measure_skews(left_out: Floats) -> Floats:
    """Compute the BCa acceleration: a sixth of the skewness of the clusters' contributions."""
    gone = left_out.mean(axis=1, keepdims=True) - left_out
    spreads = np.matmul(gone[:, np.newaxis], gone[:, :, np.newaxis]).ravel().tolist()
    cubes = (gone**3).sum(axis=1).tolist()
    return np.array(
        [
            cube / (6 * spread**1.5) if spread > 0 else 0.0
            for cube, spread in zip(cubes, spreads, strict=True)
        ]
    )


def bound_unseen_share(count: int) -> float:
    """Bound the share of all questions that could differ although `count` questions agreed.

    With a larger share, that many would agree in fewer than one case in forty.
    """
    return 1 - ((1 - LEVEL) / 2) ** (1 / count) if count else 1.0


def compute_wilson(count: float, of: int) -> Interval:
    """Compute Wilson's score interval of a share: 10 of 20 is 30 % to 70 %."""
    if not 0 <= count <= of or not of:
        raise ValueError(f"{count} of {of} is not a share")
    share, square = count / of, _NORMAL_POINT**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    spread = math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    reach = _NORMAL_POINT / (1 + square / of) * spread
    # At the bounds the formula gives the bound itself, but for the last bit.
    return (middle - reach if count else 0.0), (middle + reach if count < of else 1.0)
