"""Free text in other words: synonyms, contractions and figures that cannot change what is said."""

import re
from collections.abc import Iterator

from recall_bench.judge_lab.audit.number_words import ROUND_NUMBERS, SMALL_ORDINALS, format_ordinal
from recall_bench.judge_lab.audit.synonyms import SYNONYMS

_SYNONYM_PATTERNS = tuple(
    (re.compile(rf"(?<![\w-])(?:{pattern})(?:(?<=\s)|(?![\w-]))", re.IGNORECASE), words)
    for pattern, words in SYNONYMS
)
_NUMBER_WORD = re.compile(rf"(?<![\w-])({'|'.join(ROUND_NUMBERS)})(?![\w-])")
_ORDINAL_WORD = re.compile(rf"(?<![\w-])(?<!a )(?<!top )({'|'.join(SMALL_ORDINALS)})(?![\w-])")
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


def list_paraphrases(phrase: str) -> Iterator[tuple[str, str]]:
    """Ways to say the phrase, each with its recipe."""
    swapped = [
        pattern.sub(words, phrase) for pattern, words in _SYNONYM_PATTERNS if pattern.search(phrase)
    ]
    for text in swapped:
        yield "synonym", text
    if len(swapped) > 1:
        yield "synonyms", _replace_all(phrase)
    if _NUMBER_WORD.search(phrase):
        yield "figures", _NUMBER_WORD.sub(lambda match: str(ROUND_NUMBERS[match[1]]), phrase)
    if _ORDINAL_WORD.search(phrase):
        yield (
            "figures",
            _ORDINAL_WORD.sub(lambda match: format_ordinal(SMALL_ORDINALS[match[1]]), phrase),
        )
    for pattern, spelling in _BRITISH:
        if pattern.search(phrase):
            yield "other spelling", pattern.sub(spelling, phrase)
    if _HYPHEN.search(phrase):
        yield "no hyphen", _HYPHEN.sub(" ", phrase)
    if _ARTICLE.match(phrase) and len(phrase.split()) > 2:
        yield "telegram", _ARTICLE.sub("", phrase, count=1)
    if " and " in phrase:
        yield "ampersand", phrase.replace(" and ", " & ")


def _replace_all(phrase: str) -> str:
    """Every substitution at once, the longer one where two want the same words."""
    hits = [
        (match.end() - match.start(), match.start(), match.end(), words)
        for pattern, words in _SYNONYM_PATTERNS
        for match in pattern.finditer(phrase)
    ]
    taken: list[tuple[int, int, str]] = []
    for _, start, end, words in sorted(hits, key=lambda hit: (-hit[0], hit[1])):
        if all(end <= other or start >= past for other, past, _ in taken):
            taken.append((start, end, words))
    for start, end, words in sorted(taken, reverse=True):
        phrase = phrase[:start] + words + phrase[end:]
    return phrase
