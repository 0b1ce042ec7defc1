"""From what a job is told about its executor to whoever carries it out."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.plan import Plan
from recall_bench.core.standing import Standings
from recall_bench.errors import UsageError
from recall_bench.executors.crew import Crew
from recall_bench.executors.limits import Limits
from recall_bench.executors.spread import Spread
from recall_bench.job import Conduct, Job
from recall_bench.running.company import Company
from recall_bench.running.conduct import conduct
from recall_bench.running.owing import WITHOUT_VERDICT, Owing
from recall_bench.settings import Executor, Settings
from recall_bench.staff import Hiring

_EXCHANGE = ".exchange"
_PASSED_ON = "RECALL_BENCH_"
"""Variables that begin so are known to every worker."""


Joined = Callable[[Crew], None]
"""Hears of the crew once there is one."""


def conduct_of(job: Job, joined: Joined = lambda _: None) -> Conduct:
    """Who carries out a job: this process, or a crew that is hired once there is work.

    UsageError at once, before anything is written, if its executor cannot be had.
    """
    settings = job.settings
    refuse_impossible(job)

    async def alone(plan: Plan, standings: Standings, company: Company) -> None:
        # A driver that was killed here left what its workers exchanged.
        shutil.rmtree(_exchange(job), ignore_errors=True)
        await conduct(plan, standings, company)

    if settings.executor is Executor.LOCAL:
        return alone

    async def spread(plan: Plan, standings: Standings, company: Company) -> None:
        most = _at_a_time(plan, standings, company)
        async with team(settings, most) as hired:
            joined(hired.crew)
            await hired.conduct(job)(plan, standings, company)

    return spread


@dataclass(frozen=True, slots=True)
class Team:
    """A crew and its limits, for one run or several."""

    crew: Crew
    limits: Limits

    def conduct(self, job: Job) -> Conduct:
        """Who carries out a job."""
        return Spread(
            crew=self.crew,
            limits=self.limits,
            hire=_hiring(job),
            run=str(job.folder),
            exchange=_exchange(job),
        )


def refuse_impossible(job: Job) -> None:
    """Raise UsageError if what a job is told of its executor cannot be met."""
    settings = job.settings
    if settings.executor is Executor.LOCAL:
        return
    _hiring(job)
    if settings.skip_catchup_ingest:
        raise UsageError(
            "--skip-catchup-ingest: a memory that was kept is reached by one process; "
            "leave it out, or say --executor local"
        )
    if settings.executor is Executor.RAY:
        from recall_bench.executors.ray_cluster import ray_module, refuse_client

        passed_on(settings)
        refuse_client(settings.ray_address)
        ray_module()


def _hiring(job: Job) -> Hiring:
    if job.hire is None:
        raise UsageError(
            f"--executor {job.settings.executor}: {job.plan.system.name} is an object of this "
            "process; name its code, as in file.py:factory, so that others can load it"
        )
    return job.hire


def _exchange(job: Job) -> Path:
    return Path(job.folder).resolve() / _EXCHANGE


@asynccontextmanager
async def team(settings: Settings, most: int | None = None) -> AsyncIterator[Team]:
    """Others who carry out runs with these settings: hired now, let go when the block is left.

    No more are hired than can have something to do at a time, where that is known.
    """
    limits = Limits(settings.max_calls)
    if settings.executor is Executor.PROCESSES:
        from recall_bench.executors.processes import hire_process

        async with Crew(hire_process, _bounded(settings.workers or cores(), most)) as crew:
            yield Team(crew, limits)
    else:
        async with _on_ray(settings, most) as crew:
            yield Team(crew, limits)


@asynccontextmanager
async def _on_ray(settings: Settings, most: int | None) -> AsyncIterator[Crew]:
    from recall_bench.executors.ray_cluster import hiring, ray_cluster

    with ray_cluster(settings.ray_address) as cpus:
        workers = _bounded(settings.workers or cpus, most)
        share = min(1.0, cpus / workers) if settings.worker_cpus is None else settings.worker_cpus
        hire = hiring(cpus=share, environ=passed_on(settings))
        async with Crew(hire, workers) as crew:
            yield crew


def _bounded(workers: int, most: int | None) -> int:
    return workers if most is None else max(1, min(workers, most))


def _at_a_time(plan: Plan, standings: Standings, company: Company) -> int:
    """About how many workers could have something to do: a shard, or a verdict, each."""
    owing = Owing(plan, standings, company)
    asked = sum(len(owing.papers(scenario)) for scenario in standings.scenarios)
    left = sum(each.count(*WITHOUT_VERDICT) for each in standings.scenarios.values())
    return (asked if company.asks else 0) + left


def passed_on(settings: Settings) -> dict[str, str]:
    """The variables that workers on other machines are given; UsageError if one is not set."""
    found = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    for name in settings.worker_env:
        if name not in os.environ:
            raise UsageError(f"--worker-env: {name} is not set here")
        found[name] = os.environ[name]
    return found


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
