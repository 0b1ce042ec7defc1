"""A pass that writes every day of a story in another format, one file a day."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio.lowlevel

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import BenchError, Malformed, Problems
from recall_bench.core.temporary_files import sweep_folder
from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog, log_path
from recall_bench.features.personas.day_log import (
    UNREACHABLE_DAY,
    StoryDay,
    count_coverage,
    list_day_files,
    read_day_log,
)
from recall_bench.features.personas.model_caller import ModelCaller, describe_estimate, open_model
from recall_bench.features.personas.model_reply import (
    NoUsableReply,
    RejectedReply,
    ask_until_usable,
)
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.pass_run import (
    MissingUnit,
    OnProgress,
    PassResult,
    run_pass,
    run_units,
)
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
    days = list_day_files(layout, request.select_days(UNREACHABLE_DAY))
    owned_model = None
    if model is None and not request.is_offline:
        owned_model = model = open_model(request, usual_temperature=form.usual_temperature)
    name = form.what.replace(" ", "-")
    with CallLog(log_path(layout.folder, name, layout.suffix)) as log:
        log.begin_round(overwrite=request.overwrite)
        caller = None if model is None else ModelCaller.from_request(request, model, log)
        return _DayPass(
            request=request,
            form=form,
            layout=layout,
            persona=persona,
            story=story,
            days=days,
            log=log,
            caller=caller,
            owned_model=owned_model,
            on_progress=on_progress,
        ).run()


@dataclass(slots=True, kw_only=True)
class _DayPass:
    """The state of one pass."""

    request: PassRequest
    form: DayFormat
    layout: Layout
    persona: Persona
    story: Story
    days: Sequence[DayFile]
    log: CallLog
    caller: ModelCaller | None
    owned_model: "Model | None"
    """A model that this pass opened and closes."""
    on_progress: OnProgress
    written: int = 0
    missing: list[MissingUnit] = field(default_factory=list)
    held: int = 0
    stated: int = 0
    """Exact values in the days of this run; `held` of them are in its files."""

    def run(self) -> PassResult:
        """Write the missing days; a day that fails is reported and left out."""
        folder = self._list_paths(1)[0].parent
        sweep_folder(folder)
        owed = [file for file in self.days if not self._is_there(file.day)]
        existing = len(self.days) - len(owed)
        _check_readable(owed)
        if owed and self.caller is not None:
            sample = self.form.build_prompt(self.persona, read_day_log(owed[0], self.story))
            self.on_progress(
                describe_estimate(self.request.model, len(owed), sample, self.form.usual_tokens)
            )

        async def write_missing_days() -> None:
            await run_units(
                owed,
                lambda file: self._write_day(file, existing),
                concurrency=self.request.parallelism,
            )

        stopped = run_pass(write_missing_days, self.owned_model)
        if stopped is None and not self.missing:
            self.log.end_round()
        return PassResult(
            what=self.form.what,
            folder=str(folder),
            wanted=len(self.days),
            written=self.written,
            kept=existing,
            missing=tuple(sorted(self.missing, key=lambda each: each.day or 0)),
            notes=tuple(self._list_notes()),
            fill=self.request.resume_command,
            usage=self.caller.usage if self.caller else Usage(),
            spent=self.log.spent,
            stopped=stopped,
        )

    def _list_paths(self, day: int) -> Sequence[Path]:
        return self.form.list_paths(self.layout, day)

    def _is_there(self, day: int) -> bool:
        if self.request.overwrite and not self.log.is_done_in_round(f"day {day}"):
            return False
        return any(path.exists() for path in self._list_paths(day))

    def _list_notes(self) -> Iterator[str]:
        if self.stated:
            yield (
                f"{self.held:,} of the {self.stated:,} exact values that these days state are in "
                f"what was written ({self.held / self.stated:.0%})"
            )
        if older := [file.day for file in self.days if self._is_older(file)]:
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
        try:
            day = read_day_log(file, self.story)
            retold = await self._produce_day(day)
        except (Malformed, NoUsableReply) as fault:
            self.missing.append(
                MissingUnit(unit=f"day {file.day}", reason=str(fault), day=file.day)
            )
            self.on_progress(f"[{self.form.what}] day={file.day} skipped: {fault}")
            return
        target, *others = self._list_paths(file.day)
        replace_file(target, retold.file.encode())
        for other in others:
            other.unlink(missing_ok=True)
        self.log.mark_written(f"day {file.day}")
        self.written += 1
        contents, stated = count_coverage(retold.text, day)
        self.held += contents
        self.stated += stated
        there = self.written + kept
        self.on_progress(f"Wrote {target.name} of day {file.day} ({there} of {len(self.days)})")

    async def _produce_day(self, day: StoryDay) -> DayRendition:
        if self.caller is None:
            return self.form.render_offline(self.persona, day)
        return await ask_until_usable(
            self.caller,
            f"day {day.number}",
            self.form.build_prompt(self.persona, day),
            lambda reply: self.form.parse_reply(reply, self.persona, day),
        )


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
