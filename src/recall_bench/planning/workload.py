"""What a plan makes everybody do: the days that are fed and the questions put. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recall_bench.core.event import Declared
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.question import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioWork:
    """One scenario, and the checkpoints at which it is asked anything."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...]
    """The days there are to feed."""
    sheets: tuple[CheckpointPlan, ...]
    """In story order, those left out that ask nothing: nobody is fed for them."""

    def list_days(self, after: int, until: int) -> tuple[int, ...]:
        """The days that a memory which has lived `after` is fed to have lived `until`."""
        return tuple(day for day in self.days if after < day <= until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How often somebody is called, all scenarios together."""

    trials: int
    questions: int
    """Different ones, each counted once however often it is put."""
    ingests: int
    settles: int


def list_scenario_work(plan: Plan, declared: Mapping[str, Declared]) -> tuple[ScenarioWork, ...]:
    """Every scenario of the plan with what it owes."""
    return tuple(
        ScenarioWork(
            scenario=card.id,
            items=declared[card.id].items,
            days=declared[card.id].days,
            sheets=tuple(
                sheet
                for sheet in plan_checkpoints(declared[card.id].items, card.last_day, plan)
                if sheet.asked
            ),
        )
        for card in plan.scenarios
    )


def compute_workload(stories: tuple[ScenarioWork, ...], plan: Plan) -> Workload:
    """What all of it comes to, by the plan's lifecycle."""
    asked = [(story.scenario, sheet.asked) for story in stories for sheet in story.sheets]
    lives = [life for story in stories for life in list_memories(story, plan)]
    return Workload(
        trials=plan.repeats * sum(len(each) for _, each in asked),
        questions=len({(scenario, item) for scenario, each in asked for item in each}),
        ingests=sum(len(days) for days, _ in lives),
        settles=sum(settles for _, settles in lives),
    )


def list_memories(story: ScenarioWork, plan: Plan) -> Iterator[tuple[tuple[int, ...], int]]:
    """The days that each memory of the story is fed, and how often it is let settle.

    `fresh` begins a memory for every checkpoint and repeat; the others live the story once.
    `growing` settles before each repeat, and `forked` once a checkpoint, before it is copied.
    """
    if not story.sheets:
        return
    if plan.lifecycle is Lifecycle.FRESH:
        for sheet in story.sheets:
            for _ in range(plan.repeats):
                yield story.list_days(0, sheet.cutoff), 1
        return
    times = plan.repeats if plan.lifecycle is Lifecycle.GROWING else 1
    yield story.list_days(0, story.sheets[-1].cutoff), times * len(story.sheets)
