"""What an answer says of the right values, and what makes it wrong all the same.

* Another period: "£2,480 a year" for "£2,480 a month".
* Another order, where the reference tells how something went from one value to the next.
* The opposite of the question: "brought forward by 21 days", where it was put off.
"""

import re
from collections.abc import Sequence

from recall_bench.core.text import STOPWORDS
from recall_bench.core.values import DATE, QUANTITY, find_values
from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.relations import find_mentions, split_clauses
from recall_bench.judging.offline.required_part import RequiredPart, find_unit

_LENGTH = r"(?:hour|day|night|week|fortnight|month|quarter|year)"
_ADVERBS = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "night",
    "weekly": "week",
    "fortnightly": "fortnight",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
    "annum": "year",
}
_PERIOD = re.compile(
    rf"(?:\b(?:an?|per|each|every)\s|/\s?)(?P<noun>{_LENGTH})\b"
    rf"|\b(?:per\s)?(?P<adverb>{'|'.join(_ADVERBS)})\b",
    re.IGNORECASE,
)
_NEXT_WORDS = 2
"""Words that may stand between an amount and its period."""


def find_other_period(texts: Sequence[str], part: RequiredPart, answer: str) -> str | None:
    """The period that an answer gives for an amount, where the question or reference has another.

    An amount in a text without a period may be meant for any.
    """
    if part.value is None or part.value.kind != QUANTITY:
        return None
    wanted = {_name_period(match) for text in texts for match in _PERIOD.finditer(text)}
    if not wanted:
        return None
    place = part.find_place(answer)
    match = _PERIOD.search(answer, place[1]) if place is not None else None
    if place is None or match is None:
        return None
    between = answer[place[1] : match.start()]
    is_next = len(between.split()) <= _NEXT_WORDS and not re.search(r"[.,;:()\d]", between)
    given = _name_period(match)
    return f"a {given}" if is_next and given not in wanted else None


def _name_period(match: re.Match[str]) -> str:
    return match["noun"].lower() if match["noun"] else _ADVERBS[match["adverb"].lower()]


_PROGRESS = re.compile(r"\bfrom\b.+\bto\b|\bthen\b|\bback (?:up |down )?to\b", re.IGNORECASE)
_IN_ORDER = re.compile(r"\b(?:first|then|next|after that|finally|lastly)\b", re.IGNORECASE)
_BACKWARDS = re.compile(
    r"\b(?:before(?:hand)?|previous\w*|originally|initially|earlier|after|follow\w*"
    r"|(?:up|down) from"
    r"|at first|formerly|once|preced\w*|came from|started)\b",
    re.IGNORECASE,
)


def is_progress_changed(
    parts: Sequence[RequiredPart], reference: str, text: str, reader: ContentReader
) -> bool:
    """Whether a text has the values that something went through in another order.

    Names are compared where the text says that it gives an order. Where it tells them backwards, or
    by date, nothing is compared.
    """
    units = {find_unit(part.value) if part.value is not None else None for part in parts}
    if len(units) != 1 or (None in units and not _IN_ORDER.search(text)):
        return False
    if not _PROGRESS.search(reference) or _BACKWARDS.search(text):
        return False
    if any(atom.kind == DATE for atom in find_values(text)):
        return False
    wanted, found = (_list_in_order(parts, each, reader) for each in (reference, text))
    return len(found) == len(wanted) > 2 and found != wanted


def _list_in_order(parts: Sequence[RequiredPart], text: str, reader: ContentReader) -> list[str]:
    """The values of the parts in the order in which a text first mentions them."""
    places = [
        (spans[0], part.display) for part in parts if (spans := find_mentions(part, text, reader))
    ]
    return list(dict.fromkeys(display for _, display in sorted(places)))


_NEGATED = re.compile(r"\b(?:not|no|never|without|neither|nor|instead)\b|n't\b", re.IGNORECASE)


def find_turned_word(
    question: str, parts: Sequence[RequiredPart], text: str, reader: ContentReader
) -> str | None:
    """A word beside a right part that turns what is asked round, in words.

    "Brought forward by 21 days" does not say by how much it was put off. Of a name only stances are
    compared: who lost also follows from who won.
    """
    lexicon = load_lexicon()
    asked = reader.read_phrase(question)
    is_stance = any(part.value is None for part in parts)
    turned = {
        word: others
        for word in asked.tokens - (STOPWORDS - {"against"})
        if (others := lexicon.find_contrary(word, of_stances=is_stance))
        and others.isdisjoint(asked.tokens)
    }
    if not turned:
        return None
    words = reader.read_phrase(text).tokens
    for start, end in split_clauses(text):
        clause = text[start:end]
        if _NEGATED.search(clause) or not any(
            find_mentions(each, clause, reader) for each in parts
        ):
            continue
        tokens = reader.read_phrase(clause).tokens
        for word, others in sorted(turned.items()):
            found = others & tokens - asked.tokens
            if found and word not in words and lexicon.find_alike(word).isdisjoint(words):
                return f"{min(found)} for {word}"
    return None
