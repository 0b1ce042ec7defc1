"""Draws values of attributes and facts: first ones, and others that may follow them."""

from collections.abc import Collection, Sequence
from decimal import Decimal

from recall_bench.generate.life.calendar import LifeCalendar
from recall_bench.generate.life.sources import LifeValue
from recall_bench.generate.world import fact_values
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.routine import is_valid_move

_TRIES = 24
_NEAR = Decimal("0.6")
"""How far a number moves at a time where its range allows, relative to what it was."""


class ValueDrawer:
    """Draws values for one seed."""

    def __init__(self, cast: Cast, calendar: LifeCalendar) -> None:
        self._cast = cast
        self._calendar = calendar

    def draw(
        self,
        value: LifeValue,
        day: int,
        chance: RandomStream,
        *,
        entities: Sequence[str] = (),
        taken: Collection[str] = (),
    ) -> FactValue | None:
        """A value that is not in `taken`; None if there is none."""
        match value.kind:
            case "person":
                people = [each.name for each in self._cast.list_group(*value.list_groups())]
                return self._choose("person", people, taken, chance)
            case "entity":
                return self._choose("phrase", entities, taken, chance)
            case "choice":
                return self._choose("phrase", value.choice or [], taken, chance)
        for _ in range(_TRIES):
            figure = self._draw_figure(value, day, chance)
            if figure.text not in taken:
                return figure
        return None

    def _draw_figure(self, value: LifeValue, day: int, chance: RandomStream) -> FactValue:
        match value.kind:
            case "time":
                return fact_values.draw_time(value.time or [], chance)
            case "code":
                return fact_values.draw_code(value.code or "", chance)
            case "date":
                low, high = (value.date or [1, 1])[:2]
                later = self._calendar.find_working(day + chance.draw_between(low, high))
                return fact_values.format_date(later, self._calendar.dates)
        amount = fact_values.draw_amount(getattr(value, value.kind), chance)
        return fact_values.format_number(
            value.kind, amount, unit=value.unit, currency=value.currency
        )

    def _choose(
        self, kind: str, options: Sequence[str], taken: Collection[str], chance: RandomStream
    ) -> FactValue | None:
        free = [each for each in options if each not in taken]
        return FactValue(kind, chance.choose(free), others=tuple(options)) if free else None

    def draw_first(
        self, value: LifeValue, day: int, chance: RandomStream, moves: str, **limits: Sequence[str]
    ) -> FactValue | None:
        """The first value; one that may only move one way starts with room to move."""
        drawn = [self.draw(value, day, chance, **limits) for _ in range(1 if moves == "any" else 4)]
        known = [each for each in drawn if each is not None]
        if not known:
            return None
        return (
            (max if moves == "down" else min)(known, key=_measure) if len(known) > 1 else known[0]
        )

    def draw_next(
        self,
        value: LifeValue,
        day: int,
        chance: RandomStream,
        had: Sequence[FactValue],
        moves: str,
        **limits: Sequence[str],
    ) -> FactValue | None:
        """A value that may follow the last one; if possible one that was never there before."""
        known = {each.text for each in had}
        now = had[-1]
        second: FactValue | None = None
        for _ in range(_TRIES):
            drawn = self.draw(value, day, chance, **limits)
            if drawn is None or drawn.text == now.text:
                continue
            if not is_valid_move(now, drawn, None if moves == "any" else moves):
                continue
            if drawn.text not in known and (moves != "any" or _is_near(now, drawn)):
                return drawn
            if second is None or (second.text in known and drawn.text not in known):
                second = drawn
        return second


def _measure(value: FactValue) -> Decimal:
    return Decimal(value.day) if value.day is not None else value.amount or Decimal(0)


def _is_near(old: FactValue, new: FactValue) -> bool:
    if old.amount is None or new.amount is None:
        return True
    return abs(new.amount - old.amount) <= _NEAR * max(abs(old.amount), abs(new.amount))
