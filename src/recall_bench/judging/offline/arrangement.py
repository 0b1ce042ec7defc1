"""The order in which an answer puts the things that it mentions.

An order is read from places stated outright ("came last", "1st", "in the middle"), then from
relations between neighbours ("x happened after y"), else from the order of mention.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from msgspec.structs import replace

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import find_places
from recall_bench.judging.offline.relations import find_mentions
from recall_bench.judging.offline.required_part import NEARLY_STATED, RequiredPart
from recall_bench.text.values import DATE, locate_values

_VERB = (
    r"(?:(?:came|comes|was|is|were|happened|occurred|took place|lies|had|and|only|being|ended up"
    r"|went|goes|spoke|talked|finished|arrived|done|who)\s+)"
)
_STEP = r"(?:thing|step|one|job|act)\b"
_AFTER = re.compile(
    r"(?:\bafter(?! (?:that|this|which|it)\b)|\blater than|\bfollowing|\bsubsequent to"
    r"|\bpreceded by|\bfollow(?:s|ed)(?! by))"
    r"\s+(?:(?!(?:and|then|before|after)\b)\w+\s+){0,5}\W*$",
    re.IGNORECASE,
)
_BEFORE_OPENS = re.compile(r"(?:^|[.!?:\n]\s*)before\s+(?:\w+\s+){0,5}$", re.IGNORECASE)
_FIRST_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(?:very\s+)?(?:first\b(?!\s{_STEP})|earliest\b"
    r"|earlier\b(?! than)"
    r"|sooner\b(?! than)|at the (?:very )?(?:start|beginning|outset)|already\b"
    r"|(?:opened|began|started|kicked off|led)\b(?=\W*(?:$|[,;.]|and\b|it\b|off\b|proceedings)))",
    re.IGNORECASE,
)
_LAST_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(?:very\s+)?(?:last\b(?!\s{_STEP})|latest\b"
    r"|at the (?:very )?end\b|final(?:ly)?\b"
    r"|(?:closed|concluded|finished|ended|brought up the rear|wound up)\b"
    r"(?=\W*(?:$|[,;.]|and\b|it\b)))",
    re.IGNORECASE,
)
_LATER_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:later\b(?! than)|afterwards?\b|after (?:that|it|this)\b"
    r"|followed\b(?=\W*(?:$|[,;.]|and\b|it\b)))",
    re.IGNORECASE,
)
"""Later than the one before it: the last, where there are but two."""
_NTH_AFTER = re.compile(
    rf"^\W*{_VERB}{{0,3}}(?:the\s+)?(second|third|fourth|fifth)\b", re.IGNORECASE
)
_MIDDLE_AFTER = re.compile(rf"^\W*{_VERB}{{0,3}}in (?:the middle|between)\b", re.IGNORECASE)
_FIRST_BEFORE = re.compile(
    r"(?:\bfirst|\bearliest|\b(?:be(?:gan|gins)|start(?:ed|s)|open(?:ed|s)) (?:with|by)|\binitially"
    rf"|\bfirst {_STEP}(?: \w+){{0,3}} (?:is|was))\W{{0,3}}"
    r"(?:(?:came|was|is|the|an?|our|to|of all|\w+ing)\s+)*$",
    re.IGNORECASE,
)
_LAST_BEFORE = re.compile(
    r"(?:\blast(?:ly)?|\bfinally|\blatest"
    r"|\b(?:end|finish|conclud|clos)(?:e?d|e?s) (?:up )?(?:with|by)"
    rf"|\blast {_STEP}(?: \w+){{0,3}} (?:is|was))\W{{0,3}}"
    r"(?:(?:came|was|is|the|an?|our|to|of all|\w+ing)\s+)*$",
    re.IGNORECASE,
)
_NUMBERED_NAME = re.compile(r"\b(?:[A-Z][\w.]*[- ]\d[\w-]*|\d+-\d[\w-]*)\b")
_CLAUSES = re.compile(
    r"(?:(?!\b(?:then|before|after|and|while|followed|preceded)\b)[^,;:.\n])+", re.IGNORECASE
)
_NTH = {"second": 1, "third": 2, "fourth": 3, "fifth": 4}


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The mentioned things by number, the earliest first."""

    order: tuple[int, ...]
    is_placed_last: bool = False
    """For a single mention: whether it is said to have come last."""


