"""Numbers that an answer computes: its calculation, and lists with one entry too many."""

import re
from collections.abc import Sequence
from itertools import combinations

from recall_bench.judging.offline.contents import AnswerContents, ContentReader
from recall_bench.judging.offline.relations import find_mentions
from recall_bench.judging.offline.required_part import RequiredPart
from recall_bench.text.text import STOPWORDS
from recall_bench.text.values import FRACTION, QUANTITY, YEAR, ValueAtom, find_values

_COMPUTES = re.compile(
    r"\d[^()\d]{0,30}\([^()]*\d[^()]*(?:,|\band\b)[^()]*\d"
    r"|[=+*/\u00d7\u00f7x]\s?[$\u20ac\u00a3]?\d|\d\s-\s?[$\u20ac\u00a3]?\d"
    r"|\b(?:plus|minus|times|makes?|gives?|giving|leav(?:es|ing)|left|total\w*|altogether|sum|subtract\w*"
    r"|add(?:s|ed|ing)?|less|together|differ\w*|multipl\w*|divid\w*|in all|so|comes? to|equals?"
    r"|remain\w*|spent)\b",
    re.IGNORECASE,
)
MOST_OPERANDS = 8


def find_computed(text: str) -> frozenset[float]:
    """The numbers of a text that follow from its other numbers, if it shows any calculation."""
    if not _COMPUTES.search(text):
        return frozenset()
    numbers = [abs(float(atom.core)) for atom in find_values(text) if _is_number(atom)]
    distinct = list(dict.fromkeys(numbers))[:MOST_OPERANDS]
    return frozenset(number for number in distinct if _is_computed(number, numbers))


def _is_number(atom: ValueAtom) -> bool:
    return atom.kind in (QUANTITY, YEAR) and atom.kind != FRACTION


def _is_computed(number: float, numbers: Sequence[float]) -> bool:
    """Whether it is a sum, difference or product of others, each used as often as it occurs."""
    rest = list(numbers)
    while number in rest:
        rest.remove(number)
    rest = rest[:MOST_OPERANDS]
    for size in range(2, len(rest) + 1):
        for chosen in combinations(rest, size):
            first = max(chosen)
            if _is_near(sum(chosen), number) or _is_near(2 * first - sum(chosen), number):
                return True
    return any(
        _is_near(one * other, number) or (other and _is_near(one / other, number))
        for one in rest
        for other in rest
        if one > 1 and other > 1
    )


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(1.0, abs(other))


_SEPARATOR = re.compile(
    r"(?:,|;|\n)\s*(?:and\s|as well as\s|plus\s|or\s)?|\s(?:and|as well as|plus)\s", re.IGNORECASE
)
_ENTRY_MARK = re.compile(r"^\s*(?:[-*>]|\d{1,2}[.)])\s*")
_DETERMINERS = frozenset("a an the her his their our my its".split())
_NO_ENTRY = re.compile(r"(?:ed|ly|ing)$")
ENTRY_WORDS = 4


def find_extra_entry(
    parts: Sequence[RequiredPart],
    account: AnswerContents,
    known: frozenset[str],
    reader: ContentReader,
) -> str | None:
    """An entry of a list of required parts that is none of them; `known` are words to ignore."""
    if len(parts) < 2 or any(part.value is not None for part in parts):
        return None
    text = account.text
    spans = [span for part in parts for span in find_mentions(part, text, reader)]
    chunks: list[tuple[str, bool]] = []
    start = 0
    for match in (*_SEPARATOR.finditer(text), None):
        end = match.start() if match else len(text)
        is_part = any(first < end and last > start for first, last in spans)
        chunks.append((_ENTRY_MARK.sub("", text[start:end]).strip(" .:!"), is_part))
        start = match.end() if match else end
    for place, (chunk, is_part) in enumerate(chunks):
        neighbours = [
            other
            for _, other in (chunks[max(0, place - 1) : place] + chunks[place + 1 : place + 2])
        ]
        if is_part or not any(neighbours) or not _is_entry(chunk, known, reader):
            continue
        target = reader.read_phrase(chunk)
        if not any(part.phrase and not part.phrase.find_missing(target) for part in parts):
            return chunk
    return None


def _is_entry(chunk: str, known: frozenset[str], reader: ContentReader) -> bool:
    words = [word for word in chunk.split() if word.lower() not in _DETERMINERS]
    if not 1 <= len(words) <= ENTRY_WORDS or "." in chunk or ":" in chunk:
        return False
    if any(word.lower() in STOPWORDS or _NO_ENTRY.search(word) for word in words):
        return False
    tokens = reader.read_phrase(chunk)
    return not tokens.figures and bool(tokens.content) and tokens.content.isdisjoint(known)
