"""How long facts stay known, and which groups of facts are compared.

A fact is a question that has an answer: one that is passed by declining cannot be lost. Its age is
the number of days fed since the story first supported it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import Item, order_categories
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.trials import TrialRow
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.metrics.survival import (
    AskSeries,
    FactLifetime,
    HalfLife,
    Survival,
    build_cohort,
    estimate_survival,
)


class SurvivalGroup(StrEnum):
    """What facts are grouped by before their survival is compared."""

    ALL = "all"
    CATEGORY = "category"


class GroupSurvival(Record, frozen=True, kw_only=True):
    """The survival of one group of facts."""

    by: SurvivalGroup
    name: str
    survival: Survival


MAX_STEPS: Final = 40
"""The most steps of a survival curve. With 143 checkpoints, a curve through every age takes six
times as long and differs by far less than its interval."""


def round_to_grid(
    lifetimes: Sequence[FactLifetime], *, steps: int = MAX_STEPS
) -> tuple[FactLifetime, ...]:
    """Round known ages down and losses up to a grid, so that both bounds stay true.

    The grid points are quantiles of the ages asked, so it is finest where most is asked. With few
    different ages nothing changes.
    """
    ends = sorted(
        age for lifetime in lifetimes for age in (lifetime.known_for, lifetime.lost_by) if age
    )
    if len(set(ends)) <= steps:
        return tuple(lifetimes)
    grid = sorted({ends[(len(ends) - 1) * step // steps] for step in range(1, steps + 1)})
    before = [0.0, *grid]
    return tuple(
        FactLifetime(
            persona=lifetime.persona,
            question=lifetime.question,
            known_for=before[bisect_right(grid, lifetime.known_for)],
            lost_by=None if lifetime.lost_by is None else grid[bisect_left(grid, lifetime.lost_by)],
        )
        for lifetime in lifetimes
    )


MIN_AT_RISK: Final = 10
"""Questions that must be at risk: with fewer, one loss takes more than a tenth of the curve."""


def cut_at_horizon(survival: Survival) -> Survival | None:
    """The curve up to the last age with enough questions at risk; None if there is none.

    Few facts are followed to the greatest ages, where one loss can end the curve. A half-life
    beyond is unknown.
    """
    enough = MIN_AT_RISK * survival.facts / survival.questions
    points = [point for point in survival.curve if point.at_risk >= enough]
    if not points:
        return None
    last, half = points[-1].age, survival.half_life
    value, low, high = (
        age if age is not None and age <= last else None
        for age in (half.value, half.low, half.high)
    )
    return survival.replace(
        curve=tuple(points), half_life=HalfLife(value=value, low=low, high=high, followed=last)
    )


FactKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedFacts:
    """The facts that a run followed."""

    lifetimes: tuple[FactLifetime, ...]
    """Of facts that were asked often enough after they were known."""
    unfollowed: int
    never_known: int
    items: Mapping[FactKey, Item]

    @property
    def templates(self) -> dict[FactKey, str]:
        """The template of every question that has one."""
        return {key: item.template for key, item in self.items.items() if item.template is not None}


def is_known(row: TrialRow) -> bool | None:
    """Whether the system knew the fact; None without a verdict.

    It did not if the verdict is a failure, as for an appellate review (fewer than 4 of 6 points,
    something made up, or nothing right), or if the question was not answered.
    """
    match row.state:
        case TrialState.JUDGED:
            return not _is_failure(row.status)
        case TrialState.NOT_ANSWERED:
            return False
        case TrialState.MEASURED if row.score is not None:
            return not Verdict(score=row.score).is_failure
        case _:
            return None


def follow_facts(rows: Iterable[TrialRow], *, failures: int) -> FollowedFacts:
    """The lifetime of each fact in each repeat.

    No two trials of a repeat may be of one question at one age.
    """
    asks: dict[tuple[FactKey, int], list[tuple[float, bool]]] = {}
    items: dict[FactKey, Item] = {}
    for row in rows:
        is_right = is_known(row)
        if not row.item.truth.is_answerable or is_right is None:
            continue
        question = row.trial.scenario, row.trial.item
        age = row.cutoff - row.item.known_from
        items[question] = row.item
        asks.setdefault((question, row.trial.repeat), []).append((age, is_right))
    cohort = build_cohort(
        (
            AskSeries(persona=persona, question=name, asks=answers)
            for ((persona, name), _), answers in asks.items()
        ),
        failures=failures,
    )
    followed = tuple(
        lifetime
        for lifetime in round_to_grid(cohort.lifetimes)
        if lifetime.known_for > 0 or lifetime.lost_by is not None
    )
    return FollowedFacts(
        lifetimes=followed,
        unfollowed=len(cohort.lifetimes) - len(followed),
        never_known=cohort.never_known,
        items=items,
    )


def estimate_survivals(
    facts: FollowedFacts, *, seed: int, resamples: int
) -> tuple[list[GroupSurvival], list[str]]:
    """The survival of all facts and of each large group, and notes on what is left out."""
    templates = facts.templates
    whole = estimate_survival(facts.lifetimes, seed=seed, templates=templates, resamples=resamples)
    if whole is None:
        return [], []
    if (survival := cut_at_horizon(whole)) is None:
        note = (
            f"there is no survival curve: fewer than {MIN_AT_RISK} questions were followed at any "
            "age, and the loss of one would take more than a tenth of the curve"
        )
        return [], [note]
    curves = [GroupSurvival(by=SurvivalGroup.ALL, name="all", survival=survival)]
    notes = []
    if whole.facts > whole.questions:
        notes.append(
            f"facts are counted in each repeat: these {whole.facts:,} are {whole.questions:,} "
            "questions, and the intervals go by questions"
        )
    if whole.questions < FEW_QUESTIONS:
        notes.append(
            f"survival follows only {whole.questions} questions: with fewer than {FEW_QUESTIONS} "
            "its intervals are unreliable"
        )
    by_category = group_by(
        facts.lifetimes, lambda fact: facts.items[fact.persona, fact.question].truth.category
    )
    if len(by_category) < 2:
        notes.append("survival is not split by category: all facts followed are of one")
        return curves, notes
    small = []
    for name in order_categories(by_category):
        group = by_category[name]
        questions = len({(fact.persona, fact.question) for fact in group})
        if questions < FEW_QUESTIONS:
            small.append(f"{name} ({questions})")
            continue
        part = estimate_survival(group, seed=seed, templates=templates, resamples=resamples)
        if part is not None and (survival := cut_at_horizon(part)) is not None:
            by = SurvivalGroup.CATEGORY
            curves.append(GroupSurvival(by=by, name=name, survival=survival))
    if small:
        notes.append(
            f"survival by category leaves out {', '.join(small)}: with fewer than "
            f"{FEW_QUESTIONS} questions followed a curve says little"
        )
    return curves, notes


@cache
def _is_failure(status: TrialStatus) -> bool:
    return Verdict.of(status.correctness, status.completeness, status.grounded).is_failure
