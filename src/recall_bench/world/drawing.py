"""Drawing the slots of a routine thread."""

from decimal import Decimal

from recall_bench.errors import Malformed
from recall_bench.world import values
from recall_bench.world.chance import RandomStream
from recall_bench.world.sources import FactSlot, RoutineProcess
from recall_bench.world.stage import WorldContext
from recall_bench.world.values import FactValue

_VALUE_TRIES = 24
_WHOLE = 100


class SerialNumbers:
    """The running numbers of one process, which never go back."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._drawn: dict[str, int] = {}

    def draw(self, name: str, start: int, chance: RandomStream) -> int:
        """A number a little beyond the last one that was kept."""
        self._drawn[name] = self._last.get(name, start) + chance.draw_between(1, 7)
        return self._drawn[name]

    def keep(self) -> None:
        """The numbers drawn last are in use now."""
        self._last |= self._drawn


class SlotSampler:
    """Draws values for the slots of one process."""

    def __init__(self, stage: WorldContext, process: RoutineProcess) -> None:
        self._stage = stage
        self._process = process
        self.serials = SerialNumbers()

    def draw_all(
        self, day: int, chance: RandomStream, like: dict[str, list[FactValue]] | None
    ) -> dict[str, list[FactValue]]:
        """A first value for every slot; `like` lends what is not asked, to make a double."""
        held: dict[str, list[FactValue]] = {}
        for name, slot in self._process.slots.items():
            is_lent = like is not None and not (slot.ask or slot.not_)
            is_lent = is_lent and slot.get_kind() in {"choice", "person"}
            if is_lent and like is not None:
                held[name] = [like[name][0]]
            else:
                held[name] = [self.draw_value(name, slot, day, chance, held)]
        return held

    def draw_other(
        self,
        name: str,
        began: int,
        today: int,
        chance: RandomStream,
        held: dict[str, list[FactValue]],
    ) -> FactValue | None:
        """A value the slot has not had yet, moved the way it moves; None if there is none."""
        had = {value.text for value in held[name]}
        slot = self._process.slots[name]
        for _ in range(_VALUE_TRIES):
            value = self.draw_value(name, slot, began, chance, held)
            is_past = value.day is not None and began < value.day <= today
            if value.text in had or is_past:
                continue
            if _is_valid_move(held[name][-1], value, slot.moves):
                return value
        return self._draw_beyond(held[name][-1], slot, chance) if slot.moves else None

    def _draw_beyond(
        self, old: FactValue, slot: FactSlot, chance: RandomStream
    ) -> FactValue | None:
        """A value beyond the old one the way it moves, where its range leaves no room."""
        way = 1 if slot.moves == "up" else -1
        if old.day is not None:
            low, high = (slot.date or [0, 2])[:2]
            pushed = old.day + way * chance.draw_between(1, max(2, high - low))
            return values.format_date(
                self._stage.find_workday(max(1, pushed), way), self._stage.dates
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
        return values.format_number(slot.get_kind(), amount, unit=slot.unit, currency=slot.currency)

    def draw_value(
        self,
        name: str,
        slot: FactSlot,
        day: int,
        chance: RandomStream,
        held: dict[str, list[FactValue]],
    ) -> FactValue:
        """A value for the slot."""
        match slot.get_kind():
            case "number" | "money" | "percent" as kind:
                bounds = slot.number or slot.money or slot.percent or []
                amount = values.draw_amount(bounds, chance)
                return values.format_number(kind, amount, unit=slot.unit, currency=slot.currency)
            case "date":
                return self._draw_date(slot.date or [0, 0], day, chance)
            case "person":
                return self._draw_person(slot, chance, held)
            case "choice":
                return self._draw_choice(slot, chance)
            case _:
                return self._draw_plain(name, slot, chance)

    def _draw_plain(self, name: str, slot: FactSlot, chance: RandomStream) -> FactValue:
        match slot.get_kind():
            case "time":
                return values.draw_time(slot.time or [], chance)
            case "code":
                return values.draw_code(slot.code or "", chance)
            case "serial":
                number = self.serials.draw(name, slot.serial or 0, chance)
                return FactValue("serial", str(number), amount=Decimal(number))
        raise Malformed(
            self._stage.where,
            f"slot {name} of {self._process.id} has no kind; give it one, such as number or choice",
        )

    def _draw_date(self, bounds: list[int], day: int, chance: RandomStream) -> FactValue:
        """A day so far from today; one to come is no weekend."""
        low, high = bounds[:2]
        drawn = max(1, day + chance.draw_between(low, high))
        return values.format_date(
            self._stage.find_workday(drawn) if drawn > day else drawn, self._stage.dates
        )

    def _draw_person(
        self, slot: FactSlot, chance: RandomStream, held: dict[str, list[FactValue]]
    ) -> FactValue:
        groups = [slot.person] if isinstance(slot.person, str) else slot.person or []
        taken = {value.text for name in slot.not_ for value in held.get(name, [])}
        people = [person.name for person in self._stage.cast.list_group(*groups)]
        free = [name for name in people if name not in taken]
        if not free:
            raise Malformed(
                self._stage.where,
                f"{self._process.id} wants somebody of {', '.join(groups)}, and nobody is left "
                "there; give more of the cast that group",
            )
        return FactValue("person", chance.choose(free), others=tuple(people))

    def _draw_choice(self, slot: FactSlot, chance: RandomStream) -> FactValue:
        options = slot.choice or []
        if isinstance(options, str):
            name = options.removeprefix("@")
            if name not in self._stage.words:
                raise Malformed(
                    self._stage.where,
                    f"{self._process.id} chooses from the list {options}, which is missing; add it",
                )
            options = self._stage.words[name]
        return FactValue("choice", chance.choose(options), others=tuple(options))


def _is_valid_move(old: FactValue, new: FactValue, way: str | None) -> bool:
    """Whether the value went the way it may go: up, down, or either."""
    if way is None:
        return True
    before = old.amount if old.day is None else Decimal(old.day)
    after = new.amount if new.day is None else Decimal(new.day)
    if before is None or after is None:
        return True
    return after > before if way == "up" else after < before
