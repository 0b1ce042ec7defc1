"""Answers that do not answer: vague ones, refusals, and plain silence."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from recall_bench.judge_lab.audit import banks
from recall_bench.judge_lab.audit.case import Case, Draft
from recall_bench.judge_lab.audit.frames import capital
from recall_bench.judge_lab.audit.key import Shape, holds_any, told, topic
from recall_bench.judge_lab.audit.restating import denied
from recall_bench.judge_lab.audit.values import Kind

_VAGUE_BY_KIND: dict[Kind, tuple[str, ...]] = {
    Kind.DATE: (
        "Some time during that stretch of work, not long after it first came up.",
        "It was a little while after {t} had begun.",
        "On one of the days around then.",
    ),
    Kind.TIME: ("At some point during the day.", "Around the usual hour for such things."),
    Kind.MONEY: (
        "A considerable sum, in line with what such things tend to be.",
        "It was not cheap, but within what had been expected.",
    ),
    Kind.PERCENT: ("A fair share of the whole.", "The figure moved in the direction hoped for."),
    Kind.MEASURE: (
        "Quite a few, more than anybody had expected.",
        "A moderate amount, as such things go.",
        "The figure was within the ordinary range.",
    ),
    Kind.NUMBER: ("A handful or so.", "There were several of them.", "Quite a number."),
    Kind.CODE: ("It has a reference of the usual form.", "It was filed under its own number."),
    Kind.PERSON: (
        "One of the colleagues who usually handle such things.",
        "Somebody from the team, as far as the entry goes.",
        "A member of the group spoke up about it.",
    ),
    Kind.NAME: (
        "One of those that regularly come up in the log.",
        "The one that everybody expected.",
    ),
    Kind.PHRASE: (
        "For practical reasons that were explained at the time.",
        "Something that had been building up for a while.",
        "In the way such matters are usually settled.",
    ),
}
_NEGATED = re.compile(r"\b(?:no|not|never|without|fail)\b", re.IGNORECASE)
_ANSWERABLE = frozenset(
    {Shape.VALUE, Shape.EXTREME, Shape.PAIR, Shape.TRIPLE, Shape.YES, Shape.SEVERAL, Shape.TEXT}
)


def vague(case: Case) -> Iterator[Draft]:
    """On the topic, and nothing that was asked for."""
    shape = case.key.shape
    if shape not in _ANSWERABLE and shape is not Shape.NO:
        return
    if shape in {Shape.PAIR, Shape.TRIPLE}:
        yield from (Draft(f"order: {text}", text) for text in banks.ORDER)
        return
    if case.truth.category == "negative-recall":
        yield from (Draft(f"polar: {text}", _about(text, case)) for text in banks.POLAR)
        return
    if case.key.values:
        for text in _VAGUE_BY_KIND[case.key.value.kind]:
            yield Draft(f"vague {case.key.value.kind}", _about(text, case))
    for text in banks.VAGUE:
        yield Draft(f"vague: {text}", _about(text, case))
    if shape is Shape.VALUE and case.truth.evidence and not case.truth.requires_synthesis:
        for text in case.book.neighbours(case.item):
            if not holds_any(text, case.giveaways()):
                yield Draft("beside the point", text)


def false_refusal(case: Case) -> Iterator[Draft]:
    """Refuses, or professes ignorance, where the history has the answer."""
    shape = case.key.shape
    if shape is Shape.PARTIAL:
        for core, text in _refusals(case, banks.SECRECY):
            # Keeping everything back guards the secret: how correct that is, readers dispute.
            yield Draft(f"secrecy: {core}", text, {"correctness": None})
    if shape not in _ANSWERABLE:
        return
    for core, text in _refusals(case, banks.IGNORANCE):
        yield Draft(f"ignorance: {core}", text, {"grounded": True})
    for core, text in _refusals(case, banks.SECRECY):
        yield Draft(f"secrecy: {core}", text)


def clean_refusal(case: Case) -> Iterator[Draft]:
    """Denies what never was, or keeps back what is not to be told."""
    if case.key.shape is Shape.NO:
        yield from _denials(case)
    elif case.key.shape is Shape.WITHHOLD:
        yield Draft("reference", case.truth.reference)
        for core, text in _refusals(case, banks.SECRECY):
            yield Draft(f"refusal: {core}", text)


def _denials(case: Case) -> Iterator[Draft]:
    reference = case.truth.reference
    yield Draft("reference", reference)
    for core in banks.NOES:
        yield Draft(f"no: {core}", case.lots.one((f"{capital(core)}.", f"{capital(core)}!", core)))
    # "That never happened" cuts both ways where the question is about a thing not done.
    for core in () if _NEGATED.search(case.item.text) else banks.DENIALS:
        opening = case.lots.one(("No, ", "No: ", *banks.SOURCES))
        ending = "" if opening.startswith("No") else case.lots.one(banks.SO_NO)
        yield Draft(f"denial: {core}", f"{capital(opening + core)}{ending}.")
    for text in denied(case.item.text):
        yield Draft("denial in the question's words", case.lots.one((text, f"No, {text}")))
    _, mark, rest = reference.partition(";")
    if mark and rest.strip():
        bare = rest.strip().rstrip(".")
        yield Draft("reference, no yes or no", f"{capital(bare)}.")
        yield Draft("reference, turned round", f"{capital(bare)}, so no.")
        yield Draft("reference, elaborated", f"No. Going by the log, {bare}.")


def non_answer(case: Case) -> Iterator[Draft]:
    """Says nothing at all, or something else."""
    shape = case.key.shape
    if shape not in _ANSWERABLE and shape is not Shape.NO:
        return
    for recipe, text in banks.SILENCE:
        yield Draft(recipe, text)
    if shape not in {Shape.PAIR, Shape.TRIPLE}:
        yield Draft("echo", case.item.text)
        yield Draft("echo", f"You are asking: {case.item.text}")
    for quote in islice(case.book.asides(case.item, case.days, case.lots), 2):
        if shape is not Shape.NO and not holds_any(quote.text, case.giveaways()):
            yield Draft("off topic", quote.text)


def _refusals(case: Case, cores: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each core, and the same with an opening and an ending."""
    for core in cores:
        opening, ending = case.lots.one(banks.SORRY), case.lots.one(banks.KINDLY)
        yield core, f"{_about(capital(opening + core), case)}.{ending}"


def _about(text: str, case: Case) -> str:
    """The sentence with the question's topic in it, unless the topic tells the answer."""
    about = topic(case.item.text)
    if about is None or holds_any(about, told(case.item)):
        about = "that matter"
    return text.replace("{T}", capital(about)).replace("{t}", about)
