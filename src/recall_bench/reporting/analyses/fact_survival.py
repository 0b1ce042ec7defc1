"""How long facts stay known, and which groups of facts are compared.

A fact is a question that has an answer: one that is passed by declining cannot be lost. Its age is
the number of days fed since the story first supported it.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from recall_bench.core.grouping import group_by
from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES, Expects, Item
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import Verdict
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.metrics.survival import (
    AskSeries,
    FactLifetime,
    HalfLife,
    Survival,
    build_cohort,
    estimate_survival,
    estimate_survival_by,
)
from recall_bench.runs.trials import TrialRow


class SurvivalGroup(StrEnum):
    """What facts are grouped by before their survival is compared."""

    ALL = "all"
    CATEGORY = "category"
    AGE = "age"
    """How old the fact was when it was first asked about."""
    REVISIONS = "revisions"
    """How often the value was revised: superseded values of the truth."""


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
    ends = sorted(age for each in lifetimes for age in (each.known_for, each.lost_by) if age)
    if len(set(ends)) <= steps:
        return tuple(lifetimes)
    grid = sorted({ends[(len(ends) - 1) * step // steps] for step in range(1, steps + 1)})
    before = [0.0, *grid]
    return tuple(
        FactLifetime(
            persona=each.persona,
            question=each.question,
            known_for=before[bisect_right(grid, each.known_for)],
            lost_by=None if each.lost_by is None else grid[bisect_left(grid, each.lost_by)],
        )
        for each in lifetimes
    )


MIN_AT_RISK: Final = 10
"""Questions that must be at risk: with fewer, one loss takes more than a tenth of the curve."""


def cut_at_horizon(found: Survival) -> Survival | None:
    """The curve up to the last age with enough questions at risk; None if there is none.

    Few facts are followed to the greatest ages, where one loss can end the curve. A half-life
    beyond is unknown.
    """
    enough = MIN_AT_RISK * found.facts / found.questions
    points = [each for each in found.curve if each.at_risk >= enough]
    if not points:
        return None
    last, half = points[-1].age, found.half_life
    return found.replace(
        curve=tuple(points),
        half_life=HalfLife(
            value=_drop_beyond(half.value, last),
            low=_drop_beyond(half.low, last),
            high=_drop_beyond(half.high, last),
            followed=last,
        ),
    )


def _drop_beyond(age: float | None, last: float) -> float | None:
    return age if age is not None and age <= last else None


FactKey = tuple[str, str]

MANY_REVISIONS = 3
"""From this number on, revisions are one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedFacts:
    """The facts that a run followed."""

    lifetimes: tuple[FactLifetime, ...]
    """Of facts that were asked often enough after they were known."""
    unfollowed: int
    never_known: int
    items: Mapping[FactKey, Item]
    ages: Mapping[FactKey, int]
    """How old each was when it was first asked about."""

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
    ages: dict[FactKey, int] = {}
    for row in rows:
        known = is_known(row)
        if row.item.truth.expects is not Expects.ANSWER or known is None:
            continue
        question = row.trial.scenario, row.trial.item
        age = row.cutoff - row.item.known_from
        items[question] = row.item
        ages.setdefault(question, age)
        asks.setdefault((question, row.trial.repeat), []).append((age, known))
    found = build_cohort(
        (
            AskSeries(persona=persona, question=name, asks=answers)
            for ((persona, name), _), answers in asks.items()
        ),
        failures=failures,
    )
    followed = tuple(
        each
        for each in round_to_grid(found.lifetimes)
        if each.known_for > 0 or each.lost_by is not None
    )
    return FollowedFacts(
        lifetimes=followed,
        unfollowed=len(found.lifetimes) - len(followed),
        never_known=found.never_known,
        items=items,
        ages=ages,
    )


