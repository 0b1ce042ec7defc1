"""The reference tools: save, search, open, update and delete over any memory of our contract.

A note is an episode of its own, numbered in the order of writing. An update deletes the note and
ingests the new text, so a memory that cannot delete an episode has neither update nor delete. A
search may return parts of a note; what is opened is what the memory itself lists of it, so a memory
that cannot list what it holds has no `open`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import msgspec

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import (
    Answer,
    EraseScope,
    ErasingMemory,
    ListingMemory,
    Memory,
    Passage,
    StoredEntry,
)
from recall_bench.core.record import Record
from recall_bench.core.retry import retry
from recall_bench.core.scenario import PRINCIPAL, Episode, Question, StoryTime
from recall_bench.core.tool_call import FoundNote, MemoryTool, NoteWrite, ToolResult, ToolRole
from recall_bench.core.usage import UsageMeter

DEFAULT_RESULTS = 10
"""How many notes a search returns where the run sets no number."""


def _make_tool(
    role: ToolRole, description: str, *, name: str | None = None, **arguments: str
) -> MemoryTool:
    properties = {
        argument: {"type": "string", "description": about} for argument, about in arguments.items()
    }
    return MemoryTool(
        name=name or role.value,
        role=role,
        description=description,
        schema={"type": "object", "properties": properties, "required": list(arguments)},
    )


SAVE = _make_tool(
    ToolRole.SAVE, "Save a note. Returns its id.", text="The note; it must be understood alone."
)
SEARCH = _make_tool(
    ToolRole.SEARCH,
    "Search the notes by words and meaning. Returns the best ones, or parts of them, each after "
    "its id and the date of writing.",
    query="What to look for.",
)
OPEN = _make_tool(
    ToolRole.SEARCH,
    "Show all that the memory holds of a note.",
    name="open",
    id="The id of the note, as a search returned it.",
)
UPDATE = _make_tool(
    ToolRole.UPDATE,
    "Replace the text of a note.",
    id="The id of the note.",
    text="Its new text, whole.",
)
DELETE = _make_tool(ToolRole.DELETE, "Delete a note.", id="The id of the note.")


class SavedNote(Record, frozen=True, kw_only=True):
    """A note that the memory should hold."""

    episode: str
    """The id of the episode that holds its text now."""
    number: int
    """The number of that episode."""
    on: str
    """The date of writing."""
    text: str


class NoteBook(Record, frozen=True, kw_only=True):
    """The notes that were saved; the texts are in the memory itself."""

    written: int = 0
    """Episodes so far."""
    saved: int = 0
    """Notes so far."""
    notes: dict[str, SavedNote] = msgspec.field(default_factory=dict)


@dataclass(slots=True)
class ReferenceTools:
    """The tools over one memory."""

    memory: Memory
    scenario: str
    can_delete: bool
    can_list: bool = False
    book: NoteBook = field(default_factory=NoteBook)
    meter: UsageMeter = field(default_factory=UsageMeter)
    """What the memory reports to have spent on searches."""
    _is_settled: bool = True

    def list_tools(self) -> tuple[MemoryTool, ...]:
        """Save and search; open if the memory can list; the other two if it can delete."""
        opening = (OPEN,) if self.can_list else ()
        return (SAVE, SEARCH, *opening, *((UPDATE, DELETE) if self.can_delete else ()))

    async def call_tool(
        self,
        tool: MemoryTool,
        arguments: Mapping[str, object],
        *,
        at: StoryTime,
        session: str = PRINCIPAL,
        top_k: int | None = None,
    ) -> ToolResult:
        """Call a tool at a time of the story; SystemFault for an unknown note or an empty text."""
        words = {name: str(value) for name, value in arguments.items()}
        match tool.role:
            case ToolRole.SEARCH if tool.name == OPEN.name:
                return await self._open(words["id"])
            case ToolRole.SAVE:
                return await self._save(words["text"], at)
            case ToolRole.SEARCH:
                return await self._search(words["query"], at, session, top_k or DEFAULT_RESULTS)
            case ToolRole.UPDATE:
                return await self._update(words["id"], words["text"], at)
            case ToolRole.DELETE:
                name = words["id"]
                await self._erase(name)
                rest = {
                    note: saved_note for note, saved_note in self.book.notes.items() if note != name
                }
                self.book = self.book.replace(notes=rest)
                return ToolResult(text=f"{name} is deleted", writes=(NoteWrite(note=name),))

    async def settle(self) -> None:
        """Return once everything written can be found."""
        if not self._is_settled:
            await self.memory.settle()
            self._is_settled = True

    async def _save(self, text: str, at: StoryTime) -> ToolResult:
        name = f"n{self.book.saved + 1}"
        await self._write(name, text, at)
        self.book = self.book.replace(saved=self.book.saved + 1)
        return ToolResult(text=f"saved as {name}", writes=(NoteWrite(note=name, text=text),))

    async def _update(self, name: str, text: str, at: StoryTime) -> ToolResult:
        if not text.strip():
            raise SystemFault("the text is empty; delete the note instead")
        await self._erase(name)
        await self._write(name, text, at)
        return ToolResult(text=f"{name} is updated", writes=(NoteWrite(note=name, text=text),))

    async def _write(self, name: str, text: str, at: StoryTime) -> None:
        if not text.strip():
            raise SystemFault("the text is empty")
        number = self.book.written + 1
        episode = Episode(id=f"note-{number}", day=number, at=at, text=text)
        self._is_settled = False
        await retry(partial(self.memory.ingest, episode))
        on = at.date().isoformat()
        note = SavedNote(episode=episode.id, number=number, on=on, text=text)
        self.book = self.book.replace(written=number, notes={**self.book.notes, name: note})

    async def _erase(self, name: str) -> None:
        note = self.book.notes.get(name)
        if note is None or not isinstance(self.memory, ErasingMemory):
            raise SystemFault(f"there is no note {name!r}")
        await retry(self.settle)
        self._is_settled = False
        await retry(partial(self.memory.erase, EraseScope.DELETE, note.episode))

    async def _search(self, query: str, at: StoryTime, session: str, top_k: int) -> ToolResult:
        if not query.strip():
            raise SystemFault("the query is empty")
        await retry(self.settle)
        question = Question(
            id="search",
            text=query,
            asked_at=at,
            scenario=self.scenario,
            session=session,
            top_k=top_k,
        )
        reply = await retry(partial(self.memory.answer, question))
        if reply.usage is not None:
            self.meter.add(reply.usage)
        found_notes = [self._identify(passage) for passage in reply.passages[:top_k]]
        if not found_notes and isinstance(reply, Answer) and reply.text.strip():
            # A memory that answers itself, and names no source.
            found_notes = [FoundNote(text=reply.text)]
        listing = "\n".join(map(self._show, found_notes))
        return ToolResult(text=listing or "nothing was found", found=tuple(found_notes))

    async def _open(self, name: str) -> ToolResult:
        note = self.book.notes.get(name)
        if note is None or not isinstance(self.memory, ListingMemory):
            raise SystemFault(f"there is no note {name!r}")
        await retry(self.settle)
        texts = [
            entry.text
            for entry in await retry(self.memory.list_stored)
            if self._identify(entry).note == name
        ]
        if not texts:
            raise SystemFault(f"the memory lists nothing of {name}; search for it")
        whole = FoundNote(text="\n".join(texts), note=name)
        return ToolResult(text=self._show(whole), found=(whole,))

    def _identify(self, passage: Passage | StoredEntry) -> FoundNote:
        """The note that a passage is of: by its episode, its number, or its text."""
        notes = self.book.notes
        for name, note in notes.items():
            if passage.id == note.episode or (passage.id is None and passage.day == note.number):
                return FoundNote(text=passage.text, note=name)
        for name, note in notes.items():
            if passage.text.strip() and passage.text.strip() in note.text:
                return FoundNote(text=passage.text, note=name)
        return FoundNote(text=passage.text)

    def _show(self, found: FoundNote) -> str:
        note = None if found.note is None else self.book.notes.get(found.note)
        return found.text if note is None else f"[{found.note}, {note.on}] {found.text}"
