"""Where in a day's text a quotation stands.

Models copy words faithfully and typography carelessly: curly quotes become straight, a line break
becomes a blank, emphasis is lost. All of that is levelled before looking. Words are not.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from recall_bench.core.sentences import split_sentences
from recall_bench.datasets.lint.value_index import NO_SESSION

_SESSION = re.compile(r"^# session:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)
_GAP = re.compile(r"…|\.{3,}|\[\s*(?:…|\.{3,})\s*\]")
_MARK = re.compile(r"(?:[-*+>]|\d{1,3}[.)])\s+|\s+")
_EDGES = " \t\r\n\"'“”‘’.,;:"
_LEVEL = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("*_`"),
        # The only letter that is two in lower case; what follows counts on one for one.
        "İ": "i",
    }
)


VisibilityRule = Callable[[str], bool]
"""Whether what a session says may be shown; `NO_SESSION` stands for what is said in none."""


@dataclass(frozen=True, slots=True)
class DayPart:
    """What one session says on a day, and where in the day's text it begins."""

    session: str | None
    """None for what stands before the first session."""
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """A stretch of a day's text."""

    session: str | None
    start: int
    end: int


def split_parts(text: str) -> Iterator[DayPart]:
    """The sessions of a day's text, front matter and all before the first heading first."""
    start, session = 0, None
    for heading in _SESSION.finditer(text):
        yield DayPart(session, start, text[start : heading.start()])
        start, session = heading.end(), heading[1]
    yield DayPart(session, start, text[start:])


def locate_quote(
    text: str,
    quote: str,
    *,
    session: str | None = None,
    is_visible: VisibilityRule = lambda _: True,
) -> tuple[QuotePlace, ...]:
    """The sentences in which a quotation stands: one place for each piece between its ellipses.

    All pieces stand in one session, in their order. The session named is looked at first, then
    the others that are visible. Nothing if it stands nowhere.
    """
    stripped = (piece.strip(_EDGES) for piece in _GAP.split(quote))
    pieces = [level for piece in stripped if (level := _flatten(piece))]
    if not pieces or not all(piece in _flatten(text) for piece in pieces):
        return ()
    patterns = [_compile_piece(piece) for piece in pieces]
    found = [part for part in split_parts(text) if is_visible(part.session or NO_SESSION)]
    for part in sorted(found, key=lambda each: each.session != session):
        if placed := _locate_in_part(part, patterns):
            return placed
    return ()


def _compile_piece(piece: str) -> re.Pattern[str]:
    """The piece, but not inside a longer word or number: 4.4 does not stand in 14.4."""
    before = r"(?<![\w.,])" if piece[0].isdigit() else r"(?<!\w)" if piece[0].isalnum() else ""
    after = r"(?!\w|[.,]\d)" if piece[-1].isalnum() else ""
    return re.compile(f"{before}{re.escape(piece)}{after}")


def _locate_in_part(part: DayPart, pieces: list[re.Pattern[str]]) -> tuple[QuotePlace, ...]:
    level, offsets = _flatten_with_offsets(part.text)
    placed, cursor = [], 0
    for piece in pieces:
        found = piece.search(level, cursor)
        if found is None:
            return ()
        cursor = found.end()
        start, end = _expand_to_sentences(
            part.text, offsets[found.start()], offsets[cursor - 1] + 1
        )
        placed.append(QuotePlace(part.session, part.start + start, part.start + end))
    return tuple(dict.fromkeys(placed))


def _expand_to_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """From the beginning of the sentence that holds `start` to the end of the one before `end`."""
    return _find_sentence(text, start)[0], _find_sentence(text, end - 1)[1]


def _find_sentence(text: str, place: int) -> tuple[int, int]:
    """The sentence around a character, without the mark of a list or a quotation before it."""
    line = text.rfind("\n", 0, place) + 1
    line_end = text.find("\n", place)
    line_end = len(text) if line_end < 0 else line_end
    mark = _MARK.match(text, line, line_end)
    cursor = mark.end() if mark and mark.end() <= place else line
    for sentence in split_sentences(text[cursor:line_end]):
        start = text.index(sentence, cursor)
        cursor = start + len(sentence)
        if place < cursor:
            return min(start, place), cursor
    return place, place + 1


@lru_cache(maxsize=1024)
def _flatten(text: str) -> str:
    """The text with its typography levelled."""
    return " ".join(text.translate(_LEVEL).lower().split())


@lru_cache(maxsize=512)
def _flatten_with_offsets(text: str) -> tuple[str, tuple[int, ...]]:
    """The same, and where each of its characters stood."""
    letters: list[str] = []
    offsets: list[int] = []
    for place, raw in enumerate(text):
        letter = " " if raw.isspace() else raw.translate(_LEVEL).lower()
        if letter and not (letter == " " and letters[-1:] in ([" "], [])):
            letters.append(letter)
            offsets.append(place)
    return "".join(letters), tuple(offsets)
