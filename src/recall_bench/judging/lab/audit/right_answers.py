"""Answers that are right: as the dataset has them, and in other words."""

from collections.abc import Iterator

from recall_bench.judging.lab.audit import phrase_bank
from recall_bench.judging.lab.audit.answer_key import AnswerShape, ValueKind, is_in_text
from recall_bench.judging.lab.audit.audit_case import (
    UNSURE_COMPLETENESS,
    AuditCase,
    AuditDraft,
    affirm,
    restate,
)
from recall_bench.judging.lab.audit.phrase_bank import (
    capitalise,
    fill_frame,
    fill_words,
    list_sentence_frames,
)
from recall_bench.judging.lab.audit.wordings import list_paraphrases

_PARTIAL_FRAMES = (
    "{V}. The rest I am not free to share here.",
    "{V}; as for the other half of your question, that is confidential.",
    "I can give you one part: {v}. The other part has to stay where it was said.",
    "What I may tell you is {v}. Beyond that I have to decline.",
    "{V} is all I can say here, the remainder being private.",
    "The part that is open: {v}. The part that is not, I will keep to myself.",
)
_PAIR_FRAMES = (
    "{F} came first.",
    "{F}, and {o} only after that.",
    "{O} came later; {f} had already happened by then.",
    "First {f}, then {o}.",
    "Of the two, {f} is the earlier.",
    "{O} happened after {f}.",
    "By the dates in the log, {f} precedes {o}.",
)
_TRIPLE_FRAMES = (
    "1. {a}\n2. {b}\n3. {c}",
    "{a} → {b} → {c}",
    "{A} came first, {b} second and {c} third.",
    "It began with {a}, went on with {b} and ended with {c}.",
    "{C} came last of all, {b} before it, and {a} at the very start.",
    "{A} was earlier than {b}, and {b} was earlier than {c}.",
    "In order of date:\n- {a}\n- {b}\n- {c}",
    "{B} lies in the middle, after {a} and before {c}.",
)
_EXTREME_FRAMES = (
    "{N}, with {v}.",
    "{N} ({v}).",
    "It was {n}: {v}.",
    "At {v}, it was {n}.",
    "{V} puts {n} in that place.",
    "The one you mean is {n}, which had {v}.",
)
_YES_FRAMES = (
    "It did happen: {d}.",
    "Yes. The log has it on {d}.",
    "Indeed, and the date was {d}.",
    "That is so; {d} was the day.",
    "Yes, the entry for it is dated {d}.",
    "It happened, yes, namely on {d}.",
)
_RELATIVE_FRAMES = ("{V}.", "That is {v}.", "{V}, counting from the day you ask.")
_SEVERAL_FRAMES = (
    "1. {0}\n2. {1}\n3. {2}",
    "{0}; {1}; {2}.",
    "First: {0}. Second: {1}. Third: {2}.",
)


def write_right(case: AuditCase) -> Iterator[AuditDraft]:
    """As the dataset has it."""
    if case.key.shape in {AnswerShape.NO, AnswerShape.WITHHOLD}:
        return
    reference = case.truth.reference
    yield AuditDraft("reference", reference)
    yield AuditDraft("reference without a stop", reference.rstrip("."))
    if case.key.shape is AnswerShape.VALUE:
        yield AuditDraft("value alone", case.key.value.text)
        for frame in list_sentence_frames(case.key.value.kind):
            yield AuditDraft("value in a sentence", fill_frame(frame, case.key.value.text))


def write_other_words(case: AuditCase) -> Iterator[AuditDraft]:
    """Right, but not as the dataset has it."""
    writer = _SHAPE_WRITERS.get(case.key.shape)
    if writer is not None:
        yield from writer(case)


