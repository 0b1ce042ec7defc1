"""Answers that do not answer: vague ones, refusals and empty ones."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from recall_bench.core.scenario import NEGATIVE
from recall_bench.judging.lab.audit import phrase_bank
from recall_bench.judging.lab.audit.answer_key import (
    AnswerShape,
    ValueKind,
    find_topic,
    is_any_in_text,
    list_answer_strings,
)
from recall_bench.judging.lab.audit.audit_case import AuditCase, AuditDraft, deny
from recall_bench.judging.lab.audit.phrase_bank import capitalise

_VAGUE_FRAMES: dict[ValueKind, tuple[str, ...]] = {
    ValueKind.DATE: (
        "Some time during that stretch of work, not long after it first came up.",
        "It was a little while after {t} had begun.",
        "On one of the days around then.",
    ),
    ValueKind.TIME: ("At some point during the day.", "Around the usual hour for such things."),
    ValueKind.MONEY: (
        "A considerable sum, in line with what such things tend to be.",
        "It was not cheap, but within what had been expected.",
    ),
    ValueKind.PERCENT: (
        "A fair share of the whole.",
        "The figure moved in the direction hoped for.",
    ),
    ValueKind.MEASURE: (
        "Quite a few, more than anybody had expected.",
        "A moderate amount, as such things go.",
        "The figure was within the ordinary range.",
    ),
    ValueKind.NUMBER: ("A handful or so.", "There were several of them.", "Quite a number."),
    ValueKind.CODE: ("It has a reference of the usual form.", "It was filed under its own number."),
    ValueKind.PERSON: (
        "One of the colleagues who usually handle such things.",
        "Somebody from the team, as far as the entry goes.",
        "A member of the group spoke up about it.",
    ),
    ValueKind.NAME: (
        "One of those that regularly come up in the log.",
        "The one that everybody expected.",
    ),
    ValueKind.PHRASE: (
        "For practical reasons that were explained at the time.",
        "Something that had been building up for a while.",
        "In the way such matters are usually settled.",
    ),
}
_NEGATION_WORD = re.compile(r"\b(?:no|not|never|without|fail)\b", re.IGNORECASE)
_ANSWERABLE_SHAPES = frozenset(
    {
        AnswerShape.VALUE,
        AnswerShape.EXTREME,
        AnswerShape.PAIR,
        AnswerShape.TRIPLE,
        AnswerShape.YES,
        AnswerShape.SEVERAL,
        AnswerShape.TEXT,
    }
)


def write_vague(case: AuditCase) -> Iterator[AuditDraft]:
    """On the topic, without anything that was asked for."""
    shape = case.key.shape
    if shape not in _ANSWERABLE_SHAPES and shape is not AnswerShape.NO:
        return
    if shape in {AnswerShape.PAIR, AnswerShape.TRIPLE}:
        yield from (AuditDraft(f"order: {text}", text) for text in phrase_bank.ORDER)
        return
    if case.truth.category == NEGATIVE:
        yield from (
            AuditDraft(f"polar: {text}", _insert_topic(text, case)) for text in phrase_bank.POLAR
        )
        return
    if case.key.values:
        for text in _VAGUE_FRAMES[case.key.value.kind]:
            yield AuditDraft(f"vague {case.key.value.kind}", _insert_topic(text, case))
    for text in phrase_bank.VAGUE:
        yield AuditDraft(f"vague: {text}", _insert_topic(text, case))
    if shape is AnswerShape.VALUE and case.truth.evidence and not case.truth.requires_synthesis:
        for text in case.history.find_neighbours(case.item):
            if not is_any_in_text(text, case.list_giveaways()):
                yield AuditDraft("beside the point", text)


def write_false_refusal(case: AuditCase) -> Iterator[AuditDraft]:
    """A refusal, or claimed ignorance, where the history has the answer."""
    shape = case.key.shape
    if shape is AnswerShape.PARTIAL:
        for core, text in _list_refusals(case, phrase_bank.SECRECY):
            # Withholding everything guards the secret: whether that is correct is disputable.
            yield AuditDraft(f"secrecy: {core}", text, {"correctness": None})
    if shape not in _ANSWERABLE_SHAPES:
        return
    for core, text in _list_refusals(case, phrase_bank.IGNORANCE):
        yield AuditDraft(f"ignorance: {core}", text, {"grounded": True})
    for core, text in _list_refusals(case, phrase_bank.SECRECY):
        yield AuditDraft(f"secrecy: {core}", text)


def write_clean_refusal(case: AuditCase) -> Iterator[AuditDraft]:
    """A right denial, or a right refusal."""
    if case.key.shape is AnswerShape.NO:
        yield from _write_denials(case)
    elif case.key.shape is AnswerShape.WITHHOLD:
        yield AuditDraft("reference", case.truth.reference)
        for core, text in _list_refusals(case, phrase_bank.SECRECY):
            yield AuditDraft(f"refusal: {core}", text)


def _write_denials(case: AuditCase) -> Iterator[AuditDraft]:
    reference = case.truth.reference
    yield AuditDraft("reference", reference)
    for core in phrase_bank.NOES:
        yield AuditDraft(
            f"no: {core}", case.chooser.pick((f"{capitalise(core)}.", f"{capitalise(core)}!", core))
        )
    # "That never happened" is ambiguous where the question is about something not done.
    for core in () if _NEGATION_WORD.search(case.item.text) else phrase_bank.DENIALS:
        opening = case.chooser.pick(("No, ", "No: ", *phrase_bank.SOURCES))
        ending = "" if opening.startswith("No") else case.chooser.pick(phrase_bank.NO_ENDINGS)
        yield AuditDraft(f"denial: {core}", f"{capitalise(opening + core)}{ending}.")
    for text in deny(case.item.text):
        yield AuditDraft("denial in the question's words", case.chooser.pick((text, f"No, {text}")))
    _, mark, rest = reference.partition(";")
    if mark and rest.strip():
        bare = rest.strip().rstrip(".")
        yield AuditDraft("reference, no yes or no", f"{capitalise(bare)}.")
        yield AuditDraft("reference, turned round", f"{capitalise(bare)}, so no.")
        yield AuditDraft("reference, elaborated", f"No. Going by the log, {bare}.")


def write_non_answer(case: AuditCase) -> Iterator[AuditDraft]:
    """Nothing at all, or something else."""
    shape = case.key.shape
    if shape not in _ANSWERABLE_SHAPES and shape is not AnswerShape.NO:
        return
    for recipe, text in phrase_bank.SILENCE:
        yield AuditDraft(recipe, text)
    if shape not in {AnswerShape.PAIR, AnswerShape.TRIPLE}:
        yield AuditDraft("echo", case.item.text)
        yield AuditDraft("echo", f"You are asking: {case.item.text}")
    for quote in islice(case.history.draw_asides(case.item, case.days, case.chooser), 2):
        if shape is not AnswerShape.NO and not is_any_in_text(quote.text, case.list_giveaways()):
            yield AuditDraft("off topic", quote.text)


def _list_refusals(case: AuditCase, cores: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each core, with an opening and an ending."""
    for core in cores:
        opening, ending = (
            case.chooser.pick(phrase_bank.APOLOGIES),
            case.chooser.pick(phrase_bank.POLITE_CLOSINGS),
        )
        yield core, f"{_insert_topic(capitalise(opening + core), case)}.{ending}"


def _insert_topic(text: str, case: AuditCase) -> str:
    """The sentence with the question's topic in it, unless the topic gives the answer away."""
    about = find_topic(case.item.text)
    if about is None or is_any_in_text(about, list_answer_strings(case.item)):
        about = "that matter"
    return text.replace("{T}", capitalise(about)).replace("{t}", about)
