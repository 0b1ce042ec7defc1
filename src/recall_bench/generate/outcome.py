"""What became of a pass."""

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.datasets.days import format_days

INCOMPLETE = 10
"""Exit code: some units could not be written; the command that is named fills them."""


class MissingUnit(Record, frozen=True, kw_only=True):
    """A unit that is not there, and why."""

    unit: str
    """In words: `day 237`."""
    reason: str
    day: int | None = None


class PassStop(Record, frozen=True, kw_only=True):
    """Why a pass ended before its last unit."""

    reason: str
    exit_code: int


class PassResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A pass that came to its end, or was stopped.

    Every unit that was wanted was written now, was there already, is missing, or was not come to
    because the pass was stopped.
    """

    what: str
    """What a unit is, in the plural: `days`."""
    folder: str
    wanted: int
    written: int
    kept: int
    """Units that were there before."""
    missing: tuple[MissingUnit, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences the user should read, such as what was rejected and where it is."""
    fill: str | None = None
    """The command that writes what is missing."""
    usage: Usage = Usage()
    """What this run spent."""
    spent: Usage = Usage()
    """What all runs of the pass spent."""
    stopped: PassStop | None = None

    @property
    def exit_code(self) -> int:
        """0 if everything is there, 10 if something is missing, else why it was stopped."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return INCOMPLETE if self.missing else 0

    @property
    def in_words(self) -> str:
        """What there is now, what is missing, and what to do about it; several lines."""
        there = self.written + self.kept
        lines = [f"{there} of {self.wanted} {self.what} are in {self.folder}"]
        if not self.wanted:
            lines = [f"no {self.what} are to be written for what was asked"]
        if self.kept:
            lines[0] += f" ({self.written} new, {self.kept} there before)"
        lines += self.notes
        if self.missing:
            lines.append(f"missing: {_list_missing(self.missing)}")
            lines.append(f"first, {self.missing[0].unit}: {self.missing[0].reason}")
        if self.fill is not None and (self.missing or self.stopped):
            lines.append(f"to fill them: {self.fill}")
        if self.spent.calls:
            lines.append(_format_usage(self.usage, self.spent))
        return "\n".join(lines)


def _list_missing(missing: tuple[MissingUnit, ...]) -> str:
    days = [each.day for each in missing if each.day is not None]
    if len(days) == len(missing):
        return format_days(sorted(days))
    return ", ".join(each.unit for each in missing)


def _format_usage(usage: Usage, spent: Usage) -> str:
    told = _format_spending(usage) if usage.calls else "no calls"
    if usage.cached:
        told += f"; {format_count(usage.cached, 'reply', 'replies')} on record"
    if spent.calls > usage.calls:
        told += f"; with earlier runs {_format_spending(spent)}"
    return told


def format_count(number: int, one: str, many: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {one if number == 1 else many}"


def _format_spending(usage: Usage) -> str:
    return f"{format_count(usage.calls, 'call', 'calls')}, {_format_tokens(usage)}, {_format_cost(usage)}"


def _format_tokens(usage: Usage) -> str:
    return f"{usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"


def _format_cost(usage: Usage) -> str:
    if usage.unpriced == usage.calls:
        return "price unknown"
    known = f"{usage.cost_usd:.4f} USD"
    return f"{known}, {usage.unpriced} of unknown price" if usage.unpriced else known