def _write_value(case: AuditCase) -> Iterator[AuditDraft]:
    value = case.key.value
    for recipe, text in case.list_wordings(value):
        if recipe == "relative":
            yield AuditDraft(
                "date: relative", fill_frame(case.chooser.pick(_RELATIVE_FRAMES), text)
            )
            continue
        yield AuditDraft(f"{value.kind}: {recipe}", case.frame(value, text))
    yield from _write_restatement(case)
    evidence = case.history.get_evidence(case.item)
    if evidence and value.kind is not ValueKind.NUMBER and is_in_text(evidence, value.text):
        yield AuditDraft("evidence quoted", f"The log says: “{evidence}”")
        yield AuditDraft("evidence quoted", evidence)
    if value.kind in {ValueKind.NAME, ValueKind.CODE, ValueKind.PHRASE}:
        sentence = fill_frame(case.chooser.pick(list_sentence_frames(value.kind)), value.text)
        yield AuditDraft(f"{value.kind}: in a sentence", sentence)


def _write_restatement(case: AuditCase) -> Iterator[AuditDraft]:
    """A statement in the question's words."""
    value = case.key.value
    for sentence in restate(case.item.text, value.kind, value.text):
        yield AuditDraft(f"{value.kind}: question turned round", sentence)


def _write_pair(case: AuditCase) -> Iterator[AuditDraft]:
    if not case.truth.distractors:
        return
    first, other = case.key.value.text, case.truth.distractors[0]
    for number, frame in enumerate(_PAIR_FRAMES):
        sentence = fill_words(frame, f=first, o=other)
        yield AuditDraft(f"pair {number + 1}", sentence)


def _write_triple(case: AuditCase) -> Iterator[AuditDraft]:
    a, b, c = (value.text for value in case.key.values)
    for number, frame in enumerate(_TRIPLE_FRAMES):
        yield AuditDraft(f"order {number + 1}", fill_words(frame, a=a, b=b, c=c))


def _write_extreme(case: AuditCase) -> Iterator[AuditDraft]:
    name, amount = case.key.values
    for frame in _EXTREME_FRAMES:
        recipe, text = case.reword(amount)
        yield AuditDraft(
            f"extreme, {amount.kind}: {recipe}", fill_words(frame, n=name.text, v=text)
        )
        yield AuditDraft("extreme, reordered", fill_words(frame, n=name.text, v=amount.text))


def _write_yes(case: AuditCase) -> Iterator[AuditDraft]:
    for core in phrase_bank.YESES:
        yield AuditDraft("yes without the date", f"{capitalise(core)}.", UNSURE_COMPLETENESS)
    for text in affirm(case.item.text):
        yield AuditDraft("yes in the question's words", text, UNSURE_COMPLETENESS)
    for frame in _YES_FRAMES:
        recipe, text = case.reword(case.key.value)
        if recipe != "relative":
            yield AuditDraft(f"yes, date: {recipe}", fill_words(frame, d=text))


def _write_partial(case: AuditCase) -> Iterator[AuditDraft]:
    for frame in _PARTIAL_FRAMES if case.key.values else ():
        recipe, text = case.reword(case.key.value)
        yield AuditDraft(f"part, {case.key.value.kind}: {recipe}", fill_words(frame, v=text))
        yield AuditDraft("part, refused in other words", fill_words(frame, v=case.key.value.text))


def _write_several(case: AuditCase) -> Iterator[AuditDraft]:
    for frame in _SEVERAL_FRAMES:
        texts = [part.reword(part.key.value)[1] for part in case.parts]
        yield AuditDraft("several, reworded", frame.format(*texts))
        plain = [part.key.value.text for part in case.parts]
        yield AuditDraft("several, other order", "; ".join(reversed(plain)) + ".")


def _write_text(case: AuditCase) -> Iterator[AuditDraft]:
    bare = case.truth.reference.rstrip(".")
    for recipe, text in list_paraphrases(bare):
        yield AuditDraft(f"text: {recipe}", f"{capitalise(text)}.")
    for frame in list_sentence_frames(ValueKind.PHRASE):
        if ": {v}" in frame or "{V}" in frame:
            yield AuditDraft("text: in a sentence", fill_frame(frame, bare))


_SHAPE_WRITERS = {
    AnswerShape.VALUE: _write_value,
    AnswerShape.PAIR: _write_pair,
    AnswerShape.TRIPLE: _write_triple,
    AnswerShape.EXTREME: _write_extreme,
    AnswerShape.YES: _write_yes,
    AnswerShape.PARTIAL: _write_partial,
    AnswerShape.SEVERAL: _write_several,
    AnswerShape.TEXT: _write_text,
}
