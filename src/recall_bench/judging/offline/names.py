"""The words of proper names."""

import re
from collections.abc import Iterator

from recall_bench.judging.offline.wording import STOPWORDS

_CAPITALISED = re.compile(r"(?<![\w@/])[A-Z][A-Za-z]*(?![\w@]|-\d)")
_SENTENCE_OPENING = re.compile(r'(?:^|[.!?:;|>#\n]|\n\s*(?:-|\d+[.)]))[\s"\'(\[-]*$')
_NOT_NAMES = STOPWORDS | frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december mon tue wed thu fri sat sun jan feb mar apr
    jun jul aug sep sept oct nov dec am pm est pst utc ok inc ltd llc corp co usd eur gbp
    mr mrs ms dr never nope nothing nobody none somebody yep yeah sure
    one two three four five six seven eight nine ten eleven twelve first second third
    """.split()
)
_GOES_ON = re.compile(r"'s|\s?[A-Z][\w.]")
_DENIAL_CUES = ("ot ", "o longer ", "ather than ", "nstead of ")
_DENIED_NAME = re.compile(
    r"\b(?:[Nn]ot|no longer|[Rr]ather than|[Ii]nstead of)\s(?:(?:by|to|with|for|from|the)\s)?"
    r"[A-Z][\w'-]*(?:\s[A-Z][\w'-]*){0,3}"
)


def remove_denied_names(text: str) -> str:
    """A plain text without the names it holds only to deny them: "not Owen Pike but Nell"."""
    # Most sentences deny nothing, and a plain search is quicker than a pattern.
    return _DENIED_NAME.sub(" ", text) if any(cue in text for cue in _DENIAL_CUES) else text


def find_names(text: str) -> Iterator[str]:
    """The words of proper names in a plain text, lower case, in order, repeats included.

    A capital makes a word a name, except where a sentence opens: there it must stand in a row of
    capitalised words, own something, or be the whole text.
    """
    is_alone = text.strip(" .!?").istitle() and text.count(" ") < 3
    for match in _CAPITALISED.finditer(text):
        word = match[0].lower()
        if word in _NOT_NAMES or len(word) < 2:
            continue
        if (
            is_alone
            or not _is_sentence_opening(text, match.start())
            or _GOES_ON.match(text, match.end())
        ):
            yield word


def _is_sentence_opening(text: str, start: int) -> bool:
    return _SENTENCE_OPENING.search(text[max(0, start - 8) : start]) is not None
