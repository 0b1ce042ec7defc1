"""How many questions a wanted difference takes, from a pilot or from stated numbers."""

import math
from collections.abc import Iterable, Sequence

from recall_bench.analysis.pairing import pair
from recall_bench.analysis.trials import Table
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import UsageError
from recall_bench.statistics.clusters import grouping
from recall_bench.statistics.power import (
    ALPHA,
    POWER,
    Spread,
    detectable,
    questions_needed,
    spread_of,
    standard_error,
)

DIFFERENCES = (0.1, 0.2, 0.3, 0.5, 1.0)
QUESTIONS = (20, 50, 100, 200, 500, 1000)
"""What the tables list beside what was asked for."""


class Ground(Record, frozen=True, kw_only=True):
    """What is taken to be known about differences before they are measured."""

    spread: Spread
    """From trial to trial."""
    asks: float
    """How often each question is put, on average."""
    question_deviation: float
    """How far the difference on one question varies, put so often: the standard error of a mean
    over so many questions is this over their square root."""
    source: str
    """Where that is from, in words."""


class Needed(Record, frozen=True, kw_only=True):
    """What one difference takes."""

    difference: float
    questions: int


class Shown(Record, frozen=True, kw_only=True):
    """What so many questions show."""

    questions: int
    difference: float | None
    """None where no difference that is possible would be noticed often enough."""


class Power(Record, frozen=True, kw_only=True):
    """The answer to both questions, for what was asked and for the usual sizes."""

    ground: Ground
    alpha: float
    power: float
    needed: Needed | None
    """For the difference asked about."""
    shown: Shown | None
    """For the number of questions asked about."""
    differences: tuple[Needed, ...]
    sizes: tuple[Shown, ...]


def stated(deviation: float, correlation: float | None, asks: float | None) -> Ground:
    """The spread as somebody says it is; unless they say more, one ask, and re-asks add nothing."""
    spread = Spread(deviation=deviation, correlation=1.0 if correlation is None else correlation)
    return _modelled(spread, 1.0 if asks is None else asks, "stated numbers")


def ground_of(tables: Sequence[Table], names: Sequence[str], asks: float | None = None) -> Ground:
    """The spread seen in a pilot: between two runs, or within one.

    One run says how far marks vary, not differences: two systems are then taken to do well on
    questions that have nothing to do with each other, which asks for more questions than it takes.
    """
    if len(tables) == 1:
        values, factor = tables[0].points, math.sqrt(2)
        source = f"{names[0]} alone, {_counts(values)}; a second run would ask for fewer"
    elif len(tables) == 2:
        values, factor = _differences(*tables), 1.0
        source = f"{names[1]} against {names[0]}, {_counts(values)}"
    else:
        raise UsageError(f"--runs: a pilot is one run or two; {len(tables)} were named")
    groups = grouping([t.item for t in values], [t.scenario for t in values])
    found = list(values.values())
    spread = spread_of(found, [f"{trial.scenario}\0{trial.item}" for trial in values])
    known = standard_error(found, groups)
    if spread is None or known is None or known[0] == 0:
        raise UsageError(
            f"--runs: nothing varies between questions in {source}, so nothing can be planned from "
            "it; take another pilot, or say --sd"
        )
    spread = spread.but(deviation=factor * spread.deviation)
    if asks is not None:
        return _modelled(spread, asks, source)
    return Ground(
        spread=spread,
        asks=len(found) / groups.questions,
        question_deviation=factor * known[0] * math.sqrt(groups.questions),
        source=source,
    )


def plan_power(
    ground: Ground,
    *,
    difference: float | None = None,
    questions: int | None = None,
    alpha: float = ALPHA,
    power: float = POWER,
) -> Power:
    """What the difference takes and what the questions show, as far as each is given."""
    if difference is not None and not 0 < difference <= FULL_MARKS:
        raise UsageError(
            f"--difference: {difference:g} is not a difference between marks of {FULL_MARKS}; "
            "name one above 0"
        )
    # One ask of each, as it varies put as often as it is: the asks are in the deviation already.
    spread = Spread(deviation=ground.question_deviation, correlation=1.0)

    def needed(wanted: float) -> Needed:
        found = questions_needed(wanted, spread, alpha=alpha, power=power)
        return Needed(difference=wanted, questions=max(found, fewest(alpha)))

    def shown(count: int) -> Shown:
        if count < fewest(alpha):
            return Shown(questions=count, difference=None)
        error = ground.question_deviation / math.sqrt(count)
        smallest = detectable(error, count, alpha=alpha, power=power)
        return Shown(questions=count, difference=smallest if smallest <= FULL_MARKS else None)

    return Power(
        ground=ground,
        alpha=alpha,
        power=power,
        needed=None if difference is None else needed(difference),
        shown=None if questions is None else shown(questions),
        differences=tuple(map(needed, DIFFERENCES)),
        sizes=tuple(map(shown, QUESTIONS)),
    )


def fewest(alpha: float = ALPHA) -> int:
    """The questions below which no p-value can be so small, even if all go one way."""
    return math.ceil(1 - math.log2(alpha))


def _modelled(spread: Spread, asks: float, source: str) -> Ground:
    return Ground(
        spread=spread, asks=asks, question_deviation=spread.of_question(asks), source=source
    )


def _differences(first: Table, second: Table) -> dict[Trial, float]:
    common = pair(first, second)
    ours, theirs = common.of(first.points), common.of(second.points)
    return {trial: theirs[trial] - ours[trial] for trial in ours if trial in theirs}


def _counts(trials: Iterable[Trial]) -> str:
    every = list(trials)
    questions = {(trial.scenario, trial.item) for trial in every}
    return f"{len(every):,} trials of {len(questions):,} questions"
