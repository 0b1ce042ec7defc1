"""A memory server written with the SDK, as most in Python are; as a program it has pipes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Note = dict[str, Any]


def memory_server() -> "MCPServer[Any]":
    """Keeps notes by space, and forgets them all when told to."""
    # Every process collects these tests, and one of them runs them: the import takes a second.
    from mcp.server.mcpserver import MCPServer

    spaces: dict[str, list[Note]] = {}
    server = MCPServer[Any]("sdk-memory", version="3.2", log_level="ERROR")

    @server.tool()
    def store(text: str, note: str, day: int, space: str = "") -> str:
        spaces.setdefault(space, []).append({"text": text, "note": note, "day": day})
        return f"stored {note}"

    @server.tool()
    def find(query: str, limit: int, space: str = "") -> list[Note]:
        words = set(re.findall(r"\w+", query.lower()))
        scored = [
            {**note, "score": len(words.intersection(re.findall(r"\w+", note["text"].lower())))}
            for note in spaces.get(space, [])
        ]
        best = sorted(scored, key=lambda note: -note["score"])
        return [note for note in best if note["score"]][:limit]

    @server.tool()
    def wipe() -> str:
        spaces.clear()
        return "wiped"

    return server


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The URL of such a server, in this event loop, on a port of its own."""
    # A server over pipes needs none of it.
    import uvicorn

    app = memory_server().streamable_http_app()
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws="none"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.serve)
        while not running.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.01)
        port = running.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.should_exit = True
            running.force_exit = True


if __name__ == "__main__":
    memory_server().run("stdio")
