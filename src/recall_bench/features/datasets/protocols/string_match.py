"""Protocols that compare strings: SQuAD's exact match and F1, substrings, and LoCoMo's scores.

SQuAD lower-cases, deletes ASCII punctuation and articles, and joins blanks. Its substring variant
(`memoryagentbench/official`) also matches inside a word or number; `match/substring` needs whole
words.

LoCoMo's scores follow its `task_eval/evaluation.py`, category by category:

* multi-hop (1): gold and answer are split at commas; each gold part counts with the best token F1
  that a part of the answer reaches, and the score is their mean;
* temporal (2), single-hop (4): token F1 of the whole answer;
* open-domain (3): the same, against the gold up to its first semicolon;
* adversarial (5): 1 if the answer contains one of two phrases, 0 otherwise.

Its tokens are the lower-cased words without ASCII punctuation and without a, an, the and and,
stemmed by Porter's algorithm. F1 is the harmonic mean of the shares of tokens in common, with
repetitions; 0 if there is none.

Known facts about the real file: each of its 1,540 gold answers of categories 1 to 4 scores 1.0 as
an answer, except the 11 of category 3 that a semicolon cuts. Six are whole numbers.
The two phrases are a weak test of abstention: an answer that also states the trap passes, and a
refusal in other words fails. The two adversarial items with a gold answer are graded by the phrases
as well, and two (conv-30, 79 and 103 counted from 0) name "Not mentioned" itself as the trap. "Not
mentioned" to all 1,986 questions scores 0.226.

The stemmer is Porter's with the extensions of NLTK's `PorterStemmer`, because LoCoMo's script uses
NLTK. The published algorithm (PyStemmer's `porter`) groups LoCoMo's 5,932 words differently in 31
places, which changes 13 of 1,540 scores by up to 0.07. NLTK's extensions:

* a dozen irregular words, and words of one or two letters, stay as they are;
* four-letter `-ies` and `-ied` keep the e (`pies`, `tied`), longer `-ied` ends in i;
* a final y becomes i after any consonant (`try`), and stays after a vowel (`enjoy`);
* `-bli`, `-fulli`, `-alli` and `-logi` are reduced further;
* a stem of a vowel and a consonant keeps its final e (`are`, `use`).
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import Item
from recall_bench.features.datasets import locomo
from recall_bench.judging.protocols.protocol import (
    ComputedProtocol,
    ProtocolCard,
    ProtocolScore,
    Submission,
)
from recall_bench.text.words import ARTICLE, MATCHING_RULES, contains_phrase, normalise_words

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)

_SQUAD_RULES = ("lower case; ASCII punctuation deleted; blanks joined", ARTICLE.pattern)

EXACT = ProtocolCard.declare("squad/exact", "1", "equality with any gold", *_SQUAD_RULES)
F1 = ProtocolCard.declare("squad/f1", "1", "best token F1 over the golds", *_SQUAD_RULES)
_STATED = re.compile(r"(?:label|answer):(.*)", re.IGNORECASE)
PLAIN = ProtocolCard.declare(
    "memoryagentbench/official",
    "2",
    "any gold is a substring; by `exact` it is all that is stated after `label:` or `Answer:`, "
    "else in the first line, else the whole answer",
    _STATED.pattern,
    *_SQUAD_RULES,
)
WORDS = ProtocolCard.declare(
    "match/substring",
    "2",
    "the words of any gold stand in a row in the answer; NFKC; case folded; apostrophes deleted",
    *MATCHING_RULES,
)


def normalise_squad(text: str) -> str:
    """The text as SQuAD compares it."""
    return " ".join(ARTICLE.sub(" ", text.lower().translate(_DELETE_PUNCTUATION)).split())


def grade_exact(submission: Submission) -> ProtocolScore:
    """1 for an answer that equals a gold answer."""
    stated = normalise_squad(submission.answer)
    return _grade_any(EXACT, submission, "is", lambda gold: normalise_squad(gold) == stated)


def grade_plain(submission: Submission) -> ProtocolScore:
    """1 for an answer that contains a gold answer, even inside another word or number.

    Where the question's grading is `exact`, 1 for an answer that states a gold answer alone.
    """
    stated = normalise_squad(submission.answer)
    if submission.grading == "exact":
        forms = {stated, normalise_squad(_find_stated(submission.answer))}
        return _grade_any(PLAIN, submission, "states", lambda gold: normalise_squad(gold) in forms)
    return _grade_any(PLAIN, submission, "contains", lambda gold: normalise_squad(gold) in stated)


def _find_stated(answer: str) -> str:
    """What an answer gives after `label:` or `Answer:`; else its first line."""
    match = _STATED.search(answer)
    return match[1] if match else answer.strip().partition("\n")[0]


def grade_words(submission: Submission) -> ProtocolScore:
    """1 for an answer that contains a gold answer as whole words."""
    return _grade_any(
        WORDS, submission, "contains", lambda gold: contains_phrase(submission.answer, gold)
    )


def grade_f1(submission: Submission) -> ProtocolScore:
    """The best token F1 over the gold answers."""
    stated = Counter(normalise_squad(submission.answer).split())
    best, nearest = 0.0, ""
    for gold in _get_golds(F1, submission):
        expected = Counter(normalise_squad(gold).split())
        share = 2 * (stated & expected).total() / (stated.total() + expected.total())
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
    prepared = normalise_words if card is WORDS else normalise_squad
    for gold in submission.golds:
        if not prepared(gold):
            raise Malformed(
                f"{card.name}: {submission.question!r}",
                f"nothing is left to compare of the gold answer {gold!r}; use another protocol",
            )
    if not submission.golds:
        raise Malformed(f"{card.name}: {submission.question!r}", "there is no gold answer")
    return submission.golds


def _is_matched(item: Item) -> bool:
    """Whether upstream compares strings, and lets no model judge."""
    return item.truth.is_answerable and item.truth.grading != "model"


STRING_PROTOCOLS = (
    ComputedProtocol(EXACT, grade_exact),
    ComputedProtocol(F1, grade_f1),
    ComputedProtocol(PLAIN, grade_plain, _is_matched),
    ComputedProtocol(WORDS, grade_words),
)


_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    **{word: word for word in "sky news inning outing canning howe proceed exceed succeed".split()},
}

_PLURAL = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_DOUBLE = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
    "logi": "log",
}
_SINGLE = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_ENDINGS = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), ""
)


@lru_cache(maxsize=1 << 15)
def stem_porter(word: str) -> str:
    """The stem of a word in lower case. Answers repeat their words, and each other."""
    if len(word) <= 2:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    is_short_plural = word.endswith("ies") and len(word) == 4
    word = word[:-1] if is_short_plural else _replace_suffix(word, _PLURAL, least=0)
    word = _remove_past_or_gerund(word)
    before = word.removesuffix("y")
    if before != word and len(before) > 1 and _find_shape(before)[-1] == "c":
        word = f"{before}i"
    if word.endswith("alli") and _measure_stem(word[:-4]) > 0:
        word = word[:-2]
    word = _replace_suffix(word, _DOUBLE, least=1)
    word = _replace_suffix(word, _SINGLE, least=1)
    word = _replace_suffix(word, _ENDINGS, least=2)
    if word.endswith("e"):
        before = word[:-1]
        measure = _measure_stem(before)
        if measure > 1 or (measure == 1 and not _is_short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure_stem(word[:-1]) > 1 else word


def _replace_suffix(word: str, rules: Mapping[str, str], *, least: int) -> str:
    """Replace the first suffix that fits, if what is before it has this measure, and no other."""
    suffix = next((suffix for suffix in rules if word.endswith(suffix)), None)
    if suffix is None:
        return word
    before = word[: len(word) - len(suffix)]
    if suffix == "ion" and before[-1:] not in ("s", "t"):
        return word
    measured = f"{before}l" if suffix == "logi" else before
    return before + rules[suffix] if _measure_stem(measured) >= least else word


def _find_shape(word: str) -> str:
    """`c` for each consonant and `v` for each vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure_stem(stem: str) -> int:
    """How often a run of vowels is followed by a run of consonants."""
    return _find_shape(stem).count("vc")


