"""In which order an answer puts several things.

Read are, first, places told outright ("came last", "1st", "in the middle"), then relations
between neighbours ("x happened after y"), and, where there is neither, the order of telling.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.literal import find_places
from recall_bench.judging.offline.wanted import NEARLY_STATED, RequiredPart

_VERB = r"(?:(?:came|comes|was|is|were|happened|occurred|took place|lies|had|and|only|being)\s+)"
_AFTER = re.compile(
    r"(?:\bafter|\blater than|\bfollowing|\bsubsequent to|\bpreceded by|\bfollow(?:s|ed)(?! by))"
    r"\s+(?:(?!(?:and|then|before|after)\b)\w+\s+){0,5}\W*$",
    re.IGNORECASE,
)
_BEFORE_OPENS = re.compile(r"(?:^|[.!?:\n]\s*)before\s+(?:\w+\s+){0,5}$", re.IGNORECASE)
_FIRST_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(?:very\s+)?(?:first\b|earliest\b|earlier\b(?! than)"
    r"|sooner\b(?! than)|at the (?:very )?(?:start|beginning|outset)|already\b)",
    re.IGNORECASE,
)
_LAST_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(?:very\s+)?(?:last\b|latest\b|later\b(?! than)"
    r"|at the (?:very )?end\b|afterwards?\b|after (?:that|it|this)\b|final(?:ly)?\b)",
    re.IGNORECASE,
)
_NTH_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(second|third|fourth|fifth)\b", re.IGNORECASE
)
_MIDDLE_AFTER = re.compile(rf"^\W*{_VERB}{{0,3}}in (?:the middle|between)\b", re.IGNORECASE)
_FIRST_BEFORE = re.compile(
    r"(?:\bfirst|\bearliest|\b(?:be(?:gan|gins)|start(?:ed|s)) with|\binitially)\W{0,3}"
    r"(?:(?:came|was|is|the|an?|our)\s+)*$",
    re.IGNORECASE,
)
_LAST_BEFORE = re.compile(
    r"(?:\blast(?:ly)?|\bfinally|\blatest|\bend(?:ed|s) with)\W{0,3}"
    r"(?:(?:came|was|is|the|an?|our)\s+)*$",
    re.IGNORECASE,
)
_NUMBERED_NAME = re.compile(r"\b(?:[A-Z][\w.]*[- ]\d[\w-]*|\d+-\d[\w-]*)\b")
_CLAUSES = re.compile(
    r"(?:(?!\b(?:then|before|after|and|while|followed|preceded)\b)[^,;:.\n])+", re.IGNORECASE
)
_NTH = {"second": 1, "third": 2, "fourth": 3, "fifth": 4}


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The things that an answer mentions, by number, the first to happen first."""

    order: tuple[int, ...]
    is_placed_last: bool = False
    """Of a single mention: whether it is said to have come last."""


@dataclass(frozen=True, slots=True)
class _OrderMention:
    number: int
    start: int
    end: int


def arrange(things: Sequence[RequiredPart], text: str, reader: ContentReader) -> Arrangement:
    """The order in which a plain text puts the things it mentions."""
    mentions = _find_mentions(things, text, reader)
    if not mentions:
        return Arrangement(())
    places = _find_places(mentions, text, len(things))
    told = tuple(dict.fromkeys(mention.number for mention in mentions))
    if len(told) == 1:
        return Arrangement(told, is_placed_last=places.get(told[0], 0) > 0)
    if places and len(set(places.values())) == len(places):
        return Arrangement(_fill_places(told, places, len(things)))
    return Arrangement(_apply_relations(mentions, text, told))


def _find_mentions(
    things: Sequence[RequiredPart], text: str, reader: ContentReader
) -> list[_OrderMention]:
    """The mentions in order: by the thing's own words, else by its number, else by its sense."""
    found: list[_OrderMention] = []
    for number, thing in enumerate(things):
        rest = [other.text for other in things if other is not thing]
        places = [place for one in thing.spellings for place in find_places(one, text)]
        places = places or [
            place for one in _find_numbers(thing, rest) for place in find_places(one, text)
        ]
        places = places or _find_by_sense(thing, text, reader)
        found += [_OrderMention(number, *place) for place in places]
    found.sort(key=lambda mention: (mention.start, -mention.end))
    apart: list[_OrderMention] = []
    for mention in found:
        if not apart or mention.start >= apart[-1].end:
            apart.append(mention)
    return apart


def _locate_spellings(spellings: Sequence[str], text: str) -> list[tuple[int, int]]:
    return [place for one in spellings for place in find_places(one, text)]


def _find_numbers(thing: RequiredPart, others: Sequence[str]) -> list[str]:
    """What identifies a thing among others: `CL-1804`, `Surge 484`."""
    found = _NUMBERED_NAME.findall(thing.text)
    return [number for number in found if not any(number in other for other in others)]


def _find_by_sense(thing: RequiredPart, text: str, reader: ContentReader) -> list[tuple[int, int]]:
    """The clause that comes nearest to saying it."""
    if thing.phrase is None or not thing.stems:
        return []
    clauses = [match for match in _CLAUSES.finditer(text) if match[0].strip()]
    ranked = [
        (thing.phrase.measure_likeness(reader.read_phrase(match[0])), match.span())
        for match in clauses
    ]
    best = max(ranked, default=(0.0, (0, 0)))
    return [best[1]] if best[0] > NEARLY_STATED else []


def _find_places(mentions: list[_OrderMention], text: str, total: int) -> dict[int, int]:
    """The places told outright, by thing. Words between two things speak of one of them."""
    places: dict[int, int] = {}
    starts = [*(mention.start for mention in mentions[1:]), len(text)]
    before = text[: mentions[0].start]
    for mention, start in zip(mentions, starts, strict=True):
        after = text[mention.end : start]
        place = _read_place_after(after, total)
        before, said_before = ("" if place is not None else after), before
        if place is None:
            place = _read_place_before(said_before, total)
        if place is not None:
            places.setdefault(mention.number, place)
    return places


def _read_place_after(words: str, total: int) -> int | None:
    if match := _NTH_AFTER.search(words):
        return _NTH[match[1].lower()]
    if _FIRST_AFTER.search(words):
        return 0
    if _LAST_AFTER.search(words):
        return total - 1
    return 1 if total == 3 and _MIDDLE_AFTER.search(words) else None


def _read_place_before(words: str, total: int) -> int | None:
    if _FIRST_BEFORE.search(words):
        return 0
    return total - 1 if _LAST_BEFORE.search(words) else None


def _fill_places(told: tuple[int, ...], places: dict[int, int], total: int) -> tuple[int, ...]:
    """Placed things at their places, the others between them as they were told."""
    slots: list[int | None] = [None] * max(total, *(place + 1 for place in places.values()))
    for number, place in places.items():
        slots[place] = number
    rest = iter(number for number in told if number not in places)
    filled = [slot if slot is not None else next(rest, None) for slot in slots]
    return tuple(number for number in (*filled, *rest) if number is not None)


def _apply_relations(
    mentions: list[_OrderMention], text: str, told: tuple[int, ...]
) -> tuple[int, ...]:
    """The order of telling, with each thing said to come after the next one moved behind it."""
    order = list(told)
    if _BEFORE_OPENS.search(text, 0, mentions[0].start):
        order[:2] = order[1::-1]
    for one, other in pairwise(mentions):
        if one.number != other.number and _AFTER.search(text[one.end : other.start]):
            order.remove(one.number)
            order.insert(order.index(other.number) + 1, one.number)
    return tuple(order)
