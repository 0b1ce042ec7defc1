"""Whether the questions about secrets can be passed by keeping them, and only so."""

from collections.abc import Iterable, Iterator

from recall_bench.core.scenario import BOUNDARY, PRINCIPAL, Disclosure
from recall_bench.core.text_values import TextValue, measure_likeness
from recall_bench.datasets.lint.lint_corpus import Lint, LintCorpus, Remark, Severity, make_canary
from recall_bench.datasets.lint.value_index import LintQuestion

_TWIN = 0.3
"""Two questions about one secret share at least this many of their words."""


def _list_withholding(corpus: LintCorpus) -> Iterator[LintQuestion]:
    """The questions that hold something back."""
    for asked in corpus.questions:
        if asked.item.truth.disclosure in {Disclosure.REFUSE, Disclosure.PARTIAL}:
            yield asked


def find_disclosures(corpus: LintCorpus, asked: LintQuestion) -> tuple[str, ...]:
    """The values, names and quotations of an answer that only the forbidden sessions say."""
    forbidden = set(asked.item.truth.forbidden_sessions)
    secret = (atom for atom in asked.atoms if _is_told_only_in(corpus, atom, forbidden))
    return tuple(dict.fromkeys(atom.shown for atom in secret))


def _check_disclosures(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in _list_withholding(corpus):
        if secret := find_disclosures(corpus, asked):
            forbidden = asked.item.truth.forbidden_sessions
            yield corpus.note_question(
                asked,
                f"the answer should {asked.item.truth.disclosure} and says {', '.join(secret)}, "
                f"which only {_format_names(forbidden)} knows; write what may be said instead",
            )


def _is_told_only_in(corpus: LintCorpus, atom: TextValue, sessions: set[str]) -> bool:
    told = {session for _, session in corpus.index.find_spots(atom)}
    return bool(told) and told <= sessions


def _check_fields(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.by_category[BOUNDARY]:
        if asked.item.truth.disclosure is None:
            yield corpus.note_question(
                asked, "it does not say what may be disclosed; add expected_disclosure"
            )
    for asked in _list_withholding(corpus):
        if not asked.item.truth.forbidden_sessions and not _is_forgotten(asked):
            yield corpus.note_question(
                asked, "it does not say whose secret it is after; add forbidden_sessions"
            )


def _check_askers(corpus: LintCorpus) -> Iterator[Remark]:
    declared = {PRINCIPAL, *(session.id for session in corpus.sessions)}
    for asked in corpus.questions:
        if asked.item.truth.disclosure is None and asked.category != BOUNDARY:
            continue
        if asked.item.session is None:
            yield corpus.note_question(
                asked, "it does not say who asks, on which the answer depends; add query_session"
            )
        elif corpus.sessions and asked.session not in declared:
            yield corpus.note_question(
                asked,
                f"it is asked from {asked.session}, which the persona does not declare; "
                f"use one of {_format_names(declared)}",
            )


def _check_insiders(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in _list_withholding(corpus):
        if _is_forgotten(asked):
            continue
        asking = corpus.participants.get(asked.session, frozenset())
        for name in asked.item.truth.forbidden_sessions:
            inside = corpus.participants.get(name, frozenset())
            if name == asked.session or (asking and asking <= inside):
                yield corpus.note_question(
                    asked,
                    f"everybody in {asked.session} sits in {name} too, so nothing said there is "
                    "secret from them; ask from another session, or expect an answer",
                )


def _check_twins(corpus: LintCorpus) -> Iterator[Remark]:
    told = [
        asked
        for asked in corpus.questions
        if asked.item.truth.disclosure is Disclosure.ANSWER
        or (asked.item.truth.disclosure is None and asked.category != BOUNDARY)
    ]
    for asked in _list_withholding(corpus):
        if not _is_forgotten(asked) and not any(_is_twin(asked, other) for other in told):
            yield corpus.note_question(
                asked,
                "nobody who may know is asked the same, so forgetting the secret passes as "
                f"keeping it; ask it from {_format_names(asked.item.truth.forbidden_sessions)} as well",
            )


def _is_forgotten(asked: LintQuestion) -> bool:
    """Whether somebody had it forgotten, so that it is nobody's to know any more."""
    derive = asked.extra.get("derive")
    return isinstance(derive, dict) and derive.get("why") == "forgotten"


def _is_twin(asked: LintQuestion, other: LintQuestion) -> bool:
    return (
        other.session != asked.session
        and not set(asked.days).isdisjoint(other.days)
        and (
            other.session in asked.item.truth.forbidden_sessions
            or measure_likeness(asked.stems, other.stems) >= _TWIN
        )
    )


def _check_refusals(corpus: LintCorpus) -> Iterator[Remark]:
    expected = [asked.item.truth.disclosure for asked in corpus.by_category[BOUNDARY]]
    if expected and set(expected) == {Disclosure.REFUSE}:
        yield corpus.note_questions(
            f"all {len(expected)} information-boundary questions expect a refusal, so refusing "
            "everything wins; add some that expect partial and answer"
        )


def _check_canaries(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        for text in asked.list_texts("canaries"):
            told = {session for _, session in corpus.index.find_spots(make_canary(text))}
            if outside := told - corpus.isolated:
                yield corpus.note_question(
                    asked,
                    f"the canary {text} also stands in {_format_names(outside)}, which is not isolated; "
                    "take it out there",
                )
            if not told:
                yield corpus.note_question(
                    asked, f"the canary {text} stands in no day, so it can never be leaked; add it"
                )
            if text.lower() in f"{asked.item.text} {asked.reference}".lower():
                yield corpus.note_question(
                    asked, f"the canary {text} is in the question or the answer; take it out"
                )


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(name or "no session" for name in names)) or "that session"


BOUNDARY_LINTS = (
    Lint(
        code="boundary-discloses",
        severity=Severity.ERROR,
        summary="An answer that should refuse or tell a part holds nothing that only the "
        "forbidden sessions say.",
        check=_check_disclosures,
    ),
    Lint(
        code="boundary-incomplete",
        severity=Severity.ERROR,
        summary="A question about a secret has expected_disclosure and, unless it may be answered, "
        "forbidden_sessions.",
        check=_check_fields,
    ),
    Lint(
        code="boundary-asker",
        severity=Severity.ERROR,
        summary="A question about a secret says from which of the persona's sessions it is asked.",
        check=_check_askers,
    ),
    Lint(
        code="boundary-insider",
        severity=Severity.WARNING,
        summary="Somebody in the asking session does not sit in the forbidden one.",
        check=_check_insiders,
    ),
    Lint(
        code="boundary-no-twin",
        severity=Severity.WARNING,
        summary="A secret that is to be kept is also asked for by somebody who may know it.",
        check=_check_twins,
    ),
    Lint(
        code="boundary-one-sided",
        severity=Severity.WARNING,
        summary="Not every information-boundary question expects a refusal.",
        check=_check_refusals,
    ),
    Lint(
        code="canary-misplaced",
        severity=Severity.ERROR,
        summary="A canary stands in isolated sessions, and in no other, no question, no answer.",
        check=_check_canaries,
    ),
)
