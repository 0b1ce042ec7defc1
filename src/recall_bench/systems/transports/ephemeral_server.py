"""A third-party server, started for one connection and ended with it.

    with EphemeralServer(["product", "serve", "--port", "{port}"], health="/ready") as server:
        client = Product(server.base_url)

The same with `async with`. It has its own port and folder, and is ended with everything it started
by its process group, never by its port or name.
"""

import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread

from recall_bench.core.atomic_file import make_lasting_folder
from recall_bench.core.child_process import DEVNULL, BlockingChildProcess, start_blocking_process
from recall_bench.core.errors import SystemGone
from recall_bench.core.runtime import CAN_REUSE_ADDRESS
from recall_bench.systems.transports.child_environment import build_environment

START_TIMEOUT_S = 60.0

PLACEHOLDERS = ("{port}", "{state_dir}", "{config}")
"""Placeholders in the command, the environment and the files."""

LOOPBACK = "127.0.0.1"

_PAUSE_S = 0.05
_PROBE_TIMEOUT_S = 2.0
_PORT_ATTEMPTS = 3
"""How many ports are tried if another program takes one first."""

_TAIL_LINES = 12
_TAIL_BYTES = 4000


def find_free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


class EphemeralServer:
    """A server that runs as long as its context.

    The command, the values of `env` and the texts of `files` may contain `{port}`, `{state_dir}`
    (an empty folder) and `{config}` (the path of the first file). `env` is added to our own
    environment, or to a clean one with the variables whose names are `passed`. It is ready once
    `health` returns a status of 200 to 299, or once `ready`, given the base URL, returns true.
    Without a path for `health` any reply will do that is no fault of the server. SystemGone quotes
    the end of its log if it cannot be started, ends, or is not ready in time.

    Its folder is removed with it, but kept with the log, which the error names, if it did not start
    or ended by itself. A folder given as `folder` is always kept, so that a second server on it
    finds the state of the first.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        passed: Sequence[str] | None = None,
        files: Mapping[str, str] | None = None,
        folder: Path | None = None,
        health: str | None = "/health",
        ready: Callable[[str], bool] | None = None,
        ready_timeout_s: float = START_TIMEOUT_S,
        choose_port: Callable[[], int] = find_free_port,
    ) -> None:
        self._command = tuple(command)
        self._env = dict(env or {})
        self._passed = passed
        self._files = dict(files or {})
        self._owns_folder = folder is None
        self._folder = folder
        self._health = health
        self._ready = ready
        self._timeout_s = ready_timeout_s
        self._choose_port = choose_port
        self._child: BlockingChildProcess | None = None
        self._last_reply = "it does not react"
        self._replies = False
        """Whether it ever answered the health check, with whatever status."""
        self.port = 0

    @property
    def base_url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def folder(self) -> Path:
        """Its folder; its state is in `state`, its log in `server.log`."""
        if self._folder is None:
            self._folder = make_lasting_folder("server")
        return self._folder

    @property
    def pid(self) -> int | None:
        """The pid of the process, while there is one."""
        return None if self._child is None else self._child.process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._child is not None and self._child.process.poll() is None

    def __enter__(self) -> Self:
        """Start it, and return once it is ready."""
        self._start()
        try:
            while not self._is_up():
                time.sleep(_PAUSE_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End it, with everything it started."""
        is_in_order = self.is_running
        self._end()
        if is_in_order:
            self._remove_folder()

    async def __aenter__(self) -> Self:
        """Start it, and return once it is ready."""
        await anyio.to_thread.run_sync(self._start)
        try:
            while not await anyio.to_thread.run_sync(self._is_up):  # noqa: ASYNC110 - no event
                await anyio.sleep(_PAUSE_S)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._end)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it, with everything it started."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.__exit__)

    def kill(self) -> None:
        """Kill it at once, with everything it started; its folder is kept."""
        if self._child is not None:
            self._child.end(grace_s=0)

    def describe_end(self) -> str:
        """How it ended, if it did, and the end of its log, for an error message."""
        child = self._child
        code = None if child is None else child.process.poll()
        end = "" if code is None else f"it ended with code {code}; "
        log = self.folder / "server.log"
        text = log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace") if log.exists() else ""
        lines = [f"  {line}" for line in text.splitlines() if line.strip()][-_TAIL_LINES:]
        if not lines:
            return f"{end}it logged nothing"
        return f"{end}the last lines of {log}:\n" + "\n".join(lines)

    def _start(self) -> None:
        """Start the process."""
        self._deadline = time.monotonic() + self._timeout_s
        self._attempts = _PORT_ATTEMPTS
        (self.folder / "state").mkdir(parents=True, exist_ok=True)
        self._launch()

    def _launch(self) -> None:
        for _ in range(_PORT_ATTEMPTS):
            self.port = self._choose_port()
            # What else uses the port would answer the health check.
            if not _is_taken(self.port):
                break
        else:
            raise SystemGone(f"port {self.port} and those before it are taken; choose others")
        for name, text in self._files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._fill_placeholders(text), encoding="utf-8", newline="\n")
        command = [self._fill_placeholders(word) for word in self._command]
        base = os.environ if self._passed is None else build_environment(self.folder, self._passed)
        own = {name: self._fill_placeholders(value) for name, value in self._env.items()}
        with (self.folder / "server.log").open("ab") as log:
            try:
                self._child = start_blocking_process(
                    command,
                    folder=self.folder,
                    environ={**base} | own,
                    stdin=DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            except OSError as error:
                self._remove_folder()
                raise SystemGone(
                    f"the server {command[0]!r} cannot be started ({error.strerror}); "
                    "check its command"
                ) from error

    def _fill_placeholders(self, text: str) -> str:
        config = self.folder / next(iter(self._files), "")
        values = (self.port, self.folder / "state", config)
        for mark, value in zip(PLACEHOLDERS, values, strict=True):
            text = text.replace(mark, str(value))
        return text

    def _is_up(self) -> bool:
        """Whether it is ready; SystemGone if it never will be."""
        is_ready = self._is_healthy() if self._ready is None else self._ready(self.base_url)
        if not self.is_running:
            # Start it at another port, if it ended because another program took this one.
            self._attempts -= 1
            if self._attempts == 0 or not _is_taken(self.port):
                raise SystemGone(
                    f"the server {self._command[0]!r} did not start: {self.describe_end()}"
                )
            self._end()
            self._launch()
            return False
        if is_ready:
            return True
        if time.monotonic() > self._deadline:
            why = hint = ""
            if self._ready is None:
                why = f" ({self._health or '/'}: {self._last_reply})"
            if self._ready is None and self._replies:
                hint = "it replies, so let server.health name a path that it answers with 200; "
            raise SystemGone(
                f"the server {self._command[0]!r} is not ready after {self._timeout_s:g} s{why}; "
                f"{hint}{self.describe_end()}"
            )
        return False

    def _is_healthy(self) -> bool:
        connection = HTTPConnection(LOOPBACK, self.port, timeout=_PROBE_TIMEOUT_S)
        try:
            connection.request("GET", self._health or "/", headers={"Connection": "close"})
            self._last_reply = f"status {(status := connection.getresponse().status)}"
        except (OSError, HTTPException) as error:
            self._last_reply = getattr(error, "strerror", None) or type(error).__name__
            return False
        finally:
            connection.close()
        self._replies = True
        if self._health is None:
            return status < 500 or status == HTTPStatus.NOT_IMPLEMENTED
        return 200 <= status < 300

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()

    def _remove_folder(self) -> None:
        """Remove the folder, unless the caller owns it."""
        if self._owns_folder and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _is_taken(port: int) -> bool:
    """Whether another program uses the port."""
    with socket.socket() as probe:
        # Remains of closed connections do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(CAN_REUSE_ADDRESS))
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
        return False
