"""Find phrases as whole words in a text.

Words must be whole and adjacent, and a number is one word with its sign, decimals, colons and
slashes: `12` is in "12 days" and in "12%", but not in `120`, `12.5`, `12:30`, `-12` or `12k`.
Letter case, width, apostrophes, hyphens, thousands separators and articles are ignored.
"""

import re
import unicodedata

ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?!,?\d)")
_WORD = re.compile(r"(?:(?<![\w.,:/-])-(?=\d))?[^\W_]+(?:(?<=\d)[.,:/](?=\d)[^\W_]+)*")
_SPELLING = str.maketrans({"'": None, "’": None, "ʼ": None, "−": "-"})

MATCHING_RULES = (ARTICLE.pattern, _THOUSANDS.pattern, _WORD.pattern)
"""How words are matched, for callers that state or digest their rules."""


def normalise_words(text: str) -> list[str]:
    """Return the words of a text without case, width and apostrophes; a number is one word."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SPELLING)
    return _WORD.findall(_THOUSANDS.sub(lambda number: number[0].replace(",", ""), folded))


class WordSequence:
    """A text split once, to look for many phrases in it."""

    __slots__ = ("all_words", "without_articles")

    def __init__(self, text: str) -> None:
        words = normalise_words(text)
        self.all_words = _join_words(words)
        self.without_articles = _join_words([word for word in words if not ARTICLE.fullmatch(word)])

    @property
    def is_empty(self) -> bool:
        """Whether it has no words."""
        return not self.all_words.strip()

    def contains(self, phrase: "WordSequence") -> bool:
        """Whether it contains the words of the phrase, in order and adjacent.

        Articles are ignored, unless the phrase has nothing else.
        """
        if phrase.without_articles.strip():
            return phrase.without_articles in self.without_articles
        return not phrase.is_empty and phrase.all_words in self.all_words


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the words of the phrase stand in the text; see `WordSequence.contains`."""
    return WordSequence(text).contains(WordSequence(phrase))


def _join_words(found: list[str]) -> str:
    return f" {' '.join(found)} "
