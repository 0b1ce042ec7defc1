"""Answers that name the right person or thing as the one that another has replaced.

"Nadia handed it over to Dmitri, who owns it now" names Nadia, and does not say that it is her.
"""

import re

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.relations import find_mentions
from recall_bench.judging.offline.required_part import TITLES, RequiredPart
from recall_bench.text.text import STOPWORDS
from recall_bench.text.text_values import CALENDAR_WORDS

_ASKS_PRESENT = re.compile(
    r"\b(?:now|currently|at (?:the moment|present)|today|these days|nowadays|still|as of)\b"
    r"|\b(?:who|what|which|whose)\b[^?]{0,40}?\b(?:is|are|has|owns|holds|runs|leads|does|keeps|chairs"
    r"|takes|looks)\b",
    re.IGNORECASE,
)
_NAME = r"(?:(?:Dr|Mr|Mrs|Ms)\.?\s)?(?-i:[A-Z])[\w'-]+(?:\s(?-i:[A-Z])[\w'-]+)*"
_NOW = r"(?:now|currently|today|these days|at present|at the moment|nowadays)"
_HELD = r"(?:with |held by |owned by |run by |led by |done by )?"
_HOLDS = (
    r"(?:is|has|owns|runs|leads|does|holds|keeps|chairs|heads|manages|handles|covers|takes|took"
    r"|looks after)"
)
_HANDS = (
    r"(?:hand(?:s|ed|ing)?|pass(?:es|ed|ing)?|g[ai]ve[ns]?|turn(?:s|ed)|transfer(?:s|red)?|mov(?:es|ed)"
    r"|went|goes|gone|cedes?|ceded|yield(?:s|ed)?|left)"
)
_IS_NOW = re.compile(
    rf"\b(?:it|that|this|the \w+)(?:'s| is| has been| became)(?: now)? {_HELD}({_NAME})"
    rf"(?:\s\w+){{0,2}}\s{_NOW}\b"
    rf"|\b{_NOW},? (?:(?:it|that)(?:'s| is) )?{_HELD}({_NAME})"
    rf"|(?:^|[,;.:]\s|\b(?:and|so|but|that)\s)({_NAME})\s{_HOLDS}(?:\s(?!and\b|from\b)\w+){{0,4}}?"
    rf"\s{_NOW}\b"
    rf"|\b{_HANDS}\b[^.;:]{{0,60}}?\bto ({_NAME}), (?:and )?who(?:se)?\b",
    re.IGNORECASE,
)
"""Groups: the name of the one that is so now, in four wordings."""
_GIVES_UP = re.compile(
    r"^,?\s(?:who\s)?(?:has\s|had\s|had to\s|later\s|then\s|since\s)*"
    r"(?:(?:hand|pass|giv|gave|turn|transferr?|ced|yield)(?:e?d|en|e)?\b(?:\s(?!and\b)[\w'-]+){0,5}?"
    r"\s(?:to|over|up|on to)\b"
    r"|ste(?:p|pped) (?:back|down|aside)|withdr[ae]wn?|resign(?:ed)?|qui?t|(?:drop|pull)(?:ped"
    r"|ed) out"
    r"|made? way|was (?:replaced|succeeded|relieved|followed|dropped|taken off))\b",
    re.IGNORECASE,
)


def find_successor(
    question: str, part: RequiredPart, text: str, reader: ContentReader
) -> str | None:
    """Another one that is so now by an answer, or that the right one gave way to, in words."""
    if part.value is not None or not _ASKS_PRESENT.search(question):
        return None
    spans = find_mentions(part, text, reader)
    if not spans:
        return None
    known = {word.lower() for word in re.findall(r"[\w'-]+", f"{question} {part.text}")}
    known |= {word for one in part.spellings for word in one.lower().split()}
    for found in _IS_NOW.finditer(text):
        name = next(group for group in found.groups() if group)
        if _is_other(name, known):
            return f"{name} now"
    named = _NAME_RUN.findall(text)
    if any(_is_other(name, known) for name in named) and all(
        _GIVES_UP.match(text[end:]) for _, end in spans
    ):
        return f"{part.text} no longer"
    return None


_NAME_RUN = re.compile(rf"\b{_NAME}")


def _is_other(name: str, known: set[str]) -> bool:
    words = [word.lower().removesuffix("'s") for word in name.split()]
    own = [word for word in words if word not in STOPWORDS | TITLES | CALENDAR_WORDS]
    return bool(own) and known.isdisjoint(own)
