"""A server that all tests of a process share, and that copies itself for commands: starting each
anew takes 0.2 s to 2 s.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from tests.fork_server import FORK, MESSAGE_BYTES, ForkServer

_starting = Lock()
_servers: dict[tuple[int, object], "WarmForkServer"] = {}
"""By the process that talks to it: a copy of that process must not share the conversation."""


class WarmForkServer(ForkServer):
    """A server that outlives its system. It ends with the test process, whose socket it reads."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._folder = TemporaryDirectory(prefix="recall-bench-", ignore_cleanup_errors=True)
        super().__init__(command, folder=Path(self._folder.name), environ=environ)

    @property
    def is_running(self) -> bool:
        """Whether no test has ended it."""
        return self._child.process.poll() is None

    def close(self) -> None:
        """The next system takes it over."""

    def start(self, text: str, descriptors: Sequence[int]) -> int:
        """Start a child that is given this text and these standard streams; its number."""
        request = FORK + text.encode()
        assert len(request) <= MESSAGE_BYTES, "the environment is too large for a request"
        pid = self._exchange(request, descriptors)
        assert pid > 0, os.strerror(-pid)
        return pid


def find_server(use: object, command: Sequence[str], environ: Mapping[str, str]) -> WarmForkServer:
    """The server of this process for such children; started where there is none."""
    key = os.getpid(), use
    # Threads that start the first two commands at once would start two servers.
    with _starting:
        server = _servers.get(key)
        if server is None or not server.is_running:
            server = _servers[key] = WarmForkServer(command, environ)
        return server
