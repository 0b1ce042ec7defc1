"""A pass that writes every day of a story in another format, one file a day."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio.lowlevel

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import BenchError, Malformed, Problems
from recall_bench.features.personas.day_log import (
    UNREACHABLE_DAY,
    StoryDay,
    count_coverage,
    list_day_files,
    read_day_log,
)
from recall_bench.features.personas.model_pass import ModelPass
from recall_bench.features.personas.model_reply import NoUsableReply, RejectedReply
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult, run_units
from recall_bench.stories.persona_files import DayFile, Layout, format_days
from recall_bench.stories.persona_story import Persona, Story, read_persona, read_story

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model, Prompt


@dataclass(frozen=True, slots=True)
class DayRendition:
    """A day in another format."""

    file: str
    """The content of the file."""
    text: str
    """The text in it, without the syntax of the file."""


class DayFormat(Protocol):
    """A format that days can be written in."""

    what: str
    """The name of its files in the plural, and of its call log."""
    usual_tokens: int
    usual_temperature: float

    def list_paths(self, layout: Layout, day: int) -> Sequence[Path]:
        """The possible paths of a day's file; it is written to the first."""
        ...

    def render_offline(self, persona: Persona, day: StoryDay) -> DayRendition:
        """The day, written without a model."""
        ...

    def build_prompt(self, persona: Persona, day: StoryDay) -> "Prompt":
        """The prompt for the day."""
        ...

    def parse_reply(
        self, reply: str, persona: Persona, day: StoryDay
    ) -> DayRendition | RejectedReply:
        """The day as the model wrote it, or what is wrong with the reply."""
        ...


def run_day_pass(
    request: PassRequest,
    form: DayFormat,
    on_progress: OnProgress = lambda _: None,
    model: "Model | None" = None,
) -> PassResult:
    """Write every day that has a log and no file in the format.

    Each file is written whole as soon as it exists, and the same request continues an interrupted
    one. A given model replaces that of the request.
    """
    layout = request.find_layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    files = list_day_files(layout, request.select_days(UNREACHABLE_DAY))
    frame = ModelPass(form.what, request, on_progress, model)
    frame.open_model(usual_temperature=form.usual_temperature)
    with frame.open_log(layout.folder, form.what.replace(" ", "-"), layout.suffix):
        frame.begin()
        return _DayPass(frame, form, layout, persona, story, files).run()


@dataclass(slots=True)
class _DayPass:
    """The state of one pass."""

    frame: ModelPass
    form: DayFormat
    layout: Layout
    persona: Persona
    story: Story
    files: Sequence[DayFile]
    held: int = 0
    stated: int = 0
    """Exact values in the days of this run; `held` of them are in its files."""

    def run(self) -> PassResult:
        """Write the missing days; a day that fails is reported and left out."""
        frame, folder = self.frame, self._list_paths(1)[0].parent
        sweep_folder(folder)
        owed = [
            file
            for file in self.files
            if not frame.is_done(
                f"day {file.day}",
                exists=any(path.exists() for path in self._list_paths(file.day)),
            )
        ]
        kept = len(self.files) - len(owed)
        _check_readable(owed)
        if owed and frame.caller is not None:
            sample = self.form.build_prompt(self.persona, read_day_log(owed[0], self.story))
            frame.report_estimate(len(owed), sample, self.form.usual_tokens)
        frame.run(
            lambda: run_units(
                owed,
                lambda file: self._write_day(file, kept),
                concurrency=frame.request.parallelism,
            )
        )
        return frame.make_result(
            self.form.what,
            folder,
            wanted=len(self.files),
            kept=kept,
            notes=tuple(self._list_notes()),
        )

    def _list_paths(self, day: int) -> Sequence[Path]:
        return self.form.list_paths(self.layout, day)

    def _list_notes(self) -> Iterator[str]:
        if self.stated:
            yield (
                f"{self.held:,} of the {self.stated:,} exact values that these days state are in "
                f"what was written ({self.held / self.stated:.0%})"
            )
        if older := [file.day for file in self.files if self._is_older(file)]:
            yield (
                f"the logs of {format_days(older)} were written after these {self.form.what}; "
                "--overwrite writes them again"
            )

    def _is_older(self, file: DayFile) -> bool:
        """Whether the day's log is newer than its file."""
        times = [path.stat().st_mtime for path in self._list_paths(file.day) if path.exists()]
        return bool(times) and max(times) < file.path.stat().st_mtime

    async def _write_day(self, file: DayFile, kept: int) -> None:
        # Offline nothing awaits: without this the pass could not be interrupted.
        await anyio.lowlevel.checkpoint()
        frame, unit = self.frame, f"day {file.day}"
        try:
            day = read_day_log(file, self.story)
            if frame.caller is None:
                rendition = self.form.render_offline(self.persona, day)
            else:
                rendition = await frame.ask(
                    unit,
                    self.form.build_prompt(self.persona, day),
                    lambda reply: self.form.parse_reply(reply, self.persona, day),
                )
        except (Malformed, NoUsableReply) as fault:
            frame.skip(unit, str(fault), day=file.day, label=f"day={file.day}")
            return
        target, *others = self._list_paths(file.day)
        replace_file(target, rendition.file.encode())
        for other in others:
            other.unlink(missing_ok=True)
        frame.note_written(unit)
        covered, stated = count_coverage(rendition.text, day)
        self.held += covered
        self.stated += stated
        there = frame.written + kept
        frame.on_progress(f"Wrote {target.name} of day {file.day} ({there} of {len(self.files)})")


def _check_readable(files: Sequence[DayFile]) -> None:
    """Raise Problems before any call if a day's log cannot be read."""
    problems: list[BenchError] = []
    for file in files:
        try:
            file.read()
        except Malformed as problem:
            problems.append(problem)
    if problems:
        raise Problems(problems)
