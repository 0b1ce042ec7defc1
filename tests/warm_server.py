"""Servers that all tests of a process share: starting one for each run takes 0.2 s to 2 s.

One copies itself for the processes of adapters, and one for commands.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.fork_server import FORK, MESSAGE_BYTES, ForkServer

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


def find_warm_server(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
) -> WarmForkServer:
    """The server of this process for adapters, in the place of a new one.

    Most adapters of tests are derived from ours, whose modules take 0.07 s to import.
    """
    *program, code, packages = command
    names = "from recall_bench.testing import *"
    early = f"import sys; sys.path.insert(0, sys.argv[1]); {names}; {code}"
    return find_server("adapters", (*program, early, packages), environ)


def find_plain_server(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
) -> WarmForkServer:
    """The server of this process that has imported what one of the product has, and no more."""
    return find_server("plain adapters", command, environ)


def find_server(use: object, command: Sequence[str], environ: Mapping[str, str]) -> WarmForkServer:
    """The server of this process for such children; started where there is none."""
    key = os.getpid(), use
    server = _servers.get(key)
    if server is None or not server.is_running:
        server = _servers[key] = WarmForkServer(command, environ)
    return server
