"""HTTP servers for tests: ours around any system."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from recall_bench.core.memory import MemorySystem
from recall_bench.features.serving.http_server import serve_http
from recall_bench.systems.servers.host import SystemHost


@asynccontextmanager
async def hosting(host: SystemHost) -> AsyncIterator[str]:
    """The URL of our own server around this host, in this event loop."""
    urls: list[str] = []
    up = anyio.Event()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    async def serve() -> None:
        await serve_http(host, "127.0.0.1:0", ready=ready)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await up.wait()
        try:
            yield urls[0]
        finally:
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def serving(system: MemorySystem) -> AsyncIterator[str]:
    """The URL of our own server around this system."""
    host = SystemHost(system)
    async with hosting(host) as url:
        yield url
    await host.close()