@dataclass(frozen=True, slots=True)
class _OrderMention:
    number: int
    start: int
    end: int


def arrange(
    things: Sequence[RequiredPart],
    text: str,
    reader: ContentReader,
    distinct: Sequence[frozenset[str]] = (),
) -> Arrangement:
    """The order in which a text puts the things it mentions.

    `distinct` are the words by which question and reference tell each thing from the others.
    """
    mentions = _find_mentions(things, text, reader, distinct)
    if not mentions:
        return Arrangement(())
    places = _find_places(mentions, text, len(things))
    stated = tuple(dict.fromkeys(mention.number for mention in mentions))
    if len(stated) == 1:
        return Arrangement(stated, is_placed_last=places.get(stated[0], 0) > 0)
    dated = _sort_by_date(mentions, text)
    if dated is not None:
        return Arrangement(dated)
    related = _apply_relations(mentions, text, stated)
    if places and len(set(places.values())) == len(places):
        return Arrangement(_fill_places(related, places, len(things)))
    return Arrangement(related)


_STORY_DAY = re.compile(r"\bday (\d{1,4})\b", re.IGNORECASE)


def _sort_by_date(mentions: list[_OrderMention], text: str) -> tuple[int, ...] | None:
    """The things by the dates that stand beside them; None unless each has one of its own."""
    first = list({mention.number: mention for mention in reversed(mentions)}.values())[::-1]
    if len(first) != len(mentions):
        return None
    dates = [
        *((m.start(), m.end(), (0, m[1].zfill(4))) for m in _STORY_DAY.finditer(text)),
        *(
            (start, end, (1, atom.core))
            for atom, start, end in locate_values(text)
            if atom.kind == DATE
        ),
    ]
    if len(dates) != len(first) or len({date for _, _, date in dates}) != len(dates):
        return None
    dates.sort()
    opens = [date[1] <= mention.start for date, mention in zip(dates, first, strict=True)]
    spans = sorted([(m.start, m.end) for m in first] + [(start, end) for start, end, _ in dates])
    is_alternate = all((spans[2 * n][0] == dates[n][0]) is opens[0] for n in range(len(first)))
    if not is_alternate or len({date[0] for _, _, date in dates}) != 1:
        return None
    ranked = sorted(
        zip((date for _, _, date in dates), first, strict=True), key=lambda pair: pair[0]
    )
    return tuple(mention.number for _, mention in ranked)


def _find_mentions(
    things: Sequence[RequiredPart],
    text: str,
    reader: ContentReader,
    distinct: Sequence[frozenset[str]] = (),
) -> list[_OrderMention]:
    """The mentions in order: by the thing's own words, else by its number, else by its meaning."""
    found: list[_OrderMention] = []
    for number, thing in enumerate(things):
        rest = [other.text for other in things if other is not thing]
        places = (
            find_mentions(thing, text, reader)
            if thing.value is not None
            else [place for one in thing.spellings for place in find_places(one, text)]
        )
        places = places or [
            place for one in _find_numbers(thing, rest) for place in find_places(one, text)
        ]
        places = (
            places
            or list(thing.find_surnames(text))
            or _find_by_sense(thing, text, reader)
            or _find_by_words(thing, rest, text, reader)
        )
        found += [_OrderMention(number, *place) for place in places]
    if distinct and len({mention.number for mention in found}) < len(things):
        found += _find_by_distinct_words(found, distinct, text, reader)
    found.sort(key=lambda mention: (mention.start, -mention.end))
    apart: list[_OrderMention] = []
    for mention in found:
        if not apart or mention.start >= apart[-1].end:
            apart.append(mention)
    return apart


def is_sequence_stated(
    things: Sequence[RequiredPart], text: str, reader: ContentReader
) -> bool | None:
    """Whether a text goes through things of which one comes twice; None if it does not name all."""
    texts = [thing.text for thing in things]
    wanted = [texts.index(text) for text in texts]
    mentions = _find_mentions([things[number] for number in dict.fromkeys(wanted)], text, reader)
    names = list(dict.fromkeys(wanted))
    found = [number for number, _ in groupby(names[mention.number] for mention in mentions)]
    return found == wanted if set(found) == set(wanted) else None


