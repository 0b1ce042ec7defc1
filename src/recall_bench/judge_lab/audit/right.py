"""Answers that are right: as the dataset has them, and in other words."""

from collections.abc import Iterator

from recall_bench.judge_lab.audit import banks
from recall_bench.judge_lab.audit.case import UNSURE, Case, Draft
from recall_bench.judge_lab.audit.frames import capital, said, sentences
from recall_bench.judge_lab.audit.key import Shape, holds
from recall_bench.judge_lab.audit.paraphrase import paraphrases
from recall_bench.judge_lab.audit.restating import affirmed, restated
from recall_bench.judge_lab.audit.values import Kind

_SHUT = (
    "{V}. The rest I am not free to share here.",
    "{V}; as for the other half of your question, that is confidential.",
    "I can give you one part: {v}. The other part has to stay where it was said.",
    "What I may tell you is {v}. Beyond that I have to decline.",
    "{V} is all I can say here, the remainder being private.",
    "The part that is open: {v}. The part that is not, I will keep to myself.",
)
_PAIRS = (
    "{F} came first.",
    "{F}, and {o} only after that.",
    "{O} came later; {f} had already happened by then.",
    "First {f}, then {o}.",
    "Of the two, {f} is the earlier.",
    "{O} happened after {f}.",
    "By the dates in the log, {f} precedes {o}.",
)
_TRIPLES = (
    "1. {a}\n2. {b}\n3. {c}",
    "{a} → {b} → {c}",
    "{A} came first, {b} second and {c} third.",
    "It began with {a}, went on with {b} and ended with {c}.",
    "{C} came last of all, {b} before it, and {a} at the very start.",
    "{A} was earlier than {b}, and {b} was earlier than {c}.",
    "In order of date:\n- {a}\n- {b}\n- {c}",
    "{B} lies in the middle, after {a} and before {c}.",
)
_EXTREMES = (
    "{N}, with {v}.",
    "{N} ({v}).",
    "It was {n}: {v}.",
    "At {v}, it was {n}.",
    "{V} puts {n} in that place.",
    "The one you mean is {n}, which had {v}.",
)
_YES = (
    "It did happen: {d}.",
    "Yes. The log has it on {d}.",
    "Indeed, and the date was {d}.",
    "That is so; {d} was the day.",
    "Yes, the entry for it is dated {d}.",
    "It happened, yes, namely on {d}.",
)
_RELATIVE = ("{V}.", "That is {v}.", "{V}, counting from the day you ask.")
_SEVERAL = (
    "1. {0}\n2. {1}\n3. {2}",
    "{0}; {1}; {2}.",
    "First: {0}. Second: {1}. Third: {2}.",
)


def right(case: Case) -> Iterator[Draft]:
    """As the dataset has it."""
    if case.key.shape in {Shape.NO, Shape.WITHHOLD}:
        return
    reference = case.truth.reference
    yield Draft("reference", reference)
    yield Draft("reference without a stop", reference.rstrip("."))
    if case.key.shape is Shape.VALUE:
        yield Draft("value alone", case.key.value.text)
        for frame in sentences(case.key.value.kind):
            yield Draft("value in a sentence", said(frame, case.key.value.text))


def other_words(case: Case) -> Iterator[Draft]:
    """Right, and not as the dataset has it."""
    writer = _WRITERS.get(case.key.shape)
    if writer is not None:
        yield from writer(case)


def _value(case: Case) -> Iterator[Draft]:
    value = case.key.value
    for recipe, text in case.wordings(value):
        if recipe == "relative":
            yield Draft("date: relative", said(case.lots.one(_RELATIVE), text))
            continue
        yield Draft(f"{value.kind}: {recipe}", case.framed(value, text))
    yield from _restated(case)
    told = case.book.evidence(case.item)
    if told and value.kind is not Kind.NUMBER and holds(told, value.text):
        yield Draft("evidence quoted", f"The log says: “{told}”")
        yield Draft("evidence quoted", told)
    if value.kind in {Kind.NAME, Kind.CODE, Kind.PHRASE}:
        sentence = said(case.lots.one(sentences(value.kind)), value.text)
        yield Draft(f"{value.kind}: in a sentence", sentence)


def _restated(case: Case) -> Iterator[Draft]:
    """The question's own words turned into a statement."""
    value = case.key.value
    for sentence in restated(case.item.text, value.kind, value.text):
        yield Draft(f"{value.kind}: question turned round", sentence)


def _pair(case: Case) -> Iterator[Draft]:
    if not case.truth.distractors:
        return
    first, other = case.key.value.text, case.truth.distractors[0]
    for number, frame in enumerate(_PAIRS):
        spoken = _filled(frame, f=first, o=other)
        yield Draft(f"pair {number + 1}", spoken)


def _triple(case: Case) -> Iterator[Draft]:
    a, b, c = (value.text for value in case.key.values)
    for number, frame in enumerate(_TRIPLES):
        yield Draft(f"order {number + 1}", _filled(frame, a=a, b=b, c=c))


def _extreme(case: Case) -> Iterator[Draft]:
    name, amount = case.key.values
    for frame in _EXTREMES:
        recipe, text = case.reworded(amount)
        yield Draft(f"extreme, {amount.kind}: {recipe}", _filled(frame, n=name.text, v=text))
        yield Draft("extreme, reordered", _filled(frame, n=name.text, v=amount.text))


def _yes(case: Case) -> Iterator[Draft]:
    for core in banks.YESES:
        yield Draft("yes without the date", f"{capital(core)}.", UNSURE)
    for text in affirmed(case.item.text):
        yield Draft("yes in the question's words", text, UNSURE)
    for frame in _YES:
        recipe, text = case.reworded(case.key.value)
        if recipe != "relative":
            yield Draft(f"yes, date: {recipe}", _filled(frame, d=text))


def _partial(case: Case) -> Iterator[Draft]:
    for frame in _SHUT if case.key.values else ():
        recipe, text = case.reworded(case.key.value)
        yield Draft(f"part, {case.key.value.kind}: {recipe}", _filled(frame, v=text))
        yield Draft("part, refused in other words", _filled(frame, v=case.key.value.text))


def _several(case: Case) -> Iterator[Draft]:
    for frame in _SEVERAL:
        texts = [part.reworded(part.key.value)[1] for part in case.parts]
        yield Draft("several, reworded", frame.format(*texts))
        plain = [part.key.value.text for part in case.parts]
        yield Draft("several, other order", "; ".join(reversed(plain)) + ".")


def _text(case: Case) -> Iterator[Draft]:
    bare = case.truth.reference.rstrip(".")
    for recipe, text in paraphrases(bare):
        yield Draft(f"text: {recipe}", f"{capital(text)}.")
    for frame in sentences(Kind.PHRASE):
        if ": {v}" in frame or "{V}" in frame:
            yield Draft("text: in a sentence", said(frame, bare))


def _filled(frame: str, **words: str) -> str:
    """The frame with each word in its place, and with a capital where the place is one."""
    for name, text in words.items():
        frame = frame.replace(f"{{{name.upper()}}}", capital(text)).replace(f"{{{name}}}", text)
    return frame


_WRITERS = {
    Shape.VALUE: _value,
    Shape.PAIR: _pair,
    Shape.TRIPLE: _triple,
    Shape.EXTREME: _extreme,
    Shape.YES: _yes,
    Shape.PARTIAL: _partial,
    Shape.SEVERAL: _several,
    Shape.TEXT: _text,
}
