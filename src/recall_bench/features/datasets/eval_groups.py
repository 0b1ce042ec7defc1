"""Figures of groups of questions: all of them, the answerable ones, and each category."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from recall_bench.core.record import ComputedRecord, Record, group_by
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
    with_interval = frozenset(headline) if with_intervals else frozenset()
    groups = [_build_group(ALL, scored, with_interval)]
    by_kind = group_by(scored, lambda question: question.is_answerable)
    if len(by_kind) > 1:
        groups.append(_build_group(ANSWERABLE, by_kind[True], with_interval))
        groups.append(_build_group(UNANSWERABLE, by_kind[False], with_interval))
    for category, questions in group_by(scored, lambda question: question.category).items():
        groups.append(_build_group(category, questions, with_interval).replace(is_category=True))
    return tuple(groups)


def average_categories(groups: Iterable[EvalGroup]) -> EvalGroup:
    """The mean of the categories among these groups, each counting the same."""
    categories = [group for group in groups if group.is_category]
    names = dict.fromkeys(name for group in categories for name in group.figures)
    figures = {}
    for name in names:
        own = [group.figures[name] for group in categories if name in group.figures]
        figures[name] = EvalEstimate(
            name=name,
            mean=fmean(estimate.mean for estimate in own),
            counted=sum(estimate.counted for estimate in own),
            chance=_average_all([estimate.chance for estimate in own]),
            ceiling=_average_all([estimate.ceiling for estimate in own]),
        )
    questions = sum(group.questions for group in categories)
    return EvalGroup(name=CATEGORY_AVERAGE, questions=questions, figures=figures)


def count_abstentions(scored: Iterable[ScoredQuestion]) -> AbstentionCounts | None:
    """Count how often a system abstained; None if no answer was in free text."""
    in_text = [question for question in scored if question.abstained is not None]
    if not in_text:
        return None
    unanswerable = [question for question in in_text if not question.is_answerable]
    answerable = [question for question in in_text if question.is_answerable]
    with_trap = [question for question in in_text if question.fell_for_trap is not None]
    return AbstentionCounts(
        unanswerable=len(unanswerable),
        abstained=sum(question.abstained is True for question in unanswerable),
        answerable=len(answerable),
        wrongly_abstained=sum(question.abstained is True for question in answerable),
        traps=len(with_trap),
        fell_for_trap=sum(question.fell_for_trap is True for question in with_trap),
    )


def count_outcomes(scored: Sequence[ScoredQuestion]) -> EvalCounts:
    """Count the questions by outcome."""
    answered = sum(question.outcome == ANSWERED for question in scored)
    still_open = sum(question.outcome == OPEN for question in scored)
    return EvalCounts(
        owed=len(scored),
        answered=answered,
        failed=len(scored) - answered - still_open,
        open=still_open,
        unjudged=sum(question.unjudged is not None for question in scored),
    )


def _build_group(
    name: str, questions: Sequence[ScoredQuestion], wanted: frozenset[str]
) -> EvalGroup:
    """The means of every figure; those that are wanted have an interval."""
    holders: defaultdict[str, list[ScoredQuestion]] = defaultdict(list)
    for question in questions:
        for figure in question.figures:
            holders[figure].append(question)
    figures = {}
    for figure, own in holders.items():
        values = [question.figures[figure] for question in own]
        interval = None
        if figure in wanted:
            items, scenarios = [q.item for q in own], [q.scenario for q in own]
            estimate = estimate_mean(values, items, scenarios, limits=(0.0, 1.0))
            interval = None if estimate is None else estimate.interval
        figures[figure] = EvalEstimate(
            name=figure,
            mean=sum(values) / len(values),
            counted=len(values),
            interval=interval,
            chance=_average_all([question.chance.get(figure) for question in own]),
            ceiling=_average_all([question.ceiling.get(figure) for question in own]),
        )
    return EvalGroup(name=name, questions=len(questions), figures=figures)


def _average_all(values: Sequence[float | None]) -> float | None:
    """The mean, if all of them are known."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None
