"""The routine: processes that start, run for some days and end, and the values of their slots."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b

from recall_bench.core.errors import Malformed
from recall_bench.core.random_stream import RandomStream
from recall_bench.features.personas.world import fact_values
from recall_bench.features.personas.world.context import FillContext, WorldContext, get_template
from recall_bench.features.personas.world.day_text import (
    AccessChanges,
    DayBlock,
    render_parts,
    render_variant,
)
from recall_bench.features.personas.world.fact_values import FactValue
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.sources import (
    FactSlot,
    ProcessStep,
    Routine,
    RoutineProcess,
)

_VALUE_TRIES = 24
_WHOLE = 100


class SerialNumbers:
    """The running numbers of one process, always increasing."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._drawn: dict[str, int] = {}

    def draw(self, name: str, start: int, chance: RandomStream) -> int:
        """A number a little above the last kept one."""
        self._drawn[name] = self._last.get(name, start) + chance.draw_between(1, 7)
        return self._drawn[name]

    def keep(self) -> None:
        """Mark the numbers drawn last as used."""
        self._last |= self._drawn


class SlotSampler:
    """Draws values for the slots of one process."""

    def __init__(self, world: WorldContext, process: RoutineProcess) -> None:
        self._world = world
        self._process = process
        self.serials = SerialNumbers()

    def draw_all(
        self, day: int, chance: RandomStream, like: dict[str, list[FactValue]] | None
    ) -> dict[str, list[FactValue]]:
        """A first value for every slot; slots that are not asked about copy `like`, if given."""
        slot_values: dict[str, list[FactValue]] = {}
        for name, slot in self._process.slots.items():
            is_lent = like is not None and not (slot.ask or slot.not_)
            is_lent = is_lent and slot.get_kind() in {"choice", "person"}
            if is_lent and like is not None:
                slot_values[name] = [like[name][0]]
            else:
                slot_values[name] = [self.draw_value(name, slot, day, chance, slot_values)]
        return slot_values

    def draw_other(
        self,
        name: str,
        began: int,
        today: int,
        chance: RandomStream,
        slot_values: dict[str, list[FactValue]],
    ) -> FactValue | None:
        """A new value of the slot, moved in its direction; None if there is none."""
        had = {value.text for value in slot_values[name]}
        slot = self._process.slots[name]
        for _ in range(_VALUE_TRIES):
            value = self.draw_value(name, slot, began, chance, slot_values)
            is_past = value.day is not None and began < value.day <= today
            if value.text in had or is_past:
                continue
            if is_valid_move(slot_values[name][-1], value, slot.moves):
                return value
        return self._draw_beyond(slot_values[name][-1], slot, chance) if slot.moves else None

    def _draw_beyond(
        self, old: FactValue, slot: FactSlot, chance: RandomStream
    ) -> FactValue | None:
        """A value beyond the old one in its direction, where its range leaves no room."""
        way = 1 if slot.moves == "up" else -1
        if old.day is not None:
            low, high = (slot.date or [0, 2])[:2]
            pushed = old.day + way * chance.draw_between(1, max(2, high - low))
            return fact_values.format_date(
                self._world.find_workday(max(1, pushed), way), self._world.dates
            )
        bounds = slot.number or slot.money or slot.percent
        if old.amount is None or bounds is None:
            return None
        low_bound, high_bound, *rest = (Decimal(str(bound)) for bound in bounds)
        step = rest[0] if rest else Decimal(1)
        room = max(1, int((high_bound - low_bound) / step / 5))
        amount = old.amount + way * step * chance.draw_between(1, room)
        if amount <= 0 or (slot.percent and amount > _WHOLE):
            return None
        return fact_values.format_number(
            slot.get_kind(), amount, unit=slot.unit, currency=slot.currency
        )

    def draw_value(
        self,
        name: str,
        slot: FactSlot,
        day: int,
        chance: RandomStream,
        slot_values: dict[str, list[FactValue]],
    ) -> FactValue:
        """A value for the slot."""
        match slot.get_kind():
            case "number" | "money" | "percent" as kind:
                bounds = slot.number or slot.money or slot.percent or []
                amount = fact_values.draw_amount(bounds, chance)
                return fact_values.format_number(
                    kind, amount, unit=slot.unit, currency=slot.currency
                )
            case "date":
                return self._draw_date(slot.date or [0, 0], day, chance)
            case "person":
                return self._draw_person(slot, chance, slot_values)
            case "choice":
                return self._draw_choice(slot, chance)
            case _:
                return self._draw_plain(name, slot, chance)

    def _draw_plain(self, name: str, slot: FactSlot, chance: RandomStream) -> FactValue:
        match slot.get_kind():
            case "time":
                return fact_values.draw_time(slot.time or [], chance)
            case "code":
                return fact_values.draw_code(slot.code or "", chance)
            case "serial":
                number = self.serials.draw(name, slot.serial or 0, chance)
                return FactValue("serial", str(number), amount=Decimal(number))
        raise Malformed(
            self._world.where,
            f"slot {name} of {self._process.id} has no kind; give it one, such as number or choice",
        )

    def _draw_date(self, bounds: list[int], day: int, chance: RandomStream) -> FactValue:
        """A day within the bounds from today; a future day is a working day."""
        low, high = bounds[:2]
        date = max(1, day + chance.draw_between(low, high))
        return fact_values.format_date(
            self._world.find_workday(date) if date > day else date, self._world.dates
        )

    def _draw_person(
        self, slot: FactSlot, chance: RandomStream, slot_values: dict[str, list[FactValue]]
    ) -> FactValue:
        groups = [slot.person] if isinstance(slot.person, str) else slot.person or []
        taken = {value.text for name in slot.not_ for value in slot_values.get(name, [])}
        people = [person.name for person in self._world.cast.list_group(*groups)]
        free = [name for name in people if name not in taken]
        if not free:
            raise Malformed(
                self._world.where,
                f"{self._process.id} needs a person of {', '.join(groups)}, and all are taken"
                "; add more of the cast to that group",
            )
        return FactValue("person", chance.choose(free), others=tuple(people))

    def _draw_choice(self, slot: FactSlot, chance: RandomStream) -> FactValue:
        options = slot.choice or []
        if isinstance(options, str):
            name = options.removeprefix("@")
            if name not in self._world.words:
                raise Malformed(
                    self._world.where,
                    f"{self._process.id} chooses from the list {options}, which is missing; add it",
                )
            options = self._world.words[name]
        return FactValue("choice", chance.choose(options), others=tuple(options))


