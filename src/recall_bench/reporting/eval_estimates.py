"""The figures of an evaluation: means with counts, intervals, chance and ceiling."""

from collections.abc import Iterable, Mapping, Sequence
from operator import add
from statistics import fmean

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.reporting.eval_scores import ANSWERED, OPEN, ScoredQuestion
from recall_bench.reporting.groups import group_by

ALL, ANSWERABLE, UNANSWERABLE = "all", "answerable", "unanswerable"
CATEGORY_AVERAGE = "average of categories"


class EvalEstimate(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One figure of one group of questions."""

    name: str
    mean: float
    counted: int
    """The questions it is over: those it applies to and that came to something."""
    interval: tuple[float, float] | None = None
    """The 95 % interval of the mean, by resampling histories, or questions where there are fewer
    than five histories; only for headline figures."""
    chance: float | None = None
    """What a blind draw, or a guess, would get on the same questions."""
    ceiling: float | None = None
    """What the best order of all there is would get."""


class EvalGroup(Record, frozen=True, kw_only=True):
    """Questions that are counted together."""

    name: str
    questions: int
    figures: dict[str, EvalEstimate]


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
    cells = group_by(scored, lambda each: (each.category, each.is_answerable))
    sums = {cell: _sum_figures(members) for cell, members in cells.items()}
    members: dict[str, list[tuple[str, bool]]] = {ALL: list(cells)}
    if len({is_answerable for _, is_answerable in cells}) == 2:
        members[ANSWERABLE] = [cell for cell in cells if cell[1]]
        members[UNANSWERABLE] = [cell for cell in cells if not cell[1]]
    # A category may be named like one of these.
    groups = [*members.items(), *group_by(cells, lambda cell: cell[0]).items()]
    return tuple(
        EvalGroup(
            name=name,
            questions=sum(len(cells[cell]) for cell in held),
            figures=_build_estimates(
                [sums[cell] for cell in held],
                _compute_intervals([each for cell in held for each in cells[cell]], wanted),
            ),
        )
        for name, held in groups
    )


def average_categories(groups: Sequence[EvalGroup]) -> EvalGroup:
    """Every category counting the same, however many questions it has."""
    apart = [each for each in groups if each.name not in (ALL, ANSWERABLE, UNANSWERABLE)]
    names = dict.fromkeys(name for group in apart for name in group.figures)
    figures = {}
    for name in names:
        found = [group.figures[name] for group in apart if name in group.figures]
        figures[name] = EvalEstimate(
            name=name,
            mean=fmean(each.mean for each in found),
            counted=sum(each.counted for each in found),
            chance=_average_known([each.chance for each in found]),
            ceiling=_average_known([each.ceiling for each in found]),
        )
    return EvalGroup(
        name=CATEGORY_AVERAGE, questions=sum(each.questions for each in apart), figures=figures
    )


def count_abstentions(scored: Iterable[ScoredQuestion]) -> AbstentionCounts | None:
    """Count how often a system abstained; None if no answer was in free text."""
    said = [each for each in scored if each.abstained is not None]
    if not said:
        return None
    lacking = [each for each in said if not each.is_answerable]
    having = [each for each in said if each.is_answerable]
    trapped = [each for each in said if each.fell_for_trap is not None]
    return AbstentionCounts(
        unanswerable=len(lacking),
        abstained=sum(each.abstained is True for each in lacking),
        answerable=len(having),
        wrongly_abstained=sum(each.abstained is True for each in having),
        traps=len(trapped),
        fell_for_trap=sum(each.fell_for_trap is True for each in trapped),
    )


def count_outcomes(scored: Sequence[ScoredQuestion]) -> EvalCounts:
    """Where the questions have ended."""
    answered = sum(each.outcome == ANSWERED for each in scored)
    still_open = sum(each.outcome == OPEN for each in scored)
    return EvalCounts(
        owed=len(scored),
        answered=answered,
        failed=len(scored) - answered - still_open,
        open=still_open,
        unjudged=sum(each.unjudged is not None for each in scored),
    )


def _compute_intervals(
    group: Sequence[ScoredQuestion], wanted: frozenset[str]
) -> dict[str, tuple[float, float] | None]:
    found = {}
    for name in wanted:
        having = [each for each in group if name in each.figures]
        estimate = estimate_mean(
            [each.figures[name] for each in having],
            [each.item for each in having],
            [each.scenario for each in having],
            limits=(0.0, 1.0),
        )
        found[name] = None if estimate is None else estimate.interval
    return found


_FigureSums = dict[str, list[float]]
"""By figure the number of values and their sum; the same of chance, and of the ceiling."""


def _sum_figures(group: Iterable[ScoredQuestion]) -> _FigureSums:
    sums: _FigureSums = {}
    for each in group:
        for name, value in each.figures.items():
            held = sums.setdefault(name, [0.0] * 6)
            for place, found in enumerate((value, each.chance.get(name), each.ceiling.get(name))):
                if found is not None:
                    held[2 * place] += 1
                    held[2 * place + 1] += found
    return sums


def _build_estimates(
    parts: Iterable[_FigureSums], intervals: Mapping[str, tuple[float, float] | None]
) -> dict[str, EvalEstimate]:
    """The means; chance and ceiling only where they are known of every question."""
    sums: _FigureSums = {}
    for part in parts:
        for name, held in part.items():
            sums[name] = list(map(add, sums[name], held)) if name in sums else held
    return {
        name: EvalEstimate(
            name=name,
            mean=total / count,
            counted=int(count),
            interval=intervals.get(name),
            chance=chance / count if chances == count else None,
            ceiling=ceiling / count if ceilings == count else None,
        )
        for name, (count, total, chances, chance, ceilings, ceiling) in sums.items()
    }


def _average_known(values: Sequence[float | None]) -> float | None:
    """The mean, if all of them are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
