"""How far a plan, or the part of it that is asked for, has come in its folder."""

from recall_bench.core.record import Record
from recall_bench.core.shard import part_of
from recall_bench.core.standing import Standings, State
from recall_bench.job import Job
from recall_bench.journal import read


class Begun(Record, frozen=True, kw_only=True):
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


def begun(job: Job) -> Begun:
    """As the journal in the job's folder has it; nothing is written."""
    standings = Standings(job.plan)
    events = read(job.journal) if job.journal.exists() else iter(())
    is_begun = next(events, None) is not None
    for event in events:
        standings.note(event)
    for scenario, declared in job.questions.items():
        if scenario not in standings.scenarios:
            standings.note(declared)
    waiting = (State.OPEN, State.ANSWERED)
    if job.part is None:
        shards = None
        left = sum(each.count(*waiting) for each in standings.scenarios.values())
    else:
        items = {name: declared.items for name, declared in job.questions.items()}
        shards = sum(map(len, part_of(job.plan, items, job.part).values()))
        left = sum(state in waiting for state in job.outcomes(standings))
    return Begun(
        part=None if job.part is None else str(job.part),
        shards=shards,
        owed=job.owed(standings),
        left=left,
        is_begun=is_begun,
        is_done=is_begun and (standings.ended if job.part is None else not left),
    )
