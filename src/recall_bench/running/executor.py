"""From what a job is told about its executor to whoever carries it out."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Plan
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.running.backlog import WITHOUT_VERDICT, Backlog
from recall_bench.running.components import ComponentFactory, RunContext
from recall_bench.running.job import Job, PlanRunner
from recall_bench.running.scheduler import PoolRunner, run_plan
from recall_bench.running.worker_pool import CallLimits, WorkerPool

_EXCHANGE = ".exchange"
_VARIABLE_PREFIX = "RECALL_BENCH_"
"""Variables that begin so are known to every worker."""


OnPool = Callable[[WorkerPool], None]
"""Hears of the crew once there is one."""


def choose_runner(job: Job, joined: OnPool = lambda _: None) -> PlanRunner:
    """Who carries out a job: this process, or a crew that is hired once there is work.

    UsageError at once, before anything is written, if its executor cannot be had.
    """
    settings = job.settings
    refuse_impossible(job)

    async def run_here(plan: Plan, standings: TrialStates, company: RunContext) -> None:
        # A driver that was killed here left what its workers exchanged.
        shutil.rmtree(_find_exchange(job), ignore_errors=True)
        await run_plan(plan, standings, company)

    if settings.executor is Executor.LOCAL:
        return run_here

    async def run_on_pool(plan: Plan, standings: TrialStates, company: RunContext) -> None:
        most = _count_useful_workers(plan, standings, company)
        async with open_pool(settings, most) as hired:
            joined(hired.crew)
            await hired.make_runner(job)(plan, standings, company)

    return run_on_pool


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A crew and its limits, for one run or several."""

    crew: WorkerPool
    limits: CallLimits

    def make_runner(self, job: Job) -> PlanRunner:
        """Who carries out a job."""
        return PoolRunner(
            crew=self.crew,
            limits=self.limits,
            hire=_require_factory(job),
            run=str(job.folder),
            exchange=_find_exchange(job),
        )


def refuse_impossible(job: Job) -> None:
    """Raise UsageError if what a job is told of its executor cannot be met."""
    settings = job.settings
    if settings.executor is Executor.LOCAL:
        return
    _require_factory(job)
    if settings.skip_catchup_ingest:
        raise UsageError(
            "--skip-catchup-ingest: a memory that was kept is reached by one process; "
            "leave it out, or say --executor local"
        )
    if settings.executor is Executor.RAY:
        from recall_bench.running.ray_worker import load_ray, refuse_client

        collect_environment(settings)
        refuse_client(settings.ray_address)
        load_ray()


def _require_factory(job: Job) -> ComponentFactory:
    if job.hire is None:
        raise UsageError(
            f"--executor {job.settings.executor}: {job.plan.system.name} is an object of this "
            "process; name its code, as in file.py:factory, so that others can load it"
        )
    return job.hire


def _find_exchange(job: Job) -> Path:
    return Path(job.folder).resolve() / _EXCHANGE


@asynccontextmanager
async def open_pool(settings: Settings, most: int | None = None) -> AsyncIterator[SharedPool]:
    """Others who carry out runs with these settings: hired now, let go when the block is left.

    No more are hired than can have something to do at a time, where that is known.
    """
    limits = CallLimits(settings.max_calls)
    if settings.executor is Executor.PROCESSES:
        from recall_bench.running.process_worker import start_process

        async with WorkerPool(
            start_process, _limit_workers(settings.workers or count_cores(), most)
        ) as crew:
            yield SharedPool(crew, limits)
    else:
        async with _open_ray_pool(settings, most) as crew:
            yield SharedPool(crew, limits)


@asynccontextmanager
async def _open_ray_pool(settings: Settings, most: int | None) -> AsyncIterator[WorkerPool]:
    from recall_bench.running.ray_worker import connect_cluster, make_starter

    with connect_cluster(settings.ray_address) as cpus:
        workers = _limit_workers(settings.workers or cpus, most)
        share = min(1.0, cpus / workers) if settings.worker_cpus is None else settings.worker_cpus
        hire = make_starter(cpus=share, environ=collect_environment(settings))
        async with WorkerPool(hire, workers) as crew:
            yield crew


def _limit_workers(workers: int, most: int | None) -> int:
    return workers if most is None else max(1, min(workers, most))


def _count_useful_workers(plan: Plan, standings: TrialStates, company: RunContext) -> int:
    """About how many workers could have something to do: a shard, or a verdict, each."""
    owing = Backlog(plan, standings, company)
    asked = sum(len(owing.list_open_trials(scenario)) for scenario in standings.scenarios)
    left = sum(each.count_states(*WITHOUT_VERDICT) for each in standings.scenarios.values())
    return (asked if company.asks else 0) + left


def collect_environment(settings: Settings) -> dict[str, str]:
    """The variables that workers on other machines are given; UsageError if one is not set."""
    found = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLE_PREFIX)}
    for name in settings.worker_env:
        if name not in os.environ:
            raise UsageError(f"--worker-env: {name} is not set here")
        found[name] = os.environ[name]
    return found


def count_cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
