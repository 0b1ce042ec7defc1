"""One day's log, by session and by sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from recall_bench.core.history import Episode, compute_story_date
from recall_bench.core.sentences import Sentence, read_sentences
from recall_bench.datasets.story import EPOCH
from recall_bench.lint.atoms import DATE, find_values
from recall_bench.lint.words import normalise_text

NO_SESSION = ""
"""Where text stands that no session heading precedes."""

_SESSION = re.compile(r"^# session:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t\r]*\n.*?\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class DayLog:
    """One day's log."""

    number: int
    name: str
    """Its file, as remarks show it."""
    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Every sentence, with the session and the headings it stands under."""
        at = compute_story_date(EPOCH, 1)
        return read_sentences(Episode(id=self.name, day=self.number, at=at, text=self.text))

    @cached_property
    def body(self) -> str:
        """The text without its front matter."""
        return _FRONT_MATTER.sub("", self.text.lstrip("\ufeff"), count=1)

    @cached_property
    def dates(self) -> frozenset[str]:
        """Every calendar date it names, as month and day."""
        return frozenset(
            atom.core for atom in find_values(normalise_text(self.body)) if atom.kind == DATE
        )

    @cached_property
    def session_headings(self) -> tuple[str, ...]:
        """The sessions it has a heading for, in order."""
        return tuple(_SESSION.findall(self.body))

    def split_sessions(self) -> Iterator[tuple[str, str]]:
        """Each session's text; what comes before the first session is under `NO_SESSION`."""
        before, *rest = _SESSION.split(self.body)
        if before.strip():
            yield NO_SESSION, before
        yield from zip(rest[::2], rest[1::2], strict=True)
