"""One memory on an MCP server: what it is told and what it finds, through two tools."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import anyio

from recall_bench.core.history import Episode
from recall_bench.core.memory import Found, Passage
from recall_bench.core.question import Question
from recall_bench.errors import SystemFault
from recall_bench.systems.command.lines import shown
from recall_bench.systems.contrib.notes import notes_of
from recall_bench.systems.mcp.connection import Connection
from recall_bench.systems.mcp.keywords import keywords, ranked
from recall_bench.systems.mcp.replies import Hit, hits_of
from recall_bench.systems.mcp.server_map import ServerMap, ToolCall
from recall_bench.systems.mcp.templates import Value, filled_for_each, filled_mapping
from recall_bench.systems.python.adapter import DayMetadata

Entry = dict[str, Value]
"""What one note or day has for the places of a template."""


class Connects(Protocol):
    """Starts, or reaches, the server of a memory."""

    async def __call__(self, folder: Path) -> Connection:
        """A connection to a server that keeps its files in this folder."""
        ...


class McpMemory:
    """A memory in a folder of its own, if its server is ours."""

    def __init__(
        self,
        spec: ServerMap,
        connect: Connects,
        *,
        folder: Path,
        name: str,
        let_go: Callable[["McpMemory"], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._connect = connect
        self._let_go = let_go
        self._connection: Connection | None = None
        self._connecting = anyio.Lock()
        self.folder = folder
        """What the server runs in; its files are in `state`."""
        self.name = name
        """What tells it from others on the same server."""
        self.known: dict[str, tuple[str, int]] = {}
        """By the id of each note or day: its episode, and the day that is."""

    @property
    def state(self) -> Path:
        """Where the server keeps its files."""
        return self.folder / "state"

    async def begin(self, *, is_new: bool) -> None:
        """Connect, and see that a new memory is empty."""
        await self._connected()
        if is_new and self._spec.reset is not None:
            await self._do(self._spec.reset)

    async def rest(self) -> None:
        """Let go of the server, which is started again when it is needed."""
        async with self._connecting:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    async def ingest(self, episode: Episode) -> None:
        """Hand over one day."""
        await self.ingest_all([episode], lambda _: None)

    async def ingest_all(
        self, episodes: Sequence[Episode], took: Callable[[Episode], None]
    ) -> None:
        """Hand over many days, as much at once as the map allows."""
        coming: list[tuple[Episode, int]] = []
        waiting: list[tuple[Episode, Entry]] = []
        sent = 0
        for place, episode in enumerate(episodes, start=1):
            waiting += [(episode, entry) for entry in self._entries(episode)]
            coming.append((episode, sent + len(waiting)))
            is_last = place == len(episodes)
            while len(waiting) >= self._spec.ingest.batch or (is_last and waiting):
                batch = waiting[: self._spec.ingest.batch]
                await self._hand_over(batch)
                waiting, sent = waiting[len(batch) :], sent + len(batch)
            while coming and coming[0][1] <= sent:
                took(coming.pop(0)[0])

    async def settle(self) -> None:
        """Call the tool that waits, if the server has one."""
        if self._spec.settle is not None:
            await self._do(self._spec.settle)

    async def answer(self, question: Question) -> Found:
        """What the server finds, at most as much as is looked at."""
        k = question.top_k or self._spec.k
        values: Entry = {
            "question": question.text,
            "k": k,
            "date": question.asked_at.date().isoformat(),
            "session": question.session,
        }
        if self._spec.search.query == "whole":
            hits = await self._search(values)
        else:
            words = keywords(question.text)
            found = [await self._search({**values, "question": word}) for word in words]
            hits = ranked(found, len(self.known))
        return Found(passages=tuple(map(self._passage, hits[:k])))

    async def close(self) -> None:
        """End its server, or the session with a server that is shared."""
        try:
            await self.rest()
        finally:
            self._let_go(self)

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                self._connection = await self._connect(self.folder)
            return self._connection

    async def _do(self, call: ToolCall) -> None:
        connection = await self._connected()
        await connection.call(call.tool, filled_mapping(call.arguments, self._shared))

    async def _hand_over(self, batch: Sequence[tuple[Episode, Entry]]) -> None:
        ingest = self._spec.ingest
        entries = [entry for _, entry in batch]
        if ingest.batch == 1:
            arguments = filled_mapping(ingest.arguments, {**self._shared, **entries[0]})
        else:
            arguments = filled_for_each(ingest.arguments, self._shared, entries)
        connection = await self._connected()
        reply = await connection.call(ingest.tool, arguments)
        if ingest.done is not None and re.search(ingest.done, reply.said) is None:
            raise SystemFault(
                f"the tool {ingest.tool} said {shown(reply.said.encode())}, which is not what the "
                "map gives as ingest.done; see what it minds"
            )
        for episode, entry in batch:
            self.known[str(entry["id"])] = (episode.id, episode.day)

    async def _search(self, values: Entry) -> list[Hit]:
        search = self._spec.search
        arguments = filled_mapping(search.arguments, {**self._shared, **values})
        connection = await self._connected()
        return hits_of(await connection.call(search.tool, arguments), search)

    @property
    def _shared(self) -> Entry:
        return {"memory": self.name, "state_dir": str(self.state)}

    def _entries(self, episode: Episode) -> list[Entry]:
        on = episode.at.date().isoformat()
        if self._spec.ingest.each == "day":
            whole: Entry = {"id": episode.id, "day": episode.day, "date": on, "text": episode.text}
            return [whole] if episode.text.strip() else []
        told = DayMetadata(day_number=episode.day, date=on, persona_id="")
        return [
            {
                "id": note.id,
                "day": note.day,
                "date": note.date,
                "session": note.session or "",
                "context": note.context,
                "text": note.quoted,
            }
            for note in notes_of(episode.day, episode.text, told)
        ]

    def _passage(self, hit: Hit) -> Passage:
        place = self._place(hit.id)
        return Passage(
            text=hit.text,
            id=None if place is None else place[0],
            day=None if place is None else place[1],
            source=hit.id,
            score=hit.score,
        )

    def _place(self, name: str | None) -> tuple[str, int] | None:
        """Where a result comes from, by our id or a path that ends with it."""
        if name is None:
            return None
        last = name.rpartition("/")[2].removesuffix(".md")
        return self.known.get(name) or self.known.get(last)
