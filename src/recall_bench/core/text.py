"""Texts made comparable: typography levelled, sentences cut, words reduced to stems."""

import re
import unicodedata
from collections.abc import Iterable

_LEVEL = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        "…": "...",
        "•": "-",
    }
)

_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_ACCENT = re.compile(r"[\u0300-\u036f]+")
_SENTENCE_END = re.compile(r'(?<=[.!?])["\')\]]*\s+(?=["\'(\[]*[A-Z0-9$])|\n+')
_ABBREVIATION = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Inc|Ltd|Corp|Co|Mr|Ms|Mrs|Dr|St|vs|No|e\.g|i\.e|a\.m|p\.m|[A-Z])\.$"
)

STOPWORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by
    can could did do does doing done during each either for from further get gets got had has have
    having he her here hers him his how i if in into is it its itself just let like may me might
    more most must my no nor not of off on once only or other our out over own per same she should
    so some such than that the their them then there these they this those through to too under
    until up upon us very was we were what when where which while who whom whose why will with
    within would yes yet you your
    """.split()
)
"""Words that carry no content of their own. Negations are read elsewhere, by stance."""


def normalise(text: str) -> str:
    """The text without emphasis and accents, with straight quotes and plain hyphens and blanks."""
    text = text.replace("*", "").replace("`", "")
    if text.isascii() or (text := text.translate(_LEVEL)).isascii():
        return text
    return _ACCENT.sub("", unicodedata.normalize("NFKD", text))


def split_sentences(text: str) -> list[str]:
    """The sentences and list entries of a plain text, in order, none of them blank."""
    found: list[str] = []
    for part in _SENTENCE_END.split(text):
        stripped = part.strip()
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] = f"{found[-1]} {stripped}"
        elif stripped:
            found.append(stripped)
    return found


def remove_echo(text: str, question: str) -> str:
    """A plain text without the question, where it repeats it word for word."""
    asked = normalise(question).strip()
    place = text.lower().find(asked.lower())
    if place < 0 or not asked:
        return text
    return f"{text[:place]} {text[place + len(asked) :]}"


def split_words(text: str) -> list[str]:
    """Every word and number of a plain text, lower case, possessives removed."""
    return [word.removesuffix("'s") for word in _WORD.findall(text.lower())]


class Stems:
    """Reduces words to stems, remembering those it has met."""

    def __init__(self) -> None:
        from Stemmer import Stemmer

        self._stem = Stemmer("english").stemWord
        self._known: dict[str, str] = dict.fromkeys(STOPWORDS, "")

    def stem(self, found: Iterable[str]) -> list[str]:
        """The stems of the content words among `found`."""
        known = self._known
        stems: list[str] = []
        for word in found:
            stem = known.get(word)
            if stem is None:
                known[word] = stem = str(self._stem(word))
            if stem:
                stems.append(stem)
        return stems
