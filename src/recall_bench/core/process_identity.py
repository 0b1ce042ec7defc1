"""Which process is which: a number alone is given again after its process ended."""

import os
import socket
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_MARK_LENGTH = 8
_UNKNOWN = 0


class ProcessIdentity(NamedTuple):
    """A process on some machine. As text it can be a part of a file's name."""

    pid: int
    start: int
    """When it started, in ticks since the machine did; 0 where the system does not say."""
    machine: str
    """A digest of what identifies the host, and of the namespace of process numbers."""
    boot: str
    """A digest of the machine's last start; the same digits everywhere if that is unknown."""

    def __str__(self) -> str:
        return f"{self.pid:x}-{self.start:x}-{self.machine}-{self.boot}"

    @classmethod
    def parse(cls, text: str) -> "ProcessIdentity | None":
        """Parse what `str` gave; None if it did not."""
        words = text.split("-")
        try:
            pid, start, machine, boot = words
            found = cls(int(pid, 16), int(start, 16), machine, boot)
        except ValueError:
            return None
        return found if str(found) == text else None

    @property
    def is_ended(self) -> bool:
        """Whether the process certainly has ended; nothing is known of other machines."""
        here = identify_process()
        if self.machine != here.machine:
            return False
        if self.boot != here.boot:
            return True
        return not is_running(self.pid, self.start)


def identify_process() -> ProcessIdentity:
    """Identify the process that calls this."""
    return _identify(os.getpid())


@lru_cache(maxsize=1)
def _identify(pid: int) -> ProcessIdentity:
    """Cached by the number: a forked process has another one."""
    space = _read_link(_PROC / "self" / "ns" / "pid")
    machine = _digest(socket.gethostname(), _read(Path("/etc/machine-id")), space)
    boot = _read(_PROC / "sys" / "kernel" / "random" / "boot_id")
    return ProcessIdentity(pid, _find_start(pid) or _UNKNOWN, machine, _digest(boot))


def is_running(pid: int, start: int = _UNKNOWN) -> bool:
    """Whether a process of this machine runs, and started then if that is given.

    True where the system does not say.
    """
    if sys.platform == "win32":
        # os.kill would end it.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    found = _find_start(pid)
    return found is None or (found != _UNKNOWN and start in (_UNKNOWN, found))


def _find_start(pid: int) -> int | None:
    """When a process started; 0 if it has ended and is not collected, None if unknown."""
    # The name of a program, in brackets, may hold spaces and brackets.
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    try:
        return _UNKNOWN if fields[0] in "ZX" else int(fields[19])
    except (IndexError, ValueError):
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _read_link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:_MARK_LENGTH]
