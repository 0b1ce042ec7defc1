"""`generate --from-ledger`: a model words what the world's facts are, and every day is verified."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.history import story_day
from recall_bench.datasets.days import day_name
from recall_bench.datasets.identity import Persona, read_persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import Story, read_story
from recall_bench.errors import ModelFault, ModelGone, UsageError
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.caller import Caller
from recall_bench.generate.carrying_out import carried_out
from recall_bench.generate.day_pass import Told
from recall_bench.generate.days.diary import day_text
from recall_bench.generate.days.request import DaysRequest
from recall_bench.generate.estimate import estimate
from recall_bench.generate.from_ledger.asking import asking
from recall_bench.generate.from_ledger.notes import Notes, canaries_of, notes_of
from recall_bench.generate.from_ledger.verification import verified
from recall_bench.generate.lanes import side_by_side
from recall_bench.generate.offline.world_folder import WorldFolder, open_world
from recall_bench.generate.opening import open_model
from recall_bench.generate.outcome import Generated, Missing
from recall_bench.generate.rounds import Unwritten, accepted
from recall_bench.generate.told_days import ToldDay
from recall_bench.replacement import replace_file, sweep
from recall_bench.world.narration import Page

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt

_USUAL_TOKENS = 500


def write_from_ledger(
    request: DaysRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Let the model write the days that the world plays, and keep none that loses a fact.

    A day is written when every fact due that day is in it, no value is in it that the world did
    not tell, and no planted string is outside of its session. A day that fails is skipped and
    reported; the same request goes on with it.
    """
    layout = request.layout()
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
        log.begin(overwrite=request.overwrite)
        caller = Caller.of(request, model, log)
        writer = _Writer(
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
class _Writer:
    """The pass under way."""

    request: DaysRequest
    layout: Layout
    persona: Persona
    story: Story
    world: WorldFolder
    log: CallLog
    caller: Caller
    closing: "Model | None"
    """A model that was opened here, and not given by somebody who may ask it more."""
    told: Told
    written: int = 0
    unique: int = 0
    """How many days have a file."""
    missing: list[Missing] = field(default_factory=list)
    planted: dict[str, str] = field(default_factory=dict)
    """Every planted string so far, and the session that alone may hold it."""

    def run(self) -> Generated:
        """Play the world, then write what is not there."""
        sweep(self.layout.memories)
        self.unique = sum(1 for _ in self.layout.memories.glob("day-*.md"))
        wanted = self.request.span(self.world.days)
        pages = []
        for played in self.world.played():
            if played.page.day >= wanted.stop:
                break
            self.planted |= canaries_of(played.page)
            if played.page.day in wanted:
                pages.append(played.page)
        owed = [page for page in pages if not self._is_there(page.day)]
        self._estimate(owed)

        async def work() -> None:
            await side_by_side(owed, self._day, at_once=self.request.parallelism)

        stopped = carried_out(work, self.closing)
        if stopped is None and not self.missing:
            self.log.end()
        return Generated(
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
        if self.request.overwrite and not self.log.is_replaced(f"day {day}"):
            return False
        return (self.layout.memories / day_name(day)).exists()

    def _notes(self, page: Page) -> tuple[Notes, ...]:
        sessions = tuple(self.world.play.sessions)
        return tuple(notes_of(page, sessions, self.world.play.dates))

    def _estimate(self, owed: list[Page]) -> None:
        if owed:
            calls = sum(len(self._notes(page)) for page in owed)
            notes = self._notes(owed[0])[0]
            sample = self._prompt(notes)
            self.told(estimate(self.request.model, calls, sample, _USUAL_TOKENS))

    def _date(self, day: int) -> str:
        return ToldDay(day, story_day(self.story.epoch, day).date(), "").in_words

    def _prompt(self, notes: Notes) -> "Prompt":
        sessions = {session.id: session for session in self.story.sessions}
        return asking(self.persona, sessions.get(notes.session), notes, self._date(notes.day))

    async def _day(self, page: Page) -> None:
        day = page.day
        entries: dict[str, str] = {}
        problems: list[str] = []

        async def one(notes: Notes) -> None:
            try:
                entries[notes.session] = await self._entry(notes)
            except ModelGone:
                raise
            except (Unwritten, ModelFault) as fault:
                problems.append(f"{notes.session}: {fault}")

        async with anyio.create_task_group() as tasks:
            for notes in self._notes(page):
                tasks.start_soon(one, notes)
        if problems:
            reason = "; ".join(sorted(problems))
            self.missing.append(Missing(unit=f"day {day}", reason=reason, day=day))
            self.told(f"[generator] arc={self._arcs(day)} day={day} skipped: {reason}")
            return
        ordered = {name: entries[name] for name in self.world.play.sessions if name in entries}
        path = self.layout.memories / day_name(day)
        self.unique += not path.exists()
        replace_file(path, day_text(ordered).encode())
        self.log.replaced(f"day {day}")
        self.written += 1
        self.told(f"Generated day {day}/{self.world.days} ({self.unique} unique)")

    async def _entry(self, notes: Notes) -> str:
        date = self._date(notes.day)
        elsewhere = {text: home for text, home in self.planted.items() if home != notes.session}
        return await accepted(
            self.caller,
            f"day {notes.day}, {notes.session}",
            self._prompt(notes),
            lambda reply: verified(reply, notes, date, elsewhere),
        )

    def _arcs(self, day: int) -> str:
        return ",".join(self.story.active(day)) or "none"
