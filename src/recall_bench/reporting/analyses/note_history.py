"""What an agent wrote into a memory, and what the memory did with it, replayed from its calls."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from recall_bench.core.event import NeededValue
from recall_bench.core.tool_call import AgentCall, FoundNote, ToolRole
from recall_bench.text.words import WordSequence


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

    def has_part(self, words: WordSequence, plain: str) -> bool:
        """Whether these words, or this text that may be cut within a word, stand in it."""
        return self.words.contains(words) or bool(plain and plain in self.plain)


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
        self.unmatched = 0
        """Updates and deletes of notes that are not known here."""

    @property
    def standing(self) -> tuple[NoteText, ...]:
        """The texts that the memory should hold."""
        return tuple(self._standing.values())

    def apply(self, call: AgentCall, day: int) -> None:
        """Apply what a call wrote; a call with a problem wrote nothing."""
        if call.problem is not None or call.role in (None, ToolRole.SEARCH):
            return
        role = ToolRole.DELETE if call.role is ToolRole.DELETE else ToolRole.UPDATE
        is_matched = False
        for write in call.writes:
            name = self._find_name(write.note, call.role)
            if name is not None:
                self._remove(name, role)
                is_matched = True
            if write.text is not None:
                text = NoteText(write.note, write.text, day)
                self.texts.append(text)
                self._standing[write.note or f"unnamed {len(self.texts)}"] = text
                self._by_words[text.words.all_words] = text
        self.unmatched += call.role is not ToolRole.SAVE and not is_matched

    def _find_name(self, note: str | None, role: ToolRole | None) -> str | None:
        """The key of the standing text that a call means: by its id, or a delete by its words."""
        if note is None or note in self._standing:
            return note
        if role is not ToolRole.DELETE:
            return None
        text = self._by_words.get(WordSequence(note).all_words)
        return next((name for name, standing in self._standing.items() if standing is text), None)

    def _learn_name(self, found: FoundNote, text: NoteText) -> None:
        """Take over the id under which a search returned a note that was saved without one."""
        if text.note is None and found.note is not None and found.note not in self._standing:
            name = next(name for name, standing in self._standing.items() if standing is text)
            del self._standing[name]
            text.note = found.note
            self._standing[found.note] = text

    def _remove(self, name: str, role: ToolRole) -> None:
        text = self._standing.pop(name)
        text.removed_by = role
        self._removed.append(text)
        if self._by_words.get(text.words.all_words) is text:
            del self._by_words[text.words.all_words]

    def note_results(self, found: Iterable[FoundNote]) -> None:
        """Note which texts a search returned."""
        for note in found:
            if note.text.strip():
                self._note_result(note, WordSequence(note.text))

    def _note_result(self, found: FoundNote, words: WordSequence) -> None:
        exact = self._by_words.get(words.all_words)
        if exact is not None:
            exact.returned = exact.returned_whole = True
            self._learn_name(found, exact)
            return
        inside = [text for text in self._standing.values() if words.contains(text.words)]
        for text in inside:
            text.returned = text.returned_whole = True
        # A text that stands may repeat an old one, whole or in the part that was returned: only
        # what no standing text explains has come back.
        old = [
            text
            for text in self._removed
            if words.contains(text.words)
            and not any(new.words.contains(text.words) for new in self._standing.values())
        ]
        for text in old:
            text.came_back = True
        if not inside and not old:
            self._note_part(found, words)

    def _note_part(self, found: FoundNote, words: WordSequence) -> None:
        """Note a result that is a part of a note."""
        plain = flatten(found.text).rstrip(".… ")
        named = self._standing.get(found.note or "")
        if named is not None and named.plain.startswith(plain):
            named.returned = True
        elif part := next(
            (standing for standing in self.standing if standing.has_part(words, plain)), None
        ):
            part.returned = True
        elif gone := next(
            (removed for removed in self._removed if removed.has_part(words, plain)), None
        ):
            gone.came_back = True


def format_query(arguments: Mapping[str, object]) -> str:
    """The arguments of a search, to tell different ones apart."""
    return flatten(json.dumps(arguments, sort_keys=True, ensure_ascii=False))
