"""Passages split into sentences that know their date, session, speaker and heading.

Systems put these in front of a passage in many ways: `On 2026-01-31 (board): …`, `[2026-01-31] …`,
`Session of 31 January 2026:`. A line without a full stop above a text is its heading, and a name
before a colon is its speaker.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from recall_bench.core.memory import Passage
from recall_bench.text.sentences import split_sentences
from recall_bench.text.text import Stems, normalise, split_words
from recall_bench.text.value_patterns import MONTH_PATTERN, parse_month

_DATE = (
    r"(?:(?P<iso>\d{4}-\d\d-\d\d)"
    rf"|(?P<d1>\d\d?)(?:st|nd|rd|th)?\ (?P<m1>{MONTH_PATTERN}),?\ (?P<y1>\d{{4}})"
    rf"|(?P<m2>{MONTH_PATTERN})\ (?P<d2>\d\d?)(?:st|nd|rd|th)?,?\ (?P<y2>\d{{4}}))"
)
_PREFIX = re.compile(
    rf"\A[\[(*_\s]*(?:(?:On|Date:|(?:In\ the\ \w+|Session)\ (?:to|of|on)|Day\ \d+,?)\ )?{_DATE}"
    r"[T\d:\sapmAPM]{0,12}[\])*_]*(?:\s\((?P<session>[^()\n]{1,60})\))?\s*(?:[:|\n–—]|-\s"
    r"|(?<=\])|(?<=\)))\s*"
)
_SPEAKER = re.compile(r"\A(?P<name>[A-ZÀ-Ý][^\W\d]*(?:[\s'’.-]+[A-ZÀ-Ý][^\W\d]*){0,3}):\s+(?=\S)")
_TURN = re.compile(r"(?<=[.!?…)\]\"”])\s+(?=[A-ZÀ-Ý][\w'’-]*(?:\s[A-ZÀ-Ý][\w'’-]*)?:\s)")
_ENDING = re.compile(r"[.!?…:;,。！？、؟،؛][\"'”’“»」』）)\]*_`]*\Z")
_CAPTION = re.compile(r"\[[^\[\]]*\]")


@lru_cache(maxsize=1)
def _load_stems() -> Stems:
    """Loaded with the first text: the stemmer takes a moment."""
    return Stems()


class ReadSentence(Struct, frozen=True, eq=False, kw_only=True):
    """One sentence of a passage, verbatim, and where it stands."""

    text: str
    passage: int
    """The place of the passage among those that were given."""
    source: str
    """The whole passage, with what stands before it."""
    place: int = 0
    """Its place in the passage."""
    on: date | None = None
    origin: str = ""
    """Its date and session, as an answer cites them."""
    session: str | None = None
    speaker: str = ""
    heading: str = ""
    stems: tuple[str, ...] = ()
    """Of the sentence and its speaker, each once. Thousands are kept; a set takes five times the
    memory."""
    context: tuple[str, ...] = ()
    """Of the whole passage, with its heading."""
    folded: str = ""
    """The sentence after its speaker, normalised, in lower case."""
    folded_place: str = ""
    """The same of its heading and session."""

    @property
    def quote(self) -> str:
        """The sentence after its speaker."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@lru_cache(maxsize=8192)
def collect_stems(text: str) -> frozenset[str]:
    """The stems of the content words of a question or a part of one; they come again and again."""
    return _find_stems(text)


def _find_stems(text: str) -> frozenset[str]:
    return frozenset(_load_stems().stem(split_words(normalise(text))))


def read_passages(passages: Sequence[Passage]) -> list[ReadSentence]:
    """The sentences of all passages, each text once, in the order given."""
    texts = dict.fromkeys(passage.text.strip() for passage in passages)
    found: list[ReadSentence] = []
    for number, text in enumerate(filter(None, texts)):
        found += (replace(each, passage=number) for each in _read_passage(text))
    return found


@lru_cache(maxsize=4096)
def _read_passage(text: str) -> tuple[ReadSentence, ...]:
    """The sentences of one passage; the same one is found for many questions."""
    prefix = _PREFIX.match(text)
    on = parse_date(prefix) if prefix else None
    session = prefix["session"] if prefix and on else None
    body = text[prefix.end() :] if prefix and on else text
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    headings: list[str] = []
    while len(lines) > 1 and _is_heading(lines[0], lines[1]):
        headings.append(lines.pop(0).strip("#* "))
    heading = " — ".join(headings)
    context = tuple(_find_stems(f"{session or ''} {body}"))
    folded_place = normalise(f"{heading} {session or ''}").lower()
    return tuple(
        ReadSentence(
            text=said,
            passage=0,
            source=text,
            place=place,
            on=on,
            origin=_cite(prefix[0], on, session) if prefix and on else "",
            session=session,
            speaker=speaker,
            heading=heading,
            stems=tuple(_find_stems(f"{speaker} {said}")),
            context=context,
            folded=normalise(f"{speaker}: {said}" if speaker else said).lower(),
            folded_place=folded_place,
        )
        for place, (speaker, said) in enumerate(_split_turns(lines))
    )


def _cite(prefix: str, on: date, session: str | None) -> str:
    """`On 2026-01-31 (board)`, or the words for a longer time: `In the week to 2026-01-31`."""
    if prefix.startswith("In the"):
        return prefix.strip().rstrip(":")
    return f"On {on} ({session})" if session else f"On {on}"


def _is_heading(line: str, following: str) -> bool:
    """Whether a line stands above a text: it is no sentence, and no turn of a conversation."""
    is_turn = _SPEAKER.match(line) and _SPEAKER.match(following)
    return not _ENDING.search(line) and not is_turn


def _split_turns(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each sentence with its speaker."""
    speaker = ""
    for line in lines:
        for turn in _TURN.split(line):
            named = _SPEAKER.match(turn)
            if named:
                speaker = named["name"]
            for said in _split_with_captions(turn[named.end() :] if named else turn):
                yield speaker, said


def _split_with_captions(turn: str) -> list[str]:
    """The sentences of a turn; a caption in brackets belongs to the sentence before it."""
    sentences: list[str] = []
    for said in split_sentences(turn):
        if sentences and said.startswith("[") and _CAPTION.match(said):
            caption = _CAPTION.match(said)
            sentences[-1] += f" {said[: caption.end()] if caption else said}"
            rest = said[caption.end() :].strip() if caption else ""
            sentences += [rest] if rest else []
        else:
            sentences.append(said)
    return sentences


def parse_date(match: re.Match[str]) -> date | None:
    """The date of a match of the prefix; None for a day that does not exist."""
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        day, month, year = (
            match["d1"] or match["d2"],
            match["m1"] or match["m2"],
            match["y1"] or match["y2"],
        )
        return date(int(year), parse_month(month), int(day))
    except ValueError:
        return None
