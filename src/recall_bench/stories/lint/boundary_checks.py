"""Lints of questions about secrets: a system passes by keeping them, and only so."""

from collections.abc import Iterable, Iterator

from recall_bench.core.scenario import BOUNDARY, PRINCIPAL, Disclosure
from recall_bench.stories.lint.lint_corpus import (
    LintCorpus,
    LintFinding,
    LintGroup,
    Severity,
    make_canary,
)
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.text.text_values import TextValue, measure_likeness

BOUNDARY_LINTS = LintGroup()

_TWIN = 0.3
"""Share of words from which two questions are about one secret."""


def _list_withholding(corpus: LintCorpus) -> Iterator[LintQuestion]:
    """Yield the questions whose answer withholds something."""
    for question in corpus.questions:
        if question.item.truth.disclosure in {Disclosure.REFUSE, Disclosure.PARTIAL}:
            yield question


def find_disclosures(corpus: LintCorpus, question: LintQuestion) -> tuple[str, ...]:
    """Return the values, names and quotations of an answer that only forbidden sessions contain."""
    forbidden = set(question.item.truth.forbidden_sessions)
    secret = (value for value in question.atoms if _is_told_only_in(corpus, value, forbidden))
    return tuple(dict.fromkeys(value.shown for value in secret))


@BOUNDARY_LINTS.add_check(
    "boundary-discloses",
    Severity.ERROR,
    "An answer that should refuse or tell a part holds nothing that only the "
    "forbidden sessions say.",
)
def _check_disclosures(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in _list_withholding(corpus):
        if secret := find_disclosures(corpus, question):
            forbidden = question.item.truth.forbidden_sessions
            yield corpus.note_question(
                question,
                f"the answer should {question.item.truth.disclosure} and discloses "
                f"{', '.join(secret)}, which only {_format_names(forbidden)} knows; write what "
                "may be said instead",
            )


def _is_told_only_in(corpus: LintCorpus, value: TextValue, sessions: set[str]) -> bool:
    places = {session for _, session in corpus.index.find_spots(value)}
    return bool(places) and places <= sessions


@BOUNDARY_LINTS.add_check(
    "boundary-incomplete",
    Severity.ERROR,
    "A question about a secret has expected_disclosure and, unless it may be answered, "
    "forbidden_sessions.",
)
def _check_fields(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in corpus.by_category[BOUNDARY]:
        if question.item.truth.disclosure is None:
            yield corpus.note_question(
                question, "it does not state what may be disclosed; add expected_disclosure"
            )
    for question in _list_withholding(corpus):
        if not question.item.truth.forbidden_sessions and not _is_forgotten(question):
            yield corpus.note_question(
                question, "it does not state whose secret it asks for; add forbidden_sessions"
            )


@BOUNDARY_LINTS.add_check(
    "boundary-asker",
    Severity.ERROR,
    "A question about a secret says from which of the persona's sessions it is asked.",
)
def _check_askers(corpus: LintCorpus) -> Iterator[LintFinding]:
    declared = {PRINCIPAL, *(session.id for session in corpus.sessions)}
    for question in corpus.questions:
        if question.item.truth.disclosure is None and question.category != BOUNDARY:
            continue
        if question.item.session is None:
            yield corpus.note_question(
                question,
                "it does not state who asks, on which the answer depends; add query_session",
            )
        elif corpus.sessions and question.session not in declared:
            yield corpus.note_question(
                question,
                f"it is asked from {question.session}, which the persona does not declare; "
                f"use one of {_format_names(declared)}",
            )


@BOUNDARY_LINTS.add_check(
    "boundary-insider",
    Severity.WARNING,
    "A participant of the asking session is not in the forbidden one.",
)
def _check_insiders(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in _list_withholding(corpus):
        if _is_forgotten(question):
            continue
        asking = corpus.participants.get(question.session, frozenset())
        for name in question.item.truth.forbidden_sessions:
            inside = corpus.participants.get(name, frozenset())
            if name == question.session or (asking and asking <= inside):
                yield corpus.note_question(
                    question,
                    f"all participants of {question.session} are in {name} too, so nothing there "
                    "is secret from them; ask from another session, or expect an answer",
                )


@BOUNDARY_LINTS.add_check(
    "boundary-no-twin",
    Severity.WARNING,
    "A secret is also asked for from a session that may know it.",
)
def _check_twins(corpus: LintCorpus) -> Iterator[LintFinding]:
    answerable = [
        question
        for question in corpus.questions
        if question.item.truth.disclosure is Disclosure.ANSWER
        or (question.item.truth.disclosure is None and question.category != BOUNDARY)
    ]
    for question in _list_withholding(corpus):
        if not _is_forgotten(question) and not any(
            _is_twin(question, other) for other in answerable
        ):
            yield corpus.note_question(
                question,
                "no session that may know is asked the same, so forgetting the secret passes as "
                "keeping it; ask it from "
                f"{_format_names(question.item.truth.forbidden_sessions)} as well",
            )


def _is_forgotten(question: LintQuestion) -> bool:
    """Whether the secret was deleted on request, so that no session may know it."""
    derive = question.extra.get("derive")
    is_simulated = isinstance(derive, dict) and derive.get("why") == "forgotten"
    return is_simulated or question.extra.get("kind") == "forgotten"


def _is_twin(question: LintQuestion, other: LintQuestion) -> bool:
    return (
        other.session != question.session
        and not set(question.days).isdisjoint(other.days)
        and (
            other.session in question.item.truth.forbidden_sessions
            or measure_likeness(question.stems, other.stems) >= _TWIN
        )
    )


@BOUNDARY_LINTS.add_check(
    "boundary-one-sided",
    Severity.WARNING,
    "Not every information-boundary question expects a refusal.",
)
def _check_refusals(corpus: LintCorpus) -> Iterator[LintFinding]:
    expected = [question.item.truth.disclosure for question in corpus.by_category[BOUNDARY]]
    if expected and set(expected) == {Disclosure.REFUSE}:
        yield corpus.note_questions(
            f"all {len(expected)} information-boundary questions expect a refusal, so refusing "
            "everything wins; add some that expect partial and answer"
        )


@BOUNDARY_LINTS.add_check(
    "canary-misplaced",
    Severity.ERROR,
    "A canary occurs only in isolated sessions, and in no question or answer.",
)
def _check_canaries(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in corpus.questions:
        for text in question.list_texts("canaries"):
            sessions = {session for _, session in corpus.index.find_spots(make_canary(text))}
            if outside := sessions - corpus.isolated:
                yield corpus.note_question(
                    question,
                    f"the canary {text} also occurs in {_format_names(outside)}, which is not "
                    "isolated; remove it there",
                )
            if not sessions:
                yield corpus.note_question(
                    question,
                    f"the canary {text} occurs in no day, so it can never be leaked; add it",
                )
            if text.lower() in f"{question.item.text} {question.reference}".lower():
                yield corpus.note_question(
                    question, f"the canary {text} is in the question or the answer; take it out"
                )


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(name or "no session" for name in names)) or "that session"