def _find_numbers(thing: RequiredPart, others: Sequence[str]) -> list[str]:
    """The numbers that identify one thing among others: `CL-1804`, `Surge 484`."""
    found = _NUMBERED_NAME.findall(thing.text)
    return [number for number in found if not any(number in other for other in others)]


def _find_by_sense(thing: RequiredPart, text: str, reader: ContentReader) -> list[tuple[int, int]]:
    """The clause that comes nearest to stating it."""
    if thing.phrase is None or not thing.stems:
        return []
    clauses = [match for match in _CLAUSES.finditer(text) if match[0].strip()]
    ranked = [
        (thing.phrase.measure_likeness(reader.read_phrase(match[0])), match.span())
        for match in clauses
    ]
    best = max(ranked, default=(0.0, (0, 0)))
    if best[0] <= NEARLY_STATED:
        return []
    return [_narrow(best[1], text, thing.phrase.content, reader)]


def _find_by_words(
    thing: RequiredPart, others: Sequence[str], text: str, reader: ContentReader
) -> list[tuple[int, int]]:
    """The clause with most of the words that no other thing has, if that is half of them.

    A thing with a number is known by its number.
    """
    if thing.has_number:
        return []
    rest = frozenset[str]().union(*(reader.read_phrase(other).content for other in others))
    own = reader.read_phrase(thing.text).content - rest
    head = reader.read_phrase(_PREPOSITION.split(thing.text)[0]).content - rest
    whole = replace(reader.read_phrase(""), content=own)
    best: tuple[int, tuple[int, int]] | None = None
    for match in _CLAUSES.finditer(text):
        target = reader.read_phrase(match[0])
        found = own - whole.find_missing(target)
        is_half = 2 * len(found) >= len(own) and not own.isdisjoint(target.tokens)
        is_enough = is_half or (head and head <= target.tokens)
        if found and is_enough and (best is None or len(found) > best[0]):
            best = (len(found), match.span())
    return [_narrow(best[1], text, own, reader)] if best else []


def _find_by_distinct_words(
    found: Sequence[_OrderMention],
    distinct: Sequence[frozenset[str]],
    text: str,
    reader: ContentReader,
) -> list[_OrderMention]:
    """The things that were not found, each where words stand that only it is described with."""
    located = reader.locate_tokens(text)
    taken = [(mention.start, mention.end) for mention in found]
    known = {mention.number for mention in found}
    more: list[_OrderMention] = []
    for number, words in enumerate(distinct):
        inside = [
            (start, end)
            for token, start, end in located
            if number not in known
            and (token in words or not words.isdisjoint(load_lexicon().find_same(token)))
            and not any(first < end and start < last for first, last in taken)
        ]
        more += [_OrderMention(number, *place) for place in inside[:1]]
    return more


_PREPOSITION = re.compile(r"\s(?:of|for|to|in|at|from|with|on|by|about|into)\s")


def _narrow(
    span: tuple[int, int], text: str, words: frozenset[str], reader: ContentReader
) -> tuple[int, int]:
    """The part of a clause from the first to the last of some words."""
    inside = [
        (start, end)
        for token, start, end in reader.locate_tokens(text)
        if span[0] <= start < span[1] and token in words
    ]
    return (inside[0][0], inside[-1][1]) if inside else span


_CUE_OF_NEXT = re.compile(
    r"^(?:'s)?(?:\s[\w'-]+){0,4}?(?:[,;.:]\s(?:and\s|but\s)?|\sand\s)(?:the\s)?"
    r"(?:first|second|third|fourth|fifth|last(?:ly)?|finally|later|earlier|already"
    r"|after (?:that|this|it)|afterwards?)\b(?![,;.]|\s(?:and|came|was|is)\b)[^,;.:\n]*$",
    re.IGNORECASE,
)
"""Words that place the thing after them: ", and last the yes for"."""


def _find_places(mentions: list[_OrderMention], text: str, total: int) -> dict[int, int]:
    """The places stated outright, by thing. Words between two things describe one of them."""
    places: dict[int, int] = {}
    starts = [*(mention.start for mention in mentions[1:]), len(text)]
    before = text[: mentions[0].start]
    for mention, start in zip(mentions, starts, strict=True):
        after = text[mention.end : start]
        is_cue_of_next = start < len(text) and _CUE_OF_NEXT.match(after) is not None
        place = None if is_cue_of_next else _read_place_after(after, total)
        before, said_before = ("" if place is not None else after), before
        if place is None:
            place = _read_place_before(said_before, total)
        if place is not None:
            places.setdefault(mention.number, place)
    return places


