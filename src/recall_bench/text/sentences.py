"""The sentences of an episode, each with its place.

A day's log is Markdown: front matter is dropped, `# session:` and other headings become the place
of what follows, and a paragraph, list entry, table row or line of code is a block that no sentence
crosses. A conversation is read turn by turn, with the speaker as the place.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from recall_bench.core.scenario import Episode, Turn
from recall_bench.text.languages import get_language

_FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n---\s*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\Z")
_SESSION = re.compile(r"session:\s*(\S+)\Z", re.IGNORECASE)
_RULE = re.compile(r"[-*_|:\s]{3,}\Z")
_ENTRY = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
_ENTRY_BEFORE = re.compile(rf"{_ENTRY.pattern}\Z")
_BLANK = re.compile(r"\s+")
_QUOTE = re.compile(r"(?:>\s?)+")
_FENCE = ("```", "~~~")

_STOP = re.compile(
    r"[.!?…؟。！？](?:"
    r"(?<![。！？])[\"'”’“»)\]*_`]*\s+"
    r"(?=[\"'“‘„«¿¡「『(\[*_`$€£@#]*[A-Z0-9À-ÖØ-Þ\u0621-\u064a\u0660-\u0669\u3040-\u30ff\u3400-\u9fff])"
    r"|(?<=[。！？])(?:(?![」』）)。！？])|[」』）)]+(?![」』）)。！？、ぁ-ん]))"
    r")"
)
"""The end of a sentence; 。 needs no blank after it, and Arabic has no capitals."""
_GERMAN_DATE = re.compile(rf"\d\.\s(?:{'|'.join(get_language('de').months)})\b")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Inc|Ltd|Co|Corp|No|Nos|vs|approx|etc|Fig|Sec|Ave|Rd|Blvd"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun|e\.g|i\.e)"
    r"|(?<![\w-])[A-Z])\.\Z"
)
_LONGEST_ABBREVIATION = len(" approx.")
"""With the character before it."""


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence, verbatim, and its place in the episode."""

    text: str
    block: int
    """The number of its paragraph, list entry or turn in the episode."""
    session: str | None = None
    heading: str = ""
    """The headings above it, outermost first, without the session's."""
    lead: str = ""
    """What introduces it: the speaker of a turn, the line before a list."""

    @property
    def with_lead(self) -> str:
        """The sentence after its lead, so that it can stand alone."""
        return f"{self.lead} {self.text}" if self.lead else self.text

    def cut(self, text: str) -> "Sentence":
        """Take a part of its text, at the same place."""
        return replace(self, text=text)


def read_sentences(episode: Episode) -> tuple[Sentence, ...]:
    """Read every sentence of the episode, in order."""
    sentences = _read_turns(episode.turns) if episode.turns else _read_markdown(episode.text)
    if episode.session is None:
        return tuple(sentences)
    return tuple(replace(one, session=one.session or episode.session) for one in sentences)


def split_sentences(prose: str) -> list[str]:
    """Split prose into sentences, but not at abbreviations, initials and decimals."""
    sentences: list[str] = []
    start = 0
    for stop in _STOP.finditer(prose):
        mark = stop.start() + 1
        if prose[stop.start()] == "." and (
            _ABBREVIATION.search(prose[max(start, mark - _LONGEST_ABBREVIATION) : mark])
            or _GERMAN_DATE.match(prose, max(start, stop.start() - 1))
        ):
            continue
        sentences.append(prose[start : stop.end()].strip())
        start = stop.end()
    sentences.append(prose[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _read_turns(turns: tuple[Turn, ...]) -> Iterator[Sentence]:
    for number, turn in enumerate(turns):
        for line in turn.text.splitlines():
            for text in split_sentences(line.strip()):
                yield Sentence(text=text, block=number, lead=f"{turn.speaker}:")


def _read_markdown(text: str) -> Iterator[Sentence]:
    page = _MarkdownReader()
    for line in _FRONT_MATTER.sub("", text, count=1).splitlines():
        yield from page.read_line(line)
    yield from page.finish_block()


class _MarkdownReader:
    """Reads Markdown line by line, with the current headings, list and paragraph."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._headings: dict[int, str] = {}
        self._heading = ""
        self._parents: list[tuple[int, str]] = []
        self._paragraph: list[str] = []
        self._indent = 0
        self._is_entry = False
        self._fenced = False
        self._blocks = 0

    def read_line(self, line: str) -> Sequence[Sentence]:
        """Read a line; return the sentences of the block it completes."""
        bare = line.strip()
        heading: re.Match[str] | None = None
        if not bare.startswith(_FENCE) and not self._fenced and bare and not _RULE.match(bare):
            heading = _HEADING.match(bare)
            if heading is None:
                return self._add_prose(line, bare)
        sentences = self.finish_block()
        if heading:
            self._enter_heading(len(heading[1]), heading[2])
        elif bare.startswith(_FENCE):
            self._fenced = not self._fenced
        elif self._fenced:
            self._paragraph = [bare]
        return sentences

    def finish_block(self) -> Sequence[Sentence]:
        """Return the sentences of the current block."""
        if not self._paragraph:
            return ()
        whole = " ".join(self._paragraph).strip()
        self._paragraph = []
        if not whole:
            return ()
        while self._parents and self._parents[-1][0] >= self._indent:
            self._parents.pop()
        lead = " ".join(text for _, text in self._parents) if self._parents else ""
        sentences = [
            Sentence(
                text=text,
                block=self._blocks,
                session=self._session,
                heading=self._heading,
                lead=lead,
            )
            for text in ([whole] if self._fenced else split_sentences(whole))
        ]
        self._blocks += 1
        if self._is_entry or whole.endswith(":"):
            self._parents.append((self._indent, whole))
        return sentences

    def _enter_heading(self, level: int, title: str) -> None:
        self._headings = {rank: text for rank, text in self._headings.items() if rank < level}
        self._parents = []
        if session := _SESSION.match(title):
            self._session = session[1]
        else:
            self._headings[level] = title
        self._heading = " — ".join(self._headings.values())

    def _add_prose(self, line: str, bare: str) -> Sequence[Sentence]:
        sentences: Sequence[Sentence] = ()
        mark = _QUOTE.match(bare)
        entry = _ENTRY.match(bare)
        if mark or entry or bare.startswith("|") or (self._is_entry and not line[:1].isspace()):
            sentences = self.finish_block()
        if not self._paragraph:
            # An entry belongs below the line before it, so a plain line is one step further out.
            self._is_entry = entry is not None
            self._indent = len(line) - len(line.lstrip()) + (1 if entry else 0)
        mark = mark or entry
        self._paragraph.append(bare[mark.end() :] if mark else bare)
        return sentences
