"""What a run leaves behind, with everything that depends on the wall clock masked."""

import re
from collections import Counter
from pathlib import Path

from recall_bench.core.event import Answered, Judged, NotAnswered
from recall_bench.engine.runs.journal import read_events

FILES = ("result.json", "questions.jsonl", "failures.jsonl", "progress.jsonl")

_WALL = re.compile(
    rb'"(timestamp|startedAt|endedAt|latencyMs|durationMs|ingestMs|queryMs|totalIngestionMs'
    rb'|totalQueryMs|p50Ms|p95Ms)": ?("[^"]*"|[-0-9.e]+|null)'
)


def views(folder: Path) -> dict[str, bytes]:
    """Read every result file, wall times masked."""
    return {name: _WALL.sub(rb'"\1": 0', (folder / name).read_bytes()) for name in FILES}


def done_twice(folder: Path) -> list[str]:
    """List the trials that were asked, judged or reviewed more than once."""
    events = list(read_events(folder / "journal.jsonl"))
    asked = Counter(str(e.trial) for e in events if isinstance(e, Answered | NotAnswered))
    judged = Counter(
        (str(e.trial), e.primary is not None or e.review_fault is not None)
        for e in events
        if isinstance(e, Judged)
    )
    return [str(name) for name, times in (*asked.items(), *judged.items()) if times > 1]
