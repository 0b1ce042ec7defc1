"""What is written besides the work: datelines, colour, and things come back to."""

from collections.abc import Iterator
from heapq import heappop, heappush

from recall_bench.core.question import PRINCIPAL
from recall_bench.world.arcs import Plot
from recall_bench.world.chance import Chance
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import Block, chosen, written
from recall_bench.world.routine import Run
from recall_bench.world.sources import Topic, Variants, Voice
from recall_bench.world.stage import Scene, Stage

_LATEST = 10
"""Days a mention may wait for its turn."""

_ECHO, _RESTATE = "echo", "restate"


class Asides:
    """Writes what carries no new fact."""

    def __init__(self, stage: Stage, voice: Voice, *, restatements: float) -> None:
        self._stage = stage
        self._voice = voice
        self._restatements = restatements
        self._chance = Chance(stage.seed, "asides")
        self._waiting: list[tuple[int, int, str]] = []
        self._runs: dict[int, Run] = {}
        self._count = 0

    def dateline(self, day: int) -> Block:
        """How the day opens; it gives the date."""
        topic = self._next("datelines", self._voice.datelines)
        return self._topic(topic, day, PRINCIPAL)

    def colour(self, day: int, *, is_quiet: bool) -> Block | None:
        """A small topic, on most days."""
        if not self._chance.happens(0.8 if is_quiet else 0.6):
            return None
        kind = "quiet" if is_quiet else "colour"
        topic = self._next(kind, self._voice.quiet if is_quiet else self._voice.colour)
        return self._topic(topic, day, topic.session)

    def remember(self, run: Run, day: int) -> None:
        """Plan whether and when a run that has ended is spoken of again."""
        if run.process.echoes and self._chance.happens(0.35):
            self._plan(run, day + self._chance.between(2, 60), _ECHO)
        is_kept = not any(step.forgets for step in run.process.steps)
        if run.process.restates and is_kept and self._chance.happens(self._restatements):
            self._plan(run, day + self._chance.between(14, 100), _RESTATE)

    def loose_ends(self, day: int, plots: list[Plot]) -> Iterator[Block]:
        """Things come back to: at most one in a session, so that no two threads are named together.

        What finds its session taken waits for another day, and is let go if that is too long: a
        thread that has been silent for months must not come up again.
        """
        taken: set[str] = set()
        waiting: list[tuple[int, int, str]] = []
        while self._waiting and self._waiting[0][0] <= day:
            mention = heappop(self._waiting)
            due, number, kind = mention
            if day - due > _LATEST:
                del self._runs[number]
                continue
            session = self._runs[number].process.session
            if session in taken:
                waiting.append(mention)
            else:
                taken.add(session)
                yield self._mentioned(self._runs.pop(number), kind, day)
        for mention in waiting:
            heappush(self._waiting, mention)
        for plot in plots:
            session = plot.arc.primary_session
            if session not in taken and self._is_rippling(plot, day):
                taken.add(session)
                yield self._loose(session, plot.thread, plot.ripples.pop(), day)

    def _mentioned(self, run: Run, kind: str, day: int) -> Block:
        lines = run.process.echoes if kind == _ECHO else run.process.restates
        return self._loose(run.process.session, run.thread, lines, day)

    def _loose(self, session: str, thread: Thread, lines: Variants, day: int) -> Block:
        thread.last_named = day
        prose = written(Scene(self._stage, day, thread, session), [lines])
        return Block(
            session=session,
            heading=chosen(Scene(self._stage, day), self._voice.loose_ends).text,
            text=prose.text,
            tellings=tuple(prose.tellings),
        )

    def _is_rippling(self, plot: Plot, day: int) -> bool:
        if not (plot.ripples and plot.is_active(day) and plot.thread.happenings):
            return False
        if plot.thread.last_named == day:
            return False
        length = max(1, plot.arc.end_day - plot.arc.start_day)
        return self._chance.happens(1.2 * len(plot.arc.ripples) / length)

    def _plan(self, run: Run, day: int, kind: str) -> None:
        self._count += 1
        self._runs[self._count] = run
        heappush(self._waiting, (day, self._count, kind))

    def _next(self, name: str, topics: list[Topic]) -> Topic:
        return topics[self._stage.deck.index(name, 0, len(topics))]

    def _topic(self, topic: Topic, day: int, session: str) -> Block:
        scene = Scene(self._stage, day)
        parts: list[Variants] = [topic.text] if isinstance(topic.text, str) else list(topic.text)
        heading = chosen(scene, topic.heading).text or self._stage.dates.heading(day)
        return Block(session=session, heading=heading, text=written(scene, parts).text)