def _is_short(stem: str) -> bool:
    """Whether a dropped e is restored: `hop` for hoping, but not `snow`, `box`, `tray`."""
    shape = _find_shape(stem)
    return shape == "vc" or (shape.endswith("cvc") and stem[-1] not in "wxy")


def _remove_past_or_gerund(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure_stem(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem == word or "v" not in _find_shape(stem):
            continue
        if stem.endswith(("at", "bl", "iz")):
            return f"{stem}e"
        if stem[-1:] == stem[-2:-1] and _find_shape(stem)[-1] == "c":
            return stem if stem[-1] in "lsz" else stem[:-1]
        return f"{stem}e" if _measure_stem(stem) == 1 and _is_short(stem) else stem
    return word


LOCOMO_ABSTENTIONS = ("no information available", "not mentioned")
"""The phrases that an answer to an adversarial question must contain, in any case."""

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
    """The stemmed words that count, with their frequencies."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return Counter(stem_porter(word) for word in _IGNORED_WORDS.sub(" ", bare).split())


def compute_token_f1(answer: Counter[str], gold: Counter[str]) -> float:
    """The harmonic mean of precision and recall over tokens."""
    same = (answer & gold).total()
    return 2 * same / (answer.total() + gold.total()) if same else 0.0


def grade_locomo(submission: Submission) -> ProtocolScore:
    """The official score of an answer to a question of one of the categories."""
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
                f"no category {other!r}; there are {', '.join(locomo.CATEGORIES.values())}",
            )


def _grade_whole(answer: str, gold: str) -> ProtocolScore:
    stated, expected = count_tokens(answer), count_tokens(gold)
    same = (stated & expected).total()
    return ProtocolScore(
        protocol=LOCOMO_CARD,
        value=compute_token_f1(stated, expected),
        reason=(
            f"{same} tokens in common; {stated.total()} in the answer, {expected.total()} in gold"
        ),
        details={"common": same, "answer_tokens": stated.total(), "gold_tokens": expected.total()},
    )


def _grade_multi_hop(answer: str, gold: str) -> ProtocolScore:
    # Equal parts are compared once: a long answer may repeat itself.
    parts = {frozenset(count_tokens(part).items()) for part in answer.split(",")}
    stated = [Counter(dict(part)) for part in parts]
    best = [_find_best_f1(stated, count_tokens(part)) for part in gold.split(",")]
    return ProtocolScore(
        protocol=LOCOMO_CARD,
        value=sum(best) / len(best),
        reason=f"{sum(share > 0 for share in best)} of {len(best)} parts touched",
        details={"gold_parts": len(best), "parts_in_full": sum(share == 1.0 for share in best)},
    )


def _find_best_f1(stated: list[Counter[str]], expected: Counter[str]) -> float:
    sharing = (part for part in stated if not part.keys().isdisjoint(expected))
    return max((compute_token_f1(part, expected) for part in sharing), default=0.0)


def _grade_adversarial(answer: str) -> ProtocolScore:
    abstention = next((phrase for phrase in LOCOMO_ABSTENTIONS if phrase in answer.lower()), None)
    reason = (
        f"says {abstention!r}"
        if abstention
        else f"says neither {' nor '.join(map(repr, LOCOMO_ABSTENTIONS))}"
    )
    return ProtocolScore(protocol=LOCOMO_CARD, value=float(abstention is not None), reason=reason)


LOCOMO_OFFICIAL = ComputedProtocol(LOCOMO_CARD, grade_locomo, lambda _: True)


def list_protocols() -> list[ComputedProtocol]:
    """The protocols of this module."""
    return [LOCOMO_OFFICIAL, *STRING_PROTOCOLS]
