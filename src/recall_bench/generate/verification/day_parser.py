"""Parse a day file into sentences with exact character positions.

A day is sessions (`# session: <id>`), a session is blocks (a `###` heading and its text), and a
block is its heading and its sentences. No sentence crosses a blank line, a list entry or a quoted
line; a wrapped line does not end one.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from recall_bench.core.scenario import PRINCIPAL

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t\r]*$", re.MULTILINE)
_SESSION = re.compile(r"session:\s*(\S+)", re.IGNORECASE)
_ENTRY = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])[ \t]+|[ \t]*(?:>[ \t]?)+|[ \t]*\|[ \t]*")

_STOP = re.compile(r"[.!?…]+[\"'”’)\]*_`]*(?=\s+[\"'“‘(\[*_`]*(\S))")
_NEXT_WORD = re.compile(r"[\s\"'“‘(\[*_`]*(\w+)")
_STARTS_WITH = frozenset("$£€¥₹@#&")
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")

# Case counts: "Ms." is a title and "840 ms." the end of a sentence.
_NEVER_ENDS = frozenset(
    "Dr Mr Mrs Ms Mx Prof Rev Hon Capt Lt Sgt St Mt Messrs vs e.g i.e E.g I.e cf Cf viz approx"
    " Approx".split()
)
_ENDS_UNLESS_NUMBERED = frozenset(
    "No Nos no nos p pp Vol vol Ch ch Fig fig Ref ref Ext ext"
    " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec".split()
)
_HOURS = frozenset({"a.m", "p.m"})
_DAYS_AND_MONTHS = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May"
    " June July August September October November December GMT UTC CET BST EST PST".split()
)
_STARTERS = frozenset(
    "A After All An And Any As At Before Both But By For From He Her His I If In It Its My No"
    " Nobody Not Nothing Now On One Our She So Still That The Their Then There These They This"
    " Those Three To Two We What When Where Which While Who With You".split()
)


@dataclass(frozen=True, slots=True, eq=False)
class DaySentence:
    """One sentence of a day file; equal only at the same place."""

    day: int
    session: str
    start: int
    """Its offset in the file as read."""
    end: int
    text: str
    """Verbatim, with line ends turned into spaces so that offsets hold."""
    line: tuple[int, int, int] | None = None
    """For an entry or a quoted line: the offsets of its mark, its words and its end."""

    @property
    def place(self) -> str:
        """Its place and text, for messages."""
        words = self.text if len(self.text) <= 120 else f"{self.text[:117]}…"
        return (
            f"day {self.day}, session {self.session}, characters {self.start}–{self.end}: “{words}”"
        )


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A heading and the text under it."""

    session: str
    heading: tuple[int, int]
    """The span of the heading's words; empty if there is none."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedDay:
    """One day file, divided into blocks."""

    day: int
    text: str
    """The file as read, line ends turned into spaces."""
    raw: str
    blocks: tuple[TextBlock, ...]


def parse_day(day: int, raw: str) -> ParsedDay:
    """Divide a day file into blocks; text above the first session heading is the principal's."""
    front = _FRONT_MATTER.match(raw)
    blocks: list[TextBlock] = []
    session = PRINCIPAL
    heading = (0, 0)
    start = front.end() if front else 0
    for found in _HEADING.finditer(raw, start):
        blocks.append(TextBlock(session, heading, start, found.start()))
        start = found.end()
        named = _SESSION.fullmatch(found[2]) if found[1] == "#" else None
        heading = (start, start) if named else found.span(2)
        session = named[1] if named else session
    blocks.append(TextBlock(session, heading, start, len(raw)))
    kept = [b for b in blocks if b.heading[0] < b.heading[1] or raw[b.start : b.end].strip()]
    return ParsedDay(day, raw.replace("\n", " ").replace("\r", " "), raw, tuple(kept))


class SentenceSplitter:
    """Finds the ends of sentences; a point inside a known name ends none."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._dotted = [
            (name, point.start())
            for name in sorted(set(names))
            for point in re.finditer(r"[.!?…](?=\s)", name)
        ]

    def iterate_sentences(self, day: ParsedDay, block: TextBlock) -> Iterator[DaySentence]:
        """The heading, then every sentence of the block, in order."""
        if block.heading[0] < block.heading[1]:
            yield _build_sentence(day, block, block.heading, None)
        for mark, start, end in _split_units(day.raw, block.start, block.end):
            line = (mark, start, end) if mark < start else None
            for span in self.split(day.text, start, end):
                yield _build_sentence(day, block, span, line)

    def split(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The spans of the sentences between two offsets, without white space around them."""
        for stop in _STOP.finditer(text, start, end):
            if stop.end() > start and self._is_end(text, start, stop):
                yield _trim_span(text, start, stop.end())
                start = stop.end()
        if text[start:end].strip():
            yield _trim_span(text, start, end)

    def _is_end(self, text: str, start: int, stop: re.Match[str]) -> bool:
        follows = stop[1]
        if not (follows.isupper() or follows.isdigit() or follows in _STARTS_WITH):
            return False
        point = stop.start()
        if any(text.startswith(name, point - offset) for name, offset in self._dotted):
            return False
        if text[point] != ".":
            return True
        before = text[start:point].split()
        word = before[-1].lstrip("\"'“‘([*_`") if before else ""
        following = _NEXT_WORD.match(text, stop.end())
        return _is_sentence_end(word, before[-2] if len(before) > 1 else "", following)


def _is_sentence_end(word: str, previous: str, following: re.Match[str] | None) -> bool:
    """Whether a point after this word ends a sentence, given a capital after it."""
    after = following[1] if following else ""
    if word in _NEVER_ENDS:
        return False
    if word in _ENDS_UNLESS_NUMBERED:
        return not after[:1].isdigit()
    if word.lower() in _HOURS:
        return after not in _DAYS_AND_MONTHS
    if _INITIALS.fullmatch(word):
        # "plan B. Priya" ends where "Samuel T. Okafor" and "J. Marsh" do not.
        is_name = not previous or previous[:1].isupper()
        return not is_name or after in _STARTERS
    return True


def _build_sentence(
    day: ParsedDay, block: TextBlock, span: tuple[int, int], line: tuple[int, int, int] | None
) -> DaySentence:
    start, end = span
    return DaySentence(day.day, block.session, start, end, day.text[start:end], line)


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())


def _split_units(raw: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Paragraphs, entries and quoted lines: the offsets of mark, words and end."""
    opened: tuple[int, int, int] | None = None
    while start < end:
        newline = raw.find("\n", start, end)
        stop = end if newline < 0 else newline
        line = raw[start:stop]
        first, last = _trim_span(raw, start, stop)
        mark = _ENTRY.match(raw, start, stop)
        goes_on = opened and (opened[0] == opened[1] or line[:1].isspace())
        if opened and line.strip() and goes_on and not mark:
            opened = (*opened[:2], last)
        else:
            if opened:
                yield opened
            opened = (first, mark.end() if mark else first, last) if line.strip() else None
        start = stop + 1
    if opened:
        yield opened
