"""What a run's journal says was spent and held, checkpoint by checkpoint, in one pass.

What a system spent at our endpoint is counted by us. Where it was, what the system itself says of
the same calls is left out, so that nothing is counted twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from recall_bench.analysis.trials import TrialRow
from recall_bench.core.event import INGEST
from recall_bench.core.plan import Plan
from recall_bench.core.standing import State
from recall_bench.core.usage import Usage
from recall_bench.errors import DataError
from recall_bench.journal import JOURNAL, lines
from recall_bench.reporting.folder import RunFolder

Usages = dict[str, Usage]
"""By the label of a checkpoint."""


@dataclass(slots=True, kw_only=True)
class Spending:
    """Usage by checkpoint. None where nobody says, as opposed to nothing."""

    ingest: Usages | None
    query: Usages | None
    """The system's part and the reader's."""
    is_reader_alone: bool
    """Whether only the reader says what it spent."""
    silent: int
    """Answers that do not say what was spent on them, where others do."""
    bytes: dict[str, dict[str, int | None]]
    """By checkpoint and persona, the last word on how large the memory was."""

    @property
    def total(self) -> Usage:
        """All that is known to have been spent."""
        parts = [each for each in (self.ingest, self.query) if each is not None]
        return sum((usage for part in parts for usage in part.values()), Usage())


def spending_of(folder: RunFolder, rows: Iterable[TrialRow]) -> Spending:
    """What was spent. A system that only computes, and no model reads for, spent nothing."""
    heard = _hear(folder)
    plan = folder.plan
    is_free = plan.system.computes and not heard.is_metered
    said, silent = _said(rows)
    reads = plan.reader is not None and plan.reader.model is not None
    query: Usages | None = None
    if heard.is_metered:
        query = _added(heard.query, heard.reading)
    elif said:
        query = said
    elif is_free and not reads:
        query = {}
    return Spending(
        ingest=heard.ingest if heard.is_metered or is_free else None,
        query=query,
        is_reader_alone=reads and bool(said) and not (heard.is_metered or heard.is_told or is_free),
        silent=silent if said and not heard.is_metered else 0,
        bytes=heard.bytes,
    )


class _Answer(msgspec.Struct, gc=False):
    usage: Usage | None = None


class _Line(msgspec.Struct, gc=False):
    """What is wanted of an event."""

    type: str
    scenario: str | None = None
    checkpoint: str | None = None
    trial: "_Where | None" = None
    stage: str | None = None
    usage: Usage | None = None
    bytes: int | None = None
    answer: _Answer | None = None
    reading_usage: Usage | None = None


class _Where(msgspec.Struct, gc=False):
    checkpoint: str


_LINE = msgspec.json.Decoder(_Line)
_SPENT = (b'{"type":"metered"', b'{"type":"inspected"')
_READ = (*_SPENT, b'{"type":"answered"')


@dataclass(slots=True)
class _Heard:
    ingest: Usages = field(default_factory=dict)
    query: Usages = field(default_factory=dict)
    reading: Usages = field(default_factory=dict)
    bytes: dict[str, dict[str, int | None]] = field(default_factory=dict)
    is_metered: bool = False
    is_told: bool = False
    """Whether the system itself says what it spent."""

    def note(self, line: _Line) -> None:
        match line:
            case _Line(type="metered", checkpoint=str(label), usage=Usage() as usage):
                self.is_metered = True
                _add(self.ingest if line.stage == INGEST else self.query, label, usage)
            case _Line(type="inspected", checkpoint=str(label), scenario=str(scenario)):
                self.bytes.setdefault(label, {})[scenario] = line.bytes
            case _Line(type="answered", trial=_Where(checkpoint=label)):
                self.is_told |= line.answer is not None and line.answer.usage is not None
                if line.reading_usage is not None:
                    _add(self.reading, label, line.reading_usage)


def _hear(folder: RunFolder) -> _Heard:
    path, heard = folder.path / JOURNAL, _Heard()
    # Answers are most of a journal, and are gone through only where two may have paid for one.
    wanted = _READ if _has_two_payers(folder.plan) else _SPENT
    try:
        for _, line in lines(path):
            if line.startswith(wanted):
                heard.note(_LINE.decode(line))
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(f"{path}: changed while it was read ({error})") from error
    return heard


def _has_two_payers(plan: Plan) -> bool:
    return plan.reader is not None and plan.reader.model is not None


def _said(rows: Iterable[TrialRow]) -> tuple[Usages, int]:
    """What answers say was spent on them, and how many answers do not say."""
    found: Usages = {}
    silent = 0
    for row in rows:
        if row.usage is not None:
            _add(found, row.trial.checkpoint, row.usage)
        elif row.seconds is not None and row.state is not State.NOT_ANSWERED:
            silent += 1
    return found, silent


def _added(first: Usages, second: Usages) -> Usages:
    labels = dict.fromkeys((*first, *second))
    return {label: first.get(label, Usage()) + second.get(label, Usage()) for label in labels}


def _add(usages: Usages, label: str, usage: Usage) -> None:
    usages[label] = usages.get(label, Usage()) + usage
