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
from recall_bench.core.standing import TrialState
from recall_bench.core.usage import Usage
from recall_bench.errors import DataError
from recall_bench.journal import JOURNAL, lines
from recall_bench.reporting.folder import RunFolder

Usages = dict[str, Usage]
"""By the label of a checkpoint."""


@dataclass(slots=True, kw_only=True)
class RunSpending:
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


def read_spending(folder: RunFolder, rows: Iterable[TrialRow]) -> RunSpending:
    """What was spent. A system that only computes, and no model reads for, spent nothing."""
    heard = _read_journal(folder)
    plan = folder.plan
    is_free = plan.system.computes and not heard.is_metered
    said, silent = _sum_reports(rows)
    reads = plan.reader is not None and plan.reader.model is not None
    query: Usages | None = None
    if heard.is_metered:
        query = _merge_usages(heard.query, heard.reading)
    elif said:
        query = said
    elif is_free and not reads:
        query = {}
    return RunSpending(
        ingest=heard.ingest if heard.is_metered or is_free else None,
        query=query,
        is_reader_alone=reads and bool(said) and not (heard.is_metered or heard.is_told or is_free),
        silent=silent if said and not heard.is_metered else 0,
        bytes=heard.bytes,
    )


class _SpentAnswer(msgspec.Struct, gc=False):
    usage: Usage | None = None


class _SpendingLine(msgspec.Struct, gc=False):
    """What is wanted of an event."""

    type: str
    scenario: str | None = None
    checkpoint: str | None = None
    trial: "_SpendingTrial | None" = None
    stage: str | None = None
    usage: Usage | None = None
    bytes: int | None = None
    answer: _SpentAnswer | None = None
    reading_usage: Usage | None = None


class _SpendingTrial(msgspec.Struct, gc=False):
    checkpoint: str


_SPENDING_DECODER = msgspec.json.Decoder(_SpendingLine)
_SPENDING_EVENTS = (b'{"type":"metered"', b'{"type":"inspected"')
_PAYER_EVENTS = (*_SPENDING_EVENTS, b'{"type":"answered"')


@dataclass(slots=True)
class _SpendingLog:
    ingest: Usages = field(default_factory=dict)
    query: Usages = field(default_factory=dict)
    reading: Usages = field(default_factory=dict)
    bytes: dict[str, dict[str, int | None]] = field(default_factory=dict)
    is_metered: bool = False
    is_told: bool = False
    """Whether the system itself says what it spent."""

    def note(self, line: _SpendingLine) -> None:
        match line:
            case _SpendingLine(type="metered", checkpoint=str(label), usage=Usage() as usage):
                self.is_metered = True
                _add_usage(self.ingest if line.stage == INGEST else self.query, label, usage)
            case _SpendingLine(type="inspected", checkpoint=str(label), scenario=str(scenario)):
                self.bytes.setdefault(label, {})[scenario] = line.bytes
            case _SpendingLine(type="answered", trial=_SpendingTrial(checkpoint=label)):
                self.is_told |= line.answer is not None and line.answer.usage is not None
                if line.reading_usage is not None:
                    _add_usage(self.reading, label, line.reading_usage)


def _read_journal(folder: RunFolder) -> _SpendingLog:
    path, heard = folder.path / JOURNAL, _SpendingLog()
    # Answers are most of a journal, and are gone through only where two may have paid for one.
    wanted = _PAYER_EVENTS if _is_paid_twice(folder.plan) else _SPENDING_EVENTS
    try:
        for _, line in lines(path):
            if line.startswith(wanted):
                heard.note(_SPENDING_DECODER.decode(line))
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(f"{path}: changed while it was read ({error})") from error
    return heard


def _is_paid_twice(plan: Plan) -> bool:
    return plan.reader is not None and plan.reader.model is not None


def _sum_reports(rows: Iterable[TrialRow]) -> tuple[Usages, int]:
    """What answers say was spent on them, and how many answers do not say."""
    found: Usages = {}
    silent = 0
    for row in rows:
        if row.usage is not None:
            _add_usage(found, row.trial.checkpoint, row.usage)
        elif row.seconds is not None and row.state is not TrialState.NOT_ANSWERED:
            silent += 1
    return found, silent


def _merge_usages(first: Usages, second: Usages) -> Usages:
    labels = dict.fromkeys((*first, *second))
    return {label: first.get(label, Usage()) + second.get(label, Usage()) for label in labels}


def _add_usage(usages: Usages, label: str, usage: Usage) -> None:
    usages[label] = usages.get(label, Usage()) + usage
