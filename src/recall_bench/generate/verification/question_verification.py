"""Verify one question: derive its answer on every day that could change it, and compare."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.core.scenario import BOUNDARY, RECENCY
from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.derivation import (
    AskContext,
    DerivationRecipe,
    DerivedAnswer,
    ExpectedValues,
)
from recall_bench.generate.verification.derived_answers import (
    EventAnswers,
    ValueAnswers,
    is_forget_request,
)
from recall_bench.generate.verification.findings import (
    VerificationCode,
    VerificationFinding,
    VerificationProblem,
)
from recall_bench.generate.verification.question_claims import EvidenceClaim, QuestionClaims
from recall_bench.generate.verification.statements import StatementLookup, Underivable
from recall_bench.generate.verification.value_readers import Key, fold_text, match_whole_words


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """Compares one question with the answer derived for one day."""

    claims: QuestionClaims
    derived: DerivedAnswer
    today: date

    def compare_answer(self) -> Iterator[VerificationProblem]:
        """Every difference between the question and the derived answer."""
        yield from self._compare_reference()
        yield from self._compare_atoms()
        yield from self._compare_aliases()
        yield from self._compare_stale()
        yield from self._compare_distractors()
        yield from self._compare_disclosure()
        yield from self._compare_withheld()

    def _compare_reference(self) -> Iterator[VerificationProblem]:
        former = self.derived.earlier.keys if self.derived.earlier else ()
        for values in self.derived.expected:
            found = values.read(self.claims.answer, self.today, forgiven=former)
            if values.is_met_by(found):
                continue
            missing = set(values.keys[: values.least]) - set(found)
            fault = "lacks or misorders" if missing or values.least else "holds more than"
            yield VerificationProblem(
                VerificationCode.REFERENCE,
                f"the reference “{self.claims.answer}” {fault} what the text gives as "
                f"{values.what}: {values.format_values()}",
            )

    def _compare_atoms(self) -> Iterator[VerificationProblem]:
        if not self.derived.expected:
            return
        used: set[str] = set()
        for values in self.derived.expected:
            found: list[Key] = []
            for atom in self.claims.atoms:
                keys = self._read_atom(values, atom)
                found += keys
                used |= {atom} if keys else set()
            least = values.fewest_atoms or values.least
            if not values.is_met_by(tuple(found), least=least):
                yield VerificationProblem(
                    VerificationCode.ATOMS,
                    f"the atoms {_format_list(self.claims.atoms)} are not what the text gives as "
                    f"{values.what}: {values.format_values()}",
                )
        for atom in self.claims.atoms:
            if atom not in used:
                yield VerificationProblem(
                    VerificationCode.ATOMS,
                    f"the atom “{atom}” is nothing the text gives as the answer",
                )

    def _read_atom(self, values: ExpectedValues, atom: str) -> list[Key]:
        """The values in an atom; a part of a phrase, such as one without its article, is enough."""
        found = values.read(atom, self.today)
        return list(found) or [
            key
            for key, surface in zip(values.keys, values.surfaces, strict=True)
            if isinstance(key, str) and _is_part(atom, surface)
        ]

    def _compare_aliases(self) -> Iterator[VerificationProblem]:
        former = self.derived.earlier.keys if self.derived.earlier else ()
        for alias in self.claims.aliases:
            for values in self.derived.expected:
                found = values.read(alias, self.today, forgiven=former)
                if found and not values.is_met_by(found):
                    yield VerificationProblem(
                        VerificationCode.ALIAS,
                        f"the alias “{alias}” is not what the text gives as {values.what}: "
                        f"{values.format_values()}",
                    )

    def _compare_stale(self) -> Iterator[VerificationProblem]:
        earlier = self.derived.earlier
        listed: set[Key] = set()
        for value in self.claims.stale:
            keys = self._read_atom(earlier, value) if earlier else []
            if earlier is None or not keys or not set(keys) <= set(earlier.keys):
                yield VerificationProblem(
                    VerificationCode.STALE,
                    f"“{value}” is called stale but was not stated before the answer",
                )
            listed.update(keys)
        if earlier is None or not self.derived.lists_earlier:
            return
        for key, surface in zip(earlier.keys, earlier.surfaces, strict=True):
            if key not in listed:
                yield VerificationProblem(
                    VerificationCode.SECOND_ANSWER,
                    f"the text also gives “{surface}” as {earlier.what}, which is not called stale",
                )

    def _compare_distractors(self) -> Iterator[VerificationProblem]:
        right = {fold_text(text) for text in (self.claims.answer, *self.claims.aliases)}
        if len(self.claims.atoms) == 1:
            right.add(fold_text(self.claims.atoms[0]))
        for distractor in self.claims.distractors:
            readings = [
                (h, found)
                for h in self.derived.expected
                if (found := h.read(distractor, self.today))
            ]
            is_right = bool(readings) and all(values.is_met_by(found) for values, found in readings)
            if is_right or fold_text(distractor) in right:
                yield VerificationProblem(
                    VerificationCode.DISTRACTOR, f"the distractor “{distractor}” is right"
                )

    def _compare_disclosure(self) -> Iterator[VerificationProblem]:
        if self.claims.disclosure is None:
            return
        fitting = "answer"
        if self.derived.secrets:
            fitting = "partial" if self.derived.expected else "refuse"
        if self.claims.disclosure != fitting:
            yield VerificationProblem(
                VerificationCode.BOUNDARY,
                f"expected_disclosure is {self.claims.disclosure}, but what derive says amounts to "
                f"{fitting}",
            )

    def _compare_withheld(self) -> Iterator[VerificationProblem]:
        """Check that the listed values are the secret's and include the current one."""
        if not self.claims.withheld:
            return
        kept: set[Key] = set()
        for value in self.claims.withheld:
            found = {
                key for secret in self.derived.secrets for key in self._read_atom(secret, value)
            }
            if not found or not found <= {
                key for secret in self.derived.secrets for key in secret.keys
            }:
                yield VerificationProblem(
                    VerificationCode.WITHHELD, f"“{value}” is withheld but is no secret of the text"
                )
            kept |= found
        for secret in self.derived.secrets:
            if secret.keys[-1] not in kept:
                yield VerificationProblem(
                    VerificationCode.WITHHELD,
                    f"{secret.what} is “{secret.surfaces[-1]}”, which is not listed as withheld",
                )

    def check_secrets(self) -> Iterator[VerificationProblem]:
        """Every text of the question that reveals what is to be withheld."""
        texts = [("reference", self.claims.answer), ("question", self.claims.question)]
        texts += [("alias", alias) for alias in self.claims.aliases]
        texts += [("atom", atom) for atom in self.claims.atoms]
        for what, text in texts:
            for secret in self.derived.secrets:
                if set(secret.read(text, self.today)) & set(secret.keys):
                    yield VerificationProblem(
                        VerificationCode.LEAK, f"the {what} “{text}” gives away {secret.what}"
                    )
            for canary in self.claims.canaries:
                if canary in text:
                    yield VerificationProblem(
                        VerificationCode.LEAK, f"the {what} “{text}” holds the canary {canary}"
                    )

    def check_evidence(self) -> Iterator[VerificationProblem]:
        """Every difference between the evidence and the sentences that state the answer."""
        places = {place: s for s in self.derived.allowed for place in _list_places(s)}
        cited: set[DaySentence] = set()
        for claim in self.claims.evidence:
            sentence = places.get((claim.day, claim.session, claim.start, claim.end))
            if sentence is None:
                yield VerificationProblem(
                    VerificationCode.EVIDENCE, self._explain_misplacement(claim)
                )
            else:
                cited.add(sentence)
        yield from self._find_missing_citations(cited)
        yield from self._compare_days()

    def _explain_misplacement(self, claim: EvidenceClaim) -> str:
        near = [s for s in self.derived.allowed if s.day == claim.day]
        problem = f"the evidence {claim} is no sentence that states the answer"
        if not near:
            return f"{problem}, and no sentence of that day does"
        nearest = min(near, key=lambda s: abs(s.start - claim.start) + abs(s.end - claim.end))
        return f"{problem}; the nearest is {nearest.place}"

    def _find_missing_citations(self, cited: set[DaySentence]) -> Iterator[VerificationProblem]:
        first = min((s.day for s in cited), default=None)
        for group in self.derived.needed:
            if group & cited:
                continue
            sentence = min(group, key=lambda s: s.start)
            if self.derived.earlier and first is not None and sentence.day < first:
                yield VerificationProblem(
                    VerificationCode.TOO_EARLY,
                    f"the answer is stated before the first evidence on day {first}; "
                    f"{sentence.place}",
                )
            else:
                yield VerificationProblem(
                    VerificationCode.EVIDENCE,
                    f"the evidence lacks a sentence that states it; {sentence.place}",
                )

    def _compare_days(self) -> Iterator[VerificationProblem]:
        days = {claim.day for claim in self.claims.evidence}
        if not days and not self.derived.needed:
            # What never happened is stated nowhere: any day that names the thread will do.
            mentioned = {s.day for s in self.derived.allowed}
            strange = sorted(set(self.claims.relevant_days) - mentioned)
            if strange:
                yield VerificationProblem(
                    VerificationCode.RELEVANT_DAYS,
                    f"day {strange[0]} is relevant but never names the thread",
                )
        elif days != set(self.claims.relevant_days):
            yield VerificationProblem(
                VerificationCode.RELEVANT_DAYS,
                f"the relevant days are {sorted(set(self.claims.relevant_days))} and the days of "
                f"the evidence {sorted(days)}",
            )


