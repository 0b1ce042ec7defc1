"""The everyday: processes that begin, go on for some days, and end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from recall_bench.world.chance import RandomStream
from recall_bench.world.drawing import SlotSampler
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import AccessChanges, DayBlock, render_parts, render_variant
from recall_bench.world.sources import ProcessStep, Routine, RoutineProcess
from recall_bench.world.stage import FillContext, WorldContext, get_template
from recall_bench.world.values import FactValue

_NAME_TRIES = 12


@dataclass(slots=True)
class ProcessRun:
    """One run of a process while it goes on."""

    thread: Thread
    process: RoutineProcess
    steps: list[ProcessStep]
    """What is still to come, in order."""
    due: int
    started: int


class RoutineSimulator:
    """Starts runs of processes and tells their steps."""

    def __init__(
        self, stage: WorldContext, routine: Routine, *, taken: Iterable[str], distractors: float
    ) -> None:
        self._stage = stage
        self._distractors = distractors
        self.processes = {process.id: process for process in routine.processes}
        self._draws = {process.id: SlotSampler(stage, process) for process in routine.processes}
        self._chances = {
            process.id: RandomStream(stage.seed, "process", process.id)
            for process in routine.processes
        }
        self._counts = dict.fromkeys(self.processes, 0)
        self._used = {_hash_name(name) for name in taken}
        self._last: dict[str, dict[str, list[FactValue]]] = {}
        self.running: list[ProcessRun] = []

    def start(self, process_id: str, day: int) -> ProcessRun | None:
        """A new run of the process; None if no name is left that nobody has."""
        process = self.processes[process_id]
        chance = self._chances[process_id]
        like = self._last.get(process_id)
        is_wanted = like is not None and chance.is_hit(self._distractors)
        for attempt in range(_NAME_TRIES):
            is_double = is_wanted and attempt == 0
            held = self._draws[process_id].draw_all(day, chance, like if is_double else None)
            run = self._build_run(process, held, day)
            if run is not None:
                self._last[process_id] = held
                self._draws[process_id].serials.keep()
                self.running.append(run)
                return run
        return None

    def list_due(self, day: int) -> Iterator[ProcessRun]:
        """Runs with a step to tell by this day, the most overdue first."""
        waiting = (run for run in self.running if run.due <= day)
        yield from sorted(waiting, key=lambda run: (run.due, run.thread.key))

    def render_step(self, run: ProcessRun, day: int) -> DayBlock:
        """The next step of the run, as a block."""
        step = run.steps.pop(0)
        chance = self._chances[run.process.id]
        for name in step.changes:
            draw = self._draws[run.process.id]
            value = draw.draw_other(name, run.started, day, chance, run.thread.held)
            if value is not None:
                run.thread.held[name].append(value)
        session = step.session or run.process.session
        scene = FillContext(self._stage, day, run.thread, session)
        if not run.thread.first_step:
            run.thread.first_step = step.id
        heading = render_variant(scene, step.heading).text
        prose = render_parts(scene, step.text)
        run.steps = [later for later in run.steps if not _is_contrary(later, step)]
        self._schedule_next(run, day, chance)
        return DayBlock(
            session=session,
            heading=heading,
            text=prose.text,
            tellings=tuple(prose.tellings),
            thread=run.thread,
            step=step.id,
            acts=AccessChanges(reveals=tuple(step.reveals), forgets=tuple(step.forgets)),
        )

    def _schedule_next(self, run: ProcessRun, day: int, chance: RandomStream) -> None:
        while run.steps and not chance.is_hit(run.steps[0].chance):
            run.steps.pop(0)
        if run.steps:
            low, high = (run.steps[0].after * 2)[:2]
            run.due = day + max(1, chance.draw_between(low, high))
        else:
            run.thread.is_over = True
            self.running.remove(run)

    def _build_run(
        self, process: RoutineProcess, held: dict[str, list[FactValue]], day: int
    ) -> ProcessRun | None:
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
        scene = FillContext(self._stage, day, thread)
        thread.name = self._stage.deck.render(get_template(process.name), scene).text
        if _hash_name(thread.name) in self._used:
            return None
        variants = [process.called] if isinstance(process.called, str) else process.called
        ways = dict.fromkeys(
            self._stage.deck.render(get_template(way), scene).text for way in variants
        )
        thread.called = tuple(ways)
        if any(_hash_name(way) in self._used for way in ways):
            return None
        self._used |= {_hash_name(thread.name), *map(_hash_name, ways)}
        self._counts[process.id] += 1
        return ProcessRun(thread, process, list(process.steps), due=day, started=day)


def _hash_name(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()


def _is_contrary(later: ProcessStep, step: ProcessStep) -> bool:
    """Whether a later step would tell what was to be forgotten, or forget what everybody knows."""
    return bool(set(later.reveals) & set(step.forgets) or set(later.forgets) & set(step.reveals))