_PLACE_CLOSES = re.compile(
    r"^(?:'s)?(?:\s(?!then\b|before\b|after\b)[\w'-]+){1,5}?\s(?:(?P<first>first)|last|at the end)"
    r"(?=\s*(?:[,;.]|$)|\sand\b)",
    re.IGNORECASE,
)
"""A place at the end of a thing's own clause: "went out first,"."""


def _read_place_after(words: str, total: int) -> int | None:
    if match := _NTH_AFTER.search(words):
        return _NTH[match[1].lower()]
    if closes := _PLACE_CLOSES.match(words):
        return 0 if closes["first"] else total - 1
    if _FIRST_AFTER.search(words):
        return 0
    if _LAST_AFTER.search(words) or (total == 2 and _LATER_AFTER.search(words)):
        return total - 1
    return 1 if total == 3 and _MIDDLE_AFTER.search(words) else None


def _read_place_before(words: str, total: int) -> int | None:
    if _FIRST_BEFORE.search(words):
        return 0
    return total - 1 if _LAST_BEFORE.search(words) else None


def _fill_places(stated: tuple[int, ...], places: dict[int, int], total: int) -> tuple[int, ...]:
    """Placed things at their places, the others between them in order of mention."""
    slots: list[int | None] = [None] * max(total, *(place + 1 for place in places.values()))
    for number, place in places.items():
        slots[place] = number
    rest = iter(number for number in stated if number not in places)
    filled = [slot if slot is not None else next(rest, None) for slot in slots]
    return tuple(number for number in (*filled, *rest) if number is not None)


def _apply_relations(
    mentions: list[_OrderMention], text: str, stated: tuple[int, ...]
) -> tuple[int, ...]:
    """The order of mention, changed where a thing is said to come after the next one."""
    order = list(stated)
    if _BEFORE_OPENS.search(text, 0, mentions[0].start):
        order[:2] = order[1::-1]
    later = [
        (one.number, other.number)
        for one, other in pairwise(mentions)
        if one.number != other.number and _AFTER.search(text[one.end : other.start])
    ]
    for _ in later:
        # Each pass puts every thing after the one that it follows, as far as those are in place.
        for one, other in later:
            if order.index(one) < order.index(other):
                order.remove(one)
                order.insert(order.index(other) + 1, one)
    return tuple(order)


_PLACE_BEFORE = re.compile(r"^(?:first|then|next|finally|last(?:ly)?)[,:]?\s+", re.IGNORECASE)
_PLACE_AFTER = re.compile(
    r"[,:]?\s+\(?(?:came\s|was\s|is\s)?(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)\)?$",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"(?:[,:]|\bfirst\b)\s(?P<one>[^,:?]+?),?\sor\s(?P<other>[^,:?]+)\?")


def remove_place(thing: str) -> str:
    """A thing of a sequence without its place: "Iris Brandt" for "Iris Brandt first"."""
    return _PLACE_AFTER.sub("", _PLACE_BEFORE.sub("", thing)) or thing


def find_alternative(question: str, thing: str, reader: ContentReader) -> str | None:
    """The other thing, where a question asks for the first or last of two."""
    choice = _CHOICE.search(question)
    if choice is None:
        return None
    own = reader.read_phrase(thing).content
    one, other = (len(own & reader.read_phrase(choice[name]).content) for name in ("one", "other"))
    if one == other:
        return None
    return choice["other"] if one > other else choice["one"]


def name_options(question: str, things: Sequence[str], reader: ContentReader) -> list[list[str]]:
    """How a question names each of two things of which it asks for the first; blank if it does not.

    It is enough to know one of them: the other name is the other's.
    """
    choice = _CHOICE.search(question)
    if choice is None:
        return [[] for _ in things]
    options = [choice["one"], choice["other"]]
    words = [reader.read_phrase(option).content for option in options]
    own = [reader.read_phrase(thing).content for thing in things]
    straight = len(own[0] & words[0]) + len(own[1] & words[1])
    crossed = len(own[0] & words[1]) + len(own[1] & words[0])
    if straight == crossed:
        return [[] for _ in things]
    if crossed > straight:
        options.reverse()
    return [[option, _PREPOSITION.split(option)[0]] for option in options]
