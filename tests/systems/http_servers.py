"""HTTP servers for tests: ours around any system, and one that says what it is told to say."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import anyio

from recall_bench.core.memory import MemorySystem
from recall_bench.features.serving.http_server import serve_http
from recall_bench.systems.servers.host import SystemHost

Said = tuple[int, dict[str, str], bytes]


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


@contextmanager
def saying(say: Callable[[str, str, bytes], Said]) -> Iterator[str]:
    """The URL of a server whose every reply is `say(method, path, body)`, in a thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, content = say(self.command, self.path, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
