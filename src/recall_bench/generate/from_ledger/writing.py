"""`generate --from-ledger`: a model words what the world's facts are, and every day is verified."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.history import compute_story_date
from recall_bench.datasets.days import name_day_file
from recall_bench.datasets.identity import Persona, read_persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import Story, read_story
from recall_bench.errors import ModelFault, ModelGone, UsageError
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.caller import ModelCaller
from recall_bench.generate.carrying_out import run_pass
from recall_bench.generate.day_pass import OnProgress
from recall_bench.generate.days.diary import render_day
from recall_bench.generate.days.request import DaysRequest
from recall_bench.generate.estimate import describe_estimate
from recall_bench.generate.from_ledger.asking import build_ledger_prompt
from recall_bench.generate.from_ledger.notes import SessionNotes, collect_notes, find_canaries
from recall_bench.generate.from_ledger.verification import check_ledger_entry
from recall_bench.generate.lanes import run_units
from recall_bench.generate.offline.world_folder import WorldFolder, open_world
from recall_bench.generate.opening import open_model
from recall_bench.generate.outcome import MissingUnit, PassResult
from recall_bench.generate.rounds import NoUsableReply, ask_until_usable
from recall_bench.generate.told_days import StoryDay
from recall_bench.replacement import remove_leftovers, replace_file
from recall_bench.world.narration import LogPage

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt

_USUAL_TOKENS = 500


def write_from_ledger(
    request: DaysRequest, told: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Let the model write the days that the world plays, and keep none that loses a fact.

    A day is written when every fact due that day is in it, no value is in it that the world did
    not tell, and no planted string is outside of its session. A day that fails is skipped and
    reported; the same request goes on with it.
    """
    layout = request.find_layout()
    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"--from-ledger: {layout.id} has no world to take the facts from; make a persona with "
            "`recall-bench create-persona --model offline`, or leave --from-ledger out"
        )
    persona, story = read_persona(layout.folder), read_story(layout.folder, layout.arcs)
    closing = None
    if model is None:
        closing = model = open_model(request)
    with CallLog(log_path(layout.folder, "days", layout.suffix)) as log:
        log.begin_round(overwrite=request.overwrite)
        caller = ModelCaller.from_request(request, model, log)
        writer = _LedgerDaysPass(
            request=request,
            layout=layout,
            persona=persona,
            story=story,
            world=world,
            log=log,
            caller=caller,
            closing=closing,
            told=told,
        )
        return writer.run()


@dataclass(slots=True, kw_only=True)
class _LedgerDaysPass:
    """The pass under way."""

    request: DaysRequest
    layout: Layout
    persona: Persona
    story: Story
    world: WorldFolder
    log: CallLog
    caller: ModelCaller
    closing: "Model | None"
    """A model that was opened here, and not given by somebody who may ask it more."""
    told: OnProgress
    written: int = 0
    unique: int = 0
    """How many days have a file."""
    missing: list[MissingUnit] = field(default_factory=list)
    planted: dict[str, str] = field(default_factory=dict)
    """Every planted string so far, and the session that alone may hold it."""

    def run(self) -> PassResult:
        """Play the world, then write what is not there."""
        remove_leftovers(self.layout.memories)
        self.unique = sum(1 for _ in self.layout.memories.glob("day-*.md"))
        wanted = self.request.select_days(self.world.days)
        pages = []
        for played in self.world.play_days():
            if played.page.day >= wanted.stop:
                break
            self.planted |= find_canaries(played.page)
            if played.page.day in wanted:
                pages.append(played.page)
        owed = [page for page in pages if not self._is_there(page.day)]
        self._report_estimate(owed)

        async def write_days() -> None:
            await run_units(owed, self._write_day, at_once=self.request.parallelism)

        stopped = run_pass(write_days, self.closing)
        if stopped is None and not self.missing:
            self.log.end_round()
        return PassResult(
            what="days",
            folder=str(self.layout.memories),
            wanted=len(pages),
            written=self.written,
            kept=len(pages) - len(owed),
            missing=tuple(sorted(self.missing, key=lambda each: each.day or 0)),
            fill=self.request.again,
            usage=self.caller.usage,
            spent=self.caller.spent,
            stopped=stopped,
        )

    def _is_there(self, day: int) -> bool:
        if self.request.overwrite and not self.log.is_written_anew(f"day {day}"):
            return False
        return (self.layout.memories / name_day_file(day)).exists()

    def _collect_notes(self, page: LogPage) -> tuple[SessionNotes, ...]:
        sessions = tuple(self.world.play.sessions)
        return tuple(collect_notes(page, sessions, self.world.play.dates))

    def _report_estimate(self, owed: list[LogPage]) -> None:
        if owed:
            calls = sum(len(self._collect_notes(page)) for page in owed)
            notes = self._collect_notes(owed[0])[0]
            sample = self._build_prompt(notes)
            self.told(describe_estimate(self.request.model, calls, sample, _USUAL_TOKENS))

    def _format_day(self, day: int) -> str:
        return StoryDay(day, compute_story_date(self.story.epoch, day).date(), "").in_words

    def _build_prompt(self, notes: SessionNotes) -> "Prompt":
        sessions = {session.id: session for session in self.story.sessions}
        return build_ledger_prompt(
            self.persona, sessions.get(notes.session), notes, self._format_day(notes.day)
        )

    async def _write_day(self, page: LogPage) -> None:
        day = page.day
        entries: dict[str, str] = {}
        problems: list[str] = []

        async def write_session(notes: SessionNotes) -> None:
            try:
                entries[notes.session] = await self._write_entry(notes)
            except ModelGone:
                raise
            except (NoUsableReply, ModelFault) as fault:
                problems.append(f"{notes.session}: {fault}")

        async with anyio.create_task_group() as tasks:
            for notes in self._collect_notes(page):
                tasks.start_soon(write_session, notes)
        if problems:
            reason = "; ".join(sorted(problems))
            self.missing.append(MissingUnit(unit=f"day {day}", reason=reason, day=day))
            self.told(f"[generator] arc={self._list_arcs(day)} day={day} skipped: {reason}")
            return
        ordered = {name: entries[name] for name in self.world.play.sessions if name in entries}
        path = self.layout.memories / name_day_file(day)
        self.unique += not path.exists()
        replace_file(path, render_day(ordered).encode())
        self.log.mark_written(f"day {day}")
        self.written += 1
        self.told(f"Generated day {day}/{self.world.days} ({self.unique} unique)")

    async def _write_entry(self, notes: SessionNotes) -> str:
        date = self._format_day(notes.day)
        elsewhere = {text: home for text, home in self.planted.items() if home != notes.session}
        return await ask_until_usable(
            self.caller,
            f"day {notes.day}, {notes.session}",
            self._build_prompt(notes),
            lambda reply: check_ledger_entry(reply, notes, date, elsewhere),
        )

    def _list_arcs(self, day: int) -> str:
        return ",".join(self.story.list_active_arcs(day)) or "none"