def is_valid_move(old: FactValue, new: FactValue, way: str | None) -> bool:
    """Whether the change goes in the allowed direction: up, down, or any."""
    if way is None:
        return True
    before = old.amount if old.day is None else Decimal(old.day)
    after = new.amount if new.day is None else Decimal(new.day)
    if before is None or after is None:
        return True
    return after > before if way == "up" else after < before


_NAME_TRIES = 12


@dataclass(slots=True)
class ProcessRun:
    """One active run of a process."""

    thread: Thread
    process: RoutineProcess
    steps: list[ProcessStep]
    """The remaining steps, in order."""
    due: int
    started: int


class RoutineSimulator:
    """Starts runs of processes and renders their steps."""

    def __init__(
        self, world: WorldContext, routine: Routine, *, taken: Iterable[str], distractors: float
    ) -> None:
        self._world = world
        self._distractors = distractors
        self.processes = {process.id: process for process in routine.processes}
        self._draws = {process.id: SlotSampler(world, process) for process in routine.processes}
        self._chances = {
            process.id: RandomStream(world.seed, "process", process.id)
            for process in routine.processes
        }
        self._timings = {
            process.id: {step.id: step.when for step in process.steps if step.when is not None}
            for process in routine.processes
        }
        self._optional = {
            process.id: {step.id: step for step in process.steps if step.did}
            for process in routine.processes
        }
        self._counts = dict.fromkeys(self.processes, 0)
        self._used = {_hash_name(name) for name in taken}
        self._last: dict[str, dict[str, list[FactValue]]] = {}
        self.running: list[ProcessRun] = []

    def start(self, process_id: str, day: int) -> ProcessRun | None:
        """A new run of the process; None if no unused name was drawn."""
        process = self.processes[process_id]
        chance = self._chances[process_id]
        like = self._last.get(process_id)
        is_wanted = like is not None and chance.is_hit(self._distractors)
        for attempt in range(_NAME_TRIES):
            is_copy = is_wanted and attempt == 0
            slot_values = self._draws[process_id].draw_all(day, chance, like if is_copy else None)
            run = self._build_run(process, slot_values, day)
            if run is not None:
                self._last[process_id] = slot_values
                self._draws[process_id].serials.keep()
                self.running.append(run)
                return run
        return None

    def list_due(self, day: int) -> Iterator[ProcessRun]:
        """Runs with a step due by this day, the most overdue first."""
        waiting = (run for run in self.running if run.due <= day)
        yield from sorted(waiting, key=lambda run: (run.due, run.thread.key))

    def render_step(self, run: ProcessRun, day: int) -> DayBlock:
        """Render the next step of the run as a block."""
        step = run.steps.pop(0)
        chance = self._chances[run.process.id]
        for name in step.changes:
            draw = self._draws[run.process.id]
            value = draw.draw_other(name, run.started, day, chance, run.thread.slot_values)
            if value is not None:
                run.thread.slot_values[name].append(value)
        session = step.session or run.process.session
        context = FillContext(self._world, day, run.thread, session)
        if not run.thread.first_step:
            run.thread.first_step = step.id
        heading = render_variant(context, step.heading).text
        prose = render_parts(context, step.text)
        # A later step must not reveal what was to be forgotten, nor forget what is public.
        run.steps = [
            later
            for later in run.steps
            if not (set(later.reveals) & set(step.forgets))
            and not (set(later.forgets) & set(step.reveals))
        ]
        self._schedule_next(run, day, chance)
        return DayBlock(
            session=session,
            heading=heading,
            text=prose.text,
            mentions=tuple(prose.mentions),
            thread=run.thread,
            step=step.id,
            access_changes=AccessChanges(reveals=tuple(step.reveals), forgets=tuple(step.forgets)),
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
        self, process: RoutineProcess, slot_values: dict[str, list[FactValue]], day: int
    ) -> ProcessRun | None:
        thread = Thread(
            key=f"{process.id}-{self._counts[process.id] + 1:04}",
            source=process.id,
            name="",
            called=(),
            session=process.session,
            slots=process.slots,
            timings=self._timings[process.id],
            slot_values=slot_values,
            optional=self._optional[process.id],
        )
        context = FillContext(self._world, day, thread)
        thread.name = self._world.picker.render(get_template(process.name), context).text
        if _hash_name(thread.name) in self._used:
            return None
        variants = [process.called] if isinstance(process.called, str) else process.called
        ways = dict.fromkeys(
            self._world.picker.render(get_template(way), context).text for way in variants
        )
        thread.called = tuple(ways)
        if any(_hash_name(way) in self._used for way in ways):
            return None
        self._used |= {_hash_name(thread.name), *map(_hash_name, ways)}
        self._counts[process.id] += 1
        return ProcessRun(thread, process, list(process.steps), due=day, started=day)


def _hash_name(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()
