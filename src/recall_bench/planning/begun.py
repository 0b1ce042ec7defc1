"""How far a plan, or the part of it that is asked for, has come in its folder."""

from recall_bench.core.record import Record
from recall_bench.core.shard import collect_shard_units
from recall_bench.core.standing import TrialState, TrialStates
from recall_bench.job import Job
from recall_bench.journal import read_events


class PlanProgress(Record, frozen=True, kw_only=True):
    """What is owed here, and what of it there is."""

    part: str | None
    """The part of the plan; None if all of it."""
    shards: int | None
    """Those of the part."""
    owed: int
    """Trials."""
    left: int
    """Trials that are still to be asked or judged."""
    is_begun: bool
    """Whether the folder holds anything of it."""
    is_done: bool
    """Whether it holds all of it."""


def read_progress(job: Job) -> PlanProgress:
    """As the journal in the job's folder has it; nothing is written."""
    standings = TrialStates(job.plan)
    events = read_events(job.journal) if job.journal.exists() else iter(())
    is_begun = next(events, None) is not None
    for event in events:
        standings.apply_event(event)
    for scenario, declared in job.questions.items():
        if scenario not in standings.scenarios:
            standings.apply_event(declared)
    waiting = (TrialState.OPEN, TrialState.ANSWERED)
    if job.shard is None:
        shards = None
        left = sum(each.count_states(*waiting) for each in standings.scenarios.values())
    else:
        items = {name: declared.items for name, declared in job.questions.items()}
        shards = sum(map(len, collect_shard_units(job.plan, items, job.shard).values()))
        left = sum(state in waiting for state in job.list_states(standings))
    return PlanProgress(
        part=None if job.shard is None else str(job.shard),
        shards=shards,
        owed=job.count_owed(standings),
        left=left,
        is_begun=is_begun,
        is_done=is_begun and (standings.has_ended if job.shard is None else not left),
    )
