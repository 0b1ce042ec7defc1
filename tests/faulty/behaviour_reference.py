"""A small memory that does everything the behaviour suites measure, as it should."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.doctor.honest import extract_words
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_NAMES = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)+")
"""Words in capitals in a row; the last two are a full name."""
_WISH = re.compile(
    r"\b(forget|delete|erase|remove|wipe|purge|scrub|scrap|discard|drop|dropping|bin|unlearn|lose"
    r"|get rid|let go|throw away|stop remembering|clear (it|out|the)"
    r"|(strike|take)\b.*\b(from|out))\b",
    re.IGNORECASE,
)
_QUOTE_MARKS = (">", "```")
_FILE = "entries.json"
_CLOSE = 0.25
"""Entries at least this close to the best one are about the same matter: the latest counts."""
_UNKNOWN = "There is no record of that."


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """One paragraph."""

    text: str
    episode: str
    session: str
    day: int

    @property
    def is_quoted(self) -> bool:
        """Whether it passes on what another user wrote."""
        return any(line.startswith(_QUOTE_MARKS) for line in self.text.splitlines())

    @property
    def is_wish(self) -> bool:
        """Whether the principal asks here to forget something about a person."""
        is_own = self.session == PRINCIPAL and not self.is_quoted
        return is_own and bool(find_names(self.text)) and _WISH.search(self.text) is not None


class ReferenceMemory:
    """A Python adapter that erases, lists, reopens, and trusts no quotations."""

    name: ClassVar[str] = "ReferenceMemory"
    version = "1"
    clock = "native"
    honours_sessions = True
    max_concurrency = 8
    state_dir: Path

    def __init__(self) -> None:
        self.entries: list[ReferenceEntry] = []
        self._kept_days: int | None = None

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__

    def setup(self) -> None:
        """Start empty."""
        self.entries = []
        self.flush()

    def reopen(self) -> None:
        """Go on with the entries in the folder."""
        written = json.loads((self.state_dir / _FILE).read_text(encoding="utf-8"))
        self.entries = [ReferenceEntry(**each) for each in written]

    def flush(self) -> None:
        """Write the entries to the folder."""
        content = json.dumps(msgspec.to_builtins(self.entries))
        (self.state_dir / _FILE).write_text(content, encoding="utf-8")

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Keep every paragraph of the day; a day that comes again replaces itself."""
        episode = metadata.episode_id
        self.entries = [entry for entry in self.entries if entry.episode != episode]
        session = metadata.session or PRINCIPAL
        for text in content.strip().split("\n\n"):
            entry = ReferenceEntry(text, episode, session, day)
            if entry.is_wish:
                self.forget(text)
            elif not text.startswith("#"):
                self.entries.append(entry)
        self._drop_old()
        self.flush()

    def query(self, question: str, context: QueryContext) -> object:
        """Quote the latest of the entries that fit best."""
        found = self.rank(question, context)
        return {
            "answer": found[0].text if found else _UNKNOWN,
            "passages": [{"text": entry.text, "day": entry.day} for entry in found[:5]],
        }

    def rank(self, question: str, context: QueryContext) -> list[ReferenceEntry]:
        """Rank the entries that the asker may see: those that fit, the latest first."""
        scored = [
            (self.score(question, entry), entry)
            for entry in self.list_visible(context)
            if not entry.is_quoted
        ]
        best = max((score for score, _ in scored), default=0.0)
        close = [entry for score, entry in scored if score and score >= _CLOSE * best]
        return sorted(close, key=lambda entry: entry.day, reverse=True)

    def score(self, question: str, entry: ReferenceEntry) -> float:
        """Count the words in common; a person who is named must be there."""
        names = find_names(question)
        if names and not any(name in entry.text for name in names):
            return 0.0
        common = _list_stems(question) & _list_stems(entry.text)
        return 0.1 + len(common - _list_stems(" ".join(names)))

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """The principal sees everything, a session its own."""
        if context.session == PRINCIPAL:
            return self.entries
        return [entry for entry in self.entries if entry.session == context.session]

    def forget(self, subject: str) -> int:
        """Erase the entries about a subject: those that name its person."""
        names = find_names(subject)
        return self.erase(lambda entry: any(name in entry.text for name in names))

    def delete(self, episode: str) -> int:
        """Erase an episode."""
        return self.erase(lambda entry: entry.episode == episode)

    def delete_session(self, session: str) -> int:
        """Erase a session."""
        return self.erase(lambda entry: entry.session == session)

    def delete_person(self, person: str) -> int:
        """Erase what is about a person."""
        return self.erase(lambda entry: person in entry.text)

    def keep_days(self, days: int) -> int:
        """Keep nothing older than this, from now on."""
        self._kept_days = days
        before = len(self.entries)
        self._drop_old()
        self.flush()
        return before - len(self.entries)

    def erase(self, chosen: Callable[[ReferenceEntry], bool]) -> int:
        """Erase the chosen entries."""
        kept = [entry for entry in self.entries if not chosen(entry)]
        erased = len(self.entries) - len(kept)
        self.entries = kept
        self.flush()
        return erased

    def _drop_old(self) -> None:
        if self._kept_days is not None and self.entries:
            last = max(entry.day for entry in self.entries)
            self.entries = [e for e in self.entries if e.day >= last - self._kept_days]

    def stored(self) -> list[dict[str, object]]:
        """List every entry."""
        return [{"text": e.text, "id": e.episode, "day": e.day} for e in self.entries]

    def consolidate(self) -> None:
        """Nothing to do."""


def find_names(text: str) -> list[str]:
    """Find the full names in a text.

    >>> find_names("Ask Ada Brown, not me.")
    ['Ada Brown']
    """
    return [" ".join(found.split(" ")[-2:]) for found in _NAMES.findall(text)]


def _list_stems(text: str) -> set[str]:
    """The words without a plural's ending."""
    return {word.removesuffix("s") for word in extract_words(text)} - {""}
