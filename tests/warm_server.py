"""One server for the processes of all adapters of a test process: starting it takes 0.2 s each."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.fork_server import ForkServer

_servers: dict[int, "WarmForkServer"] = {}
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


def find_warm_server(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
) -> WarmForkServer:
    """The server of this process, in the place of a new one."""
    server = _servers.get(os.getpid())
    if server is None or not server.is_running:
        server = _servers[os.getpid()] = WarmForkServer(command, environ)
    return server
