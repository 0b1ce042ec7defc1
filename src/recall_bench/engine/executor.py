"""From the settings of a job to the runner that executes it: this process, processes or Ray."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Plan
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.components import ComponentFactory, RunContext
from recall_bench.engine.job import Job, PlanRunner
from recall_bench.engine.scheduler import WITHOUT_VERDICT, Backlog, run_plan

if TYPE_CHECKING:
    from recall_bench.engine.worker_pool import WorkerPool

_VARIABLE_PREFIX = "RECALL_BENCH_"
"""Environment variables with this prefix are passed on to every worker."""


OnPool = Callable[["WorkerPool"], None]
"""Called with the pool once it is open."""


def choose_runner(job: Job, on_pool: OnPool = lambda _: None) -> PlanRunner:
    """Choose what executes a job: this process, or a pool that is opened once there is work.

    UsageError at once, before anything is written, if the executor is not available.
    """
    settings = job.settings
    refuse_impossible(job)

    if settings.executor is Executor.LOCAL:
        return job.own_runner or run_plan

    async def run_on_pool(plan: Plan, states: TrialStates, context: RunContext) -> None:
        backlog = Backlog(plan, states, context)
        open_count = sum(len(backlog.list_open_trials(scenario)) for scenario in states.scenarios)
        unjudged = sum(
            scenario.count_states(*WITHOUT_VERDICT) for scenario in states.scenarios.values()
        )
        most = (open_count if context.asks else 0) + unjudged
        async with open_pool(settings, most) as pool:
            on_pool(pool)
            await make_pool_runner(pool, job)(plan, states, context)

    return run_on_pool


def make_pool_runner(pool: "WorkerPool", job: Job) -> PlanRunner:
    """Make the runner of one job on a pool that several may share."""
    from recall_bench.engine.pool_engine import PoolRunner

    return PoolRunner(
        pool=pool,
        factory=_require_factory(job),
        run=str(job.folder),
        exchange=job.exchange,
    )


def refuse_impossible(job: Job) -> None:
    """Raise UsageError if the executor cannot run the job."""
    settings = job.settings
    if settings.executor is Executor.LOCAL:
        return
    if job.own_runner is not None:
        raise UsageError(
            "a behaviour suite runs in one process; leave out --executor, or `executor` in a file"
        )
    _require_factory(job)
    if settings.skip_catchup_ingest:
        raise UsageError(
            "--skip-catchup-ingest works only with --executor local: no other process can reach "
            "the memory"
        )
    if settings.executor is Executor.RAY:
        from recall_bench.engine.ray_worker import load_ray, refuse_client

        collect_environment(settings)
        refuse_client(settings.ray_address)
        load_ray()


def _require_factory(job: Job) -> ComponentFactory:
    if job.factory is None:
        raise UsageError(
            f"--executor {job.settings.executor}: {job.plan.system.name} is an object of this "
            "process; name its code, as in file.py:factory, so that others can load it"
        )
    return job.factory


@asynccontextmanager
async def open_pool(settings: Settings, most: int | None = None) -> AsyncIterator["WorkerPool"]:
    """Open a pool of workers for runs with these settings, of at most `most` workers."""
    from recall_bench.engine.worker_pool import WorkerPool

    if settings.executor is Executor.PROCESSES:
        from recall_bench.engine.process_worker import start_process

        size = _limit_workers(settings.workers or count_cores(), most)
        async with WorkerPool(start_process, size, settings.max_calls) as pool:
            yield pool
        return
    from recall_bench.engine.ray_worker import connect_cluster, make_starter

    with connect_cluster(settings.ray_address) as cpus:
        size = _limit_workers(settings.workers or cpus, most)
        share = min(1.0, cpus / size) if settings.worker_cpus is None else settings.worker_cpus
        start = make_starter(cpus=share, environ=collect_environment(settings))
        async with WorkerPool(start, size, settings.max_calls) as pool:
            yield pool


def _limit_workers(workers: int, most: int | None) -> int:
    return workers if most is None else max(1, min(workers, most))


def collect_environment(settings: Settings) -> dict[str, str]:
    """Collect the variables for workers on other machines; UsageError if one is not set."""
    values = {
        name: value for name, value in os.environ.items() if name.startswith(_VARIABLE_PREFIX)
    }
    for flag, name in (
        *(("--worker-env", name) for name in settings.worker_env),
        *(("--env", name) for name in settings.env),
    ):
        if name not in os.environ:
            raise UsageError(
                f"{flag} {name}: the environment variable {name} is not set; set it, or leave the "
                "option out"
            )
        values[name] = os.environ[name]
    return values


def count_cores() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
