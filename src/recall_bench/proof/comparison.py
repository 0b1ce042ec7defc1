"""A question's words against the answer that follows from the text."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.proof.derived import DerivedAnswer, ExpectedValues
from recall_bench.proof.finding import VerificationCode, VerificationProblem
from recall_bench.proof.inquiry import QuestionClaims
from recall_bench.proof.values import Key, fold_text, match_whole_words


def compare_answer(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """Everything in which the question departs from the derived answer."""
    yield from _compare_reference(inquiry, derived, today)
    yield from _compare_atoms(inquiry, derived, today)
    yield from _compare_aliases(inquiry, derived, today)
    yield from _compare_stale(inquiry, derived, today)
    yield from _compare_distractors(inquiry, derived, today)
    yield from _compare_disclosure(inquiry, derived)
    yield from _compare_withheld(inquiry, derived, today)


def _compare_reference(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    once = derived.earlier.keys if derived.earlier else ()
    for holding in derived.holdings:
        found = holding.read(inquiry.answer, today, forgiven=once)
        if holding.is_met_by(found):
            continue
        missing = set(holding.keys[: holding.least]) - set(found)
        fault = "lacks or misorders" if missing or holding.least else "holds more than"
        yield VerificationProblem(
            VerificationCode.REFERENCE,
            f"the reference “{inquiry.answer}” {fault} what the text gives as {holding.what}: "
            f"{holding.format_values()}",
        )


def _compare_atoms(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    if not derived.holdings:
        return
    used: set[str] = set()
    for holding in derived.holdings:
        found: list[Key] = []
        for atom in inquiry.atoms:
            keys = _read_atom(holding, atom, today)
            found += keys
            used |= {atom} if keys else set()
        least = holding.fewest_atoms or holding.least
        if not holding.is_met_by(tuple(found), least=least):
            yield VerificationProblem(
                VerificationCode.ATOMS,
                f"the atoms {_format_list(inquiry.atoms)} are not what the text gives as "
                f"{holding.what}: {holding.format_values()}",
            )
    for atom in inquiry.atoms:
        if atom not in used:
            yield VerificationProblem(
                VerificationCode.ATOMS, f"the atom “{atom}” is nothing the text gives as the answer"
            )


def _read_atom(holding: ExpectedValues, atom: str, today: date) -> list[Key]:
    """The values in an atom; a part of a phrase, such as one without its article, is enough."""
    found = holding.read(atom, today)
    return list(found) or [
        key
        for key, surface in zip(holding.keys, holding.surfaces, strict=True)
        if isinstance(key, str) and _is_part(atom, surface)
    ]


def _compare_aliases(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    once = derived.earlier.keys if derived.earlier else ()
    for alias in inquiry.aliases:
        for holding in derived.holdings:
            found = holding.read(alias, today, forgiven=once)
            if found and not holding.is_met_by(found):
                yield VerificationProblem(
                    VerificationCode.ALIAS,
                    f"the alias “{alias}” is not what the text gives as {holding.what}: "
                    f"{holding.format_values()}",
                )


def _compare_stale(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    earlier = derived.earlier
    listed: set[Key] = set()
    for value in inquiry.stale:
        keys = _read_atom(earlier, value, today) if earlier else []
        if earlier is None or not keys or not set(keys) <= set(earlier.keys):
            yield VerificationProblem(
                VerificationCode.STALE,
                f"“{value}” is called stale but was not stated before the answer",
            )
        listed.update(keys)
    if earlier is None or not derived.lists_earlier:
        return
    for key, surface in zip(earlier.keys, earlier.surfaces, strict=True):
        if key not in listed:
            yield VerificationProblem(
                VerificationCode.SECOND_ANSWER,
                f"the text also gives “{surface}” as {earlier.what}, which is not called stale",
            )


def _compare_distractors(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    right = {fold_text(text) for text in (inquiry.answer, *inquiry.aliases)}
    if len(inquiry.atoms) == 1:
        right.add(fold_text(inquiry.atoms[0]))
    for distractor in inquiry.distractors:
        told = [(h, found) for h in derived.holdings if (found := h.read(distractor, today))]
        is_right = bool(told) and all(holding.is_met_by(found) for holding, found in told)
        if is_right or fold_text(distractor) in right:
            yield VerificationProblem(
                VerificationCode.DISTRACTOR, f"the distractor “{distractor}” is right"
            )


def _compare_disclosure(
    inquiry: QuestionClaims, derived: DerivedAnswer
) -> Iterator[VerificationProblem]:
    if inquiry.disclosure is None:
        return
    fitting = "answer"
    if derived.secrets:
        fitting = "partial" if derived.holdings else "refuse"
    if inquiry.disclosure != fitting:
        yield VerificationProblem(
            VerificationCode.BOUNDARY,
            f"expected_disclosure is {inquiry.disclosure}, but what derive says amounts to "
            f"{fitting}",
        )


def _compare_withheld(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """The values listed are the secret's, the present one among them."""
    if not inquiry.withheld:
        return
    kept: set[Key] = set()
    for value in inquiry.withheld:
        found = {key for secret in derived.secrets for key in _read_atom(secret, value, today)}
        if not found or not found <= {key for secret in derived.secrets for key in secret.keys}:
            yield VerificationProblem(
                VerificationCode.WITHHELD, f"“{value}” is withheld but is no secret of the text"
            )
        kept |= found
    for secret in derived.secrets:
        if secret.keys[-1] not in kept:
            yield VerificationProblem(
                VerificationCode.WITHHELD,
                f"{secret.what} is “{secret.surfaces[-1]}”, which is not listed as withheld",
            )


def check_secrets(
    inquiry: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """Whatever in the question gives away what it is to withhold."""
    texts = [("reference", inquiry.answer), ("question", inquiry.question)]
    texts += [("alias", alias) for alias in inquiry.aliases]
    texts += [("atom", atom) for atom in inquiry.atoms]
    for what, text in texts:
        for secret in derived.secrets:
            if set(secret.read(text, today)) & set(secret.keys):
                yield VerificationProblem(
                    VerificationCode.LEAK, f"the {what} “{text}” gives away {secret.what}"
                )
        for canary in inquiry.canaries:
            if canary in text:
                yield VerificationProblem(
                    VerificationCode.LEAK, f"the {what} “{text}” holds the canary {canary}"
                )


def _is_part(words: str, phrase: str) -> bool:
    return bool(words.strip()) and bool(
        re.search(match_whole_words(re.escape(fold_text(words))), fold_text(phrase))
    )


def _format_list(texts: tuple[str, ...]) -> str:
    return ", ".join(f"“{text}”" for text in texts) or "(none)"
