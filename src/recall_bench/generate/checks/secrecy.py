"""Whether who may know, who asks and what is disclosed fit together, beyond what the lints ask."""

from collections.abc import Collection, Iterator

from recall_bench.core.question import BOUNDARY, PRINCIPAL, Disclosure
from recall_bench.generate.checks.checker import Kind, Problem
from recall_bench.generate.checks.support import GUARDED
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import NAME, Atom
from recall_bench.lint.boundary import discloses
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.words import EMPTY, topics, words

_FEWEST = 2
_MOST = 3 / 4
"""An answer with so many of its words from one sentence says that again."""
_TELLING = 3
"""So many words that only the forbidden sessions use give their secret away."""


def inconsistent(corpus: Corpus, asked: Asked) -> Iterator[Problem]:
    """Fields of a question about a secret that contradict each other."""
    truth = asked.item.truth
    named = ", ".join(truth.forbidden_sessions)
    if truth.disclosure in GUARDED and asked.category != BOUNDARY:
        yield _problem(
            f"it expects {truth.disclosure} and is filed under {asked.category}; "
            f"file it under {BOUNDARY}"
        )
    if truth.disclosure is Disclosure.ANSWER and truth.forbidden_sessions:
        yield _problem(
            f"it expects an answer and forbids {named}; take forbidden_sessions away, or refuse"
        )
    if truth.disclosure is None and truth.forbidden_sessions and asked.category != BOUNDARY:
        yield _problem(
            f"it forbids {named} and does not say what may be disclosed; add expected_disclosure"
        )
    if truth.disclosure not in GUARDED or discloses(corpus, asked):
        return
    told = [*kept_texts(asked), *retold(corpus, asked)][:1]
    if told:
        yield _problem(
            f"the answer should {truth.disclosure} and tells “{told[0]}”; "
            "write what may be said instead",
            is_grave=True,
        )
    elif len(used := secret_words(corpus, asked)) >= _TELLING:
        yield _problem(
            f"the answer should {truth.disclosure} and uses {', '.join(sorted(used)[:4])}, words "
            f"that only {named} uses; write what may be said instead",
            is_grave=True,
        )


def kept_texts(asked: Asked) -> list[str]:
    """Withheld values that the answer holds."""
    answer = asked.reference.lower()
    return [text for text in asked.item.truth.withheld if text.lower() in answer]


def retold(corpus: Corpus, asked: Asked) -> Iterator[str]:
    """Sentences of the forbidden sessions that an answer which should refuse says again."""
    answer = topics(asked.reference) - asked.topics
    if asked.item.truth.disclosure is not Disclosure.REFUSE or len(answer) < _FEWEST:
        return
    forbidden = asked.item.truth.forbidden_sessions
    for day in asked.days:
        for sentence in corpus.by_number[day].sentences:
            is_secret = sentence.session in forbidden
            if is_secret and len(answer & topics(sentence.text)) >= _MOST * len(answer):
                yield sentence.text


def secret_words(corpus: Corpus, asked: Asked) -> set[str]:
    """Words of the answer, not of the question, that only the forbidden sessions use."""
    forbidden = asked.item.truth.forbidden_sessions
    given = set(words(asked.item.text)) | EMPTY
    return {
        word
        for word in words(asked.reference)
        if len(word) > 2 and word not in given and _is_told_only_in(corpus, word, forbidden)
    }


def _is_told_only_in(corpus: Corpus, word: str, sessions: Collection[str]) -> bool:
    told = {session for _, session in corpus.index.spots(Atom(NAME, word, word, word))}
    return bool(told) and told.issubset(sessions)


def is_insider(corpus: Corpus, asked: Asked) -> bool:
    """Whether everybody in the asking session sits in each of the forbidden ones."""
    forbidden = asked.item.truth.forbidden_sessions
    asking = corpus.participants.get(asked.session, frozenset())
    return bool(forbidden) and all(
        name == asked.session
        or (bool(asking) and asking <= corpus.participants.get(name, frozenset()))
        for name in forbidden
    )


def undeclared(corpus: Corpus, asked: Asked) -> Iterator[Problem]:
    """Sessions that the persona does not have, where it says which it has."""
    known = {PRINCIPAL, *(session.id for session in corpus.sessions)}
    named = {
        "query_session": (asked.item.session,) if asked.item.session else (),
        "forbidden_sessions": asked.item.truth.forbidden_sessions,
    }
    for key, names in named.items():
        for name in names if corpus.sessions else ():
            if name not in known:
                yield Problem(
                    kind=Kind.FORMAT,
                    message=f"{key} names {name}, which the persona does not declare; "
                    f"use one of {', '.join(sorted(known))}",
                    is_grave=True,
                )


def _problem(message: str, *, is_grave: bool = False) -> Problem:
    return Problem(kind=Kind.BOUNDARY, message=message, is_grave=is_grave)
