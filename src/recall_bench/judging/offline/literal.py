"""Something written down, found again however it is cased, spaced or hyphenated."""

import re
from collections.abc import Iterator
from functools import lru_cache

_ARTICLE = re.compile(r"(?:an?|the|that|our|its)\s+", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,:]\d+)*")
_LITERAL_DENIAL = re.compile(
    r" (?:not|\w+n't|no longer|rather than|instead of|never)"
    r"(?: (?:at|on|by|for|in|to|with|the|an?|about|from|be|been)){0,2}$"
)
_DENIAL_REACH = 32


def level_text(text: str) -> str:
    """A plain text as its words and numbers in lower case, a blank around each."""
    return f" {' '.join(_PIECE.findall(text.lower()))} "


def make_literal(text: str) -> str:
    """What to look for in a levelled text to find a plain one; blank if it has no word."""
    return level_text(_strip_article(text))


def is_literal_in(literal: str, said: str) -> bool:
    """Whether a levelled text holds the literal other than to deny it."""
    start = said.find(literal)
    while start >= 0:
        if not _LITERAL_DENIAL.search(said[max(0, start - _DENIAL_REACH) : start]):
            return True
        start = said.find(literal, start + 1)
    return False


def find_series(literal: str, said: str) -> Iterator[str]:
    """Others of the literal's series in a levelled text, as `bay 9` is of `bay 8`."""
    wanted = literal.split()
    if wanted[0][0].isdigit() or f" {wanted[0]} " not in said:
        return
    size, found = len(wanted), said.split()
    for at in range(len(found) - size + 1):
        row = found[at : at + size]
        if row != wanted and all(map(_is_alike, row, wanted)):
            yield " ".join(row)


def find_places(text: str, said: str) -> Iterator[tuple[int, int]]:
    """Where a plain text is found in another: the first character, and the one after it."""
    pattern = _compile_literal(_strip_article(text))
    return (match.span() for match in pattern.finditer(said)) if pattern else iter(())


def _is_alike(one: str, other: str) -> bool:
    return one == other or (one[0].isdigit() and other[0].isdigit())


def _strip_article(text: str) -> str:
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


@lru_cache(maxsize=4096)
def _compile_literal(text: str) -> re.Pattern[str] | None:
    pieces = _PIECE.findall(text)
    if not pieces:
        return None
    joined = r"[^\w]{0,3}".join(map(re.escape, pieces))
    return re.compile(rf"(?<![\w-]){joined}(?![\w])(?![.,:]\d)(?!-\w)", re.IGNORECASE)
