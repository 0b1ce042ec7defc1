"""Values and names of an answer, compared with the truth before the encoder reads it.

A small encoder reads meaning well and compares figures badly, so that each value of the answer is
marked by where it stands: in the reference, among the superseded values, in what is shown of the
history, elsewhere in the history, or nowhere.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from recall_bench.text.text import STOPWORDS
from recall_bench.text.values import ValueAtom, find_values, locate_values

_CAPITALISED = re.compile(r"(?<![\w@/.])[A-Z][A-Za-z]*(?:-[A-Z][a-z]+)*(?![\w@])")
_OPENING = re.compile(r'(?:^|[.!?:;|>#\n*-])[\s"\'(\[]*$')
NOT_NAMES = STOPWORDS | frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december yes no not none nothing ok okay sorry mr mrs ms
    dr today tomorrow yesterday am pm
    """.split()
)


class Mention(NamedTuple):
    """A value or a name of a text, with its place."""

    start: int
    end: int
    value: ValueAtom | None
    word: str
    """The name in lower case; empty for a value."""


def find_name_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Words of proper names in a normalised text, in lower case, with their places.

    The first word of a sentence counts only if a capital follows it.
    """
    for match in _CAPITALISED.finditer(text):
        word = match[0].lower()
        if word in NOT_NAMES or len(word) < 2:
            continue
        if not _OPENING.search(text[max(0, match.start() - 6) : match.start()]) or re.match(
            r"'s\b|\s[A-Z]\w", text[match.end() : match.end() + 4]
        ):
            yield match.start(), match.end(), word


def locate_mentions(text: str) -> list[Mention]:
    """The values and names of a normalised text, in order, none inside another."""
    mentions = [Mention(start, end, atom, "") for atom, start, end in locate_values(text)]
    covered = [(mention.start, mention.end) for mention in mentions]
    mentions += (
        Mention(start, end, None, word)
        for start, end, word in find_name_words(text)
        if not any(first < end and start < last for first, last in covered)
    )
    return sorted(mentions)


class KnownText:
    """What some texts hold: their words, and values compared as judges compare them."""

    def __init__(self, *texts: str) -> None:
        self.values = [atom for text in texts for atom in find_values(text)]
        self.words = {word for text in texts for word in _WORD.findall(text.lower())}

    def holds(self, mention: Mention) -> bool:
        """Whether the value or the name stands here."""
        if mention.value is not None:
            return any(mention.value.matches(value) for value in self.values)
        return mention.word in self.words or all(
            part in self.words for part in mention.word.split("-")
        )


_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
