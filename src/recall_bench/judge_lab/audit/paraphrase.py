"""Free text in other words: synonyms, contractions and figures that cannot change what is said."""

import re
from collections.abc import Iterator

from recall_bench.judge_lab.audit.number_words import COUNTED, SMALL_ORDINALS, ordinal
from recall_bench.judge_lab.audit.synonyms import SYNONYMS

_BOUNDED = tuple(
    (re.compile(rf"(?<![\w-])(?:{pattern})(?:(?<=\s)|(?![\w-]))", re.IGNORECASE), words)
    for pattern, words in SYNONYMS
)
_COUNT = re.compile(rf"(?<![\w-])({'|'.join(COUNTED)})(?![\w-])")
_PLACE = re.compile(rf"(?<![\w-])(?<!a )(?<!top )({'|'.join(SMALL_ORDINALS)})(?![\w-])")
_ARTICLE = re.compile(r"(?:a|an|the) ")
_HYPHEN = re.compile(r"(?<=[a-z]{3})-(?=[a-z]{3})")
_BRITISH = (
    (re.compile(r"(col|fav|neighb|hum|lab)or(?=\w*\b)"), r"\1our"),
    (re.compile(r"(col|fav|neighb|hum|lab)our(?=\w*\b)"), r"\1or"),
    (re.compile(r"\bcentre"), "center"),
    (re.compile(r"\bcenter"), "centre"),
    (re.compile(r"\blicense"), "licence"),
    (re.compile(r"\blicence"), "license"),
    (re.compile(r"\bgray"), "grey"),
    (re.compile(r"\bcounselor"), "counsellor"),
    (re.compile(r"(\w{4,})ize(d|s)?\b"), r"\1ise\2"),
)


def paraphrases(phrase: str) -> Iterator[tuple[str, str]]:
    """Ways to say the phrase, each with its recipe."""
    swapped = [pattern.sub(words, phrase) for pattern, words in _BOUNDED if pattern.search(phrase)]
    for text in swapped:
        yield "synonym", text
    if len(swapped) > 1:
        yield "synonyms", _all_swapped(phrase)
    if _COUNT.search(phrase):
        yield "figures", _COUNT.sub(lambda match: str(COUNTED[match[1]]), phrase)
    if _PLACE.search(phrase):
        yield "figures", _PLACE.sub(lambda match: ordinal(SMALL_ORDINALS[match[1]]), phrase)
    for pattern, spelling in _BRITISH:
        if pattern.search(phrase):
            yield "other spelling", pattern.sub(spelling, phrase)
    if _HYPHEN.search(phrase):
        yield "no hyphen", _HYPHEN.sub(" ", phrase)
    if _ARTICLE.match(phrase) and len(phrase.split()) > 2:
        yield "telegram", _ARTICLE.sub("", phrase, count=1)
    if " and " in phrase:
        yield "ampersand", phrase.replace(" and ", " & ")


def _all_swapped(phrase: str) -> str:
    """Every substitution at once, the longer one where two want the same words."""
    hits = [
        (match.end() - match.start(), match.start(), match.end(), words)
        for pattern, words in _BOUNDED
        for match in pattern.finditer(phrase)
    ]
    taken: list[tuple[int, int, str]] = []
    for _, start, end, words in sorted(hits, key=lambda hit: (-hit[0], hit[1])):
        if all(end <= other or start >= past for other, past, _ in taken):
            taken.append((start, end, words))
    for start, end, words in sorted(taken, reverse=True):
        phrase = phrase[:start] + words + phrase[end:]
    return phrase
