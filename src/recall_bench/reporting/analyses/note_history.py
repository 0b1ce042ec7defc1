"""What an agent wrote into a memory, and what the memory did with it, replayed from its calls."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from recall_bench.core.event import NeededValue
from recall_bench.core.tool_call import AgentCall, FoundNote, ToolRole
from recall_bench.core.words import WordSequence


@dataclass(slots=True, eq=False)
class NoteText:
    """One text of a note, from its writing until it was replaced or deleted."""

    note: str | None
    text: str
    day: int
    """The day on which it was written."""
    removed_by: ToolRole | None = None
    """Update or delete, if the agent removed it; None while it stands."""
    returned: bool = False
    """Whether a search returned it, whole or in part, while it stood."""
    returned_whole: bool = False
    came_back: bool = False
    """Whether a search returned it after it was removed."""
    words: WordSequence = field(init=False)
    plain: str = field(init=False)

    def __post_init__(self) -> None:
        self.words = WordSequence(self.text)
        self.plain = flatten(self.text)

    def holds(self, needed: NeededValue) -> bool:
        """Whether the text holds the value, and was not written before the value was known."""
        return self.day >= needed.day and self.words.contains(WordSequence(needed.value))


def flatten(text: str) -> str:
    """The text in lower case, with single blanks."""
    return " ".join(text.casefold().split())


class NoteHistory:
    """The texts of all notes of one memory, those that stand and those that were removed."""

    def __init__(self) -> None:
        self.texts: list[NoteText] = []
        self._standing: dict[str, NoteText] = {}
        self._removed: list[NoteText] = []
        self._by_words: dict[str, NoteText] = {}
        """The standing texts by their words: most results are a whole note."""

    @property
    def standing(self) -> tuple[NoteText, ...]:
        """The texts that the memory should hold."""
        return tuple(self._standing.values())

    def apply(self, call: AgentCall, day: int) -> None:
        """Apply what a call wrote; a call with a problem wrote nothing."""
        if call.problem is not None or call.role in (None, ToolRole.SEARCH):
            return
        role = ToolRole.DELETE if call.role is ToolRole.DELETE else ToolRole.UPDATE
        for write in call.writes:
            if write.note is not None and write.note in self._standing:
                self._remove(write.note, role)
            if write.text is not None:
                text = NoteText(write.note, write.text, day)
                self.texts.append(text)
                self._standing[write.note or f"unnamed {len(self.texts)}"] = text
                self._by_words[text.words.all_words] = text

    def _remove(self, name: str, role: ToolRole) -> None:
        text = self._standing.pop(name)
        text.removed_by = role
        self._removed.append(text)
        if self._by_words.get(text.words.all_words) is text:
            del self._by_words[text.words.all_words]

    def note_results(self, found: Iterable[FoundNote]) -> None:
        """Note which texts a search returned."""
        for each in found:
            if each.text.strip():
                self._note_result(each, WordSequence(each.text))

    def _note_result(self, found: FoundNote, words: WordSequence) -> None:
        exact = self._by_words.get(words.all_words)
        if exact is not None:
            exact.returned = exact.returned_whole = True
            return
        inside = [text for text in self._standing.values() if words.contains(text.words)]
        for text in inside:
            text.returned = text.returned_whole = True
        # A new text may repeat the old one, which has not come back then.
        old = [
            text
            for text in self._removed
            if words.contains(text.words)
            and not any(new.words.contains(text.words) for new in inside)
        ]
        for text in old:
            text.came_back = True
        if not inside and not old:
            self._note_part(found)

    def _note_part(self, found: FoundNote) -> None:
        """Note a result that is a part of a note."""
        plain = flatten(found.text)
        named = self._standing.get(found.note or "")
        if named is not None and named.plain.startswith(plain.rstrip(".… ")):
            named.returned = True
        elif part := next((text for text in self.standing if plain in text.plain), None):
            part.returned = True
        elif gone := next((text for text in self._removed if plain in text.plain), None):
            gone.came_back = True


def find_holders(texts: Iterable[NoteText], needed: NeededValue) -> list[NoteText]:
    """The texts that hold the value."""
    return [text for text in texts if text.holds(needed)]


def format_query(arguments: Mapping[str, object]) -> str:
    """The arguments of a search, to tell different ones apart."""
    return flatten(json.dumps(arguments, sort_keys=True, ensure_ascii=False))


def list_searches(calls: Iterable[AgentCall]) -> Iterator[AgentCall]:
    """The calls that searched and were not refused."""
    return (each for each in calls if each.role is ToolRole.SEARCH and each.problem is None)
