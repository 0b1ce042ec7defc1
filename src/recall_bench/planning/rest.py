"""An earlier run by the rule of the next: what its steps explain of it, and what is left."""

import math
from collections.abc import Sequence
from statistics import fmean

from recall_bench.planning.measured import ASK, FEED, JUDGE, READ, SETTLE, MeasuredRun
from recall_bench.planning.pace import StepPace, make_fixed_pace
from recall_bench.planning.schedule import (
    NOTHING,
    ExecutionModel,
    StepPaces,
    compute_makespan,
    list_tasks,
)
from recall_bench.planning.workload import compute_workload, list_scenario_work

_HALVINGS = 40
"""So often is what a trial takes halved in: to a billionth of the run."""


def average_opening(runs: Sequence[MeasuredRun]) -> StepPace | None:
    """What a scenario takes to load and to open; None if no single process fed one."""
    took = [each for run in runs for each in run.openings.values()]
    return make_fixed_pace(fmean(took)).replace(times=len(took)) if took else None


def average_start(runs: Sequence[MeasuredRun]) -> StepPace | None:
    """What workers took until the first step of any; None if no run had any."""
    took = [each for run in runs for each in run.starts_s]
    return make_fixed_pace(fmean(took)).replace(times=len(took)) if took else None


def explain_run(
    run: MeasuredRun, rest: StepPace = NOTHING, *, cores: int = 1, portable: bool
) -> float:
    """The seconds that the run should have taken, by its own steps, as it was carried out."""
    paces = StepPaces(
        opening=average_opening([run]) or NOTHING,
        start=average_start([run]) or NOTHING,
        feed=run.get_timing(FEED).fit_pace() or NOTHING,
        settle=run.get_timing(SETTLE).fit_pace() or NOTHING,
        ask=run.get_timing(ASK).fit_pace() or NOTHING,
        read=run.get_timing(READ).fit_pace() or NOTHING,
        judge=run.get_timing(JUDGE).fit_pace() or NOTHING,
        rest=rest,
    )
    by_workers, said = next(iter(run.manners), (None, None))
    workers = 1 if by_workers is None else said or cores
    manner = ExecutionModel(
        plan=run.plan,
        paces=paces,
        parallelism=math.ceil(run.at_a_time / workers),
        portable=portable and by_workers is not None,
    )
    stories = list_scenario_work(run.plan, run.declared)
    return compute_makespan(
        [task for story in stories for task in list_tasks(story, manner)], workers
    )


def estimate_rest(
    runs: Sequence[MeasuredRun], *, cores: int = 1, portable: bool = False
) -> StepPace | None:
    """What a trial took beyond its steps, in finished runs: tracing, writing down, waiting.

    It is what lets the steps of a run come to the time the run took, by one process or by workers.
    None if no run was finished that was carried out in one manner.
    """
    done = [run for run in runs if run.is_finished and run.marks and _is_uniform(run)]
    if not done:
        return None
    left, trials = 0.0, 0
    for run in done:
        owed = compute_workload(list_scenario_work(run.plan, run.declared), run.plan).trials
        left += owed * _solve_trial_rest(run, cores=cores, portable=portable)
        trials += owed
    return make_fixed_pace(left / trials).replace(times=trials)


def _is_uniform(run: MeasuredRun) -> bool:
    """Whether it is known who carried it out: not of parts that were merged."""
    by_workers = any(executor is not None for executor, _ in run.manners)
    return len(run.manners) <= 1 and by_workers >= run.is_shared


def _solve_trial_rest(run: MeasuredRun, *, cores: int, portable: bool) -> float:
    """What each trial has to take beyond its steps for the run to take as long as it did.

    It is less than nothing where more went on at a time than the rule knows of, though never so
    much less that answers would take no time.
    """
    answer = run.get_timing(ASK).fit_pace() or NOTHING
    low, high = -answer.least_s / run.at_a_time, run.wall_s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        took = explain_run(run, make_fixed_pace(middle), cores=cores, portable=portable)
        low, high = (middle, high) if took < run.wall_s else (low, middle)
    return low
