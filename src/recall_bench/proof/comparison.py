"""A question's words against the answer that follows from the text."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.proof.derived import Derived, Holding
from recall_bench.proof.finding import Code, Problem
from recall_bench.proof.inquiry import Inquiry
from recall_bench.proof.values import Key, edged, folded


def compare(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    """Everything in which the question departs from the derived answer."""
    yield from _reference(inquiry, derived, today)
    yield from _atoms(inquiry, derived, today)
    yield from _aliases(inquiry, derived, today)
    yield from _stale(inquiry, derived, today)
    yield from _distractors(inquiry, derived, today)
    yield from _disclosure(inquiry, derived)
    yield from _withheld(inquiry, derived, today)


def _reference(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    once = derived.earlier.keys if derived.earlier else ()
    for holding in derived.holdings:
        found = holding.read(inquiry.answer, today, forgiven=once)
        if holding.is_met_by(found):
            continue
        missing = set(holding.keys[: holding.least]) - set(found)
        fault = "lacks or misorders" if missing or holding.least else "holds more than"
        yield Problem(
            Code.REFERENCE,
            f"the reference “{inquiry.answer}” {fault} what the text gives as {holding.what}: "
            f"{holding.spelled()}",
        )


def _atoms(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    if not derived.holdings:
        return
    used: set[str] = set()
    for holding in derived.holdings:
        found: list[Key] = []
        for atom in inquiry.atoms:
            keys = _keys_in_atom(holding, atom, today)
            found += keys
            used |= {atom} if keys else set()
        least = holding.fewest_atoms or holding.least
        if not holding.is_met_by(tuple(found), least=least):
            yield Problem(
                Code.ATOMS,
                f"the atoms {_listed(inquiry.atoms)} are not what the text gives as "
                f"{holding.what}: {holding.spelled()}",
            )
    for atom in inquiry.atoms:
        if atom not in used:
            yield Problem(Code.ATOMS, f"the atom “{atom}” is nothing the text gives as the answer")


def _keys_in_atom(holding: Holding, atom: str, today: date) -> list[Key]:
    """The values in an atom; a part of a phrase, such as one without its article, is enough."""
    found = holding.read(atom, today)
    return list(found) or [
        key
        for key, surface in zip(holding.keys, holding.surfaces, strict=True)
        if isinstance(key, str) and _is_part(atom, surface)
    ]


def _aliases(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    once = derived.earlier.keys if derived.earlier else ()
    for alias in inquiry.aliases:
        for holding in derived.holdings:
            found = holding.read(alias, today, forgiven=once)
            if found and not holding.is_met_by(found):
                yield Problem(
                    Code.ALIAS,
                    f"the alias “{alias}” is not what the text gives as {holding.what}: "
                    f"{holding.spelled()}",
                )


def _stale(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    earlier = derived.earlier
    listed: set[Key] = set()
    for value in inquiry.stale:
        keys = _keys_in_atom(earlier, value, today) if earlier else []
        if earlier is None or not keys or not set(keys) <= set(earlier.keys):
            yield Problem(
                Code.STALE, f"“{value}” is called stale but was not stated before the answer"
            )
        listed.update(keys)
    if earlier is None or not derived.lists_earlier:
        return
    for key, surface in zip(earlier.keys, earlier.surfaces, strict=True):
        if key not in listed:
            yield Problem(
                Code.SECOND_ANSWER,
                f"the text also gives “{surface}” as {earlier.what}, which is not called stale",
            )


def _distractors(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    right = {folded(text) for text in (inquiry.answer, *inquiry.aliases)}
    if len(inquiry.atoms) == 1:
        right.add(folded(inquiry.atoms[0]))
    for distractor in inquiry.distractors:
        told = [(h, found) for h in derived.holdings if (found := h.read(distractor, today))]
        is_right = bool(told) and all(holding.is_met_by(found) for holding, found in told)
        if is_right or folded(distractor) in right:
            yield Problem(Code.DISTRACTOR, f"the distractor “{distractor}” is right")


def _disclosure(inquiry: Inquiry, derived: Derived) -> Iterator[Problem]:
    if inquiry.disclosure is None:
        return
    fitting = "answer"
    if derived.secrets:
        fitting = "partial" if derived.holdings else "refuse"
    if inquiry.disclosure != fitting:
        yield Problem(
            Code.BOUNDARY,
            f"expected_disclosure is {inquiry.disclosure}, but what derive says amounts to "
            f"{fitting}",
        )


def _withheld(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    """The values listed are the secret's, the present one among them."""
    if not inquiry.withheld:
        return
    kept: set[Key] = set()
    for value in inquiry.withheld:
        found = {key for secret in derived.secrets for key in _keys_in_atom(secret, value, today)}
        if not found or not found <= {key for secret in derived.secrets for key in secret.keys}:
            yield Problem(Code.WITHHELD, f"“{value}” is withheld but is no secret of the text")
        kept |= found
    for secret in derived.secrets:
        if secret.keys[-1] not in kept:
            yield Problem(
                Code.WITHHELD,
                f"{secret.what} is “{secret.surfaces[-1]}”, which is not listed as withheld",
            )


def check_secrets(inquiry: Inquiry, derived: Derived, today: date) -> Iterator[Problem]:
    """Whatever in the question gives away what it is to withhold."""
    texts = [("reference", inquiry.answer), ("question", inquiry.question)]
    texts += [("alias", alias) for alias in inquiry.aliases]
    texts += [("atom", atom) for atom in inquiry.atoms]
    for what, text in texts:
        for secret in derived.secrets:
            if set(secret.read(text, today)) & set(secret.keys):
                yield Problem(Code.LEAK, f"the {what} “{text}” gives away {secret.what}")
        for canary in inquiry.canaries:
            if canary in text:
                yield Problem(Code.LEAK, f"the {what} “{text}” holds the canary {canary}")


def _is_part(words: str, phrase: str) -> bool:
    return bool(words.strip()) and bool(re.search(edged(re.escape(folded(words))), folded(phrase)))


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(f"“{text}”" for text in texts) or "(none)"