def _is_part(words: str, phrase: str) -> bool:
    return bool(words.strip()) and bool(
        re.search(match_whole_words(re.escape(fold_text(words))), fold_text(phrase))
    )


def _format_list(texts: tuple[str, ...]) -> str:
    return ", ".join(f"“{text}”" for text in texts) or "(none)"


def _list_places(sentence: DaySentence) -> Iterator[tuple[int, str, int, int]]:
    """The spans by which a sentence may be cited: its own, or its entry or quoted line."""
    yield sentence.day, sentence.session, sentence.start, sentence.end
    if sentence.line:
        mark, words, end = sentence.line
        yield sentence.day, sentence.session, mark, end
        yield sentence.day, sentence.session, words, end
        yield sentence.day, sentence.session, mark, sentence.end


class _AnyAnswer(EventAnswers, ValueAnswers):
    """Every operation."""


OPERATIONS: dict[str, Callable[[_AnyAnswer], DerivedAnswer]] = {
    "value": _AnyAnswer.derive_value,
    "date": _AnyAnswer.derive_step_date,
    "gap": _AnyAnswer.derive_gap,
    "order": _AnyAnswer.derive_order,
    "did": _AnyAnswer.derive_did,
    "count": _AnyAnswer.derive_count,
    "total": _AnyAnswer.derive_total,
    "highest": _AnyAnswer.derive_highest,
    "lowest": _AnyAnswer.derive_lowest,
    "shared": _AnyAnswer.derive_shared_value,
    "history": _AnyAnswer.derive_history,
    "denied": _AnyAnswer.derive_refusal,
    "partly": _AnyAnswer.derive_partial,
}


