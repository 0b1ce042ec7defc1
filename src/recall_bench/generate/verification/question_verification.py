"""Verify one question: derive its answer on every day that could change it, and compare."""

from collections.abc import Callable, Iterator

from recall_bench.generate.verification.comparison import AnswerComparison
from recall_bench.generate.verification.derivation import (
    AskContext,
    DerivationRecipe,
    DerivedAnswer,
)
from recall_bench.generate.verification.event_answers import EventAnswers
from recall_bench.generate.verification.findings import (
    VerificationCode,
    VerificationFinding,
    VerificationProblem,
)
from recall_bench.generate.verification.question_claims import QuestionClaims
from recall_bench.generate.verification.statements import StatementLookup, Underivable
from recall_bench.generate.verification.value_answers import ValueAnswers, is_forget_request


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
        if self._claims.category != "recency-bias-resistance":
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
        is_boundary = self._claims.category == "information-boundary"
        return any(is_boundary or is_forget_request(sentence) for sentence in sentences)


def _describe_change(derived: DerivedAnswer, later: DerivedAnswer, day: int) -> str:
    for old, new in zip(derived.expected, later.expected, strict=False):
        if old.keys != new.keys:
            return (
                f"the answer changes while the question is still asked: {new.what} was "
                f"{old.format_values()} and is {new.format_values()} on day {day}"
            )
    return f"the answer is different by day {day}, while the question is still asked"
