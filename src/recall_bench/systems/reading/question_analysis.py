"""What kind of answer a question wants, and what it asks about."""

import re
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import lru_cache

from recall_bench.systems.builtin.date_spans import DateSpan, find_date_spans, may_name_dates
from recall_bench.systems.builtin.exact_words import find_exact_words
from recall_bench.systems.reading import question_cues as cues
from recall_bench.systems.reading.passage_sentences import collect_stems
from recall_bench.text.multilingual_text import guess_language
from recall_bench.text.text import STOPWORDS, normalise
from recall_bench.text.value_patterns import MONTH_PATTERN, WEEKDAY_PATTERN


class AnswerKind(StrEnum):
    """The kind of an answer."""

    ORDER = "order"
    FIRST = "first"
    GAP = "gap"
    """The days between two events."""
    COUNT = "count"
    SUM = "sum"
    EXTREME = "extreme"
    YES_NO = "yes/no"
    DATE = "date"
    TIME = "time"
    AMOUNT = "amount"
    PERSON = "person"
    COMMON = "common"
    """What two things share."""
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question or a part of one, analysed."""

    text: str
    wanted: AnswerKind
    focus: str
    """Its main clause: `what did she move?` of `When they called, what did she move?`."""
    anchors: tuple[str, ...] = ()
    """Codes, quotations and names, in lower case: what can only be meant word for word."""
    stems: frozenset[str] = frozenset()
    """Of its content words, without those of the anchors."""
    noun: str = ""
    """For an amount or a count: what is counted."""
    events: tuple[str, ...] = ()
    """For an order: the events to put in order."""
    spans: tuple[DateSpan, ...] = ()
    """The days that it names."""
    side: str = ""
    """For an extreme `most`, `least`, `fast` or `slow`; for an order of two, the word used."""
    measure: str = ""
    """For an amount: money, percent, duration, or nothing in particular."""
    wants_name: bool = False
    """Whether a name is likely: `which supplier`, `where`."""
    wants_reason: bool = False
    wants_list: bool = False
    """Whether it asks for several things."""
    wants_deadline: bool = False
    """Whether it asks for a day that was still to come."""
    wants_change: bool = False
    """Whether it asks if something changed or came back."""


_CALENDAR = re.compile(
    rf"\b(?:\d{{4}}-\d\d-\d\d|{MONTH_PATTERN} \d\d?(?:st|nd|rd|th)?,? (?:\d{{4}})?"
    rf"|\d\d?(?:st|nd|rd|th)? {MONTH_PATTERN}(?:,? \d{{4}})?|{MONTH_PATTERN}(?: \d{{4}})?"
    rf"|{WEEKDAY_PATTERN})\b"
)
_PLAIN_NUMBER = re.compile(r"[$€£]?[\d.,:/%-]+(?:st|nd|rd|th)?")


def analyse_question(text: str, today: date) -> list[AskedQuestion]:
    """The parts of a question in order; most questions have one."""
    whole = normalise(text).strip()
    parts, spans = _analyse_parts(whole), find_date_spans(whole, today)
    return [replace(part, spans=spans) for part in parts] if spans else list(parts)


def find_named_days(text: str, today: date) -> tuple[tuple[DateSpan, ...], ...]:
    """The days that a question names, and each event in it: all that today decides about them."""
    whole = normalise(text).strip()
    if not may_name_dates(whole):
        return ()
    events = (event for part in _analyse_parts(whole) for event in part.events)
    named = (whole, *(normalise(event).strip() for event in events))
    return tuple(find_date_spans(each, today) for each in named)


@lru_cache(maxsize=4096)
def _analyse_parts(whole: str) -> tuple[AskedQuestion, ...]:
    """The parts of a question, without the days that it names."""
    parts = [part.strip(" ,;") for part in cues.PART.split(whole)]
    if len(parts) == 1 or any(len(part.split()) < 3 for part in parts):
        parts = [whole]
    shared = _find_anchors(whole)
    return tuple(_analyse_part(part, shared) for part in parts)


def _find_anchors(text: str) -> tuple[str, ...]:
    """Codes, quotations and names, without dates and plain numbers.

    German writes every noun with a capital, so none counts as a name.
    """
    kept = _CALENDAR.sub(" ", text.lower() if guess_language(text) == "de" else text)
    found = (word.strip("'’") for word in find_exact_words(kept))
    return tuple(word for word in found if word and not _PLAIN_NUMBER.fullmatch(word))


def _analyse_part(text: str, shared: tuple[str, ...]) -> AskedQuestion:
    focus = cues.LEADING_CLAUSE.sub("", text, count=1)
    wanted = classify(focus, text)
    anchors = _find_anchors(text) or shared
    topic = collect_stems(text) - collect_stems(" ".join(anchors))
    return AskedQuestion(
        text=text,
        wanted=wanted,
        focus=focus,
        anchors=anchors,
        stems=topic or collect_stems(text),
        noun=_find_noun(focus, wanted),
        events=split_events(focus, wanted),
        side=_find_side(focus, wanted),
        measure=_find_measure(focus),
        wants_name=cues.NAMED.search(focus) is not None,
        wants_reason=cues.REASON.search(focus) is not None,
        wants_list=cues.SEVERAL.search(focus) is not None,
        wants_deadline=cues.DEADLINE.search(focus) is not None,
        wants_change=cues.CHANGE.search(focus) is not None,
    )


def classify(text: str, whole: str) -> AnswerKind:
    """The kind of answer that a question wants: the first of these rules that holds.

    `text` is the main clause of the whole question.
    """
    period = cues.PERIOD.search(text)
    is_gap = period is not None and cues.PASSED.search(text) is not None
    is_exact_gap = is_gap and period is not None and bool(period["unit"])
    many = cues.HOW_MANY.search(text) is not None
    has_amount = many or cues.AMOUNT.search(text) is not None
    is_yes_no = cues.YES_NO.match(text) is not None
    has_extreme = cues.EXTREME.search(text) is not None and cues.AMONG.search(whole) is not None
    rules = (
        (AnswerKind.ORDER, cues.ORDER.search(text) is not None),
        (AnswerKind.FIRST, cues.FIRST.search(text) is not None),
        (AnswerKind.EXTREME, has_extreme and not is_yes_no),
        (AnswerKind.GAP, is_exact_gap and cues.GROUP_OF_THINGS.search(text) is None),
        (AnswerKind.SUM, cues.SUM.search(text) is not None and (has_amount or _find_measure(text))),
        (AnswerKind.GAP, is_gap),
        (AnswerKind.YES_NO, is_yes_no),
        (AnswerKind.COMMON, cues.COMMON.search(text) is not None and not many),
        (AnswerKind.TIME, cues.TIME.search(text) is not None),
        (AnswerKind.DATE, cues.WHEN.search(text) is not None),
        (AnswerKind.COUNT, many or cues.HOW_OFTEN.search(text) is not None),
        (AnswerKind.PERSON, cues.PERSON.search(text) is not None),
        (AnswerKind.AMOUNT, has_amount),
    )
    return next((wanted for wanted, holds in rules if holds), AnswerKind.TEXT)


def _find_measure(text: str) -> str:
    return next((name for name, cue in cues.MEASURES.items() if cue.search(text)), "")


def _find_noun(text: str, wanted: AnswerKind) -> str:
    """What is counted, or the unit of time that is asked for."""
    if wanted is AnswerKind.GAP:
        period = cues.PERIOD.search(text)
        return (period["unit"] or "") if period else ""
    many = cues.HOW_MANY.search(text)
    return _find_head(many["things"]) if many else ""


def _find_head(phrase: str) -> str:
    """The last word of a noun phrase: `audits` of `new chart audits were`."""
    head = ""
    for word in phrase.split():
        if word.lower() in STOPWORDS:
            break
        head = word
    return head


def _find_side(text: str, wanted: AnswerKind) -> str:
    if wanted is AnswerKind.FIRST and (first := cues.FIRST.search(text)):
        return first["side"].lower()
    if wanted is AnswerKind.EXTREME and (extreme := cues.EXTREME.search(text)):
        return str(extreme.lastgroup)
    return ""


_EDGES = " ,:;?."


def split_events(text: str, wanted: AnswerKind) -> tuple[str, ...]:
    """The events that a question wants put in order or measured."""
    if wanted is AnswerKind.ORDER:
        return _split_list(text)
    if wanted is AnswerKind.FIRST:
        start = cues.ALTERNATIVES.search(text)
        one, _, other = (text[start.end() :] if start else text).rpartition(" or ")
        return (one.strip(_EDGES), other.strip(_EDGES)) if one.strip(_EDGES) else ()
    if wanted is AnswerKind.GAP and (between := cues.BETWEEN.search(text)):
        return tuple(part.strip() for part in between.groups() if part)
    return ()


def _split_list(text: str) -> tuple[str, ...]:
    listed = cues.LISTED_EVENTS.search(text)
    if listed is None:
        return ()
    items = listed["items"]
    parts = items.split(";") if ";" in items else re.split(r",(?!\s\d{4})|\band\b", items)
    return tuple(part.strip(_EDGES) for part in parts if part.strip(_EDGES))
