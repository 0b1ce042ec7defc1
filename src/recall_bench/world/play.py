"""The play: day by day, what happens is decided, told, and entered in the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from recall_bench.world.arcs import ActiveArc, build_arcs, iterate_directives, render_directive
from recall_bench.world.asides import SideNotes
from recall_bench.world.bookkeeping import record_page
from recall_bench.world.casting import Cast
from recall_bench.world.chance import RandomStream
from recall_bench.world.dates import Dates
from recall_bench.world.knobs import WorldOptions
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import DayBlock, LogPage, build_page
from recall_bench.world.pacing import DayPace
from recall_bench.world.routine import ProcessRun, RoutineSimulator
from recall_bench.world.sources import AuthoredDirective, WorldSession, WorldSources
from recall_bench.world.stage import WorldContext
from recall_bench.world.templates import AlternativePicker

_MOST_STARTS = 24
_MAX_DELAY = 4
"""Days a step waits for a day with room, before it goes into one without."""
_OVERFULL = 1.4
"""How far beyond its words a day is filled even so."""


@dataclass(slots=True)
class SimulatedDay:
    """One day as it was played: its page, and the threads that began or ended with it."""

    page: LogPage
    begun: list[Thread] = field(default_factory=list)
    ended: list[Thread] = field(default_factory=list)


class Simulation:
    """A persona's life under one seed. It holds the threads that go on, not those that ended."""

    def __init__(self, sources: WorldSources, knobs: WorldOptions, epoch: date) -> None:
        persona = sources.persona
        self._knobs = knobs
        # Two stories of one persona under one seed have nothing drawn alike.
        self.seed = RandomStream(knobs.seed, persona.id, sources.arcs_name).draw_bits()
        self.dates = Dates(epoch, persona.dates)
        self.cast = Cast(persona.cast)
        self.stage = WorldContext(
            seed=self.seed,
            is_authored=knobs.seed == 0,
            cast=self.cast,
            words={**sources.voice.words, **sources.routine.words},
            dates=self.dates,
            deck=AlternativePicker(self.seed),
            where=persona.id,
            week=persona.week,
        )
        self.sessions: dict[str, WorldSession] = {
            session.id: session for session in persona.sessions
        }
        self.plots = build_arcs(sources.story.arcs, self.stage)
        threads = [plot.thread for plot in self.plots]
        self.player = RoutineSimulator(
            self.stage,
            sources.routine,
            taken=[name for thread in threads for name in (thread.name, *thread.called)],
            distractors=knobs.distractors,
        )
        self._asides = SideNotes(self.stage, sources.voice, restatements=knobs.restatements)
        self._pace = DayPace(
            persona.week, sources.story.away, self.dates, seed=self.seed, density=knobs.density
        )
        self._picks = RandomStream(self.seed, "picks")
        self._due = _group_by_day(self.plots)

    def simulate_days(self) -> Iterator[SimulatedDay]:
        """Every day that has a page, in order."""
        for day in range(1, self._knobs.days + 1):
            level = self._pace.draw_level(day, is_due=day in self._due)
            if level != "off":
                yield self._simulate_day(day, level)

    def _simulate_day(self, day: int, level: str) -> SimulatedDay:
        desk = _DayDraft(self._pace.draw_word_count(level))
        desk.add(self._asides.render_dateline(day))
        for plot, name, directive in self._due.get(day, ()):
            desk.add(render_directive(plot, name, directive, self.stage))
            if plot.thread.first_step == name:
                desk.begun.append(plot.thread)
            if name == f"d{len(plot.arc.directives) - 1:02}":
                desk.ended.append(plot.thread)
        for run in list(self.player.list_due(day)):
            is_late = run.due <= day - _MAX_DELAY
            if not desk.is_full or (is_late and not desk.is_overfull):
                self._render_step(run, day, desk)
        desk.add(self._asides.render_small_topic(day, is_quiet=level == "quiet"))
        self._start_runs(day, level, desk)
        for block in self._asides.render_loose_ends(day, self.plots):
            desk.add(block)
        sheet = build_page(day, desk.blocks, tuple(self.sessions))
        record_page(sheet)
        return SimulatedDay(sheet, desk.begun, desk.ended)

    def _start_runs(self, day: int, level: str, desk: "_DayDraft") -> None:
        if level == "quiet" and self._picks.is_hit(0.6):
            return
        today: dict[str, int] = {}
        for _ in range(_MOST_STARTS):
            choice = None if desk.is_full else self._pick_process(day, today)
            if choice is None:
                return
            today[choice] = today.get(choice, 0) + 1
            run = self.player.start(choice, day)
            if run is not None:
                desk.begun.append(run.thread)
                self._render_step(run, day, desk)

    def _pick_process(self, day: int, today: dict[str, int]) -> str | None:
        names, weights = [], []
        for process in self.player.processes.values():
            if self._is_open(process.session, day):
                names.append(process.id)
                already = today.get(process.id, 0)
                weights.append(max(1, round(10**9 * process.share) * 12**already // 100**already))
        return names[self._picks.choose_by_weight(weights)] if names else None

    def _is_open(self, session: str, day: int) -> bool:
        found = self.sessions.get(session)
        if found is None:
            return True
        return found.first_day <= day and (found.last_day is None or day <= found.last_day)

    def _render_step(self, run: ProcessRun, day: int, desk: "_DayDraft") -> None:
        desk.add(self.player.render_step(run, day))
        if run.thread.is_over:
            desk.ended.append(run.thread)
            self._asides.plan_mentions(run, day)


class _DayDraft:
    """The blocks of a day as they come in, up to about so many words."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._words = 0
        self.blocks: list[DayBlock] = []
        self.begun: list[Thread] = []
        self.ended: list[Thread] = []

    @property
    def is_full(self) -> bool:
        return self._words >= self._target

    @property
    def is_overfull(self) -> bool:
        return self._words >= _OVERFULL * self._target

    def add(self, block: DayBlock | None) -> None:
        if block is not None and block.text:
            self.blocks.append(block)
            self._words += block.words


def _group_by_day(
    found: list[ActiveArc],
) -> dict[int, list[tuple[ActiveArc, str, AuthoredDirective]]]:
    due: dict[int, list[tuple[ActiveArc, str, AuthoredDirective]]] = {}
    for plot in found:
        for day, name, directive in iterate_directives(plot):
            due.setdefault(day, []).append((plot, name, directive))
    return due
