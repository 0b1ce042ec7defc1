"""What an answer says of the right values, and what makes it wrong all the same.

* Another period: "£2,480 a year" for "£2,480 a month".
* Another order, where the reference tells how something went from one value to the next.
* The opposite of the question: "brought forward by 21 days", where it was put off.
"""

import re
from collections.abc import Sequence

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.past_values import is_given_as_past
from recall_bench.judging.offline.relations import find_mentions, split_clauses
from recall_bench.judging.offline.required_part import RequiredPart, find_unit
from recall_bench.text.text import STOPWORDS
from recall_bench.text.value_patterns import WEEKDAYS
from recall_bench.text.values import DATE, QUANTITY, TIME, find_values, locate_values

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
    period = _name_period(match)
    return f"a {period}" if is_next and period not in wanted else None


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


_DIRECTIONS = frozenset({"against", "more", "most", "above", "below"})
_NO_RANK = re.compile(
    r"\b(?:last|first|next)\s(?:week|month|year|night|time|spring|summer|autumn|fall|winter|term"
    r"|quarter|half|season|\w+day|January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b|\bat (?:last|first|least|most)\b|\bfirst of all\b|\bmore than\b"
    r"|\bless than\b|\b(?:later|earlier)(?=\W*$|\s(?:on|that|than)\b)",
    re.IGNORECASE,
)
"""Words of rank that say when something was, or how much at least."""
_NEGATED = re.compile(r"\b(?:not|no|never|without|neither|nor|instead)\b|n't\b", re.IGNORECASE)


def find_turned_word(
    question: str, parts: Sequence[RequiredPart], text: str, reader: ContentReader
) -> str | None:
    """A word beside a right part that turns what is asked round, in words.

    "Brought forward by 21 days" does not say by how much it was put off. Of a name only stances are
    compared: who lost also follows from who won.
    """
    lexicon = load_lexicon()
    phrase = reader.read_phrase(question)
    is_stance = any(part.value is None for part in parts)
    turned = {
        word: others
        for word in phrase.tokens - (STOPWORDS - _DIRECTIONS)
        if (others := lexicon.find_contrary(word, of_stances=is_stance))
        and others.isdisjoint(phrase.tokens)
    }
    if not turned:
        return None
    words = reader.read_phrase(text).tokens
    for start, end in split_clauses(text):
        clause = text[start:end]
        if _NEGATED.search(clause) or not any(
            find_mentions(part, clause, reader) for part in parts
        ):
            continue
        if " or " in question and " than " in clause:
            continue  # of two things, the one may be said to be more, or the other less
        tokens = reader.read_phrase(_NO_RANK.sub(" ", clause)).tokens
        for word, others in sorted(turned.items()):
            found = others & tokens - phrase.tokens
            if found and word not in words and lexicon.find_alike(word).isdisjoint(words):
                return f"{min(found)} for {word}"
    return None


_ASIDE = re.compile(
    r"(?:,\s|\s)(?:since|because|as|after|although|though|while|when|whereas|now that|once)\s",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b")


def find_main_rival(part: RequiredPart, sentence: str, reader: ContentReader) -> str | None:
    """Another day or date in the main clause of a sentence that has the right one in an aside.

    "On Thursday, since the meeting had moved to Friday" answers with Thursday.
    """
    aside = _ASIDE.search(sentence)
    if aside is None:
        return None
    spans = find_mentions(part, sentence, reader)
    if not spans or spans[0][0] < aside.end():
        return None
    if any("," in sentence[aside.end() : start] for start, _ in spans):
        return None  # the aside may have ended
    rivals = [
        (found.span(), found[0])
        for found in _WEEKDAY.finditer(sentence, 0, aside.start())
        if part.text.capitalize() in WEEKDAYS and found[0].lower() != part.text.lower()
    ]
    if part.value is not None and part.value.kind in (DATE, TIME):
        rivals += [
            ((start, end), atom.value)
            for atom, start, end in locate_values(sentence[: aside.start()])
            if part.value.is_rival_of(atom)
        ]
    return next(
        (f"{text} instead" for span, text in rivals if not is_given_as_past(sentence, span)), None
    )
