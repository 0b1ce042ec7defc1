"""An earlier run by the rule of the next: what its steps explain of it, and what is left."""

import math
from collections.abc import Sequence
from statistics import fmean

from recall_bench.planning.measured import ASK, FEED, JUDGE, READ, SETTLE, Measured
from recall_bench.planning.pace import Pace, stated
from recall_bench.planning.schedule import NOTHING, Manner, Paces, makespan, tasks_of
from recall_bench.planning.workload import stories_of, workload_of

_HALVINGS = 40
"""So often is what a trial takes halved in: to a billionth of the run."""


def opening_of(runs: Sequence[Measured]) -> Pace | None:
    """What a scenario takes to load and to open; None if no single process fed one."""
    took = [each for run in runs for each in run.openings.values()]
    return stated(fmean(took)).but(times=len(took)) if took else None


def start_of(runs: Sequence[Measured]) -> Pace | None:
    """What workers took until the first step of any; None if no run had any."""
    took = [each for run in runs for each in run.starts_s]
    return stated(fmean(took)).but(times=len(took)) if took else None


def explained_s(run: Measured, rest: Pace = NOTHING, *, cores: int = 1, portable: bool) -> float:
    """The seconds that the run should have taken, by its own steps, as it was carried out."""
    paces = Paces(
        opening=opening_of([run]) or NOTHING,
        start=start_of([run]) or NOTHING,
        feed=run.timing(FEED).pace() or NOTHING,
        settle=run.timing(SETTLE).pace() or NOTHING,
        ask=run.timing(ASK).pace() or NOTHING,
        read=run.timing(READ).pace() or NOTHING,
        judge=run.timing(JUDGE).pace() or NOTHING,
        rest=rest,
    )
    by_workers, said = next(iter(run.manners), (None, None))
    workers = 1 if by_workers is None else said or cores
    manner = Manner(
        plan=run.plan,
        paces=paces,
        parallelism=math.ceil(run.at_a_time / workers),
        portable=portable and by_workers is not None,
    )
    stories = stories_of(run.plan, run.declared)
    return makespan([task for story in stories for task in tasks_of(story, manner)], workers)


def rest_of(runs: Sequence[Measured], *, cores: int = 1, portable: bool = False) -> Pace | None:
    """What a trial took beyond its steps, in finished runs: tracing, writing down, waiting.

    It is what lets the steps of a run come to the time the run took, by one process or by workers.
    None if no run was finished that was carried out in one manner.
    """
    done = [run for run in runs if run.is_finished and run.marks and _in_one_manner(run)]
    if not done:
        return None
    left, trials = 0.0, 0
    for run in done:
        owed = workload_of(stories_of(run.plan, run.declared), run.plan).trials
        left += owed * _each(run, cores=cores, portable=portable)
        trials += owed
    return stated(left / trials).but(times=trials)


def _in_one_manner(run: Measured) -> bool:
    """Whether it is known who carried it out: not of parts that were merged."""
    by_workers = any(executor is not None for executor, _ in run.manners)
    return len(run.manners) <= 1 and by_workers >= run.is_shared


def _each(run: Measured, *, cores: int, portable: bool) -> float:
    """What each trial has to take beyond its steps for the run to take as long as it did.

    It is less than nothing where more went on at a time than the rule knows of, though never so
    much less that answers would take no time.
    """
    answer = run.timing(ASK).pace() or NOTHING
    low, high = -answer.least_s / run.at_a_time, run.wall_s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        took = explained_s(run, stated(middle), cores=cores, portable=portable)
        low, high = (middle, high) if took < run.wall_s else (low, middle)
    return low
