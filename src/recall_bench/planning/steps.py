"""Every step of a plan: how often it is done, what it takes once, and what all of it comes to."""

from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.record import Record
from recall_bench.planning.measured import FEED, SETTLE
from recall_bench.planning.pace import StepPace
from recall_bench.planning.workload import ScenarioWork, list_memories

START, OPEN = "start", "opening"


class StepTime(Record, frozen=True, kw_only=True):
    """How long one step takes, and how that is known."""

    step: str
    first_s: float
    """On the first day of the story."""
    last_s: float
    """On its last."""
    times: int
    """How many were measured; 0 where it was stated."""
    is_beyond: bool
    """Whether the story goes on after the last day that was measured."""
    count: int
    """How often one process does it."""
    total_s: float
    """What that takes, one after another."""


def list_steps(
    paces: Mapping[str, StepPace | None], stories: Sequence[ScenarioWork], plan: Plan
) -> Iterator[StepTime]:
    """Those that are timed, in the order given."""
    last = max(sheet.cutoff for story in stories for sheet in story.sheets)
    for step, pace in paces.items():
        if pace is None:
            continue
        days = list(_list_days(step, stories, plan))
        yield StepTime(
            step=step,
            first_s=pace.estimate_at(1),
            last_s=pace.estimate_at(last),
            times=pace.times,
            is_beyond=0 < pace.last_day < last,
            count=len(days),
            total_s=sum(map(pace.estimate_at, days)),
        )


def _list_days(step: str, stories: Sequence[ScenarioWork], plan: Plan) -> Iterator[int]:
    """The story day of every time that the step is done."""
    if step == START:
        yield 0
        return
    for story in stories:
        if step == OPEN:
            yield from [0] if story.sheets else []
        elif step == FEED:
            for days, _ in list_memories(story, plan):
                yield from days
        elif step == SETTLE:
            times = 1 if plan.lifecycle is Lifecycle.FORKED else plan.repeats
            yield from (sheet.cutoff for sheet in story.sheets for _ in range(times))
        else:
            for sheet in story.sheets:
                yield from [sheet.cutoff] * (plan.repeats * len(sheet.asked))
