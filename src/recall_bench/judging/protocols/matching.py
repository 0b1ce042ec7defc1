"""Answers compared with gold by their words, without a model. Any alias will do.

`squad/exact` and `squad/f1` are the question-answering scores of SQuAD: lower case, ASCII
punctuation deleted, the words a, an and the left out, blanks joined; then equality, or the harmonic
mean of the shares of words in common, with repetitions.

`memoryagentbench/official` is MemoryAgentBench's substring match: after the same preparation, a
gold answer stands anywhere in the answer. It knows no words: `12` is found in `120`, and `3.5` is
read `35`. (Its script also tries what follows `Answer:`, which holds nothing that the whole answer
does not.)

`match/substring` is ours, for what that lets pass: words must be whole and in a row, as
`core.matching` has it, and `12` is not in `120`.

A gold answer of which nothing is left is refused: it would be in every answer, or in none.
"""

import string
from collections import Counter
from collections.abc import Callable

from recall_bench.core.matching import ARTICLE, MATCHING_RULES, contains_phrase, split_words
from recall_bench.errors import Malformed
from recall_bench.judging.protocols.score import (
    ComputedProtocol,
    ProtocolCard,
    ProtocolScore,
    Submission,
)

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)

_SQUAD_RULES = ("lower case; ASCII punctuation deleted; blanks joined", ARTICLE.pattern)

EXACT = ProtocolCard.declare("squad/exact", "1", "equality with any gold", *_SQUAD_RULES)
F1 = ProtocolCard.declare("squad/f1", "1", "best token F1 over the golds", *_SQUAD_RULES)
PLAIN = ProtocolCard.declare(
    "memoryagentbench/official", "1", "any gold is a substring", *_SQUAD_RULES
)
WORDS = ProtocolCard.declare(
    "match/substring",
    "1",
    "the words of any gold stand in a row in the answer; NFKC; case folded; apostrophes deleted",
    *MATCHING_RULES,
)


def normalise_squad(text: str) -> str:
    """The text as SQuAD compares it."""
    return " ".join(ARTICLE.sub(" ", text.lower().translate(_DELETE_PUNCTUATION)).split())


def grade_exact(submission: Submission) -> ProtocolScore:
    """1 for an answer that is a gold answer."""
    said = normalise_squad(submission.answer)
    return _grade_any(EXACT, submission, "is", lambda gold: normalise_squad(gold) == said)


def grade_plain(submission: Submission) -> ProtocolScore:
    """1 for an answer in which a gold answer stands, even inside another word or number."""
    said = normalise_squad(submission.answer)
    return _grade_any(PLAIN, submission, "contains", lambda gold: normalise_squad(gold) in said)


def grade_words(submission: Submission) -> ProtocolScore:
    """1 for an answer in which a gold answer stands as whole words."""
    return _grade_any(
        WORDS, submission, "contains", lambda gold: contains_phrase(submission.answer, gold)
    )


def grade_f1(submission: Submission) -> ProtocolScore:
    """How far the words of the answer are those of the nearest gold answer."""
    said = Counter(normalise_squad(submission.answer).split())
    best, nearest = 0.0, ""
    for gold in _get_golds(F1, submission):
        wanted = Counter(normalise_squad(gold).split())
        share = 2 * (said & wanted).total() / (said.total() + wanted.total())
        if share > best:
            best, nearest = share, gold
    reason = f"nearest to {nearest!r:.80}" if nearest else "no word in common with any gold answer"
    return ProtocolScore(protocol=F1, value=best, reason=reason)


def _grade_any(
    card: ProtocolCard, submission: Submission, verb: str, fits: Callable[[str], bool]
) -> ProtocolScore:
    golds = _get_golds(card, submission)
    matched = next((gold for gold in golds if fits(gold)), None)
    if matched is None:
        return ProtocolScore(
            protocol=card, value=0.0, reason=f"{verb} none of {len(golds)} gold answers"
        )
    return ProtocolScore(protocol=card, value=1.0, reason=f"{verb} {matched!r:.80}")


def _get_golds(card: ProtocolCard, submission: Submission) -> tuple[str, ...]:
    prepared = split_words if card is WORDS else normalise_squad
    for gold in submission.golds:
        if not prepared(gold):
            raise Malformed(
                f"{card.name}: {submission.question!r}",
                f"nothing is left to compare of the gold answer {gold!r}; use another protocol",
            )
    if not submission.golds:
        raise Malformed(f"{card.name}: {submission.question!r}", "there is no gold answer")
    return submission.golds


STRING_PROTOCOLS = (
    ComputedProtocol(EXACT, grade_exact),
    ComputedProtocol(F1, grade_f1),
    ComputedProtocol(PLAIN, grade_plain),
    ComputedProtocol(WORDS, grade_words),
)
