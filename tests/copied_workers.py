"""Workers of a command that are copies of the command: their own server would import for a second.

How the product starts that server is tested in `tests/engine/pool/test_worker_start.py`, and by
all commands in the exhaustive tests.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

from recall_bench.core.fork_server import ForkServer, end_copy, serve_forks
from recall_bench.engine import process_worker, worker_process


class CopyServer(ForkServer):
    """The command's side. It ends with the command, whose socket it reads."""

    def __init__(self, control: socket.socket, folder: Path) -> None:
        self._log = folder / "server.log"
        self._log.touch()
        self._lock = Lock()
        self._control = control

    def close(self) -> None:
        """The next pool of the same command takes it over."""


def copy_workers() -> None:
    """Copy this process, which has no threads yet, into a server for its workers."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        os.dup2(theirs.fileno(), 0)
        theirs.close()
        os.chdir(serve_forks())
        worker_process.main()
        end_copy(0)
    theirs.close()

    def find_server(
        command: Sequence[str], *, folder: Path, environ: Mapping[str, str]
    ) -> CopyServer:
        return CopyServer(ours, folder)

    vars(process_worker)["ForkServer"] = find_server
