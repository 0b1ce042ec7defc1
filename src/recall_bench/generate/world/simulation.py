"""The play: day by day, what happens is decided, told, and entered in the ledger."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from heapq import heappop, heappush

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.generate.world.arcs import (
    ActiveArc,
    build_arcs,
    iterate_directives,
    render_directive,
)
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.context import FillContext, WorldContext
from recall_bench.generate.world.day_text import (
    DayBlock,
    LogPage,
    build_page,
    record_page,
    render_parts,
    render_variant,
)
from recall_bench.generate.world.fact_values import Dates
from recall_bench.generate.world.ledger import Thread
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.routine import ProcessRun, RoutineSimulator
from recall_bench.generate.world.sources import (
    AuthoredDirective,
    Variants,
    Voice,
    VoiceTopic,
    WorldOptions,
    WorldSession,
    WorldSources,
)
from recall_bench.generate.world.templates import AlternativePicker

_WORDS = {"quiet": (60, 170), "normal": (330, 640), "busy": (520, 850), "dense": (850, 1250)}
"""How many words a day aims at, by its level."""

_SWINGS: dict[str, tuple[tuple[str, float], ...]] = {
    "off": (("quiet", 0.12),),
    "quiet": (("normal", 0.08),),
    "normal": (("busy", 0.16), ("quiet", 0.05), ("dense", 0.03)),
    "busy": (("dense", 0.16), ("normal", 0.1)),
    "dense": (),
}
"""What a day of one level may turn out to be instead, and how often."""


class DayPace:
    """The level of each day and the words it aims at."""

    def __init__(
        self,
        week: Sequence[str],
        away: Sequence[tuple[int, int]],
        dates: Dates,
        *,
        seed: int,
        density: float,
    ) -> None:
        self._week = week
        self._away = away
        self._dates = dates
        self._density = density
        self._chance = RandomStream(seed, "days")

    def draw_level(self, day: int, *, is_due: bool) -> str:
        """The day's level; a day on which something must be told is never off."""
        if any(first <= day <= last for first, last in self._away):
            return "quiet" if is_due else "off"
        usual = self._week[self._dates.get_weekday(day)]
        level = usual
        for other, probability in _SWINGS[usual]:
            if self._chance.is_hit(probability):
                level = other
                break
        if day == 1:
            return "busy"
        return "quiet" if level == "off" and is_due else level

    def draw_word_count(self, level: str) -> int:
        """How many words a day of this level aims at."""
        low, high = _WORDS[level]
        return int(self._chance.draw_between(low, high) * self._density)


_MENTION_DELAY = 10
"""Days a mention may wait for its turn."""

_ECHO, _RESTATE = "echo", "restate"


class SideNotes:
    """Writes what carries no new fact."""

    def __init__(self, stage: WorldContext, voice: Voice, *, restatements: float) -> None:
        self._stage = stage
        self._voice = voice
        self._restatements = restatements
        self._chance = RandomStream(stage.seed, "asides")
        self._waiting: list[tuple[int, int, str]] = []
        self._runs: dict[int, ProcessRun] = {}
        self._count = 0

    def render_dateline(self, day: int) -> DayBlock:
        """How the day opens; it gives the date."""
        topic = self._pick_topic("datelines", self._voice.datelines)
        return self._render_topic(topic, day, PRINCIPAL)

    def render_small_topic(self, day: int, *, is_quiet: bool) -> DayBlock | None:
        """A small topic, on most days."""
        if not self._chance.is_hit(0.8 if is_quiet else 0.6):
            return None
        kind = "quiet" if is_quiet else "colour"
        topic = self._pick_topic(kind, self._voice.quiet if is_quiet else self._voice.colour)
        return self._render_topic(topic, day, topic.session)

    def plan_mentions(self, run: ProcessRun, day: int) -> None:
        """Plan whether and when a run that has ended is spoken of again."""
        if run.process.echoes and self._chance.is_hit(0.35):
            self._plan_mention(run, day + self._chance.draw_between(2, 60), _ECHO)
        is_kept = not any(step.forgets for step in run.process.steps)
        if run.process.restates and is_kept and self._chance.is_hit(self._restatements):
            self._plan_mention(run, day + self._chance.draw_between(14, 100), _RESTATE)

    def render_loose_ends(self, day: int, plots: list[ActiveArc]) -> Iterator[DayBlock]:
        """Things come back to: at most one in a session, so that no two threads are named together.

        What finds its session taken waits for another day, and is let go if that is too long: a
        thread that has been silent for months must not come up again.
        """
        taken: set[str] = set()
        waiting: list[tuple[int, int, str]] = []
        while self._waiting and self._waiting[0][0] <= day:
            mention = heappop(self._waiting)
            due, number, kind = mention
            if day - due > _MENTION_DELAY:
                del self._runs[number]
                continue
            session = self._runs[number].process.session
            if session in taken:
                waiting.append(mention)
            else:
                taken.add(session)
                yield self._render_mention(self._runs.pop(number), kind, day)
        for mention in waiting:
            heappush(self._waiting, mention)
        for plot in plots:
            session = plot.arc.primary_session
            if session not in taken and self._is_ripple_due(plot, day):
                taken.add(session)
                yield self._render_loose_end(session, plot.thread, plot.ripples.pop(), day)

    def _render_mention(self, run: ProcessRun, kind: str, day: int) -> DayBlock:
        lines = run.process.echoes if kind == _ECHO else run.process.restates
        return self._render_loose_end(run.process.session, run.thread, lines, day)

    def _render_loose_end(
        self, session: str, thread: Thread, lines: Variants, day: int
    ) -> DayBlock:
        thread.last_named = day
        prose = render_parts(FillContext(self._stage, day, thread, session), [lines])
        return DayBlock(
            session=session,
            heading=render_variant(FillContext(self._stage, day), self._voice.loose_ends).text,
            text=prose.text,
            tellings=tuple(prose.tellings),
        )

    def _is_ripple_due(self, plot: ActiveArc, day: int) -> bool:
        if not (plot.ripples and plot.is_active(day) and plot.thread.happenings):
            return False
        if plot.thread.last_named == day:
            return False
        length = max(1, plot.arc.end_day - plot.arc.start_day)
        return self._chance.is_hit(1.2 * len(plot.arc.ripples) / length)

    def _plan_mention(self, run: ProcessRun, day: int, kind: str) -> None:
        self._count += 1
        self._runs[self._count] = run
        heappush(self._waiting, (day, self._count, kind))

    def _pick_topic(self, name: str, topics: list[VoiceTopic]) -> VoiceTopic:
        return topics[self._stage.deck.pick_index(name, 0, len(topics))]

    def _render_topic(self, topic: VoiceTopic, day: int, session: str) -> DayBlock:
        scene = FillContext(self._stage, day)
        parts: list[Variants] = [topic.text] if isinstance(topic.text, str) else list(topic.text)
        heading = render_variant(scene, topic.heading).text or self._stage.dates.format_heading(day)
        return DayBlock(session=session, heading=heading, text=render_parts(scene, parts).text)


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
