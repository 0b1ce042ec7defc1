"""What is written besides the work: datelines, colour, and things come back to."""

from dataclasses import dataclass, field
from heapq import heappop, heappush

from recall_bench.core.question import PRINCIPAL
from recall_bench.world.arcs import Plot
from recall_bench.world.chance import Chance
from recall_bench.world.narration import Block, Prose, chosen, written
from recall_bench.world.routine import Run
from recall_bench.world.settings import Knobs
from recall_bench.world.sources import Topic, Variants, Voice
from recall_bench.world.stage import Scene, Stage
from recall_bench.world.templates import Told

_ECHO, _RESTATE = "echo", "restate"


@dataclass(slots=True)
class _Session:
    """The loose ends of one session on one day."""

    prose: Prose = field(default_factory=Prose)
    threads: list[str] = field(default_factory=list)


class Asides:
    """Writes what carries no new fact."""

    def __init__(self, stage: Stage, voice: Voice, knobs: Knobs) -> None:
        self._stage = stage
        self._voice = voice
        self._knobs = knobs
        self._chance = Chance(knobs.seed, "asides")
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
        if run.process.restates and is_kept and self._chance.happens(self._knobs.restatements):
            self._plan(run, day + self._chance.between(14, 100), _RESTATE)

    def loose_ends(self, day: int, plots: list[Plot]) -> list[tuple[Block, tuple[str, ...]]]:
        """Blocks of things come back to, each with the threads it names."""
        found: dict[str, _Session] = {}
        while self._waiting and self._waiting[0][0] <= day:
            _, number, kind = heappop(self._waiting)
            run = self._runs.pop(number)
            scene = Scene(self._stage, day, run.thread)
            lines = run.process.echoes if kind == _ECHO else run.process.restates
            _add(found, run.process.session, scene, chosen(scene, lines))
        for plot in plots:
            if self._is_rippling(plot, day):
                scene = Scene(self._stage, day, plot.thread)
                told = chosen(scene, plot.ripples.pop())
                _add(found, plot.arc.primary_session, scene, told)
        return [
            (self._block(session, own, day), tuple(own.threads)) for session, own in found.items()
        ]

    def _is_rippling(self, plot: Plot, day: int) -> bool:
        if not (plot.ripples and plot.is_active(day) and plot.thread.happenings):
            return False
        if plot.thread.last_named == day:
            return False
        length = max(1, plot.arc.end_day - plot.arc.start_day)
        return self._chance.happens(1.2 * len(plot.arc.ripples) / length)

    def _block(self, session: str, own: _Session, day: int) -> Block:
        heading = chosen(Scene(self._stage, day), self._voice.loose_ends).text
        return Block(
            session=session,
            heading=heading,
            text=own.prose.text,
            tellings=tuple(own.prose.tellings),
        )

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


def _add(found: dict[str, _Session], session: str, scene: Scene, told: Told) -> None:
    own = found.setdefault(session, _Session())
    own.prose.paragraph()
    own.prose.add(told, scene)
    if scene.thread is not None:
        scene.thread.last_named = scene.day
        own.threads.append(scene.thread.key)
