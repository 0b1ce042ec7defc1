"""An earlier run by the rule of the next: what its steps explain of it, and what is left."""

from collections.abc import Sequence
from statistics import fmean

from recall_bench.planning.measured import ASK, FEED, JUDGE, READ, SETTLE, Measured
from recall_bench.planning.pace import Pace, stated
from recall_bench.planning.schedule import NOTHING, Manner, Paces, makespan, tasks_of
from recall_bench.planning.workload import stories_of, workload_of


def opening_of(runs: Sequence[Measured]) -> Pace | None:
    """What a scenario takes to load and to open; None if none was fed."""
    took = [each for run in runs for each in run.openings.values()]
    return stated(fmean(took)).but(times=len(took)) if took else None


def explained_s(run: Measured) -> float:
    """The seconds that the run should have taken in one process, by its own steps alone."""
    paces = Paces(
        opening=opening_of([run]) or NOTHING,
        feed=run.timing(FEED).pace() or NOTHING,
        settle=run.timing(SETTLE).pace() or NOTHING,
        ask=run.timing(ASK).pace() or NOTHING,
        read=run.timing(READ).pace() or NOTHING,
        judge=run.timing(JUDGE).pace() or NOTHING,
    )
    manner = Manner(plan=run.plan, paces=paces, parallelism=run.at_a_time)
    stories = stories_of(run.plan, run.declared)
    return makespan([task for story in stories for task in tasks_of(story, manner)], 1)


def rest_of(runs: Sequence[Measured]) -> Pace | None:
    """What a trial took beyond its steps, in finished runs: tracing, writing down.

    None if no run was finished that one process can have carried out: where several were at work,
    the run is over sooner than its steps explain.
    """
    done = [run for run in runs if run.is_finished and run.marks and not run.is_shared]
    if not done:
        return None
    left = sum(max(0.0, run.wall_s - explained_s(run)) for run in done)
    trials = sum(workload_of(stories_of(run.plan, run.declared), run.plan).trials for run in done)
    return stated(left / trials).but(times=trials)
