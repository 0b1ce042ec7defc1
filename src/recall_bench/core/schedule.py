"""What a scenario owes us at each checkpoint. Pure: no clock, no I/O, no chance.

A checkpoint asks every question that has become answerable since the last one, and the
older ones: all of them, or a seeded sample with the same mix of categories. The order and
the sample are those of the public harness, to the last question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from recall_bench.core.memory import Asker
from recall_bench.core.plan import Checkpoint, Plan
from recall_bench.core.question import BOUNDARY, GROUP_CATEGORIES, Item
from recall_bench.core.shuffle import shuffled


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The questions owed at one checkpoint, as indexes into the scenario's items."""

    checkpoint: Checkpoint
    cutoff: int
    """The last story day that exists and may be fed."""
    asked: tuple[int, ...]
    """In the order they are put."""
    eligible: tuple[int, ...]
    """In dataset order, group questions included whether or not they are enabled."""
    new: int
    """How many of `asked` were never eligible before."""
    older: int
    """How many older questions there were to choose from."""


def sheets(items: Sequence[Item], last_day: int, plan: Plan) -> tuple[Sheet, ...]:
    """One sheet for each checkpoint the plan visits, by days."""
    visited = tuple(_sheets(items, last_day, plan))
    return visited[:1] if plan.dry_run else visited


def is_asked(category: str, plan: Plan) -> bool:
    """Whether the plan asks questions of this category at all.

    A system that cannot know who asks is not asked what depends on it.
    """
    if category == BOUNDARY and plan.system.asker is Asker.UNTOLD:
        return False
    return plan.groups_enabled or category not in GROUP_CATEGORIES


def _sheets(items: Sequence[Item], last_day: int, plan: Plan) -> Iterator[Sheet]:
    seen: set[int] = set()
    for checkpoint in plan.checkpoints:
        eligible = [i for i, item in enumerate(items) if item.is_open(checkpoint.days)]
        gated = [i for i in eligible if is_asked(items[i].truth.category, plan)]
        new = [i for i in gated if i not in seen]
        older = [i for i in gated if i in seen]
        sampled = older
        if plan.sample is not None and len(older) > plan.sample:
            sampled = stratified(older, items, plan.sample, plan.seed)
        seen.update(gated)
        yield Sheet(
            checkpoint=checkpoint,
            cutoff=min(checkpoint.days, last_day),
            asked=tuple(shuffled(new + sampled, plan.seed)),
            eligible=tuple(eligible),
            new=len(new),
            older=len(older),
        )


def stratified(older: Sequence[int], items: Sequence[Item], size: int, seed: int) -> list[int]:
    """A seeded sample of `size` questions with the mix of categories of the whole."""
    buckets: dict[str, list[int]] = {}
    for i in older:
        buckets.setdefault(items[i].truth.category, []).append(i)
    seats = quotas([len(bucket) for bucket in buckets.values()], size)
    chosen: list[int] = []
    for bucket, taken in zip(buckets.values(), seats, strict=True):
        chosen += shuffled(bucket, seed)[:taken]
    return chosen


def quotas(sizes: Sequence[int], seats: int) -> list[int]:
    """`seats` shared out in proportion to `sizes` by largest remainder, none above its size."""
    total = sum(sizes)
    shares = [size / total * seats for size in sizes]
    given = [floor(share) for share in shares]
    left = seats - sum(given)
    by_remainder = sorted(range(len(sizes)), key=lambda g: (-(shares[g] - given[g]), -sizes[g], g))
    for g in by_remainder:
        if left > 0 and given[g] < sizes[g]:
            given[g] += 1
            left -= 1
    while left > 0 and (open_groups := [g for g in range(len(sizes)) if given[g] < sizes[g]]):
        given[max(open_groups, key=lambda g: (sizes[g], -g))] += 1
        left -= 1
    return given
