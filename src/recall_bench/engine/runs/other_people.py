"""Wrong values in an answer: superseded ones, and those of another session, person or persona.

Values are found as whole words. The truth names superseded values and those of other people; the
questions of other personas name theirs.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from recall_bench.core.scenario import ATTRIBUTION, Expects, Item, Truth
from recall_bench.text.words import ARTICLE, WordSequence, normalise_words

_SIDES = frozenset({"yes", "no"})
_NUMBER = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")


def list_others_values(truth: Truth) -> tuple[str, ...]:
    """The values of another session or person.

    Distractors are such values if the question asks whose something is, or if it has no answer for
    the person it names.
    """
    if truth.category != ATTRIBUTION and truth.expects is not Expects.ABSTAIN:
        return ()
    return tuple(value for value in truth.distractors if value.casefold() not in _SIDES)


def is_told_instead(truth: Truth, wrong: Sequence[str], answer: str) -> bool:
    """Whether the answer holds one of the wrong values, and not the whole right one."""
    if not wrong:
        return False
    level = _normalise(answer)
    near = [value for value in wrong if all(part in level for part in _split_value(value))]
    if not near:
        return False
    sequence = WordSequence(answer)
    return any(sequence.contains(_parse_wording(value)) for value in near) and not _is_right(
        truth, sequence
    )


def _normalise(text: str) -> str:
    """The normalised text, for a quick test whether it can hold a word at all.

    Parsing an answer takes fifty times as long.
    """
    if text.isascii():
        return text.lower().replace(",", "").replace("'", "")
    text = unicodedata.normalize("NFKC", text).casefold()
    for dropped in ",'’ʼ":
        text = text.replace(dropped, "")
    return text.replace("−", "-")


@lru_cache(maxsize=100_000)
def _split_value(value: str) -> tuple[str, ...]:
    return tuple(_normalise(word) for word in normalise_words(value) if not ARTICLE.fullmatch(word))


def _is_right(truth: Truth, said: WordSequence) -> bool:
    if truth.atoms and all(said.contains(_parse_wording(atom)) for atom in truth.atoms):
        return True
    return any(said.contains(_parse_wording(whole)) for whole in (truth.reference, *truth.aliases))


@lru_cache(maxsize=100_000)
def _parse_wording(value: str) -> WordSequence:
    return WordSequence(value)


class OtherPeople:
    """Values that only the questions about other personas of a run hold.

    Numbers, dates and single words may occur in two stories by chance, so only phrases count, and
    canaries, which are unique.
    """

    def __init__(self, items: Mapping[str, Iterable[Item]]) -> None:
        values = {name: _collect_values(questions) for name, questions in items.items()}
        self._others: dict[str, dict[str, set[str]]] = {}
        """By scenario, the values of the others as rows of words, by their longest word."""
        for name, own in items.items():
            own_values = {value for item in own for value in item.truth.distractors} | values[name]
            by_word = self._others[name] = {}
            for value in set().union(*values.values()) - own_values:
                row = _parse_wording(value).without_articles
                by_word.setdefault(max(row.split(), key=len), set()).add(row)

    def is_in_answer(self, scenario: str, answer: str) -> bool:
        """Whether an answer in this scenario holds a value of another."""
        by_word = self._others.get(scenario, {})
        words = set(_WORD.findall(_normalise(answer)))
        near = [
            row
            for word in words & by_word.keys()
            for row in by_word[word]
            if words.issuperset(_WORD.findall(row))
        ]
        if not near:
            return False
        sequence = WordSequence(answer).without_articles
        return any(row in sequence for row in near)


def _collect_values(items: Iterable[Item]) -> set[str]:
    """The values of a story that hardly occur in another."""
    values: set[str] = set()
    for item in items:
        truth = item.truth
        values.update(truth.canaries)
        values.update(
            value
            for value in (
                *truth.atoms,
                *truth.aliases,
                *truth.stale,
                *truth.withheld,
                *list_others_values(truth),
            )
            if not _NUMBER.search(value) and len(_parse_wording(value).without_articles.split()) > 1
        )
    return {value for value in values if _parse_wording(value).without_articles.strip()}
