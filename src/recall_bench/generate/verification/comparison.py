"""Compare a question and its evidence with the answer derived from the text."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import DerivedAnswer, ExpectedValues
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.question_claims import EvidenceClaim, QuestionClaims
from recall_bench.generate.verification.value_readers import Key, fold_text, match_whole_words


def compare_answer(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """Every difference between the question and the derived answer."""
    yield from _compare_reference(claims, derived, today)
    yield from _compare_atoms(claims, derived, today)
    yield from _compare_aliases(claims, derived, today)
    yield from _compare_stale(claims, derived, today)
    yield from _compare_distractors(claims, derived, today)
    yield from _compare_disclosure(claims, derived)
    yield from _compare_withheld(claims, derived, today)


def _compare_reference(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    former = derived.earlier.keys if derived.earlier else ()
    for values in derived.expected:
        found = values.read(claims.answer, today, forgiven=former)
        if values.is_met_by(found):
            continue
        missing = set(values.keys[: values.least]) - set(found)
        fault = "lacks or misorders" if missing or values.least else "holds more than"
        yield VerificationProblem(
            VerificationCode.REFERENCE,
            f"the reference “{claims.answer}” {fault} what the text gives as {values.what}: "
            f"{values.format_values()}",
        )


def _compare_atoms(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    if not derived.expected:
        return
    used: set[str] = set()
    for values in derived.expected:
        found: list[Key] = []
        for atom in claims.atoms:
            keys = _read_atom(values, atom, today)
            found += keys
            used |= {atom} if keys else set()
        least = values.fewest_atoms or values.least
        if not values.is_met_by(tuple(found), least=least):
            yield VerificationProblem(
                VerificationCode.ATOMS,
                f"the atoms {_format_list(claims.atoms)} are not what the text gives as "
                f"{values.what}: {values.format_values()}",
            )
    for atom in claims.atoms:
        if atom not in used:
            yield VerificationProblem(
                VerificationCode.ATOMS, f"the atom “{atom}” is nothing the text gives as the answer"
            )


def _read_atom(values: ExpectedValues, atom: str, today: date) -> list[Key]:
    """The values in an atom; a part of a phrase, such as one without its article, is enough."""
    found = values.read(atom, today)
    return list(found) or [
        key
        for key, surface in zip(values.keys, values.surfaces, strict=True)
        if isinstance(key, str) and _is_part(atom, surface)
    ]


def _compare_aliases(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    former = derived.earlier.keys if derived.earlier else ()
    for alias in claims.aliases:
        for values in derived.expected:
            found = values.read(alias, today, forgiven=former)
            if found and not values.is_met_by(found):
                yield VerificationProblem(
                    VerificationCode.ALIAS,
                    f"the alias “{alias}” is not what the text gives as {values.what}: "
                    f"{values.format_values()}",
                )


def _compare_stale(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    earlier = derived.earlier
    listed: set[Key] = set()
    for value in claims.stale:
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
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    right = {fold_text(text) for text in (claims.answer, *claims.aliases)}
    if len(claims.atoms) == 1:
        right.add(fold_text(claims.atoms[0]))
    for distractor in claims.distractors:
        readings = [(h, found) for h in derived.expected if (found := h.read(distractor, today))]
        is_right = bool(readings) and all(values.is_met_by(found) for values, found in readings)
        if is_right or fold_text(distractor) in right:
            yield VerificationProblem(
                VerificationCode.DISTRACTOR, f"the distractor “{distractor}” is right"
            )


def _compare_disclosure(
    claims: QuestionClaims, derived: DerivedAnswer
) -> Iterator[VerificationProblem]:
    if claims.disclosure is None:
        return
    fitting = "answer"
    if derived.secrets:
        fitting = "partial" if derived.expected else "refuse"
    if claims.disclosure != fitting:
        yield VerificationProblem(
            VerificationCode.BOUNDARY,
            f"expected_disclosure is {claims.disclosure}, but what derive says amounts to "
            f"{fitting}",
        )


def _compare_withheld(
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """Check that the listed values are the secret's and include the current one."""
    if not claims.withheld:
        return
    kept: set[Key] = set()
    for value in claims.withheld:
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
    claims: QuestionClaims, derived: DerivedAnswer, today: date
) -> Iterator[VerificationProblem]:
    """Every text of the question that reveals what is to be withheld."""
    texts = [("reference", claims.answer), ("question", claims.question)]
    texts += [("alias", alias) for alias in claims.aliases]
    texts += [("atom", atom) for atom in claims.atoms]
    for what, text in texts:
        for secret in derived.secrets:
            if set(secret.read(text, today)) & set(secret.keys):
                yield VerificationProblem(
                    VerificationCode.LEAK, f"the {what} “{text}” gives away {secret.what}"
                )
        for canary in claims.canaries:
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


def check_evidence(claims: QuestionClaims, derived: DerivedAnswer) -> Iterator[VerificationProblem]:
    """Every difference between the evidence and the sentences that state the answer."""
    places = {place: s for s in derived.allowed for place in _list_places(s)}
    cited: set[DaySentence] = set()
    for claim in claims.evidence:
        sentence = places.get((claim.day, claim.session, claim.start, claim.end))
        if sentence is None:
            yield VerificationProblem(
                VerificationCode.EVIDENCE, _explain_misplacement(claim, derived)
            )
        else:
            cited.add(sentence)
    yield from _find_missing_citations(derived, cited)
    yield from _compare_days(claims, derived)


def _list_places(sentence: DaySentence) -> Iterator[tuple[int, str, int, int]]:
    """The spans by which a sentence may be cited: its own, or its entry or quoted line."""
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


def _compare_days(claims: QuestionClaims, derived: DerivedAnswer) -> Iterator[VerificationProblem]:
    days = {claim.day for claim in claims.evidence}
    if not days and not derived.needed:
        # What never happened is stated nowhere: any day that names the thread will do.
        mentioned = {s.day for s in derived.allowed}
        strange = sorted(set(claims.relevant_days) - mentioned)
        if strange:
            yield VerificationProblem(
                VerificationCode.RELEVANT_DAYS,
                f"day {strange[0]} is relevant but never names the thread",
            )
    elif days != set(claims.relevant_days):
        yield VerificationProblem(
            VerificationCode.RELEVANT_DAYS,
            f"the relevant days are {sorted(set(claims.relevant_days))} and the days of the "
            f"evidence {sorted(days)}",
        )