def estimate_survivals(
    facts: FollowedFacts, *, seed: int, resamples: int
) -> tuple[list[GroupSurvival], list[str]]:
    """The survival of all facts and of each large group, and notes on what is left out."""
    templates = facts.templates
    whole = estimate_survival(facts.lifetimes, seed=seed, templates=templates, resamples=resamples)
    if whole is None:
        return [], []
    if (known := cut_at_horizon(whole)) is None:
        return [], [_TOO_FEW_NOTE]
    found, notes = (
        [GroupSurvival(by=SurvivalGroup.ALL, name="all", survival=known)],
        _note_counts(whole),
    )
    for by, names in _group_facts(facts):
        if len(set(names.values())) < 2:
            notes.append(f"survival is not split by {by.value}: {_SINGLE_GROUP[by]}")
            continue
        large, small = _split_by_size(facts, names)
        parts = estimate_survival_by(
            large, _make_namer(names), seed=seed, templates=templates, resamples=resamples
        )
        found += [
            GroupSurvival(by=by, name=name, survival=each)
            for name in dict.fromkeys(names.values())
            if name in parts and (each := cut_at_horizon(parts[name])) is not None
        ]
        if small:
            named = ", ".join(f"{name} ({count})" for name, count in small.items())
            notes.append(
                f"survival by {by.value} leaves out {named}: with fewer than "
                f"{FEW_QUESTIONS} questions followed a curve says little"
            )
    return found, notes


def _note_counts(whole: Survival) -> list[str]:
    """Notes on the number of questions behind a curve."""
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
    return notes


_TOO_FEW_NOTE = (
    f"there is no survival curve: fewer than {MIN_AT_RISK} questions were followed at any age, and "
    "the loss of one would take more than a tenth of the curve"
)

_SINGLE_GROUP = {
    SurvivalGroup.CATEGORY: "all facts followed are of one",
    SurvivalGroup.AGE: "all were as old when first asked about",
    SurvivalGroup.REVISIONS: (
        "no question followed, or every one, lists superseded values (stale) alike"
    ),
}


@cache
def _is_failure(status: TrialStatus) -> bool:
    return Verdict.of(status.correctness, status.completeness, status.grounded).is_failure


def _group_facts(facts: FollowedFacts) -> Iterable[tuple[SurvivalGroup, Mapping[FactKey, str]]]:
    """For each grouping, the group of each question followed, in order."""
    followed = sorted({(each.persona, each.question) for each in facts.lifetimes})
    items, ages = facts.items, facts.ages
    rank = {name: place for place, name in enumerate(CATEGORIES)}
    yield (
        SurvivalGroup.CATEGORY,
        _name_groups(
            followed,
            lambda each: items[each].truth.category,
            lambda each: rank.get(items[each].truth.category, len(rank)),
        ),
    )
    thirds = _split_ages([ages[each] for each in followed])
    yield (
        SurvivalGroup.AGE,
        _name_groups(followed, lambda each: thirds[ages[each]], lambda each: ages[each]),
    )
    yield (
        SurvivalGroup.REVISIONS,
        _name_groups(
            followed,
            lambda each: _name_revisions(items[each]),
            lambda each: len(items[each].truth.stale),
        ),
    )


def _name_groups(
    questions: Sequence[FactKey], name: Callable[[FactKey], str], rank: Callable[[FactKey], int]
) -> dict[FactKey, str]:
    return {each: name(each) for each in sorted(questions, key=lambda each: (rank(each), each))}


def _name_revisions(item: Item) -> str:
    count = len(item.truth.stale)
    return f"{count}" if count < MANY_REVISIONS else f"{MANY_REVISIONS} or more"


def _split_ages(ages: Sequence[int]) -> dict[int, str]:
    """For each age the name of its third of the questions, as equal as ties allow."""
    ranked = sorted(ages)
    cuts = ranked[len(ranked) // 3], ranked[2 * len(ranked) // 3]
    parts = group_by(ranked, lambda age: sum(age >= cut for cut in cuts)).values()
    names = {(part[0], part[-1]): part for part in parts}
    return {
        age: f"{first} days" if first == last else f"{first}–{last} days"
        for (first, last), part in names.items()
        for age in part
    }


def _split_by_size(
    facts: FollowedFacts, names: Mapping[FactKey, str]
) -> tuple[list[FactLifetime], dict[str, int]]:
    """The lifetimes of large groups, and the sizes of the small ones."""
    counts = Counter(names.values())
    small = {name: count for name, count in counts.items() if count < FEW_QUESTIONS}
    namer = _make_namer(names)
    return [each for each in facts.lifetimes if namer(each) not in small], small


def _make_namer(names: Mapping[FactKey, str]) -> Callable[[FactLifetime], str]:
    return lambda each: names[each.persona, each.question]
