"""`recall-bench` in a process of its own that starts fast: a copy of one that imported everything.

A new process imports for two seconds of processor time. What is tested here is what a process does
once it runs: signals, kills, locks, exit codes.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tests.fork_server import can_fork
from tests.warm_server import WarmForkServer, find_server

TIMEOUT_S = 120.0

_ROOT = Path(__file__).parents[1]


class WarmCommand:
    """A copy of the template. It is handled like a `subprocess.Popen`; it prints to memory.

    Unless it is given a descriptor to print to.
    """

    def __init__(
        self, server: WarmForkServer, request: str, stdout: int | None, stderr: int | None
    ) -> None:
        self._server = server
        self._outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]
        used = zip((stdout, stderr), self._outputs, strict=True)
        with Path(os.devnull).open("rb") as nothing:
            descriptors = [own if given is None else given for given, own in used]
            self.pid = server.start(request, [nothing.fileno(), *descriptors])
        self._end = os.pidfd_open(self.pid)
        self.returncode: int | None = None
        self._printed = (b"", b"")

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._end, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        if self.returncode is None and select.select([self._end], (), (), 0)[0]:
            self.returncode = self._server.read_code(self.pid)
            self._server.reap(self.pid)
            out, err = (os.pread(each, os.fstat(each).st_size, 0) for each in self._outputs)
            self._printed = out, err
            for descriptor in (*self._outputs, self._end):
                os.close(descriptor)
        return self.returncode

    def wait(self, timeout: float = TIMEOUT_S) -> int:
        """Wait for its end; its exit code."""
        code = self.poll()
        if code is None:
            select.select([self._end], (), (), timeout)
            code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("recall-bench", timeout)
        return code

    def communicate(self, timeout: float = TIMEOUT_S) -> tuple[bytes, bytes]:
        """Wait for its end; what it printed, and what it said on standard error."""
        self.wait(timeout)
        return self._printed


StartedCommand: TypeAlias = "WarmCommand | subprocess.Popen[bytes]"


def start_command(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    events: int | None = None,
    kind: str | None = None,
    moment: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    module: str | None = None,
) -> StartedCommand:
    """Start `recall-bench` with these words, or a module as `python -m` does.

    It is killed after this many events, or this many of one kind, or at a moment of writing, if a
    number is given. What it prints is kept, or written to a descriptor.
    """
    request = json.dumps(
        {
            "words": [str(word) for word in words],
            "folder": str(cwd or Path.cwd()),
            "environ": dict(os.environ if environ is None else environ),
            "module": module,
            "events": events,
            "kind": kind,
            "moment": moment,
        }
    )
    return start_copy("tests.command_template", request, stdout=stdout, stderr=stderr)


def start_copy(
    template: str, request: str, *, stdout: int | None = None, stderr: int | None = None
) -> StartedCommand:
    """Start a copy of this module's process; the module itself where processes cannot be copied."""
    program = (sys.executable, "-m", template)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path])}
    if can_fork():
        return WarmCommand(find_server(template, program, environ), request, stdout, stderr)
    out, err = (subprocess.PIPE if given is None else given for given in (stdout, stderr))
    return subprocess.Popen((*program, request), env=environ, stdout=out, stderr=err)


def run_command(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    events: int | None = None,
    kind: str | None = None,
    moment: int | None = None,
) -> int:
    """Start a command and wait for its end; its exit code, -9 if it was killed."""
    command = start_command(
        words, cwd=cwd, environ=environ, events=events, kind=kind, moment=moment
    )
    command.communicate(timeout=TIMEOUT_S)
    assert command.returncode is not None
    return command.returncode
