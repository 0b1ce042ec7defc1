"""One memory on an MCP server, through one tool that ingests and one that searches."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio

from recall_bench.core.child_process import quote_bytes
from recall_bench.core.errors import NotOffered, SystemFault
from recall_bench.core.memory import (
    EraseReply,
    EraseScope,
    Passage,
    RetrievalReply,
    StoredEntry,
    parse_kept_days,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.tool_call import MemoryTool, ToolResult
from recall_bench.features.mcp.agent_tools import fill_own_arguments, list_agent_tools, read_result
from recall_bench.features.mcp.mcp_connection import McpConnection
from recall_bench.features.mcp.server_map import (
    ERASE_PLACES,
    OFFER_KEYS,
    EraseSpec,
    McpToolCall,
    ServerMap,
    Value,
    fill_arguments,
    fill_for_each,
    has_match,
)
from recall_bench.features.mcp.tool_results import ToolHit, extract_keywords, parse_hits, rank_hits
from recall_bench.systems.notes import split_notes
from recall_bench.systems.python.adapter import DayMetadata
from recall_bench.systems.reply_limits import check_entries

TemplateValues = dict[str, Value]
"""The values of one note or day for the placeholders of a template."""


Connector = Callable[[Path], Awaitable[McpConnection]]
"""Starts or reaches the server of a memory, which keeps its files in this folder."""


class McpMemory:
    """A memory; with a server of our own, in a folder of its own."""

    def __init__(
        self,
        spec: ServerMap,
        connect: Connector,
        *,
        folder: Path,
        name: str,
        on_close: Callable[["McpMemory"], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._connect = connect
        self._on_close = on_close
        self._connection: McpConnection | None = None
        self._connecting = anyio.Lock()
        self.folder = folder
        """The server's folder; its files are in `state`."""
        self.name = name
        """Its name, which separates it from others on the same server."""
        self.known: dict[str, tuple[str, int]] = {}
        """Episode and day of each note or day, by its id."""

    @property
    def state(self) -> Path:
        """Where the server keeps its files."""
        return self.folder / "state"

    async def begin(self, *, is_new: bool) -> None:
        """Connect, and reset a new memory if the server has a tool for it."""
        await self._get_connection()
        if is_new and self._spec.reset is not None:
            await self._call_tool(self._spec.reset)

    async def disconnect(self) -> None:
        """Disconnect; the server is started again when it is needed."""
        async with self._connecting:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    async def ingest(self, episode: Episode) -> None:
        """Ingest one day."""
        await self.ingest_all([episode], lambda _: None)

    async def ingest_all(
        self, episodes: Sequence[Episode], on_ingested: Callable[[Episode], None]
    ) -> None:
        """Ingest many days, in batches as large as the map allows."""
        coming: list[tuple[Episode, int]] = []
        waiting: list[tuple[Episode, TemplateValues]] = []
        sent = 0
        for place, episode in enumerate(episodes, start=1):
            waiting += [(episode, entry) for entry in self._build_entries(episode)]
            coming.append((episode, sent + len(waiting)))
            is_last = place == len(episodes)
            while len(waiting) >= self._spec.ingest.batch or (is_last and waiting):
                batch = waiting[: self._spec.ingest.batch]
                await self._send_batch(batch)
                waiting, sent = waiting[len(batch) :], sent + len(batch)
            while coming and coming[0][1] <= sent:
                on_ingested(coming.pop(0)[0])

    async def settle(self) -> None:
        """Call the tool that waits, if the server has one."""
        if self._spec.settle is not None:
            await self._call_tool(self._spec.settle)

    async def answer(self, question: Question) -> RetrievalReply:
        """The passages that the server finds, at most `top_k`."""
        k = question.top_k or self._spec.k
        values: TemplateValues = {
            "question": question.text,
            "k": k,
            "date": question.asked_at.date().isoformat(),
            "session": question.session,
        }
        if self._spec.search.query == "whole":
            hits = await self._search(values)
        else:
            words = extract_keywords(question.text)
            hits_by_word = [await self._search({**values, "question": word}) for word in words]
            hits = rank_hits(hits_by_word, len(self.known))
        return RetrievalReply(passages=tuple(map(self._build_passage, hits[:k])))

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Call the tool that erases in this scope; for an episode, once for each of its entries."""
        key = OFFER_KEYS[scope.offer]
        tool: EraseSpec | None = getattr(self._spec, key)
        if tool is None:
            raise NotOffered(f"the map has no {key}")
        place = ERASE_PLACES[key]
        if scope is EraseScope.DAYS:
            return await self._erase_entries(tool, {place: parse_kept_days(value)})
        if scope is not EraseScope.DELETE:
            return await self._erase_entries(tool, {place: value})
        names = [name for name, (episode, _) in self.known.items() if episode == value]
        replies = [await self._erase_entries(tool, {place: name}) for name in names or [value]]
        for name in names:
            del self.known[name]
        confirmations = {reply.confirmed for reply in replies}
        return EraseReply(confirmed=confirmations.pop() if len(confirmations) == 1 else False)

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """What the tool lists."""
        listing = self._spec.stored
        if listing is None:
            raise NotOffered("the map has no stored")
        connection = await self._get_connection()
        reply = await connection.call(listing.tool, fill_arguments(listing.arguments, self._shared))
        return check_entries(map(self._build_entry, parse_hits(reply, listing)))

    async def list_tools(self) -> tuple[MemoryTool, ...]:
        """The tools of the server that an agent is given."""
        greeting = (await self._get_connection()).greeting
        return () if greeting is None else list_agent_tools(self._spec, greeting.offered)

    async def call_tool(self, tool: MemoryTool, arguments: Mapping[str, object]) -> ToolResult:
        """Call a tool as an agent asks for it."""
        connection = await self._get_connection()
        filled = fill_own_arguments(self._spec, tool.name, arguments, self._shared)
        reply = await connection.call(tool.name, filled)
        return read_result(self._spec, tool, arguments, reply)

    async def consolidate(self) -> None:
        """Call the tool that consolidates."""
        if self._spec.consolidate is None:
            raise NotOffered("the map has no consolidate")
        await self._call_tool(self._spec.consolidate)

    async def close(self) -> None:
        """End its server, or the session with a server that is shared."""
        try:
            await self.disconnect()
        finally:
            self._on_close(self)

    async def _get_connection(self) -> McpConnection:
        async with self._connecting:
            if self._connection is None:
                self._connection = await self._connect(self.folder)
            return self._connection

    async def _call_tool(self, call: McpToolCall) -> None:
        connection = await self._get_connection()
        await connection.call(call.tool, fill_arguments(call.arguments, self._shared))

    async def _erase_entries(self, spec: EraseSpec, values: TemplateValues) -> EraseReply:
        connection = await self._get_connection()
        arguments = fill_arguments(spec.arguments, {**self._shared, **values})
        reply = await connection.call(spec.tool, arguments)
        if spec.done is None:
            return EraseReply(confirmed=None)
        return EraseReply(confirmed=has_match(spec.done, reply.text, f"done of {spec.tool}"))

    async def _send_batch(self, batch: Sequence[tuple[Episode, TemplateValues]]) -> None:
        ingest = self._spec.ingest
        entries = [entry for _, entry in batch]
        if ingest.batch == 1:
            arguments = fill_arguments(ingest.arguments, {**self._shared, **entries[0]})
        else:
            arguments = fill_for_each(ingest.arguments, self._shared, entries)
        connection = await self._get_connection()
        reply = await connection.call(ingest.tool, arguments)
        if ingest.done is not None and not has_match(ingest.done, reply.text, "ingest.done"):
            raise SystemFault(
                f"the tool {ingest.tool} replied {quote_bytes(reply.text.encode())}, which does "
                "not match ingest.done of the map; see why it failed"
            )
        for episode, entry in batch:
            self.known[str(entry["id"])] = (episode.id, episode.day)

    async def _search(self, values: TemplateValues) -> list[ToolHit]:
        search = self._spec.search
        arguments = fill_arguments(search.arguments, {**self._shared, **values})
        connection = await self._get_connection()
        return parse_hits(await connection.call(search.tool, arguments), search)

    @property
    def _shared(self) -> TemplateValues:
        return {"memory": self.name, "state_dir": str(self.state)}

    def _build_entries(self, episode: Episode) -> list[TemplateValues]:
        on = episode.at.date().isoformat()
        if self._spec.ingest.each == "day":
            whole: TemplateValues = {
                "id": episode.id,
                "day": episode.day,
                "date": on,
                "text": episode.text,
            }
            return [whole] if episode.text.strip() else []
        metadata = DayMetadata(
            day_number=episode.day, date=on, persona_id="", session=episode.session
        )
        return [
            {
                "id": note.id,
                "day": note.day,
                "date": note.date,
                "session": note.session or "",
                "context": note.context,
                "text": note.quote,
            }
            for note in split_notes(episode.day, episode.text, metadata)
        ]

    def _build_entry(self, hit: ToolHit) -> StoredEntry:
        place = self._find_source(hit.id)
        name, day = (None, None) if place is None else place
        return StoredEntry(text=hit.text, id=name, day=day)

    def _build_passage(self, hit: ToolHit) -> Passage:
        place = self._find_source(hit.id)
        return Passage(
            text=hit.text,
            id=None if place is None else place[0],
            day=None if place is None else place[1],
            source=hit.id,
            score=hit.score,
        )

    def _find_source(self, name: str | None) -> tuple[str, int] | None:
        """Episode and day of a result, by our id or a path that ends with it."""
        if name is None:
            return None
        last = name.rpartition("/")[2].removesuffix(".md")
        return self.known.get(name) or self.known.get(last)


class OwnServerMemory(McpMemory):
    """A memory on a server that we started for it alone."""

    @property
    def state_folder(self) -> Path:
        """The server's folder, its home included."""
        return self.folder

    async def kill(self) -> None:
        """Kill the server at once."""
        connection = await self._get_connection()
        await connection.kill()
