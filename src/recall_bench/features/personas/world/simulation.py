"""The simulation: each day's events are drawn, written down, and entered in the ledger."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from heapq import heappop, heappush

from recall_bench.core.random_stream import RandomStream, derive_seed
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.personas.world.arcs import (
    ActiveArc,
    build_arcs,
    iterate_directives,
    render_directive,
)
from recall_bench.features.personas.world.cast import Cast
from recall_bench.features.personas.world.context import FillContext, WorldContext
from recall_bench.features.personas.world.day_text import (
    DayBlock,
    LogPage,
    build_page,
    record_page,
    render_parts,
    render_variant,
)
from recall_bench.features.personas.world.fact_values import Dates
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.routine import ProcessRun, RoutineSimulator
from recall_bench.features.personas.world.sources import (
    AuthoredDirective,
    Variants,
    Voice,
    VoiceTopic,
    WorldOptions,
    WorldSession,
    WorldSources,
)
from recall_bench.features.personas.world.templates import AlternativePicker

_WORDS = {"quiet": (60, 170), "normal": (330, 640), "busy": (520, 850), "dense": (850, 1250)}
"""Target range of words, by level of the day."""

_SWINGS: dict[str, tuple[tuple[str, float], ...]] = {
    "off": (("quiet", 0.12),),
    "quiet": (("normal", 0.08),),
    "normal": (("busy", 0.16), ("quiet", 0.05), ("dense", 0.03)),
    "busy": (("dense", 0.16), ("normal", 0.1)),
    "dense": (),
}
"""Levels a day may have instead of its usual one, with their probabilities."""


class DayPace:
    """Draws the level of each day and its target number of words."""

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
        """The day's level; a day with something due is never off."""
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
        """The target number of words of a day."""
        low, high = _WORDS[level]
        return int(self._chance.draw_between(low, high) * self._density)


_MENTION_DELAY = 10
"""Days a mention may be delayed before it is dropped."""

_ECHO, _RESTATE = "echo", "restate"


