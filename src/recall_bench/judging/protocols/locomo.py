"""LoCoMo's official scores, category by category, as its `task_eval/evaluation.py` has them.

* multi-hop (1): gold and answer are split at commas; each gold part counts with the best token F1
  that a part of the answer reaches, and the score is their mean;
* temporal (2), single-hop (4): token F1 of the whole answer;
* open-domain (3): the same, against the gold up to its first semicolon;
* adversarial (5): 1 if the answer contains one of two phrases, 0 otherwise, whatever else it says.

Tokens are what is left of the lower-cased text without ASCII punctuation and without the words a,
an, the and and, split at blanks and stemmed (porter.py). F1 is the harmonic mean of the shares of
tokens in common, with repetitions; nothing in common, or nothing said, is 0.

Known of the real file: each of its 1,540 gold answers of categories 1 to 4 scores 1.0 as an answer,
but for the 11 of category 3 that a semicolon cuts, which score 1.0 when cut alike. Six are whole
numbers (`score.gold_text`). The two phrases are a weak test of abstention: an answer that also
states the trap passes, and a refusal in other words fails. The two adversarial items that have a
gold answer are graded by the phrases like the rest, and two (conv-30, 79 and 103 counted from 0)
name "Not mentioned" itself as the trap. "Not mentioned" to all 1,986 questions scores 0.226.
"""

import re
import string
from collections import Counter

from recall_bench.errors import Malformed
from recall_bench.judging.protocols.porter import stem_porter
from recall_bench.judging.protocols.score import (
    ComputedProtocol,
    ProtocolCard,
    ProtocolScore,
    Submission,
)

LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""What the numbers in LoCoMo's file mean to its official script."""

LOCOMO_ABSTENTIONS = ("no information available", "not mentioned")
"""What an adversarial question must be answered with, in any case, anywhere in the answer."""

_IGNORED_WORDS = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

LOCOMO_CARD = ProtocolCard.declare(
    "locomo/official",
    "1",
    "token F1 with repetitions; lower case; ASCII punctuation deleted; Porter with NLTK extensions",
    _IGNORED_WORDS.pattern,
    *LOCOMO_ABSTENTIONS,
    "multi-hop: mean over the gold's comma-separated parts of the best F1 of the answer's parts",
    "open-domain: gold up to its first semicolon",
)


def count_tokens(text: str) -> Counter[str]:
    """The stemmed words that count, with how often each occurs."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return Counter(stem_porter(word) for word in _IGNORED_WORDS.sub(" ", bare).split())


def compute_token_f1(answer: Counter[str], gold: Counter[str]) -> float:
    """The harmonic mean of precision and recall over tokens."""
    same = (answer & gold).total()
    return 2 * same / (answer.total() + gold.total()) if same else 0.0


def grade_locomo(submission: Submission) -> ProtocolScore:
    """The official score of an answer to a question of one of the `CATEGORIES`."""
    match submission.category:
        case "multi-hop":
            return _grade_multi_hop(submission.answer, submission.get_only_gold(LOCOMO_CARD))
        case "open-domain":
            return _grade_whole(
                submission.answer, submission.get_only_gold(LOCOMO_CARD).partition(";")[0]
            )
        case "temporal" | "single-hop":
            return _grade_whole(submission.answer, submission.get_only_gold(LOCOMO_CARD))
        case "adversarial":
            return _grade_adversarial(submission.answer)
        case other:
            raise Malformed(
                f"{LOCOMO_CARD.name}: {submission.question!r}",
                f"no category {other!r}; there are {', '.join(LOCOMO_CATEGORIES.values())}",
            )


def _grade_whole(answer: str, gold: str) -> ProtocolScore:
    said, wanted = count_tokens(answer), count_tokens(gold)
    same = (said & wanted).total()
    return ProtocolScore(
        protocol=LOCOMO_CARD,
        value=compute_token_f1(said, wanted),
        reason=f"{same} tokens in common; {said.total()} in the answer, {wanted.total()} in gold",
        details={"common": same, "answer_tokens": said.total(), "gold_tokens": wanted.total()},
    )


def _grade_multi_hop(answer: str, gold: str) -> ProtocolScore:
    # Parts that say the same are compared once: a long answer may consist of little else.
    parts = {frozenset(count_tokens(part).items()) for part in answer.split(",")}
    said = [Counter(dict(part)) for part in parts]
    best = [_find_best_f1(said, count_tokens(part)) for part in gold.split(",")]
    return ProtocolScore(
        protocol=LOCOMO_CARD,
        value=sum(best) / len(best),
        reason=f"{sum(share > 0 for share in best)} of {len(best)} parts touched",
        details={"gold_parts": len(best), "parts_in_full": sum(share == 1.0 for share in best)},
    )


def _find_best_f1(said: list[Counter[str]], wanted: Counter[str]) -> float:
    sharing = (part for part in said if not part.keys().isdisjoint(wanted))
    return max((compute_token_f1(part, wanted) for part in sharing), default=0.0)


def _grade_adversarial(answer: str) -> ProtocolScore:
    found = next((phrase for phrase in LOCOMO_ABSTENTIONS if phrase in answer.lower()), None)
    reason = (
        f"says {found!r}"
        if found
        else f"says neither {' nor '.join(map(repr, LOCOMO_ABSTENTIONS))}"
    )
    return ProtocolScore(protocol=LOCOMO_CARD, value=float(found is not None), reason=reason)


LOCOMO_OFFICIAL = ComputedProtocol(LOCOMO_CARD, grade_locomo)
