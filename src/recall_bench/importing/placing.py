"""At which checkpoint a line of the question log was written.

Those of the public harness do not say. They are written while a checkpoint lasts, and
`progress.jsonl` says when each one ended and when the harness started again: a line belongs to the
first checkpoint of its persona that ended after it. If the harness was started again before that,
the checkpoint was never finished, and its questions were put anew.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from recall_bench.errors import DataError
from recall_bench.importing.evaluations import Place
from recall_bench.importing.faults import FaultCounts
from recall_bench.importing.formats import (
    CheckpointRecord,
    HeaderRecord,
    ProgressLine,
    QuestionLogRecord,
)


def find_last_records(
    progress: Iterable[ProgressLine], faults: FaultCounts
) -> dict[Place, CheckpointRecord]:
    """The last record of each checkpoint: a continued run may write some again."""
    found: dict[Place, CheckpointRecord] = {}
    headers, repeated, too_full = 0, set(), set()
    before: dict[str, int] = {}
    for line in progress:
        match line:
            case HeaderRecord():
                headers += 1
                before = _find_furthest_days(found)
            case CheckpointRecord():
                place = line.persona_id, line.range.label
                if place in found:
                    repeated.add(place)
                elif line.range.days < before.get(line.persona_id, 0):
                    too_full.add(place)
                found[place] = line
    faults.note("repeated-headers", max(0, headers - 1))
    faults.note("repeated-checkpoints", len(repeated))
    faults.note("too-full", len(too_full))
    return found


def _find_furthest_days(found: dict[Place, CheckpointRecord]) -> dict[str, int]:
    """The last day that each persona has come to."""
    days: dict[str, int] = {}
    for (persona, _), line in found.items():
        days[persona] = max(days.get(persona, 0), line.range.days)
    return days


def place_rows(
    rows: Sequence[QuestionLogRecord], progress: Sequence[ProgressLine], faults: FaultCounts
) -> dict[Place, list[QuestionLogRecord]]:
    """The rows of each checkpoint as it was last put; what belongs to none is counted."""
    found: dict[Place, list[QuestionLogRecord]] = {}
    courses = {
        persona: _PersonaProgress(persona, progress) for persona in {r.persona_id for r in rows}
    }
    for earlier, later in pairwise(rows):
        faults.note("clocks", int(later.timestamp < earlier.timestamp))
    for row in rows:
        if row.checkpoint is not None:
            found.setdefault((row.persona_id, row.checkpoint), []).append(row)
            continue
        reached = courses[row.persona_id].find_checkpoint(row)
        if reached is None:
            faults.note("unfinished")
        elif not courses[row.persona_id].is_last(reached):
            faults.note("superseded")
        else:
            faults.note("unlabeled")
            found.setdefault((row.persona_id, reached.range.label), []).append(row)
    return found


class _PersonaProgress:
    """When one persona's checkpoints ended, and when the harness started."""

    def __init__(self, persona: str, progress: Iterable[ProgressLine]) -> None:
        self._stops = [
            line
            for line in progress
            if isinstance(line, HeaderRecord)
            or (
                isinstance(line, CheckpointRecord) and line.persona_id == persona and line.timestamp
            )
        ]
        self._times = [line.timestamp for line in self._stops if line.timestamp is not None]
        self._last = {
            line.range.label: line for line in self._stops if isinstance(line, CheckpointRecord)
        }
        for earlier, later in pairwise(self._times):
            if later < earlier:
                raise DataError(
                    f"the progress of {persona!r} goes back from {earlier.isoformat()} to "
                    f"{later.isoformat()}, so the question log cannot be placed by time; import "
                    "the result.json alone"
                )

    def find_checkpoint(self, row: QuestionLogRecord) -> CheckpointRecord | None:
        """The checkpoint that lasted then; None if it was never finished."""
        place = bisect_left(self._times, row.timestamp)
        found = self._stops[place] if place < len(self._stops) else None
        return found if isinstance(found, CheckpointRecord) else None

    def is_last(self, reached: CheckpointRecord) -> bool:
        """Whether its checkpoint was not put again later."""
        return self._last[reached.range.label] is reached
