"""Whether who may know, who asks and what is disclosed are consistent, beyond the lints."""

from collections.abc import Collection, Iterator

from recall_bench.core.scenario import BOUNDARY, PRINCIPAL, Disclosure
from recall_bench.features.personas.checks.check_result import (
    QuestionProblem,
    make_boundary_problem,
    make_format_problem,
)
from recall_bench.features.personas.checks.support_check import GUARDED
from recall_bench.stories.lint.boundary_checks import find_disclosures
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.text.text import TEXT_STOPWORDS
from recall_bench.text.text_values import NAME, TextValue, collect_topics, list_words

_MIN_WORDS = 2
_RETOLD_SHARE = 3 / 4
"""The share of an answer's words from one sentence that makes it a repetition."""
_MIN_SECRET_WORDS = 3
"""Words that only the forbidden sessions use, from which on an answer is a leak."""


def check_disclosure(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionProblem]:
    """Contradicting fields of a question about a secret, and answers that reveal it."""
    truth = asked.item.truth
    named = ", ".join(truth.forbidden_sessions)
    if truth.disclosure in GUARDED and asked.category != BOUNDARY:
        yield make_boundary_problem(
            f"it expects {truth.disclosure} and is filed under {asked.category}; "
            f"file it under {BOUNDARY}"
        )
    if truth.disclosure is Disclosure.ANSWER and truth.forbidden_sessions:
        yield make_boundary_problem(
            f"it expects an answer and forbids {named}; take forbidden_sessions away, or refuse"
        )
    if truth.disclosure is None and truth.forbidden_sessions and asked.category != BOUNDARY:
        yield make_boundary_problem(
            f"it forbids {named} and does not say what may be disclosed; add expected_disclosure"
        )
    if truth.disclosure not in GUARDED or find_disclosures(corpus, asked):
        return
    answer = asked.reference.lower()
    withheld = [text for text in truth.withheld if text.lower() in answer]
    secrets = [*withheld, *find_retold_sentences(corpus, asked)][:1]
    if secrets:
        yield make_boundary_problem(
            f"the answer should {truth.disclosure} and tells “{secrets[0]}”; "
            "write what may be said instead",
            is_severe=True,
        )
    elif len(words := find_secret_words(corpus, asked)) >= _MIN_SECRET_WORDS:
        yield make_boundary_problem(
            f"the answer should {truth.disclosure} and uses {', '.join(sorted(words)[:4])}, words "
            f"that only {named} uses; write what may be said instead",
            is_severe=True,
        )


def find_retold_sentences(corpus: LintCorpus, asked: LintQuestion) -> Iterator[str]:
    """Sentences of the forbidden sessions that a refusing answer repeats."""
    answer = collect_topics(asked.reference) - asked.topics
    if asked.item.truth.disclosure is not Disclosure.REFUSE or len(answer) < _MIN_WORDS:
        return
    forbidden = asked.item.truth.forbidden_sessions
    for day in asked.days:
        for sentence in corpus.by_number[day].sentences:
            is_secret = sentence.session in forbidden
            if is_secret and len(answer & collect_topics(sentence.text)) >= _RETOLD_SHARE * len(
                answer
            ):
                yield sentence.text


def find_secret_words(corpus: LintCorpus, asked: LintQuestion) -> set[str]:
    """Words of the answer, not in the question, that only the forbidden sessions use."""
    forbidden = asked.item.truth.forbidden_sessions
    public_words = set(list_words(asked.item.text)) | TEXT_STOPWORDS
    return {
        word
        for word in list_words(asked.reference)
        if len(word) > 2 and word not in public_words and _is_told_only_in(corpus, word, forbidden)
    }


def _is_told_only_in(corpus: LintCorpus, word: str, sessions: Collection[str]) -> bool:
    places = {session for _, session in corpus.index.find_spots(TextValue(NAME, word, word, word))}
    return bool(places) and places.issubset(sessions)


def is_insider(corpus: LintCorpus, asked: LintQuestion) -> bool:
    """Whether all participants of the asking session are in each forbidden session."""
    forbidden = asked.item.truth.forbidden_sessions
    asking = corpus.participants.get(asked.session, frozenset())
    return bool(forbidden) and all(
        name == asked.session
        or (bool(asking) and asking <= corpus.participants.get(name, frozenset()))
        for name in forbidden
    )


def check_declared_sessions(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionProblem]:
    """Sessions that the persona does not declare."""
    existing = {PRINCIPAL, *(session.id for session in corpus.sessions)}
    named = {
        "query_session": (asked.item.session,) if asked.item.session else (),
        "forbidden_sessions": asked.item.truth.forbidden_sessions,
    }
    for key, names in named.items():
        for name in names if corpus.sessions else ():
            if name not in existing:
                yield make_format_problem(
                    f"{key} names {name}, which the persona does not declare; "
                    f"use one of {', '.join(sorted(existing))}",
                    is_severe=True,
                )
