"""Answers that say something definite and false: near misses, stale, other and partial values.

A near miss has the form of the right value and is close to it; it is never another way to write it.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations

from recall_bench.core.number_words import SMALL_NUMBERS, SMALL_ORDINALS, spell_ordinal, spell_small
from recall_bench.core.value_patterns import MONTHS, find_precision
from recall_bench.judging.lab.audit import phrase_bank
from recall_bench.judging.lab.audit.answer_key import (
    AnswerShape,
    AuditValue,
    ValueKind,
    is_any_in_text,
    list_answer_strings,
    parse_value,
)
from recall_bench.judging.lab.audit.audit_case import AuditCase, AuditDraft, affirm, deny
from recall_bench.judging.lab.audit.phrase_bank import capitalise, fill_words
from recall_bench.judging.lab.audit.wordings import Wording, list_wordings

Miss = tuple[str, str]
"""The recipe and the wrong value."""

_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SMALL_NUMBER = re.compile(rf"(?<![\w-])({'|'.join(SMALL_NUMBERS)})(?![\w-])")
_SMALL_ORDINAL = re.compile(rf"(?<![\w-])({'|'.join(SMALL_ORDINALS)})(?![\w-])")
_OTHER_UNIT = {
    "minutes": "hours",
    "hours": "minutes",
    "seconds": "minutes",
    "days": "weeks",
    "weeks": "days",
    "months": "weeks",
    "years": "months",
    "mg": "g",
    "kg": "g",
}
_DAYS_OFF = (-9, -7, -3, -2, -1, 1, 2, 4, 7, 10)
_MINUTES_OFF = (-60, -30, -15, -10, -5, 5, 10, 20, 30, 60)


def list_misses(value: AuditValue) -> list[Miss]:
    """Near misses of a value; none for a name or for text without a number."""
    maker = _MISS_MAKERS.get(value.kind)
    if maker is None:
        return []
    return [(recipe, text) for recipe, text in maker(value) if text != value.text]


def _change_date(value: AuditValue) -> Iterator[Miss]:
    day = value.day
    if day is None:
        return
    for off in _DAYS_OFF:
        moved = day + timedelta(days=off)
        yield "days off", _format_like(value.text, moved)
    for month in (day.month - 1, day.month + 1):
        if 1 <= month <= len(MONTHS) and day.day <= 28:
            yield "a month off", _format_like(value.text, day.replace(month=month))
    if not (day.month == 2 and day.day == 29):
        yield "a year off", _format_like(value.text, day.replace(year=day.year + 1))
        yield "a year off", _format_like(value.text, day.replace(year=day.year - 1))


def _format_like(like: str, day: date) -> str:
    month = MONTHS[day.month - 1]
    if like[:4].isdigit():
        return day.isoformat()
    if like[:1].isdigit():
        return f"{day.day} {month} {day.year}"
    return f"{month} {day.day}, {day.year}"


def _change_time(value: AuditValue) -> Iterator[Miss]:
    start = value.minutes or 0
    for off in _MINUTES_OFF:
        hours, minutes = divmod((start + off) % (24 * 60), 60)
        yield "minutes off", f"{hours:02}:{minutes:02}"
    hours, minutes = divmod(start, 60)
    half = "pm" if hours < 12 else "am"
    yield "wrong half of the day", f"{(hours - 1) % 12 + 1}:{minutes:02} {half}"


def _change_number(value: AuditValue) -> Iterator[Miss]:
    yield from _change_figures(value.text)
    unit = value.unit.strip()
    if value.kind is ValueKind.MEASURE and unit in _OTHER_UNIT:
        yield "wrong unit", value.text.replace(unit, _OTHER_UNIT[unit])


def _change_code(value: AuditValue) -> Iterator[Miss]:
    """A typing error in the last run of digits."""
    runs = list(re.finditer(r"\d+", value.text))
    if not runs:
        return
    run = runs[-1]
    for slip in _list_slips(run[0]):
        yield "slipped digit", value.text[: run.start()] + slip + value.text[run.end() :]


def _change_phrase(value: AuditValue) -> Iterator[Miss]:
    text = value.text
    if _DIGITS.search(text):
        yield from _change_figures(text)
        return
    for pattern, numbers, word in (
        (_SMALL_NUMBER, SMALL_NUMBERS, spell_small),
        (_SMALL_ORDINAL, SMALL_ORDINALS, spell_ordinal),
    ):
        if match := pattern.search(text):
            number = numbers[match[1]]
            for other in (number - 1, number + 1, number + 2):
                if other in numbers.values():
                    yield "another count", text[: match.start()] + word(other) + text[match.end() :]


def _change_figures(text: str) -> Iterator[Miss]:
    """The first number of the text, a little off; written as it was."""
    match = _DIGITS.search(text)
    if match is None:
        return
    number = Decimal(match[0].replace(",", ""))
    step = find_precision(match[0])
    off = [("one off", number + step), ("one off", number - step), ("two off", number + 2 * step)]
    if number >= 10 * step:
        near = (number / 10 / step).to_integral_value() * step
        off += [("a tenth off", number + near), ("a tenth off", number - near)]
    off += [("ten times", number * 10)]
    swapped = _swap_digits(match[0].replace(",", ""))
    if swapped:
        off.append(("swapped digits", Decimal(swapped)))
    for recipe, other in off:
        if other > 0 and other != number:
            written = f"{other:,f}" if "," in match[0] or other >= 10_000 else f"{other:f}"
            yield (
                recipe,
                text[: match.start()] + _trim_decimals(written, match[0]) + text[match.end() :],
            )


def _trim_decimals(written: str, like: str) -> str:
    """No more decimals than the original has."""
    if "." not in like and "." in written:
        return written.rstrip("0").rstrip(".")
    return written


def _swap_digits(digits: str) -> str | None:
    """The digits with the first two different neighbours swapped; never a leading zero."""
    for i in range(len(digits) - 1):
        left, right = digits[i], digits[i + 1]
        if left.isdigit() and right.isdigit() and left != right and (i or right != "0"):
            return digits[:i] + right + left + digits[i + 2 :]
    return None


def _list_slips(digits: str) -> Iterator[str]:
    last = int(digits[-1])
    yield digits[:-1] + str((last + 1) % 10)
    yield digits[:-1] + str((last + 7) % 10)
    if len(digits) > 1 and (swapped := _swap_digits(digits)):
        yield swapped
    if len(digits) > 2:
        yield digits[:-2] + str((int(digits[-2]) + 1) % 10) + digits[-1]


_MISS_MAKERS: dict[ValueKind, Callable[[AuditValue], Iterator[Miss]]] = {
    ValueKind.DATE: _change_date,
    ValueKind.TIME: _change_time,
    ValueKind.MONEY: _change_number,
    ValueKind.PERCENT: _change_number,
    ValueKind.MEASURE: _change_number,
    ValueKind.NUMBER: _change_number,
    ValueKind.CODE: _change_code,
    ValueKind.NAME: _change_code,
    ValueKind.PHRASE: _change_phrase,
}


_NOT_GROUNDED = {"grounded": False}
_NUMERIC_KINDS = frozenset({ValueKind.MONEY, ValueKind.PERCENT, ValueKind.MEASURE, ValueKind.CODE})
_STALE_FRAMES = (
    "It is {s}.",
    "{S}.",
    "As things stand now, {s}.",
    "Currently {s}, according to the log.",
    "The latest I have is {s}.",
)
_REVERSED_FRAMES = (
    "It was {a} at first and was then changed to {s}.",
    "Originally {a}; since the correction it is {s}.",
    "{S}, instead of {a} as it was before.",
    "Not {a} any longer: it is {s} now.",
)


def write_near_miss(case: AuditCase) -> Iterator[AuditDraft]:
    """Almost the right value."""
    if case.key.shape is AnswerShape.VALUE:
        value = case.key.value
        for recipe, text in list_misses(value):
            yield _make_miss(case, value, recipe, text)
    elif case.key.shape is AnswerShape.EXTREME:
        name, amount = case.key.values
        slipped = AuditValue(kind=ValueKind.CODE, text=name.text)
        for recipe, text in list_misses(slipped):
            if text not in case.truth.distractors:
                yield AuditDraft(f"extreme: {recipe}", f"{capitalise(text)}, at {amount.text}.")


def _make_miss(case: AuditCase, value: AuditValue, recipe: str, text: str) -> AuditDraft:
    """A miss as written, or half of the time in other words.

    Reworded, it has no label for grounding: its parts may occur in the history about something
    else.
    """
    ways = _list_absolute_wordings(case, parse_value(text))
    if ways and case.chooser.pick_below(2):
        _, written = case.chooser.pick(ways)
        return AuditDraft(f"{value.kind}: {recipe}", case.frame(value, written))
    labels = (
        _NOT_GROUNDED if value.kind in _NUMERIC_KINDS and not case.history.is_known(text) else {}
    )
    return AuditDraft(f"{value.kind}: {recipe}", case.frame(value, text), labels)


def _list_absolute_wordings(case: AuditCase, value: AuditValue) -> list[Wording]:
    """Other wordings of a wrong value, without `4 days from today`: the right one may be today."""
    ways = list_wordings(value, (), case.asked)
    return [(recipe, text) for recipe, text in ways if recipe != "relative"]


def write_stale_value(case: AuditCase) -> Iterator[AuditDraft]:
    """A superseded value, given as current."""
    right = list_answer_strings(case.item)
    for stale in case.truth.stale:
        if is_any_in_text(stale, right) or any(stale in one for one in right):
            continue
        for frame in _STALE_FRAMES:
            yield AuditDraft("as current", fill_words(frame, s=stale))
        value = parse_value(stale)
        for recipe, text in _list_absolute_wordings(case, value):
            yield AuditDraft(f"as current, {value.kind}: {recipe}", case.frame(value, text))
        for frame in _REVERSED_FRAMES:
            yield AuditDraft("turned round", fill_words(frame, s=stale, a=case.key.value.text))


def write_wrong(case: AuditCase) -> Iterator[AuditDraft]:
    """A plausible value that is not the right one."""
    shape = case.key.shape
    if shape is AnswerShape.NO:
        yield from (
            AuditDraft("yes for no", text, _NOT_GROUNDED) for text in _list_affirmations(case)
        )
    elif shape is AnswerShape.YES:
        yield from (AuditDraft("no for yes", text) for text in _list_denials(case))
    elif shape is AnswerShape.TRIPLE:
        yield from _write_disorder(case)
    elif shape is AnswerShape.PAIR:
        for other in case.truth.distractors:
            yield AuditDraft("the later one", f"{capitalise(other)}.")
            yield AuditDraft("the later one", f"{capitalise(other)} came first.")
            later = f"First {other}, then {case.key.value.text}."
            yield AuditDraft("turned round", later)
    elif shape in {AnswerShape.VALUE, AnswerShape.EXTREME}:
        right = list_answer_strings(case.item)
        for other in case.truth.distractors:
            if not is_any_in_text(other, right) and other not in case.truth.stale:
                yield AuditDraft("distractor", f"{capitalise(other)}.")
                yield AuditDraft("distractor", case.frame(parse_value(other), other))


def _list_affirmations(case: AuditCase) -> Iterator[str]:
    yield from (f"{capitalise(core)}." for core in phrase_bank.YESES)
    yield "Yes, a few days later."
    yield from affirm(case.item.text)


def _list_denials(case: AuditCase) -> Iterator[str]:
    yield from (f"{capitalise(core)}." for core in (*phrase_bank.NOES, *phrase_bank.DENIALS))
    yield from deny(case.item.text)


def _write_disorder(case: AuditCase) -> Iterator[AuditDraft]:
    events = [value.text for value in case.key.values]
    for order in list(permutations(events))[1:]:
        yield AuditDraft("another order", f"First {order[0]}, then {order[1]}, then {order[2]}.")


def write_one_of_n(case: AuditCase) -> Iterator[AuditDraft]:
    """One answer where three are asked for."""
    if case.key.shape is AnswerShape.TRIPLE:
        first, _, last = (value.text for value in case.key.values)
        yield AuditDraft("first of three", f"{capitalise(first)} came first.")
        yield AuditDraft("last of three", f"{capitalise(last)} came last.")
    elif case.key.shape is AnswerShape.SEVERAL:
        for part in case.parts:
            value = part.key.value
            yield AuditDraft("one of three", f"{capitalise(value.text)}.")
            yield AuditDraft("one of three", part.frame(value, value.text))
            recipe, text = part.reword(value)
            yield AuditDraft(f"one of three, {value.kind}: {recipe}", part.frame(value, text))
