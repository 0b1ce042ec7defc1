"""The play: day by day, what happens is decided, told, and entered in the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from recall_bench.world.arcs import Plot, directives, plots, tell
from recall_bench.world.asides import Asides
from recall_bench.world.bookkeeping import enter
from recall_bench.world.casting import Cast
from recall_bench.world.chance import Chance
from recall_bench.world.dates import Dates
from recall_bench.world.knobs import Knobs
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import Block, Page, page
from recall_bench.world.pacing import Pace
from recall_bench.world.routine import Player, Run
from recall_bench.world.sources import Directive, Session, Sources
from recall_bench.world.stage import Stage
from recall_bench.world.templates import Deck

_MOST_STARTS = 24
_PATIENCE = 4
"""Days a step waits for a day with room, before it goes into one without."""
_OVERFULL = 1.4
"""How far beyond its words a day is filled even so."""


@dataclass(slots=True)
class Played:
    """One day as it was played: its page, and the threads that began or ended with it."""

    page: Page
    begun: list[Thread] = field(default_factory=list)
    ended: list[Thread] = field(default_factory=list)


class Play:
    """A persona's life under one seed. It holds the threads that go on, not those that ended."""

    def __init__(self, sources: Sources, knobs: Knobs, epoch: date) -> None:
        persona = sources.persona
        self._knobs = knobs
        # Two stories of one persona under one seed have nothing drawn alike.
        self.seed = Chance(knobs.seed, persona.id, sources.arcs_name).word()
        self.dates = Dates(epoch, persona.dates)
        self.cast = Cast(persona.cast)
        self.stage = Stage(
            seed=self.seed,
            is_authored=knobs.seed == 0,
            cast=self.cast,
            words={**sources.voice.words, **sources.routine.words},
            dates=self.dates,
            deck=Deck(self.seed),
            where=persona.id,
            week=persona.week,
        )
        self.sessions: dict[str, Session] = {session.id: session for session in persona.sessions}
        self.plots = plots(sources.story.arcs, self.stage)
        threads = [plot.thread for plot in self.plots]
        self.player = Player(
            self.stage,
            sources.routine,
            taken=[name for thread in threads for name in (thread.name, *thread.called)],
            distractors=knobs.distractors,
        )
        self._asides = Asides(self.stage, sources.voice, restatements=knobs.restatements)
        self._pace = Pace(
            persona.week, sources.story.away, self.dates, seed=self.seed, density=knobs.density
        )
        self._picks = Chance(self.seed, "picks")
        self._due = _by_day(self.plots)

    def days(self) -> Iterator[Played]:
        """Every day that has a page, in order."""
        for day in range(1, self._knobs.days + 1):
            level = self._pace.level(day, is_due=day in self._due)
            if level != "off":
                yield self._day(day, level)

    def _day(self, day: int, level: str) -> Played:
        desk = _Sheet(self._pace.words(level))
        desk.put(self._asides.dateline(day))
        for plot, name, directive in self._due.get(day, ()):
            desk.put(tell(plot, name, directive, self.stage))
            if plot.thread.first_step == name:
                desk.begun.append(plot.thread)
            if name == f"d{len(plot.arc.directives) - 1:02}":
                desk.ended.append(plot.thread)
        for run in list(self.player.due(day)):
            is_late = run.due <= day - _PATIENCE
            if not desk.is_full or (is_late and not desk.is_overfull):
                self._step(run, day, desk)
        desk.put(self._asides.colour(day, is_quiet=level == "quiet"))
        self._start(day, level, desk)
        for block in self._asides.loose_ends(day, self.plots):
            desk.put(block)
        sheet = page(day, desk.blocks, tuple(self.sessions))
        enter(sheet)
        return Played(sheet, desk.begun, desk.ended)

    def _start(self, day: int, level: str, desk: "_Sheet") -> None:
        if level == "quiet" and self._picks.happens(0.6):
            return
        today: dict[str, int] = {}
        for _ in range(_MOST_STARTS):
            choice = None if desk.is_full else self._pick(day, today)
            if choice is None:
                return
            today[choice] = today.get(choice, 0) + 1
            run = self.player.start(choice, day)
            if run is not None:
                desk.begun.append(run.thread)
                self._step(run, day, desk)

    def _pick(self, day: int, today: dict[str, int]) -> str | None:
        names, weights = [], []
        for process in self.player.processes.values():
            if self._is_open(process.session, day):
                names.append(process.id)
                already = today.get(process.id, 0)
                weights.append(max(1, round(10**9 * process.share) * 12**already // 100**already))
        return names[self._picks.weighted(weights)] if names else None

    def _is_open(self, session: str, day: int) -> bool:
        found = self.sessions.get(session)
        if found is None:
            return True
        return found.first_day <= day and (found.last_day is None or day <= found.last_day)

    def _step(self, run: Run, day: int, desk: "_Sheet") -> None:
        desk.put(self.player.tell(run, day))
        if run.thread.is_over:
            desk.ended.append(run.thread)
            self._asides.remember(run, day)


class _Sheet:
    """The blocks of a day as they come in, up to about so many words."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._words = 0
        self.blocks: list[Block] = []
        self.begun: list[Thread] = []
        self.ended: list[Thread] = []

    @property
    def is_full(self) -> bool:
        return self._words >= self._target

    @property
    def is_overfull(self) -> bool:
        return self._words >= _OVERFULL * self._target

    def put(self, block: Block | None) -> None:
        if block is not None and block.text:
            self.blocks.append(block)
            self._words += block.words


def _by_day(found: list[Plot]) -> dict[int, list[tuple[Plot, str, Directive]]]:
    due: dict[int, list[tuple[Plot, str, Directive]]] = {}
    for plot in found:
        for day, name, directive in directives(plot):
            due.setdefault(day, []).append((plot, name, directive))
    return due
