"""Answers that say something definite and false."""

from collections.abc import Iterator
from itertools import permutations

from recall_bench.judge_lab.audit import banks
from recall_bench.judge_lab.audit.case import AuditCase, AuditDraft
from recall_bench.judge_lab.audit.frames import capitalise
from recall_bench.judge_lab.audit.key import AnswerShape, is_any_in_text, list_answer_strings
from recall_bench.judge_lab.audit.misses import list_misses
from recall_bench.judge_lab.audit.restating import affirm, deny
from recall_bench.judge_lab.audit.values import AuditValue, ValueKind, parse_value
from recall_bench.judge_lab.audit.wordings import Wording, list_wordings

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
    """Nearly the value, hence not it."""
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
    """A miss as written, or in other words half of the time.

    Nobody can say that a wrong value is made up where its parts were told of something else, and
    other words have other parts.
    """
    ways = _list_absolute_wordings(case, parse_value(text))
    if ways and case.lots.pick_below(2):
        _, written = case.lots.pick(ways)
        return AuditDraft(f"{value.kind}: {recipe}", case.frame(value, written))
    labels = _NOT_GROUNDED if value.kind in _NUMERIC_KINDS and not case.book.is_known(text) else {}
    return AuditDraft(f"{value.kind}: {recipe}", case.frame(value, text), labels)


def _list_absolute_wordings(case: AuditCase, value: AuditValue) -> list[Wording]:
    """Other words for a wrong value, but for `4 days from today`: the right one may be today."""
    ways = list_wordings(value, (), case.asked)
    return [(recipe, text) for recipe, text in ways if recipe != "relative"]


def write_stale_value(case: AuditCase) -> Iterator[AuditDraft]:
    """What held once, given as what holds."""
    right = list_answer_strings(case.item)
    for stale in case.truth.stale:
        if is_any_in_text(stale, right) or any(stale in one for one in right):
            continue
        for frame in _STALE_FRAMES:
            yield AuditDraft("as current", _fill_words(frame, s=stale))
        value = parse_value(stale)
        for recipe, text in _list_absolute_wordings(case, value):
            yield AuditDraft(f"as current, {value.kind}: {recipe}", case.frame(value, text))
        for frame in _REVERSED_FRAMES:
            yield AuditDraft("turned round", _fill_words(frame, s=stale, a=case.key.value.text))


def write_wrong(case: AuditCase) -> Iterator[AuditDraft]:
    """A plausible value that is not the one."""
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
    yield from (f"{capitalise(core)}." for core in banks.YESES)
    yield "Yes, a few days later."
    yield from affirm(case.item.text)


def _list_denials(case: AuditCase) -> Iterator[str]:
    yield from (f"{capitalise(core)}." for core in (*banks.NOES, *banks.DENIALS))
    yield from deny(case.item.text)


def _write_disorder(case: AuditCase) -> Iterator[AuditDraft]:
    events = [value.text for value in case.key.values]
    for order in list(permutations(events))[1:]:
        yield AuditDraft("another order", f"First {order[0]}, then {order[1]}, then {order[2]}.")


def write_one_of_n(case: AuditCase) -> Iterator[AuditDraft]:
    """One answer where three are wanted."""
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


def _fill_words(frame: str, **words: str) -> str:
    for name, text in words.items():
        frame = frame.replace(f"{{{name.upper()}}}", capitalise(text)).replace(f"{{{name}}}", text)
    return frame
