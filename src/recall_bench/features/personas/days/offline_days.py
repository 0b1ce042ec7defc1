"""The pass `generate --model offline`: the days of a simulated story."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from anyio.lowlevel import checkpoint

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.temporary_files import sweep_folder
from recall_bench.features.personas.call_log import CallLog, log_path
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import PassResult, run_pass
from recall_bench.features.personas.world_folder import WorldFolder, is_file_of, open_world
from recall_bench.stories.persona_files import Layout, format_days, name_day_file


def write_offline_days(request: DaysRequest, on_progress: Callable[[str], None]) -> PassResult:
    """Write the missing days of a simulated persona.

    UsageError if the simulator did not make the persona, or if its story was edited.
    """
    layout = request.find_layout()
    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"{layout.id}: offline can only write stories that the world made; name a model with "
            "--model, or create the persona with `recall-bench create-persona --model offline`"
        )
    span = request.select_days(world.days)
    # Only for its lock: one process at a time may write days.
    with CallLog(log_path(layout.folder, "days", layout.suffix)):
        sweep_folder(layout.memories)
        there = sum(1 for _ in layout.memories.glob("day-*.md"))
        days = _OfflineDays(
            layout, span, is_overwriting=request.overwrite, on_progress=on_progress, unique=there
        )
        stopped = run_pass(lambda: days.write(world))
    offline_days = [day for day in world.list_days_told() if day in span]
    return PassResult(
        what="days",
        folder=str(layout.memories),
        wanted=len(offline_days),
        written=days.written,
        kept=days.kept,
        notes=tuple(_list_notes(layout, days, set(span).difference(offline_days))),
        fill=request.resume_command,
        stopped=stopped,
    )


@dataclass(slots=True)
class _OfflineDays:
    layout: Layout
    span: range
    is_overwriting: bool
    on_progress: Callable[[str], None]
    unique: int
    """The number of days with a file."""
    written: int = 0
    kept: int = 0
    differing: list[int] = field(default_factory=list)
    """Existing days that differ from the simulator's."""

    async def write(self, world: WorldFolder) -> None:
        """Simulate from day 1 on, as days depend on earlier ones, and write the missing ones."""
        for simulated in world.simulate_days():
            await checkpoint()
            if simulated.page.day > self.span[-1]:
                return
            if simulated.page.day in self.span:
                self._write_day(simulated.page.day, simulated.page.text.encode())

    def _write_day(self, day: int, text: bytes) -> None:
        path = self.layout.memories / name_day_file(day)
        is_as_told = is_file_of(path, text)
        if is_as_told or (path.exists() and not self.is_overwriting):
            self.kept += 1
            self.differing += [] if is_as_told else [day]
            return
        self.unique += not path.exists()
        replace_file(path, text)
        self.written += 1
        self.on_progress(f"Generated day {day}/{self.span[-1]} ({self.unique} unique)")


def _list_notes(layout: Layout, days: _OfflineDays, quiet: set[int]) -> Iterator[str]:
    if days.differing:
        yield (
            f"not as the world tells them: {format_days(days.differing)}; answers that the world "
            "works out may not hold there (--overwrite writes these days again)"
        )
    strange = [day for day in sorted(quiet) if (layout.memories / name_day_file(day)).exists()]
    if strange:
        yield (
            f"nothing happens on {format_days(strange)}, but {layout.name(layout.memories)} has "
            "files for it; remove them"
        )