class SideNotes:
    """Writes text without new facts: datelines, small topics, later mentions of threads."""

    def __init__(self, world: WorldContext, voice: Voice, *, restatements: float) -> None:
        self._world = world
        self._voice = voice
        self._restatements = restatements
        self._chance = RandomStream(world.seed, "asides")
        self._waiting: list[tuple[int, int, str]] = []
        self._runs: dict[int, ProcessRun] = {}
        self._count = 0

    def render_dateline(self, day: int) -> DayBlock:
        """The opening block, which gives the date."""
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
        """Decide whether and when an ended run is mentioned again."""
        if run.process.echoes and self._chance.is_hit(0.35):
            self._plan_mention(run, day + self._chance.draw_between(2, 60), _ECHO)
        is_kept = not any(step.forgets for step in run.process.steps)
        if run.process.restates and is_kept and self._chance.is_hit(self._restatements):
            self._plan_mention(run, day + self._chance.draw_between(14, 100), _RESTATE)

    def render_loose_ends(self, day: int, active_arcs: list[ActiveArc]) -> Iterator[DayBlock]:
        """Mentions that are due: at most one per session, so that no block names two threads.

        A mention whose session is taken waits for another day and is dropped after too long: a
        thread silent for months must not come up again.
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
        for active in active_arcs:
            session = active.arc.primary_session
            if session not in taken and self._is_ripple_due(active, day):
                taken.add(session)
                yield self._render_loose_end(session, active.thread, active.ripples.pop(), day)

    def _render_mention(self, run: ProcessRun, kind: str, day: int) -> DayBlock:
        lines = run.process.echoes if kind == _ECHO else run.process.restates
        return self._render_loose_end(run.process.session, run.thread, lines, day)

    def _render_loose_end(
        self, session: str, thread: Thread, lines: Variants, day: int
    ) -> DayBlock:
        thread.last_named = day
        prose = render_parts(FillContext(self._world, day, thread, session), [lines])
        return DayBlock(
            session=session,
            heading=render_variant(FillContext(self._world, day), self._voice.loose_ends).text,
            text=prose.text,
            mentions=tuple(prose.mentions),
        )

    def _is_ripple_due(self, active: ActiveArc, day: int) -> bool:
        if not (active.ripples and active.is_active(day) and active.thread.events):
            return False
        if active.thread.last_named == day:
            return False
        length = max(1, active.arc.end_day - active.arc.start_day)
        return self._chance.is_hit(1.2 * len(active.arc.ripples) / length)

    def _plan_mention(self, run: ProcessRun, day: int, kind: str) -> None:
        self._count += 1
        self._runs[self._count] = run
        heappush(self._waiting, (day, self._count, kind))

    def _pick_topic(self, name: str, topics: list[VoiceTopic]) -> VoiceTopic:
        return topics[self._world.picker.pick_index(name, 0, len(topics))]

    def _render_topic(self, topic: VoiceTopic, day: int, session: str) -> DayBlock:
        context = FillContext(self._world, day)
        parts: list[Variants] = [topic.text] if isinstance(topic.text, str) else list(topic.text)
        heading = render_variant(context, topic.heading).text or self._world.dates.format_heading(
            day
        )
        return DayBlock(session=session, heading=heading, text=render_parts(context, parts).text)


_MOST_STARTS = 24
_MAX_DELAY = 4
"""Days a step waits for room before it goes into a full day."""
_OVERFULL = 1.4
"""How far beyond its target a day may then be filled."""


@dataclass(slots=True)
class SimulatedDay:
    """One simulated day: its page, and the threads that started or ended on it."""

    page: LogPage
    started: list[Thread] = field(default_factory=list)
    ended: list[Thread] = field(default_factory=list)


class Simulation:
    """A persona's story under one seed; it holds active threads only, not ended ones."""

    def __init__(self, sources: WorldSources, options: WorldOptions, epoch: date) -> None:
        persona = sources.persona
        self._options = options
        # Two stories of one persona under one seed share no draws.
        self.seed = derive_seed(options.seed, persona.id, sources.arcs_name)
        self.dates = Dates(epoch, persona.dates)
        self.cast = Cast(persona.cast)
        self.world = WorldContext(
            seed=self.seed,
            is_authored=options.seed == 0,
            cast=self.cast,
            words={**sources.voice.words, **sources.routine.words},
            dates=self.dates,
            picker=AlternativePicker(self.seed),
            where=persona.id,
            week=persona.week,
        )
        self.sessions: dict[str, WorldSession] = {
            session.id: session for session in persona.sessions
        }
        self.active_arcs = build_arcs(sources.story.arcs, self.world)
        threads = [active.thread for active in self.active_arcs]
        self.routine = RoutineSimulator(
            self.world,
            sources.routine,
            taken=[name for thread in threads for name in (thread.name, *thread.called)],
            distractors=options.distractors,
        )
        self._side_notes = SideNotes(self.world, sources.voice, restatements=options.restatements)
        self._pace = DayPace(
            persona.week, sources.story.away, self.dates, seed=self.seed, density=options.density
        )
        self._picks = RandomStream(self.seed, "picks")
        self._due = _group_by_day(self.active_arcs)

    def simulate_days(self) -> Iterator[SimulatedDay]:
        """Every day that has a page, in order."""
        for day in range(1, self._options.days + 1):
            level = self._pace.draw_level(day, is_due=day in self._due)
            if level != "off":
                yield self._simulate_day(day, level)

    def _simulate_day(self, day: int, level: str) -> SimulatedDay:
        draft = _DayDraft(self._pace.draw_word_count(level))
        draft.add(self._side_notes.render_dateline(day))
        for active, name, directive in self._due.get(day, ()):
            draft.add(render_directive(active, name, directive, self.world))
            if active.thread.first_step == name:
                draft.started.append(active.thread)
            if name == f"d{len(active.arc.directives) - 1:02}":
                draft.ended.append(active.thread)
        for run in list(self.routine.list_due(day)):
            is_late = run.due <= day - _MAX_DELAY
            if not draft.is_full or (is_late and not draft.is_overfull):
                self._render_step(run, day, draft)
        draft.add(self._side_notes.render_small_topic(day, is_quiet=level == "quiet"))
        self._start_runs(day, level, draft)
        for block in self._side_notes.render_loose_ends(day, self.active_arcs):
            draft.add(block)
        page = build_page(day, draft.blocks, tuple(self.sessions))
        record_page(page)
        return SimulatedDay(page, draft.started, draft.ended)

    def _start_runs(self, day: int, level: str, draft: "_DayDraft") -> None:
        if level == "quiet" and self._picks.is_hit(0.6):
            return
        today: dict[str, int] = {}
        for _ in range(_MOST_STARTS):
            choice = None if draft.is_full else self._pick_process(day, today)
            if choice is None:
                return
            today[choice] = today.get(choice, 0) + 1
            run = self.routine.start(choice, day)
            if run is not None:
                draft.started.append(run.thread)
                self._render_step(run, day, draft)

    def _pick_process(self, day: int, today: dict[str, int]) -> str | None:
        names, weights = [], []
        for process in self.routine.processes.values():
            if self._is_open(process.session, day):
                names.append(process.id)
                already = today.get(process.id, 0)
                weights.append(max(1, round(10**9 * process.share) * 12**already // 100**already))
        return names[self._picks.choose_by_weight(weights)] if names else None

    def _is_open(self, session: str, day: int) -> bool:
        sessions = self.sessions.get(session)
        if sessions is None:
            return True
        return sessions.first_day <= day and (sessions.last_day is None or day <= sessions.last_day)

    def _render_step(self, run: ProcessRun, day: int, draft: "_DayDraft") -> None:
        draft.add(self.routine.render_step(run, day))
        if run.thread.is_over:
            draft.ended.append(run.thread)
            self._side_notes.plan_mentions(run, day)


class _DayDraft:
    """The blocks of a day under construction, up to about the target number of words."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._words = 0
        self.blocks: list[DayBlock] = []
        self.started: list[Thread] = []
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
    for active in found:
        for day, name, directive in iterate_directives(active):
            due.setdefault(day, []).append((active, name, directive))
    return due
