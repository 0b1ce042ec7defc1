"""The everyday: processes that begin, go on for some days, and end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from recall_bench.world.chance import Chance
from recall_bench.world.drawing import Draw
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import Acts, Block, chosen, written
from recall_bench.world.sources import Process, Routine, Step
from recall_bench.world.stage import Scene, Stage, template
from recall_bench.world.values import Value

_NAME_TRIES = 12


@dataclass(slots=True)
class Run:
    """One run of a process while it goes on."""

    thread: Thread
    process: Process
    steps: list[Step]
    """What is still to come, in order."""
    due: int
    started: int


class Player:
    """Starts runs of processes and tells their steps."""

    def __init__(
        self, stage: Stage, routine: Routine, *, taken: Iterable[str], distractors: float
    ) -> None:
        self._stage = stage
        self._distractors = distractors
        self.processes = {process.id: process for process in routine.processes}
        self._draws = {process.id: Draw(stage, process) for process in routine.processes}
        self._chances = {
            process.id: Chance(stage.seed, "process", process.id) for process in routine.processes
        }
        self._counts = dict.fromkeys(self.processes, 0)
        self._used = {_key(name) for name in taken}
        self._last: dict[str, dict[str, list[Value]]] = {}
        self.running: list[Run] = []

    def start(self, process_id: str, day: int) -> Run | None:
        """A new run of the process; None if no name is left that nobody has."""
        process = self.processes[process_id]
        chance = self._chances[process_id]
        like = self._last.get(process_id)
        is_wanted = like is not None and chance.happens(self._distractors)
        for attempt in range(_NAME_TRIES):
            is_double = is_wanted and attempt == 0
            held = self._draws[process_id].all(day, chance, like if is_double else None)
            run = self._run(process, held, day)
            if run is not None:
                self._last[process_id] = held
                self._draws[process_id].serials.keep()
                self.running.append(run)
                return run
        return None

    def due(self, day: int) -> Iterator[Run]:
        """Runs with a step to tell by this day, the most overdue first."""
        waiting = (run for run in self.running if run.due <= day)
        yield from sorted(waiting, key=lambda run: (run.due, run.thread.key))

    def tell(self, run: Run, day: int) -> Block:
        """The next step of the run, as a block."""
        step = run.steps.pop(0)
        chance = self._chances[run.process.id]
        for name in step.changes:
            draw = self._draws[run.process.id]
            value = draw.another(name, run.started, day, chance, run.thread.held)
            if value is not None:
                run.thread.held[name].append(value)
        session = step.session or run.process.session
        scene = Scene(self._stage, day, run.thread, session)
        if not run.thread.first_step:
            run.thread.first_step = step.id
        heading = chosen(scene, step.heading).text
        prose = written(scene, step.text)
        run.steps = [later for later in run.steps if not _undoes(later, step)]
        self._advance(run, day, chance)
        return Block(
            session=session,
            heading=heading,
            text=prose.text,
            tellings=tuple(prose.tellings),
            thread=run.thread,
            step=step.id,
            acts=Acts(reveals=tuple(step.reveals), forgets=tuple(step.forgets)),
        )

    def _advance(self, run: Run, day: int, chance: Chance) -> None:
        while run.steps and not chance.happens(run.steps[0].chance):
            run.steps.pop(0)
        if run.steps:
            low, high = (run.steps[0].after * 2)[:2]
            run.due = day + max(1, chance.between(low, high))
        else:
            run.thread.is_over = True
            self.running.remove(run)

    def _run(self, process: Process, held: dict[str, list[Value]], day: int) -> Run | None:
        thread = Thread(
            key=f"{process.id}-{self._counts[process.id] + 1:04}",
            source=process.id,
            name="",
            called=(),
            session=process.session,
            slots=process.slots,
            whens={step.id: step.when for step in process.steps if step.when is not None},
            held=held,
            optional={step.id: step for step in process.steps if step.did},
        )
        scene = Scene(self._stage, day, thread)
        thread.name = self._stage.deck.tell(template(process.name), scene).text
        if _key(thread.name) in self._used:
            return None
        variants = [process.called] if isinstance(process.called, str) else process.called
        ways = dict.fromkeys(self._stage.deck.tell(template(way), scene).text for way in variants)
        thread.called = tuple(ways)
        if any(_key(way) in self._used for way in ways):
            return None
        self._used |= {_key(thread.name), *map(_key, ways)}
        self._counts[process.id] += 1
        return Run(thread, process, list(process.steps), due=day, started=day)


def _key(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()


def _undoes(later: Step, step: Step) -> bool:
    """Whether a later step would tell what was to be forgotten, or forget what everybody knows."""
    return bool(set(later.reveals) & set(step.forgets) or set(later.forgets) & set(step.reveals))
