"""What is written besides the work: datelines, colour, and things come back to."""

from collections.abc import Iterator
from heapq import heappop, heappush

from recall_bench.core.question import PRINCIPAL
from recall_bench.world.arcs import ActiveArc
from recall_bench.world.chance import RandomStream
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import DayBlock, render_parts, render_variant
from recall_bench.world.routine import ProcessRun
from recall_bench.world.sources import Variants, Voice, VoiceTopic
from recall_bench.world.stage import FillContext, WorldContext

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
