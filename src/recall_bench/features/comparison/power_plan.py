"""How many questions it takes to detect a difference, from a pilot or from stated numbers.

Differences and their spread are in points of 100.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    NO_DATA,
    Column,
    Table,
    format_fact,
    format_heading,
    render_text,
)
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.bootstrap import ResampledUnit, TrialGroups, group_trials
from recall_bench.metrics.power import (
    ALPHA,
    POWER,
    DifferenceSpread,
    compute_standard_error,
    find_detectable,
    find_fewest_questions,
    find_sample_size,
    measure_spread,
)
from recall_bench.reporting.formats import OF_100, format_number
from recall_bench.reporting.run_pairs import pair_trials

LISTED_DIFFERENCES = (1.0, 2.0, 3.0, 5.0, 10.0)
LISTED_SIZES = (20, 50, 100, 200, 500, 1000)
"""The rows of the tables."""

_HIGHEST = 100
"""The largest difference in points."""


class PowerBasis(ComputedRecord, frozen=True, kw_only=True):
    """What a plan assumes about the differences."""

    spread: DifferenceSpread
    """From trial to trial."""
    asks: float
    """How often each question is asked, on average."""
    question_deviation: float
    """The standard deviation of the difference on one question, over its asks. Divided by the root
    of the number of questions, it is the standard error of the mean."""
    source: str
    """Where that is from, in words."""


class QuestionsNeeded(ComputedRecord, frozen=True, kw_only=True):
    """The number of questions that a difference takes."""

    difference: float
    questions: int


class DetectableDifference(ComputedRecord, frozen=True, kw_only=True):
    """The smallest difference that a number of questions detects."""

    questions: int
    difference: float | None
    """None if no possible difference would be detected often enough."""


class PowerReport(ComputedRecord, frozen=True, kw_only=True):
    """Questions needed and differences detectable, as requested and for usual sizes."""

    ground: PowerBasis
    alpha: float
    power: float
    needed: QuestionsNeeded | None
    """For the difference asked about."""
    shown: DetectableDifference | None
    """For the number of questions asked about."""
    differences: tuple[QuestionsNeeded, ...]
    sizes: tuple[DetectableDifference, ...]


def state_basis(deviation: float, correlation: float | None, asks: float | None) -> PowerBasis:
    """The spread as stated; by default each question is asked once, and repeats add nothing."""
    spread = DifferenceSpread(
        deviation=deviation, correlation=1.0 if correlation is None else correlation
    )
    return _build_basis(spread, 1.0 if asks is None else asks, "stated numbers")


def measure_pilot(
    tables: Sequence[TrialTable], names: Sequence[str], asks: float | None = None
) -> PowerBasis:
    """The spread measured in a pilot: between two runs, or within one.

    One run shows the variance of marks, not of differences. The marks of two systems are then
    assumed to be independent, which asks for more questions than are needed.
    """
    templates = tables[0].templates
    if len(tables) == 1:
        values: Mapping[Trial, float] = tables[0].points
        factor = math.sqrt(2)
        source = f"{names[0]} alone, {_describe_counts(values)}; a second run would ask for fewer"
    elif len(tables) == 2:
        values, factor = _pair_differences(*tables), 1.0
        source = f"{names[1]} against {names[0]}, {_describe_counts(values)}"
    else:
        raise UsageError(f"--runs: a pilot is one run or two; {len(tables)} were named")
    groups = group_trials([t.item for t in values], [t.scenario for t in values], templates)
    differences = [value * OF_100 for value in values.values()]
    spread = measure_spread(differences, [f"{trial.scenario}\0{trial.item}" for trial in values])
    errors = _measure_error(differences, groups)
    if spread is None or errors is None or errors[0] == 0:
        raise UsageError(
            f"--runs: nothing varies between questions in {source}, so nothing can be planned from "
            "it; use another pilot, or give --sd"
        )
    spread = spread.replace(deviation=factor * spread.deviation)
    if asks is not None:
        # Questions of one template vary together, however often each is asked.
        alone = compute_standard_error(differences, groups)
        widened = 1.0 if alone is None or alone[0] == 0 else errors[0] / alone[0]
        basis = _build_basis(spread, asks, source)
        return basis.replace(question_deviation=widened * basis.question_deviation)
    return PowerBasis(
        spread=spread,
        asks=len(differences) / groups.questions,
        question_deviation=factor * errors[0] * math.sqrt(groups.questions),
        source=source,
    )


def _measure_error(differences: Sequence[float], groups: TrialGroups) -> tuple[float, int] | None:
    """The standard error of the mean, the larger of that over questions and over templates."""
    units = (ResampledUnit.QUESTIONS, ResampledUnit.TEMPLATES)
    errors = (compute_standard_error(differences, groups, unit) for unit in units)
    return max((error for error in errors if error is not None), default=None)


def plan_power(
    ground: PowerBasis,
    *,
    difference: float | None = None,
    questions: int | None = None,
    alpha: float = ALPHA,
    power: float = POWER,
) -> PowerReport:
    """Plan for a difference, for a number of questions, or for both."""
    if difference is not None and not 0 < difference <= _HIGHEST:
        raise UsageError(
            f"--difference: {difference:g} is not a difference in points of {_HIGHEST}; "
            "name one above 0"
        )
    # The deviation of a question includes its asks already.
    spread = DifferenceSpread(deviation=ground.question_deviation, correlation=1.0)

    def count_questions(wanted: float) -> QuestionsNeeded:
        sample_size = find_sample_size(wanted, spread, alpha=alpha, power=power)
        return QuestionsNeeded(
            difference=wanted, questions=max(sample_size, find_fewest_questions(alpha))
        )

    def find_difference(count: int) -> DetectableDifference:
        if count < find_fewest_questions(alpha):
            return DetectableDifference(questions=count, difference=None)
        error = ground.question_deviation / math.sqrt(count)
        smallest = find_detectable(error, count, alpha=alpha, power=power)
        return DetectableDifference(
            questions=count, difference=smallest if smallest <= _HIGHEST else None
        )

    return PowerReport(
        ground=ground,
        alpha=alpha,
        power=power,
        needed=None if difference is None else count_questions(difference),
        shown=None if questions is None else find_difference(questions),
        differences=tuple(map(count_questions, LISTED_DIFFERENCES)),
        sizes=tuple(map(find_difference, LISTED_SIZES)),
    )


def _build_basis(spread: DifferenceSpread, asks: float, source: str) -> PowerBasis:
    return PowerBasis(
        spread=spread,
        asks=asks,
        question_deviation=spread.compute_question_deviation(asks),
        source=source,
    )


def _pair_differences(first: TrialTable, second: TrialTable) -> dict[Trial, float]:
    common = pair_trials(first, second)
    ours, theirs = common.select_marks(first.points), common.select_marks(second.points)
    return {trial: theirs[trial] - ours[trial] for trial in ours if trial in theirs}


def _describe_counts(trials: Iterable[Trial]) -> str:
    every = list(trials)
    questions = {(trial.scenario, trial.item) for trial in every}
    return f"{len(every):,} trials of {len(questions):,} questions"


def render_power(found: PowerReport) -> str:
    """The plan as text: the answer, then both tables."""
    title = format_heading("Recall Bench · power", rule="═")
    return "\n".join([*title, "", *_render_facts(found), "", *_render_tables(found)])


def _render_facts(found: PowerReport) -> Iterator[str]:
    ground = found.ground
    if found.needed is not None:
        needed = f"{found.needed.questions:,} different questions"
        purpose = f"to see a difference of {found.needed.difference:g} in points of {_HIGHEST}"
        yield from format_fact("Needed", f"{needed}, {purpose}")
    if found.shown is not None:
        yield from format_fact("Shown", _describe_detectable(found.shown, found.alpha))
    yield from format_fact("From", ground.source)
    yield from format_fact("Varies", _describe_spread(ground))
    asks = "once" if ground.asks == 1 else f"{ground.asks:.3g} times"
    yield from format_fact("Asked", f"each question {asks}")
    yield from format_fact("Noticed", f"{format_number(100 * found.power, 0)} % of the time")
    yield from format_fact("False alarms", f"{format_number(100 * found.alpha, 0)} % of the time")


def _describe_spread(ground: PowerBasis) -> str:
    words = f"by {format_number(ground.spread.deviation, 1)} points from trial to trial (sd)"
    if ground.asks == 1:
        return words
    correlation = format_number(ground.spread.correlation, 2)
    return f"{words}; differences on one question correlate by {correlation}"


def _describe_detectable(shown: DetectableDifference, alpha: float) -> str:
    if shown.questions < find_fewest_questions(alpha):
        least = find_fewest_questions(alpha)
        return f"no difference by {shown.questions} questions; it takes {least} or more"
    if shown.difference is None:
        return f"no difference that is possible by {shown.questions:,} different questions"
    return (
        f"a difference of {format_number(shown.difference, 1)} in points of {_HIGHEST}, or more, "
        f"by {shown.questions:,} different questions"
    )


def _render_tables(found: PowerReport) -> Iterator[str]:
    """Both tables side by side."""
    needed = [
        (format_number(difference.difference, 0), f"{difference.questions:,}")
        for difference in found.differences
    ]
    sizes = [
        (
            f"{size.questions:,}",
            NO_DATA if size.difference is None else format_number(size.difference, 1),
        )
        for size in found.sizes
    ]
    table = Table((Column("difference", 10), Column("takes questions", 19)), needed, gap="")
    right = Table((Column("questions", 9), Column("show", 11)), sizes, gap="")
    for one, other in zip_longest(render_text(table), render_text(right), fillvalue=""):
        yield f"{one:37}{other}".rstrip()
