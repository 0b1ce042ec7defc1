"""Which questions each checkpoint asks, and in which order.

The order is seeded, the same on every machine and the same as the public harness's.

Older questions may be sampled. Where half of the sample is a core, it is chosen by hash and kept
from checkpoint to checkpoint, so that the same questions can be followed over time.

The generator is mulberry32: 32-bit arithmetic, one word of state. It is seeded anew for
every shuffle, so that an order depends on nothing but the seed and the list.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from heapq import nsmallest
from math import floor
from typing import TypeVar

from recall_bench.core.memory import Asker
from recall_bench.core.plan import Checkpoint, Plan, SampleMode
from recall_bench.core.record import group_by
from recall_bench.core.scenario import BOUNDARY, GROUP_CATEGORIES, Item

T = TypeVar("T")

_WORD_MASK = 0xFFFFFFFF


def generate_numbers(seed: int) -> Iterator[float]:
    """Generate uniform numbers in [0, 1) without end."""
    state = seed & _WORD_MASK
    while True:
        state = (state + 0x6D2B79F5) & _WORD_MASK
        t = ((state ^ (state >> 15)) * (state | 1)) & _WORD_MASK
        t ^= (t + (((t ^ (t >> 7)) * (t | 61)) & _WORD_MASK)) & _WORD_MASK
        yield (t ^ (t >> 14)) / 4294967296


def shuffle(things: Sequence[T], seed: int, count: int | None = None) -> list[T]:
    """Shuffle by seed, and return the first `count` of them or all. Seed 0 keeps the order."""
    if seed == 0:
        return list(things[:count])
    return [things[place] for place in _shuffle_places(len(things), seed)[:count]]


@lru_cache(maxsize=1024)
def _shuffle_places(count: int, seed: int) -> "array[int]":
    """Shuffle the first whole numbers. Samples of hundreds of checkpoints are of few sizes."""
    order = list(range(count))
    for i, u in zip(range(count - 1, 0, -1), generate_numbers(seed), strict=False):
        j = int(u * (i + 1))
        order[i], order[j] = order[j], order[i]
    return array("I", order)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """The questions to ask at one checkpoint, as indexes into the scenario's items."""

    checkpoint: Checkpoint
    cutoff: int
    """The last story day to feed."""
    asked: tuple[int, ...]
    """In the order they are asked."""
    eligible: tuple[int, ...]
    """In dataset order, group questions included even where they are not enabled."""
    new: int
    """How many of `asked` are eligible for the first time."""
    older: int
    """How many older questions are eligible."""


AskedIds = Mapping[str, Sequence[str]]
"""By checkpoint label, the ids of the questions that were asked, in order."""


def plan_checkpoints(
    items: Sequence[Item],
    last_day: int,
    plan: Plan,
    asked: AskedIds | None = None,
    *,
    left_out: frozenset[str] = frozenset(),
) -> tuple[CheckpointPlan, ...]:
    """Plan each checkpoint, ordered by days.

    An imported run owes what was `asked`, not what the plan would select. Questions that are
    `left_out` go after all others were selected, so that these stay as they are.
    """
    imported = None if asked is None else _index_questions(items, plan, asked)
    plans = tuple(_plan_each(items, last_day, plan, imported))
    if left_out:
        bad = frozenset(i for i, item in enumerate(items) if item.id in left_out)
        plans = tuple(_leave_out(plans, bad))
    return plans[:1] if plan.dry_run else plans


def _leave_out(plans: Sequence[CheckpointPlan], bad: frozenset[int]) -> Iterator[CheckpointPlan]:
    earlier: set[int] = set()
    for plan in plans:
        asked_here = tuple(i for i in plan.asked if i not in bad)
        eligible = tuple(i for i in plan.eligible if i not in bad)
        new = sum(i not in earlier for i in asked_here)
        older = plan.older - sum(i in bad and i in earlier for i in plan.eligible)
        earlier.update(plan.asked)
        yield replace(plan, asked=asked_here, eligible=eligible, new=new, older=older)


def is_in_plan(category: str, plan: Plan) -> bool:
    """Whether the plan asks questions of this category.

    A system that does not receive the session is not asked questions that depend on it.
    """
    if category == BOUNDARY and plan.system.asker is Asker.UNTOLD:
        return False
    return plan.groups_enabled or category not in GROUP_CATEGORIES


