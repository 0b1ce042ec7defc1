"""A pass that retells every day of a story in another form, one file a day."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio.lowlevel

from recall_bench.core.usage import Usage
from recall_bench.datasets.days import DayFile
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import Story
from recall_bench.errors import ModelFault, ModelGone
from recall_bench.generate.call_log import CallLog
from recall_bench.generate.caller import Caller
from recall_bench.generate.carrying_out import carried_out
from recall_bench.generate.lanes import side_by_side
from recall_bench.generate.outcome import Generated, Missing
from recall_bench.generate.request import PassRequest
from recall_bench.generate.rounds import Unwritten
from recall_bench.generate.told_days import ToldDay, coverage, read_day
from recall_bench.replacement import replace_file

Told = Callable[[str], None]
"""Hears a sentence about each day."""

LAST = 10**6
"""A day that no story reaches: the days that are told decide where a pass ends."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A day in another form."""

    file: str
    """What is written."""
    said: str
    """What a reader of the file takes in, without the file's own syntax."""


Retelling = Callable[[ToldDay], Awaitable[Retold]]
"""Gives a day in another form, or raises Unwritten."""


@dataclass(slots=True, kw_only=True)
class DayPass:
    """One pass over the days under way."""

    what: str
    """What its files are, in the plural."""
    request: PassRequest
    layout: Layout
    story: Story
    days: Sequence[DayFile]
    folder: Path
    log: CallLog
    paths: Callable[[int], Sequence[Path]]
    """Where a day's file may lie; it is written to the first."""
    told: Told
    written: int = 0
    kept: int = 0
    missing: list[Missing] = field(default_factory=list)
    held: int = 0
    stated: int = 0
    """Of the exact values that the days of this run state, so many are in what it wrote."""

    def owed(self) -> list[DayFile]:
        """The days that have to be written, and the others counted as kept."""
        owed = [file for file in self.days if not self._is_there(file.day)]
        self.kept = len(self.days) - len(owed)
        return owed

    def run(self, owed: Sequence[DayFile], retell: Retelling, caller: Caller | None) -> Generated:
        """Write what is owed. A day that fails costs nothing but itself."""

        async def work() -> None:
            await side_by_side(
                owed, lambda file: self._one(file, retell), at_once=self.request.parallelism
            )

        stopped = carried_out(work)
        if stopped is None and not self.missing:
            self.log.end()
        return Generated(
            what=self.what,
            folder=str(self.folder),
            wanted=len(self.days),
            written=self.written,
            kept=self.kept,
            missing=tuple(sorted(self.missing, key=lambda each: each.day or 0)),
            notes=self._notes(),
            fill=self.request.again,
            usage=caller.usage if caller else Usage(),
            spent=self.log.spent,
            stopped=stopped,
        )

    def _is_there(self, day: int) -> bool:
        if self.request.overwrite:
            return self.log.is_replaced(f"day {day}")
        return any(path.exists() for path in self.paths(day))

    def _notes(self) -> tuple[str, ...]:
        if not self.stated:
            return ()
        told = (
            f"{self.held:,} of the {self.stated:,} exact values that these days state are in what "
            f"was written ({self.held / self.stated:.0%})"
        )
        return (told,)

    async def _one(self, file: DayFile, retell: Retelling) -> None:
        # Offline nobody is ever waited for: without this nobody could interrupt it.
        await anyio.lowlevel.checkpoint()
        try:
            day = read_day(file, self.story)
            retold = await retell(day)
        except ModelGone:
            raise
        except (Unwritten, ModelFault) as fault:
            self.missing.append(Missing(unit=f"day {file.day}", reason=str(fault), day=file.day))
            self.told(f"[{self.what}] day={file.day} skipped: {fault}")
            return
        target, *others = self.paths(file.day)
        replace_file(target, retold.file.encode())
        for other in others:
            other.unlink(missing_ok=True)
        self.log.replaced(f"day {file.day}")
        self.written += 1
        held, stated = coverage(retold.said, day)
        self.held += held
        self.stated += stated
        there = self.written + self.kept
        self.told(f"Wrote {target.name} of day {file.day} ({there} of {len(self.days)})")
