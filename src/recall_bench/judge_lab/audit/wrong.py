"""Answers that say something definite and false."""

from collections.abc import Iterator
from itertools import permutations

from recall_bench.judge_lab.audit import banks
from recall_bench.judge_lab.audit.case import Case, Draft
from recall_bench.judge_lab.audit.frames import capital
from recall_bench.judge_lab.audit.key import Shape, holds_any, told
from recall_bench.judge_lab.audit.misses import misses
from recall_bench.judge_lab.audit.restating import affirmed, denied
from recall_bench.judge_lab.audit.values import Kind, Value, read
from recall_bench.judge_lab.audit.wordings import Wording, wordings

_MADE_UP = {"grounded": False}
_NUMERIC = frozenset({Kind.MONEY, Kind.PERCENT, Kind.MEASURE, Kind.CODE})
_STALE = (
    "It is {s}.",
    "{S}.",
    "As things stand now, {s}.",
    "Currently {s}, according to the log.",
    "The latest I have is {s}.",
)
_TURNED = (
    "It was {a} at first and was then changed to {s}.",
    "Originally {a}; since the correction it is {s}.",
    "{S}, instead of {a} as it was before.",
    "Not {a} any longer: it is {s} now.",
)


def near_miss(case: Case) -> Iterator[Draft]:
    """Nearly the value, hence not it."""
    if case.key.shape is Shape.VALUE:
        value = case.key.value
        for recipe, text in misses(value):
            yield _missed(case, value, recipe, text)
    elif case.key.shape is Shape.EXTREME:
        name, amount = case.key.values
        slipped = Value(kind=Kind.CODE, text=name.text)
        for recipe, text in misses(slipped):
            if text not in case.truth.distractors:
                yield Draft(f"extreme: {recipe}", f"{capital(text)}, at {amount.text}.")


def _missed(case: Case, value: Value, recipe: str, text: str) -> Draft:
    """A miss as written, or in other words half of the time.

    Nobody can say that a wrong value is made up where its parts were told of something else, and
    other words have other parts.
    """
    ways = _absolute(case, read(text))
    if ways and case.lots.below(2):
        _, written = case.lots.one(ways)
        return Draft(f"{value.kind}: {recipe}", case.framed(value, written))
    labels = _MADE_UP if value.kind in _NUMERIC and not case.book.tells(text) else {}
    return Draft(f"{value.kind}: {recipe}", case.framed(value, text), labels)


def _absolute(case: Case, value: Value) -> list[Wording]:
    """Other words for a wrong value, but for `4 days from today`: the right one may be today."""
    ways = wordings(value, (), case.asked)
    return [(recipe, text) for recipe, text in ways if recipe != "relative"]


def superseded(case: Case) -> Iterator[Draft]:
    """What held once, given as what holds."""
    right = told(case.item)
    for stale in case.truth.stale:
        if holds_any(stale, right) or any(stale in one for one in right):
            continue
        for frame in _STALE:
            yield Draft("as current", _put(frame, s=stale))
        value = read(stale)
        for recipe, text in _absolute(case, value):
            yield Draft(f"as current, {value.kind}: {recipe}", case.framed(value, text))
        for frame in _TURNED:
            yield Draft("turned round", _put(frame, s=stale, a=case.key.value.text))


def wrong(case: Case) -> Iterator[Draft]:
    """A plausible value that is not the one."""
    shape = case.key.shape
    if shape is Shape.NO:
        yield from (Draft("yes for no", text, _MADE_UP) for text in _affirmations(case))
    elif shape is Shape.YES:
        yield from (Draft("no for yes", text) for text in _denials(case))
    elif shape is Shape.TRIPLE:
        yield from _disordered(case)
    elif shape is Shape.PAIR:
        for other in case.truth.distractors:
            yield Draft("the later one", f"{capital(other)}.")
            yield Draft("the later one", f"{capital(other)} came first.")
            later = f"First {other}, then {case.key.value.text}."
            yield Draft("turned round", later)
    elif shape in {Shape.VALUE, Shape.EXTREME}:
        right = told(case.item)
        for other in case.truth.distractors:
            if not holds_any(other, right) and other not in case.truth.stale:
                yield Draft("distractor", f"{capital(other)}.")
                yield Draft("distractor", case.framed(read(other), other))


def _affirmations(case: Case) -> Iterator[str]:
    yield from (f"{capital(core)}." for core in banks.YESES)
    yield "Yes, a few days later."
    yield from affirmed(case.item.text)


def _denials(case: Case) -> Iterator[str]:
    yield from (f"{capital(core)}." for core in (*banks.NOES, *banks.DENIALS))
    yield from denied(case.item.text)


def _disordered(case: Case) -> Iterator[Draft]:
    events = [value.text for value in case.key.values]
    for order in list(permutations(events))[1:]:
        yield Draft("another order", f"First {order[0]}, then {order[1]}, then {order[2]}.")


def one_of_n(case: Case) -> Iterator[Draft]:
    """One answer where three are wanted."""
    if case.key.shape is Shape.TRIPLE:
        first, _, last = (value.text for value in case.key.values)
        yield Draft("first of three", f"{capital(first)} came first.")
        yield Draft("last of three", f"{capital(last)} came last.")
    elif case.key.shape is Shape.SEVERAL:
        for part in case.parts:
            value = part.key.value
            yield Draft("one of three", f"{capital(value.text)}.")
            yield Draft("one of three", part.framed(value, value.text))
            recipe, text = part.reworded(value)
            yield Draft(f"one of three, {value.kind}: {recipe}", part.framed(value, text))


def _put(frame: str, **words: str) -> str:
    for name, text in words.items():
        frame = frame.replace(f"{{{name.upper()}}}", capital(text)).replace(f"{{{name}}}", text)
    return frame
