"""Locates a quotation in a day's text.

Models copy words faithfully but not typography: curly quotes become straight, line breaks become
blanks, emphasis is lost. Typography is normalised before the search, words are not.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from recall_bench.stories.lint.value_index import NO_SESSION
from recall_bench.text.sentences import split_sentences

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
        # The only letter that becomes two in lower case; offsets need one for one.
        "İ": "i",
    }
)


VisibilityRule = Callable[[str], bool]
"""Whether a session may be shown; `NO_SESSION` stands for text outside of sessions."""


@dataclass(frozen=True, slots=True)
class DayPart:
    """The text of one session on a day, and where it starts."""

    session: str | None
    """None before the first session."""
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """A span of a day's text."""

    session: str | None
    start: int
    end: int


def split_parts(text: str) -> Iterator[DayPart]:
    """The parts of a day's text by session; the first is what precedes all sessions."""
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
    """The sentences that hold a quotation: one place for each piece between ellipses.

    All pieces must be in one session, in order. The named session is searched first, then the
    other visible ones. Empty if the quotation is not found.
    """
    stripped = (piece.strip(_EDGES) for piece in _GAP.split(quote))
    pieces = [level for piece in stripped if (level := _flatten(piece))]
    if not pieces or not all(piece in _flatten(text) for piece in pieces):
        return ()
    patterns = [_compile_piece(piece) for piece in pieces]
    results = [part for part in split_parts(text) if is_visible(part.session or NO_SESSION)]
    for part in sorted(results, key=lambda each: each.session != session):
        if placed := _locate_in_part(part, patterns):
            return placed
    return ()


def _compile_piece(piece: str) -> re.Pattern[str]:
    """A pattern for the piece, but not inside a longer word or number: 4.4 is not in 14.4."""
    before = r"(?<![\w.,])" if piece[0].isdigit() else r"(?<!\w)" if piece[0].isalnum() else ""
    after = r"(?!\w|[.,]\d)" if piece[-1].isalnum() else ""
    return re.compile(f"{before}{re.escape(piece)}{after}")


def _locate_in_part(part: DayPart, pieces: list[re.Pattern[str]]) -> tuple[QuotePlace, ...]:
    level, offsets = _flatten_with_offsets(part.text)
    placed, cursor = [], 0
    for piece in pieces:
        match = piece.search(level, cursor)
        if match is None:
            return ()
        cursor = match.end()
        start, end = (
            _find_sentence(part.text, offsets[match.start()])[0],
            _find_sentence(part.text, offsets[cursor - 1] + 1 - 1)[1],
        )
        placed.append(QuotePlace(part.session, part.start + start, part.start + end))
    return tuple(dict.fromkeys(placed))


def _find_sentence(text: str, place: int) -> tuple[int, int]:
    """The sentence around a character, without a preceding list or quotation mark."""
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
    """The text with normalised typography."""
    return " ".join(text.translate(_LEVEL).lower().split())


@lru_cache(maxsize=512)
def _flatten_with_offsets(text: str) -> tuple[str, tuple[int, ...]]:
    """The same, with the original offset of each character."""
    letters: list[str] = []
    offsets: list[int] = []
    for place, raw in enumerate(text):
        letter = " " if raw.isspace() else raw.translate(_LEVEL).lower()
        if letter and not (letter == " " and letters[-1:] in ([" "], [])):
            letters.append(letter)
            offsets.append(place)
    return "".join(letters), tuple(offsets)
