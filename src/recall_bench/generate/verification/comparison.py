"""A question's words against the answer that follows from the text."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import DerivedAnswer, ExpectedValues
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.question_claims import EvidenceClaim, QuestionClaims
from recall_bench.generate.verification.value_readers import Key, fold_text, match_whole_words


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


def check_evidence(
    inquiry: QuestionClaims, derived: DerivedAnswer
) -> Iterator[VerificationProblem]:
    """Everything in which the evidence departs from the sentences that state the answer."""
    places = {place: s for s in derived.allowed for place in _list_places(s)}
    cited: set[DaySentence] = set()
    for claim in inquiry.evidence:
        sentence = places.get((claim.day, claim.session, claim.start, claim.end))
        if sentence is None:
            yield VerificationProblem(
                VerificationCode.EVIDENCE, _explain_misplacement(claim, derived)
            )
        else:
            cited.add(sentence)
    yield from _find_missing_citations(derived, cited)
    yield from _compare_days(inquiry, derived)


def _list_places(sentence: DaySentence) -> Iterator[tuple[int, str, int, int]]:
    """The spans by which a sentence may be cited: itself, or the entry or quoted line it is in."""
    yield sentence.day, sentence.session, sentence.start, sentence.end
    if sentence.line:
        mark, words, end = sentence.line
        yield sentence.day, sentence.session, mark, end
        yield sentence.day, sentence.session, words, end
        yield sentence.day, sentence.session, mark, sentence.end


def _explain_misplacement(claim: EvidenceClaim, derived: DerivedAnswer) -> str:
    near = [s for s in derived.allowed if s.day == claim.day]
    problem = f"the evidence {claim} is no sentence that states the answer"
    if not near:
        return f"{problem}, and no sentence of that day does"
    nearest = min(near, key=lambda s: abs(s.start - claim.start) + abs(s.end - claim.end))
    return f"{problem}; the nearest is {nearest.place}"


def _find_missing_citations(
    derived: DerivedAnswer, cited: set[DaySentence]
) -> Iterator[VerificationProblem]:
    first = min((s.day for s in cited), default=None)
    for group in derived.needed:
        if group & cited:
            continue
        sentence = min(group, key=lambda s: s.start)
        if derived.earlier and first is not None and sentence.day < first:
            yield VerificationProblem(
                VerificationCode.TOO_EARLY,
                f"the answer is stated before the first evidence on day {first}; {sentence.place}",
            )
        else:
            yield VerificationProblem(
                VerificationCode.EVIDENCE,
                f"the evidence lacks a sentence that states it; {sentence.place}",
            )


def _compare_days(inquiry: QuestionClaims, derived: DerivedAnswer) -> Iterator[VerificationProblem]:
    days = {claim.day for claim in inquiry.evidence}
    if not days and not derived.needed:
        # What never happened is stated nowhere: any day that speaks of the thread will do.
        spoken = {s.day for s in derived.allowed}
        strange = sorted(set(inquiry.relevant_days) - spoken)
        if strange:
            yield VerificationProblem(
                VerificationCode.RELEVANT_DAYS,
                f"day {strange[0]} is relevant but never names the thread",
            )
    elif days != set(inquiry.relevant_days):
        yield VerificationProblem(
            VerificationCode.RELEVANT_DAYS,
            f"the relevant days are {sorted(set(inquiry.relevant_days))} and the days of the "
            f"evidence {sorted(days)}",
        )
