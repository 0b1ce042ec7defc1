"""How well a score will be known, before it is measured.

The variance of a mark has three parts: the persona, the question, and the single trial. A question
asked at ten checkpoints contributes the same question part ten times, so re-asks reduce the third
part alone. The parts are measured in an earlier run and applied to the questions of the plan, each
as often as it is asked.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, variance

from recall_bench.core.plan import Plan, Trial
from recall_bench.core.record import Record
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.plan_report import Precision
from recall_bench.running.plan_schedule import ScenarioWork

AskCounts = Mapping[tuple[str, str], int]
"""How often each question of each persona is asked."""


class VarianceParts(Record, frozen=True, kw_only=True):
    """The variance of each part of a mark, in points squared."""

    persona: float
    question: float
    trial: float


WORST = VarianceParts(persona=0.0, question=(FULL_MARKS / 2) ** 2, trial=0.0)
"""Half of the questions with full marks and half with none, the same at every trial: the largest
variance between questions."""


class KnownVariance(Record, frozen=True, kw_only=True):
    """How marks vary, over all trials and within a category at a checkpoint."""

    overall: VarianceParts
    cell: VarianceParts
    is_measured: bool


def make_worst_case() -> KnownVariance:
    """The worst case, for plans without an earlier run."""
    return KnownVariance(overall=WORST, cell=WORST, is_measured=False)


def estimate_variance(
    marks: Mapping[Trial, float], categories: Mapping[tuple[str, str], str]
) -> KnownVariance:
    """How the marks of an earlier run vary; the worst case if it has too few to tell."""
    overall = split_variance(marks)
    if overall is None:
        return make_worst_case()
    cells: dict[tuple[str, str], dict[Trial, float]] = defaultdict(dict)
    for trial, mark in marks.items():
        if (category := categories.get((trial.scenario, trial.item))) is not None:
            cells[category, trial.checkpoint][trial] = mark
    found = [(len(cell), parts) for cell in cells.values() if (parts := split_variance(cell))]
    if not found:
        return KnownVariance(overall=overall, cell=overall, is_measured=True)
    total = sum(size for size, _ in found)
    cell = VarianceParts(
        persona=sum(size * each.persona for size, each in found) / total,
        question=sum(size * each.question for size, each in found) / total,
        trial=sum(size * each.trial for size, each in found) / total,
    )
    return KnownVariance(overall=overall, cell=cell, is_measured=True)


def split_variance(marks: Mapping[Trial, float]) -> VarianceParts | None:
    """The parts by analysis of variance; None for fewer than two questions, or no variance.

    If no question was asked twice, all variance counts as the question's: re-asks add nothing.
    """
    from recall_bench.metrics.power import measure_spread

    by_persona: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for trial, mark in marks.items():
        by_persona[trial.scenario].append((trial.item, mark))
    means = {name: fmean(mark for _, mark in each) for name, each in by_persona.items()}
    values = [mark - means[name] for name, each in by_persona.items() for _, mark in each]
    questions = [f"{name}\0{item}" for name, each in by_persona.items() for item, _ in each]
    spread = measure_spread(values, questions)
    if spread is None:
        return None
    question = spread.correlation * spread.deviation**2
    trial_part = spread.deviation**2 - question
    by_chance = fmean(
        _compute_within(Counter(item for item, _ in each).values(), question, trial_part)
        for each in by_persona.values()
    )
    among = variance(means.values()) if len(means) > 1 else 0.0
    return VarianceParts(persona=max(0.0, among - by_chance), question=question, trial=trial_part)


def compute_half_width(asked: AskCounts, parts: VarianceParts) -> float | None:
    """Half of the 95 % interval of a mean over these questions, as the reports will have it."""
    from recall_bench.metrics.power import compute_margin_of_error

    width = compute_margin_of_error(*_compute_error(asked, parts))
    return None if width is None or width >= FULL_MARKS / 2 else width


def compute_detectable(asked: AskCounts, parts: VarianceParts) -> float | None:
    """The smallest difference between two systems that would be noticed four times in five.

    Both systems are assumed to have this variance and independent questions, which overstates the
    difference needed. The persona part cancels out.
    """
    from recall_bench.metrics.power import find_detectable

    if len(asked) < 2:
        return None
    within = _compute_within(asked.values(), parts.question, parts.trial)
    found = find_detectable(math.sqrt(2 * within), len(asked))
    return found if found <= FULL_MARKS else None


def estimate_precision(
    stories: Sequence[ScenarioWork], plan: Plan, known: KnownVariance
) -> Precision:
    """Estimate the precision of a plan."""
    every = _count_asked(stories, plan)
    cells = _count_cells(stories, plan)
    widths = [
        width for cell in cells if (width := compute_half_width(cell, known.cell)) is not None
    ]
    return Precision(
        overall=compute_half_width(every, known.overall),
        cell=median(widths) if widths and 2 * len(widths) >= len(cells) else None,
        difference=compute_detectable(every, known.overall),
    )


def _count_asked(stories: Iterable[ScenarioWork], plan: Plan) -> Counter[tuple[str, str]]:
    asked: Counter[tuple[str, str]] = Counter()
    for story in stories:
        for point in story.points:
            asked.update((story.scenario, story.items[place].id) for place in point.asked)
    return Counter({question: plan.repeats * times for question, times in asked.items()})


def _count_cells(stories: Iterable[ScenarioWork], plan: Plan) -> list[AskCounts]:
    cells: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for story in stories:
        for point in story.points:
            for place in point.asked:
                item = story.items[place]
                cell = cells[item.truth.category, point.checkpoint.label]
                cell[story.scenario, item.id] = plan.repeats
    return list(cells.values())


def _compute_error(asked: AskCounts, parts: VarianceParts) -> tuple[float, int]:
    """Compute the standard error of the mean, and the number of clusters that are resampled."""
    from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS

    within = _compute_within(asked.values(), parts.question, parts.trial)
    personas = Counter[str]()
    for (persona, _), times in asked.items():
        personas[persona] += times
    if len(personas) < ENOUGH_PERSONAS:
        return math.sqrt(within), len(asked)
    total = sum(personas.values())
    between = parts.persona * sum((times / total) ** 2 for times in personas.values())
    return math.sqrt(within + between), len(personas)


def _compute_within(times: Iterable[int], question: float, trial: float) -> float:
    """The variance of a mean over questions of one persona, each asked `times` times."""
    counts = list(times)
    total = sum(counts)
    return (question * sum(each * each for each in counts) + trial * total) / total**2