def _index_questions(
    items: Sequence[Item], plan: Plan, asked: AskedIds
) -> dict[str, tuple[int, ...]]:
    """Convert ids to indexes; ValueError for unknown questions or checkpoints."""
    index = {item.id: i for i, item in enumerate(items)}
    labels = {checkpoint.label for checkpoint in plan.checkpoints}
    for label, ids in asked.items():
        if label not in labels:
            raise ValueError(f"questions are asked at {label!r}, which is not a checkpoint")
        if len(set(ids)) < len(ids):
            raise ValueError(f"a question is asked twice at {label!r}")
        if strange := next((question for question in ids if question not in index), None):
            raise ValueError(f"{strange!r} is asked at {label!r} and is not among the questions")
    return {label: tuple(index[question] for question in ids) for label, ids in asked.items()}


def _plan_each(
    items: Sequence[Item], last_day: int, plan: Plan, imported: Mapping[str, tuple[int, ...]] | None
) -> Iterator[CheckpointPlan]:
    earlier: set[int] = set()
    categories = [item.truth.category for item in items]
    planned = [is_in_plan(category, plan) for category in categories]
    core: list[int] = []
    # One object for each number, however many checkpoints hold it.
    numbers = list(range(len(items)))
    # Looked up once: hundreds of checkpoints compare thousands of questions.
    spans = [item.open_days for item in items]
    for checkpoint in plan.checkpoints:
        recorded = () if imported is None else imported.get(checkpoint.label, ())
        also = frozenset(recorded)
        # An imported file may hold questions that were asked too early or too late.
        days = checkpoint.days
        eligible = [
            i
            for i, (first, last) in zip(numbers, spans, strict=True)
            if first <= days <= last or i in also
        ]
        gated = [i for i in eligible if i in also or planned[i]]
        new = [i for i in gated if i not in earlier]
        older = [i for i in gated if i in earlier]
        sampled = older
        if imported is None and plan.sample is not None and len(older) > plan.sample:
            size = plan.sample
            buckets = group_by(older, categories.__getitem__)
            seats = compute_quotas([len(bucket) for bucket in buckets.values()], size)
            parts = tuple(zip(buckets.values(), seats, strict=True))
            if plan.sampling is SampleMode.CORE:
                core = extend_core(core, parts, items, plan.seed)
            sampled = draw_stratified_sample(parts, plan.seed, core)
        yield CheckpointPlan(
            checkpoint=checkpoint,
            cutoff=min(checkpoint.days, last_day),
            asked=tuple(shuffle(new + sampled, plan.seed)) if imported is None else recorded,
            eligible=tuple(eligible),
            new=len(new) if imported is None else len(also - earlier),
            older=len(older),
        )
        earlier.update(gated)


_SampleParts = Sequence[tuple[Sequence[int], int]]
"""The older questions of each category, and how many of them a sample holds."""


def draw_stratified_sample(parts: _SampleParts, seed: int, core: Sequence[int] = ()) -> list[int]:
    """Draw a seeded sample with the categories in proportion.

    Questions of the core are taken first.
    """
    chosen: list[int] = []
    for bucket, taken in parts:
        members = set(bucket)
        fixed = [i for i in core if i in members][:taken]
        members.difference_update(fixed)
        others = [i for i in bucket if i in members]
        chosen += fixed + shuffle(others, seed, taken - len(fixed))
    return chosen


def extend_core(
    core: Sequence[int], parts: _SampleParts, items: Sequence[Item], seed: int
) -> list[int]:
    """Extend the core to half of the sample, in each category.

    A question stays in the core as long as it may be asked. Those that are added come in the order
    of a hash of seed and id, which does not depend on the other questions.
    """
    extended: list[int] = []
    for bucket, taken in parts:
        members = set(core).intersection(bucket)
        lacking = (taken + 1) // 2 - len(members)
        fresh = (i for i in bucket if i not in members)
        extended += [i for i in core if i in members]
        extended += nsmallest(
            max(0, lacking), fresh, key=lambda i: sha256(f"{seed}\0{items[i].id}".encode()).digest()
        )
    return extended


def compute_quotas(sizes: Sequence[int], seats: int) -> list[int]:
    """Divide `seats` in proportion to `sizes` by largest remainder, none above its size.

    There are no more seats than the sizes add up to, so one round of remainders fills them all.
    """
    total = sum(sizes)
    shares = [size / total * seats for size in sizes]
    quotas = [floor(share) for share in shares]
    remaining = seats - sum(quotas)
    by_remainder = sorted(range(len(sizes)), key=lambda g: (-(shares[g] - quotas[g]), -sizes[g], g))
    for g in by_remainder:
        if remaining > 0 and quotas[g] < sizes[g]:
            quotas[g] += 1
            remaining -= 1
    return quotas
