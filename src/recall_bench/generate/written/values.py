"""The value of every slot under a seed: seed 0 is as written, others draw other figures."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from recall_bench.core.number_words import format_ordinal
from recall_bench.core.plain_text import join_words
from recall_bench.generate.world.fact_values import (
    Dates,
    FactValue,
    format_number,
    scale_value,
)
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.written.local_forms import LocalDates, NumberStyle
from recall_bench.generate.written.slots import FactState, SlotDefinition

_NUMBERS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MONEY = re.compile(r"[-−]?[$£€]\s?\d")
_TIME = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
_CODE = re.compile(r"(?=[^\s]*[A-Za-z])(?=[^\s]*\d)[A-Za-z0-9][\w./-]*")
_DATE = re.compile(r"@(-?\d+)")
_PERCENT = re.compile(r"[\d,.]+\s?(?:[%٪]|per cent\b|percent\b)")
_UNITS = re.compile(r"\d[\d,.]*\s?[A-Za-zµ°%/]{1,4}")
"""A number with a short unit attached (`5mg`, `40GB`): no code."""

_TRIES = 40
"""How many factors are tried before a group keeps its authored values."""


def infer_kind(written: str, people: Iterable[str], style: NumberStyle) -> str:
    """The kind of a value from the way it is written."""
    numbers = len(_NUMBERS.findall(style.make_plain(written)))
    is_code = _CODE.fullmatch(written) and not _UNITS.fullmatch(written)
    tests: dict[str, object] = {
        "date": _DATE.fullmatch(written),
        "time": _TIME.fullmatch(written),
        "money": numbers == 1 and (_MONEY.match(written) or style.is_money(written)),
        "percent": numbers == 1 and _PERCENT.match(written),
        "code": is_code,
        "number": numbers == 1 and written[0].isdigit(),
        "person": written in people,
    }
    return next((kind for kind, is_kind in tests.items() if is_kind), "phrase")


class ValueProblem(Exception):
    """A value that is missing or cannot be computed; the message says why."""


class ValueTable:
    """The values of one seed."""

    def __init__(
        self, values: Mapping[FactState, FactValue], dates: Dates, style: NumberStyle
    ) -> None:
        self.values = values
        self.dates = dates
        self.style = style

    def get(self, state: FactState) -> FactValue:
        """The value of a state; ValueProblem if it has none."""
        if state not in self.values:
            raise ValueProblem(f"{state} is not a state of a fact")
        return self.values[state]

    def render(self, state: FactState, form: str = "") -> str:
        """The value of a state as the text writes it."""
        value = self.get(state)
        if value.day is not None:
            return format_written_date(self.dates, value.day, form)
        if form == "n" and (found := _NUMBERS.search(self.style.make_plain(value.text))):
            return self.style.make_local(found[0], value.text)
        return value.text[:1].upper() + value.text[1:] if form == "cap" else value.text

    def translate(self) -> "ValueTable":
        """The same values as an English sentence writes them."""
        values = {state: self.style.translate(value) for state, value in self.values.items()}
        return ValueTable(values, Dates(self.dates.epoch, "day-first"), NumberStyle("en"))


def format_written_date(dates: Dates, day: int, form: str = "") -> str:
    """The date of a story day in one of the forms of a slot."""
    if isinstance(dates, LocalDates):
        return dates.format_form(day, form)
    at = dates.get_date(day)
    month = f"{at:%B}"
    number = str(at.day)
    bare = f"{month} {number}" if dates.style == "month-first" else f"{number} {month}"
    forms = {
        "long": f"{at:%A}{', ' if dates.style == 'month-first' else ' '}{bare}",
        "year": dates.format_day(day),
        "day": format_ordinal(at.day),
        "month": month,
        "weekday": f"{at:%A}",
        "iso": at.isoformat(),
    }
    return forms.get(form, bare)


def draw_values(
    definitions: Mapping[FactState, SlotDefinition],
    groups: Mapping[str, str],
    fixed: frozenset[str],
    people: Iterable[str],
    dates: Dates,
    *,
    seed: int,
    style: NumberStyle,
) -> ValueTable:
    """Draw the value of every state.

    The numbers of a group are multiplied by one factor, so that what is more stays more. `groups`
    maps a fact to its group; `fixed` facts keep their values.
    """
    known = frozenset(people)
    authored = {
        state: _parse_definition(definition, known, dates, style)
        for state, definition in definitions.items()
        if not definition.terms
    }
    values = dict(authored)
    if seed:
        by_group: dict[str, list[FactState]] = {}
        for state in sorted(authored):
            if state.key not in fixed:
                by_group.setdefault(groups.get(state.key, state.key), []).append(state)
        for group, states in by_group.items():
            values |= _draw_group(group, states, authored, definitions, seed=seed, style=style)
    for state, definition in definitions.items():
        if definition.terms:
            terms = [(sign, values[term]) for sign, term in definition.terms]
            values[state] = compute_total(terms, style)
    return ValueTable(values, dates, style)


def _parse_definition(
    definition: SlotDefinition, people: frozenset[str], dates: Dates, style: NumberStyle
) -> FactValue:
    kind = infer_kind(definition.value, people, style)
    if kind == "date":
        day = int(definition.value[1:])
        return FactValue("date", dates.format_day(day), day=day)
    return style.parse(kind, definition.value)


def _draw_group(
    group: str,
    states: list[FactState],
    authored: Mapping[FactState, FactValue],
    definitions: Mapping[FactState, SlotDefinition],
    *,
    seed: int,
    style: NumberStyle,
) -> dict[FactState, FactValue]:
    """New values for a group; the authored ones where no factor keeps them apart."""
    for attempt in range(_TRIES):
        chance = RandomStream(seed, "written", group, attempt)
        factor = Decimal(chance.draw_between(72, 138)) / 100
        shift = 5 * chance.draw_between(-9, 9)
        drawn = {
            state: _draw_value(
                authored[state], definitions[state], factor, shift, chance=chance, style=style
            )
            for state in states
        }
        if _count_distinct(drawn) == _count_distinct({each: authored[each] for each in states}):
            return drawn
    return {state: authored[state] for state in states}


def _count_distinct(values: Mapping[FactState, FactValue]) -> int:
    return len({value.text for value in values.values()})


def _draw_value(
    value: FactValue,
    definition: SlotDefinition,
    factor: Decimal,
    shift: int,
    *,
    chance: RandomStream,
    style: NumberStyle,
) -> FactValue:
    if value.kind == "time":
        hours, _, minutes = value.text.partition(":")
        total = (int(hours) * 60 + int(minutes) + shift) % (24 * 60)
        width = len(hours)
        return FactValue("time", f"{total // 60:0{width}}:{total % 60:02}")
    if value.kind == "percent" and value.amount is not None and value.amount * factor > 100:
        return value
    if value.kind == "phrase" and definition.alternatives:
        return FactValue("phrase", chance.choose((value.text, *definition.alternatives)))
    if style.is_english or value.amount is None:
        return scale_value(value, factor, chance)
    plain = FactValue(value.kind, style.make_plain(value.text), amount=value.amount)
    drawn = scale_value(plain, factor, chance)
    return style.parse(value.kind, style.make_local(drawn.text, value.text))


def compute_total(terms: Iterable[tuple[int, FactValue]], style: NumberStyle) -> FactValue:
    """The sum of signed values in the form of the first; ValueProblem if one is no amount."""
    signed = list(terms)
    first = signed[0][1]
    found = _NUMBERS.search(first.text)
    if found is None or any(value.amount is None for _, value in signed):
        raise ValueProblem(f"{join_words(value.text for _, value in signed)} have no sum")
    amount = sum((sign * (value.amount or Decimal(0)) for sign, value in signed), Decimal(0))
    if not style.is_english:
        return FactValue(first.kind, style.replace_number(first.text, amount), amount=amount)
    if first.kind == "money":
        return format_number("money", amount, currency=first.text[: found.start()])
    return format_number(first.kind, amount, unit=first.text[found.end() :].strip())
