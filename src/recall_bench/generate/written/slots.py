"""Slots in a written text: `{pool-cap.3}`, `{rent=£1,450}`, `{@57:long}`.

A slot holds a value that another seed may draw anew. It names a fact and one of its states, gives
the value where the fact is stated first, or names a date by its story day.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import msgspec

_SLOT = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(
    r"(?P<key>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:\.(?P<state>[1-9]))?(?::(?P<form>[a-z]+))?"
)
_DATED = re.compile(r"@(?P<day>-?\d+)(?::(?P<form>[a-z]+))?")

DATE_FORMS = ("long", "year", "day", "month", "weekday", "iso")
FORMS = ("n", "cap", *DATE_FORMS)


class FactState(NamedTuple):
    """One state of a fact: the third value of `pool-cap` is `pool-cap.3`."""

    key: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.key}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDefinition:
    """The value of a state where it is stated first."""

    value: str = ""
    """As written; a date is `@57`."""
    alternatives: tuple[str, ...] = ()
    """Phrases that another seed may use instead."""
    terms: tuple[tuple[int, FactState], ...] = ()
    """For a computed value: each state with its sign."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One slot of a text."""

    start: int
    end: int
    state: FactState | None = None
    """None for a date that is no fact."""
    day: int | None = None
    """The story day of such a date."""
    form: str = ""
    definition: SlotDefinition | None = None


@dataclass(frozen=True, slots=True)
class SlotError:
    """Text in braces that is no slot."""

    start: int
    message: str


def find_slots(text: str) -> Iterator[Slot | SlotError]:
    """Every slot of the text, in order, and everything in braces that is none."""
    for found in _SLOT.finditer(text):
        parsed = _parse_slot(found[1].strip())
        if isinstance(parsed, str):
            yield SlotError(found.start(), f"{found[0]}: {parsed}")
            continue
        state, day, form, definition = parsed
        yield Slot(
            start=found.start(),
            end=found.end(),
            state=state,
            day=day,
            form=form,
            definition=definition,
        )


ParsedSlot = tuple[FactState | None, int | None, str, SlotDefinition | None]


def _parse_slot(inner: str) -> ParsedSlot | str:
    if dated := _DATED.fullmatch(inner):
        return _check_form(None, int(dated["day"]), dated["form"] or "", None)
    name, equals, value = inner.partition("=")
    named = _NAMED.fullmatch(name.strip())
    if named is None:
        return "write {key}, {key.2}, {key=value} or {@57}; keys are lower-case words joined by -"
    state = FactState(named["key"], int(named["state"] or 1))
    form = named["form"] or ""
    if not equals:
        return _check_form(state, None, form, None)
    if value.startswith(":"):
        terms = _parse_terms(value[1:])
        return terms if isinstance(terms, str) else (state, None, form, SlotDefinition(terms=terms))
    first, *others = (part.strip() for part in value.split("|"))
    if not first:
        return "has no value after ="
    if dated := _DATED.fullmatch(first):
        first, form = f"@{dated['day']}", dated["form"] or form
    return _check_form(state, None, form, SlotDefinition(value=first, alternatives=tuple(others)))


def _check_form(
    state: FactState | None, day: int | None, form: str, definition: SlotDefinition | None
) -> ParsedSlot | str:
    if form and form not in FORMS:
        return f"the form {form} is unknown; use {', '.join(FORMS)}"
    return state, day, form, definition


def _parse_terms(written: str) -> tuple[tuple[int, FactState], ...] | str:
    """`a + b - c`; a minus sign has spaces around it, because keys may hold one."""
    first, *rest = re.split(r"\s*(\+)\s*|\s+(-)\s+", written.strip())
    parts = [part for part in ("+", first, *rest) if part is not None]
    terms = []
    for sign, name in zip(parts[::2], parts[1::2], strict=True):
        state = parse_state(name)
        if state is None:
            return f"{name!r} is not a key; write key + key, or key - key"
        terms.append((-1 if sign == "-" else 1, state))
    return tuple(terms)


@lru_cache(maxsize=16_384)
def parse_state(written: str) -> FactState | None:
    """`pool-cap.3` or `pool-cap` as a state; None if it is neither."""
    named = _NAMED.fullmatch(written)
    if named is None or named["form"]:
        return None
    return FactState(named["key"], int(named["state"] or 1))


def blank_slots(text: str) -> str:
    """The text with a space for every character of a slot, so that offsets stay."""
    return _SLOT.sub(lambda found: " " * len(found[0]), text)
