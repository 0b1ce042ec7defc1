"""Drawing the slots of a routine thread."""

from decimal import Decimal

from recall_bench.errors import Malformed
from recall_bench.world import values
from recall_bench.world.chance import Chance
from recall_bench.world.sources import Process, Slot
from recall_bench.world.stage import Stage
from recall_bench.world.values import Value

_TRIES = 24
_WHOLE = 100


class Serials:
    """The running numbers of one process, which never go back."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._drawn: dict[str, int] = {}

    def draw(self, name: str, start: int, chance: Chance) -> int:
        """A number a little beyond the last one that was kept."""
        self._drawn[name] = self._last.get(name, start) + chance.between(1, 7)
        return self._drawn[name]

    def keep(self) -> None:
        """The numbers drawn last are in use now."""
        self._last |= self._drawn


class Draw:
    """Draws values for the slots of one process."""

    def __init__(self, stage: Stage, process: Process) -> None:
        self._stage = stage
        self._process = process
        self.serials = Serials()

    def all(
        self, day: int, chance: Chance, like: dict[str, list[Value]] | None
    ) -> dict[str, list[Value]]:
        """A first value for every slot; `like` lends what is not asked, to make a double."""
        held: dict[str, list[Value]] = {}
        for name, slot in self._process.slots.items():
            is_lent = like is not None and not (slot.ask or slot.not_)
            is_lent = is_lent and slot.kind_of() in {"choice", "person"}
            if is_lent and like is not None:
                held[name] = [like[name][0]]
            else:
                held[name] = [self.one(name, slot, day, chance, held)]
        return held

    def another(
        self, name: str, began: int, today: int, chance: Chance, held: dict[str, list[Value]]
    ) -> Value | None:
        """A value the slot has not had yet, moved the way it moves; None if there is none."""
        had = {value.text for value in held[name]}
        slot = self._process.slots[name]
        for _ in range(_TRIES):
            value = self.one(name, slot, began, chance, held)
            is_past = value.day is not None and began < value.day <= today
            if value.text in had or is_past:
                continue
            if _is_moved(held[name][-1], value, slot.moves):
                return value
        return self._pushed(held[name][-1], slot, chance) if slot.moves else None

    def _pushed(self, old: Value, slot: Slot, chance: Chance) -> Value | None:
        """A value beyond the old one the way it moves, where its range leaves no room."""
        way = 1 if slot.moves == "up" else -1
        if old.day is not None:
            low, high = (slot.date or [0, 2])[:2]
            pushed = old.day + way * chance.between(1, max(2, high - low))
            return values.dated(self._stage.workday(max(1, pushed), way), self._stage.dates)
        bounds = slot.number or slot.money or slot.percent
        if old.amount is None or bounds is None:
            return None
        low_bound, high_bound, *rest = (Decimal(str(bound)) for bound in bounds)
        step = rest[0] if rest else Decimal(1)
        room = max(1, int((high_bound - low_bound) / step / 5))
        amount = old.amount + way * step * chance.between(1, room)
        if amount <= 0 or (slot.percent and amount > _WHOLE):
            return None
        return values.numeric(slot.kind_of(), amount, unit=slot.unit, currency=slot.currency)

    def one(
        self, name: str, slot: Slot, day: int, chance: Chance, held: dict[str, list[Value]]
    ) -> Value:
        """A value for the slot."""
        match slot.kind_of():
            case "number" | "money" | "percent" as kind:
                bounds = slot.number or slot.money or slot.percent or []
                amount = values.ranged(bounds, chance)
                return values.numeric(kind, amount, unit=slot.unit, currency=slot.currency)
            case "date":
                return self._date(slot.date or [0, 0], day, chance)
            case "person":
                return self._person(slot, chance, held)
            case "choice":
                return self._choice(slot, chance)
            case _:
                return self._plain(name, slot, chance)

    def _plain(self, name: str, slot: Slot, chance: Chance) -> Value:
        match slot.kind_of():
            case "time":
                return values.clock(slot.time or [], chance)
            case "code":
                return values.code(slot.code or "", chance)
            case "serial":
                number = self.serials.draw(name, slot.serial or 0, chance)
                return Value("serial", str(number), amount=Decimal(number))
        raise Malformed(
            self._stage.where,
            f"slot {name} of {self._process.id} has no kind; give it one, such as number or choice",
        )

    def _date(self, bounds: list[int], day: int, chance: Chance) -> Value:
        """A day so far from today; one to come is no weekend."""
        low, high = bounds[:2]
        drawn = max(1, day + chance.between(low, high))
        return values.dated(self._stage.workday(drawn) if drawn > day else drawn, self._stage.dates)

    def _person(self, slot: Slot, chance: Chance, held: dict[str, list[Value]]) -> Value:
        groups = [slot.person] if isinstance(slot.person, str) else slot.person or []
        taken = {value.text for name in slot.not_ for value in held.get(name, [])}
        people = [person.name for person in self._stage.cast.group(*groups)]
        free = [name for name in people if name not in taken]
        if not free:
            raise Malformed(
                self._stage.where,
                f"{self._process.id} wants somebody of {', '.join(groups)}, and nobody is left "
                "there; give more of the cast that group",
            )
        return Value("person", chance.one(free), others=tuple(people))

    def _choice(self, slot: Slot, chance: Chance) -> Value:
        options = slot.choice or []
        if isinstance(options, str):
            name = options.removeprefix("@")
            if name not in self._stage.words:
                raise Malformed(
                    self._stage.where,
                    f"{self._process.id} chooses from the list {options}, which is missing; add it",
                )
            options = self._stage.words[name]
        return Value("choice", chance.one(options), others=tuple(options))


def _is_moved(old: Value, new: Value, way: str | None) -> bool:
    """Whether the value went the way it may go: up, down, or either."""
    if way is None:
        return True
    before = old.amount if old.day is None else Decimal(old.day)
    after = new.amount if new.day is None else Decimal(new.day)
    if before is None or after is None:
        return True
    return after > before if way == "up" else after < before