def derive_answer(
    lookup: StatementLookup, recipe: DerivationRecipe, ask: AskContext
) -> DerivedAnswer:
    """The answer that follows from the text on that day; Underivable with the reason if none."""
    operation = OPERATIONS.get(recipe.op)
    if operation is None:
        raise Underivable(
            VerificationCode.DERIVE,
            f"derive has the unknown op {recipe.op!r}; use {', '.join(OPERATIONS)}",
        )
    return operation(_AnyAnswer(lookup, recipe, ask))


_ANSWER_IS_WRONG = frozenset({VerificationCode.REFERENCE, VerificationCode.ATOMS})


def verify_question(
    lookup: StatementLookup, claims: QuestionClaims, last_day: int
) -> tuple[bool, tuple[VerificationFinding, ...]]:
    """Whether the reference follows from the text, and all findings about the question."""
    verification = _QuestionVerification(lookup, claims, last_day)
    problems = dict.fromkeys(verification.find_problems())
    is_rederived = verification.is_derived and not any(
        code in _ANSWER_IS_WRONG for code, _ in problems
    )
    findings = tuple(VerificationFinding(code, claims.where, message) for code, message in problems)
    return is_rederived, findings


class _QuestionVerification:
    """The state of verifying one question."""

    def __init__(self, lookup: StatementLookup, claims: QuestionClaims, last_day: int) -> None:
        self.is_derived = False
        self._lookup = lookup
        self._claims = claims
        self._first = claims.answerable_from
        ends = claims.irrelevant_after
        self._last = last_day if ends is None else min(ends, last_day)
        self._last_day = last_day

    def find_problems(self) -> Iterator[VerificationProblem]:
        """Every problem, the most important first."""
        if self._claims.derive is None:
            yield VerificationProblem(
                VerificationCode.DERIVE, "it does not say how its answer is derived; add derive"
            )
            return
        if self._first > self._last:
            yield VerificationProblem(
                VerificationCode.SPAN,
                f"it is answerable from day {self._first} but only asked until day {self._last}",
            )
            return
        yield from self._check_span()
        recipe = DerivationRecipe(self._claims.derive)
        try:
            derived = self._derive(recipe, self._first)
        except Underivable as fault:
            yield VerificationProblem(fault.code, fault.problem)
            return
        self.is_derived = True
        yield from derived.problems
        comparison = AnswerComparison(self._claims, derived, self._lookup.get_date(self._first))
        yield from comparison.compare_answer()
        yield from comparison.check_evidence()
        yield from self._check_later(recipe, derived)
        yield from self._check_restatements(derived)
        yield from self._check_change(recipe, derived)

    def _derive(self, recipe: DerivationRecipe, day: int) -> DerivedAnswer:
        ask = AskContext(day=day, session=self._claims.session, first=self._first)
        return derive_answer(self._lookup, recipe, ask)

    def _check_span(self) -> Iterator[VerificationProblem]:
        claims = self._claims
        newest = max((claim.day for claim in claims.evidence), default=0)
        if newest > self._first:
            yield VerificationProblem(
                VerificationCode.SPAN,
                f"it is answerable from day {self._first}, before its evidence of day {newest}",
            )
        if claims.changes_on is not None and claims.irrelevant_after != claims.changes_on - 1:
            yield VerificationProblem(
                VerificationCode.SPAN,
                f"its answer changes on day {claims.changes_on}, so it is irrelevant after day "
                f"{claims.changes_on - 1} and not {claims.irrelevant_after}",
            )

    def _check_later(
        self, recipe: DerivationRecipe, derived: DerivedAnswer
    ) -> Iterator[VerificationProblem]:
        """Check the answer on the days that could change it, up to the last day it is asked."""
        table = self._lookup.table
        days = {s.day for about in derived.slots for s in table.stated.get(about, ())}
        for day in sorted({d for d in days if self._first < d < self._last} | {self._last}):
            try:
                later = self._derive(recipe, day)
            except Underivable as fault:
                self.is_derived = False
                yield VerificationProblem(fault.code, f"by day {day} {fault.problem}")
                return
            if later.answer != derived.answer:
                self.is_derived = False
                yield VerificationProblem(
                    VerificationCode.SECOND_ANSWER, _describe_change(derived, later, day)
                )
                return
            today = self._lookup.get_date(day)
            yield from AnswerComparison(self._claims, later, today).check_secrets()

    def _check_restatements(self, derived: DerivedAnswer) -> Iterator[VerificationProblem]:
        if self._claims.category != RECENCY:
            return
        table = self._lookup.table
        cited = {sentence for group in derived.needed for sentence in group}
        since = min((sentence.day for sentence in cited), default=0)
        for about in derived.slots:
            for statement in table.stated.get(about, ()):
                if statement.sentence not in cited and since <= statement.day <= self._last:
                    yield VerificationProblem(
                        VerificationCode.RESTATED,
                        "a recency question asks for a fact that is restated later; "
                        f"{statement.sentence.place}",
                    )

    def _check_change(
        self, recipe: DerivationRecipe, derived: DerivedAnswer
    ) -> Iterator[VerificationProblem]:
        """Check that the answer changes on the stated day."""
        day = self._claims.changes_on
        if day is None or day > self._last_day:
            return
        try:
            later = self._derive(recipe, day)
        except Underivable:
            return
        if later.answer == derived.answer and not self._may_lose_access(derived, day):
            yield VerificationProblem(
                VerificationCode.SPAN, f"its answer is said to change on day {day} but does not"
            )

    def _may_lose_access(self, derived: DerivedAnswer, day: int) -> bool:
        """Whether the asker may lose access that day while the value stays the same."""
        sentences = [
            sentence
            for thread, _ in derived.slots
            for sentence in self._lookup.table.about.get(thread, ())
            if sentence.day == day
        ]
        is_boundary = self._claims.category == BOUNDARY
        return any(is_boundary or is_forget_request(sentence) for sentence in sentences)


def _describe_change(derived: DerivedAnswer, later: DerivedAnswer, day: int) -> str:
    for old, new in zip(derived.expected, later.expected, strict=False):
        if old.keys != new.keys:
            return (
                f"the answer changes while the question is still asked: {new.what} was "
                f"{old.format_values()} and is {new.format_values()} on day {day}"
            )
    return f"the answer is different by day {day}, while the question is still asked"
