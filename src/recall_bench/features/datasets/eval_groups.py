"""Figures of groups of questions: all of them, the answerable ones, and each category."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from recall_bench.core.grouping import group_by
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.features.datasets.question_scores import ANSWERED, OPEN, ScoredQuestion
from recall_bench.metrics.estimate import estimate_mean

ALL, ANSWERABLE, UNANSWERABLE = "all", "answerable", "unanswerable"
CATEGORY_AVERAGE = "average of categories"


class EvalEstimate(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One figure of one group of questions."""

    name: str
    mean: float
    counted: int
    """How many questions the mean is over: those that have the figure."""
    interval: tuple[float, float] | None = None
    """The 95 % interval of the mean, by resampling histories, or questions where there are fewer
    than five histories; only for headline figures."""
    chance: float | None = None
    """What a blind draw, or a guess, would get on the same questions."""
    ceiling: float | None = None
    """What the best order of all there is would get."""


class EvalGroup(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Questions that are counted together."""

    name: str
    questions: int
    figures: dict[str, EvalEstimate]
    is_category: bool = False
    """Whether it is a category of the dataset, which may be named like one of our groups."""


class AbstentionCounts(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a system knows what it does not know: an axis of its own."""

    unanswerable: int
    """Answers to questions that have none."""
    abstained: int
    """How many of these abstained."""
    answerable: int
    wrongly_abstained: int
    """Answers that abstained although there is an answer."""
    traps: int
    """Answers to questions that come with a trap."""
    fell_for_trap: int


class EvalCounts(Record, frozen=True, kw_only=True):
    """How the questions of a run ended."""

    owed: int
    answered: int
    failed: int
    """The system failed at them: they count as finding and saying nothing."""
    open: int
    unjudged: int
    """Answered, to be judged, and without a verdict: figures of the judge lack them."""


def group_scores(
    scored: Sequence[ScoredQuestion], headline: Iterable[str], *, with_intervals: bool = True
) -> tuple[EvalGroup, ...]:
    """All questions, those with and without an answer where there are both, and each category."""
    wanted = frozenset(headline) if with_intervals else frozenset()
    # Figures are summed once for each category and kind of question, and groups add these up.
    cells = {
        key: _ScoreCell(questions, _sum_figures(questions))
        for key, questions in group_by(
            scored, lambda each: (each.category, each.is_answerable)
        ).items()
    }
    groups = [_build_group(ALL, [*cells.values()], wanted)]
    answerable = [cell for (_, is_answerable), cell in cells.items() if is_answerable]
    unanswerable = [cell for (_, is_answerable), cell in cells.items() if not is_answerable]
    if answerable and unanswerable:
        groups.append(_build_group(ANSWERABLE, answerable, wanted))
        groups.append(_build_group(UNANSWERABLE, unanswerable, wanted))
    for category, keys in group_by(cells, lambda key: key[0]).items():
        group = _build_group(category, [cells[key] for key in keys], wanted)
        groups.append(group.replace(is_category=True))
    return tuple(groups)


def average_categories(groups: Iterable[EvalGroup]) -> EvalGroup:
    """The mean of the categories among these groups, each counting the same."""
    categories = [each for each in groups if each.is_category]
    names = dict.fromkeys(name for group in categories for name in group.figures)
    figures = {}
    for name in names:
        found = [group.figures[name] for group in categories if name in group.figures]
        figures[name] = EvalEstimate(
            name=name,
            mean=fmean(each.mean for each in found),
            counted=sum(each.counted for each in found),
            chance=_average_known([each.chance for each in found]),
            ceiling=_average_known([each.ceiling for each in found]),
        )
    return EvalGroup(
        name=CATEGORY_AVERAGE,
        questions=sum(each.questions for each in categories),
        figures=figures,
    )


def count_abstentions(scored: Iterable[ScoredQuestion]) -> AbstentionCounts | None:
    """Count how often a system abstained; None if no answer was in free text."""
    in_text = [each for each in scored if each.abstained is not None]
    if not in_text:
        return None
    unanswerable = [each for each in in_text if not each.is_answerable]
    answerable = [each for each in in_text if each.is_answerable]
    with_trap = [each for each in in_text if each.fell_for_trap is not None]
    return AbstentionCounts(
        unanswerable=len(unanswerable),
        abstained=sum(each.abstained is True for each in unanswerable),
        answerable=len(answerable),
        wrongly_abstained=sum(each.abstained is True for each in answerable),
        traps=len(with_trap),
        fell_for_trap=sum(each.fell_for_trap is True for each in with_trap),
    )


def count_outcomes(scored: Sequence[ScoredQuestion]) -> EvalCounts:
    """Count the questions by outcome."""
    answered = sum(each.outcome == ANSWERED for each in scored)
    still_open = sum(each.outcome == OPEN for each in scored)
    return EvalCounts(
        owed=len(scored),
        answered=answered,
        failed=len(scored) - answered - still_open,
        open=still_open,
        unjudged=sum(each.unjudged is not None for each in scored),
    )


@dataclass(slots=True)
class _ValueSum:
    count: int = 0
    total: float = 0.0

    def add(self, other: "_ValueSum") -> None:
        self.count += other.count
        self.total += other.total


@dataclass(slots=True)
class _FigureSum:
    """The sums of one figure, of its chance, and of its ceiling."""

    values: _ValueSum = field(default_factory=_ValueSum)
    chance: _ValueSum = field(default_factory=_ValueSum)
    ceiling: _ValueSum = field(default_factory=_ValueSum)

    def add(self, other: "_FigureSum") -> None:
        self.values.add(other.values)
        self.chance.add(other.chance)
        self.ceiling.add(other.ceiling)


@dataclass(frozen=True, slots=True)
class _ScoreCell:
    """Questions of one category that all have an answer, or all have none."""

    questions: Sequence[ScoredQuestion]
    sums: Mapping[str, _FigureSum]


def _sum_figures(questions: Iterable[ScoredQuestion]) -> dict[str, _FigureSum]:
    sums: dict[str, _FigureSum] = {}
    for each in questions:
        for name, value in each.figures.items():
            held = sums.setdefault(name, _FigureSum())
            held.values.count += 1
            held.values.total += value
            if (chance := each.chance.get(name)) is not None:
                held.chance.count += 1
                held.chance.total += chance
            if (ceiling := each.ceiling.get(name)) is not None:
                held.ceiling.count += 1
                held.ceiling.total += ceiling
    return sums


def _build_group(name: str, cells: Sequence[_ScoreCell], wanted: frozenset[str]) -> EvalGroup:
    sums: dict[str, _FigureSum] = {}
    for cell in cells:
        for figure, found in cell.sums.items():
            sums.setdefault(figure, _FigureSum()).add(found)
    questions = [each for cell in cells for each in cell.questions]
    intervals = _compute_intervals(questions, wanted)
    return EvalGroup(
        name=name,
        questions=len(questions),
        figures={
            figure: _build_estimate(figure, found, intervals.get(figure))
            for figure, found in sums.items()
        },
    )


def _build_estimate(
    name: str, sums: _FigureSum, interval: tuple[float, float] | None
) -> EvalEstimate:
    """The means; chance and ceiling only where they are known of every question."""
    count = sums.values.count
    chance, ceiling = (
        each.total / count if each.count == count else None for each in (sums.chance, sums.ceiling)
    )
    return EvalEstimate(
        name=name,
        mean=sums.values.total / count,
        counted=count,
        interval=interval,
        chance=chance,
        ceiling=ceiling,
    )


def _compute_intervals(
    questions: Sequence[ScoredQuestion], wanted: frozenset[str]
) -> dict[str, tuple[float, float] | None]:
    intervals = {}
    for name in wanted:
        counted = [each for each in questions if name in each.figures]
        estimate = estimate_mean(
            [each.figures[name] for each in counted],
            [each.item for each in counted],
            [each.scenario for each in counted],
            limits=(0.0, 1.0),
        )
        intervals[name] = None if estimate is None else estimate.interval
    return intervals


def _average_known(values: Sequence[float | None]) -> float | None:
    """The mean, if all of them are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
