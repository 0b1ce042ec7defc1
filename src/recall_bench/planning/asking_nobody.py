"""A job that is looked at and let go again: nothing is fed, asked or written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import anyio

from recall_bench.assemble import assemble
from recall_bench.core.memory import MemorySystem
from recall_bench.job import Job
from recall_bench.resolve.models import resolve_without_keys
from recall_bench.settings import Settings
from recall_bench.shipped import BuildProgress


@contextmanager
def dry_plan(
    settings: Settings, building: BuildProgress | None = None, own: MemorySystem | None = None
) -> Iterator[Job]:
    """The job that these settings make, whose staff is dismissed at the end.

    Output paths are not tried: trying them would make their folders. Models need no keys.
    """
    with resolve_without_keys():
        job = assemble(replace(settings, skip_preflight=True), own, building)
    try:
        yield job
    finally:
        anyio.run(job.staff.close)
