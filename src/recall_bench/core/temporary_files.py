"""The one way to name what is removed before we end, and to remove what killed processes left.

A temporary file or folder is named after the process that made it. It is removed if that process
has ended for certain: never while it runs, and never if it ran on another machine that shares the
folder.
"""

import os
import re
import shutil
import socket
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir, mkdtemp
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


_PREFIX = "recall-bench-"
_SUFFIX = ".part"
_OWNER = r"(?P<owner>[0-9a-f]+-[0-9a-f]+-[0-9a-f]{8}-[0-9a-f]{8})"
_NAMES = (
    re.compile(rf"\..+\.{_OWNER}\.[0-9]+\.part"),
    re.compile(rf"{_PREFIX}(?:[a-z]+-)?{_OWNER}-\w+"),
)
_EARLIER_NAMES = re.compile(r"\..+\.(?:(?P<file>[0-9]+)\.part|partial-(?P<folder>[0-9]+))")
"""Names by earlier versions, which hold the number of the process alone."""

_NUMBERS = count()
_SWEPT: set[tuple[int, Path]] = set()
"""The folders that a process has swept, by its number: a forked process sweeps again."""


def name_beside(path: Path) -> Path:
    """A new name beside the path for what is written before it gets that path."""
    return path.with_name(f".{path.name}.{identify_process()}.{next(_NUMBERS)}{_SUFFIX}")


class TemporaryFolder(TemporaryDirectory[str]):
    """An empty folder that is removed with the block, `cleanup`, or after a kill by a later one."""

    def __init__(self, kind: str = "", parent: Path | None = None) -> None:
        """`kind` is a word of lower-case letters for the folder's name."""
        super().__init__(
            prefix=_prepare_prefix(kind, parent), dir=parent, ignore_cleanup_errors=True
        )


def make_lasting_folder(kind: str) -> Path:
    """An empty folder that stays until it is removed, or until we have ended and it is swept."""
    return Path(mkdtemp(prefix=_prepare_prefix(kind, None)))


def _prepare_prefix(kind: str, parent: Path | None) -> str:
    sweep_once(Path(gettempdir()) if parent is None else parent)
    return f"{_PREFIX}{kind and f'{kind}-'}{identify_process()}-"


def sweep_once(folder: Path) -> None:
    """Sweep the folder if this process did not do so before."""
    key = os.getpid(), folder
    if key not in _SWEPT:
        _SWEPT.add(key)
        sweep_folder(folder)


def sweep_folder(folder: Path) -> None:
    """Remove what processes that have ended left directly in the folder."""
    try:
        with os.scandir(folder) as entries:
            left = [entry for entry in entries if _is_left(entry.name)]
    except OSError:
        return
    for entry in left:
        # In a folder that is shared, others can use our names for what is theirs.
        with suppress(OSError):
            if _is_ours(entry.stat(follow_symlinks=False)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)


def _is_ours(found: os.stat_result) -> bool:
    return sys.platform == "win32" or found.st_uid == os.geteuid()


def _is_left(name: str) -> bool:
    if not name.startswith((".", _PREFIX)):
        return False
    for pattern in _NAMES:
        if found := pattern.fullmatch(name):
            owner = ProcessIdentity.parse(found["owner"])
            return owner is not None and owner.is_ended
    earlier = _EARLIER_NAMES.fullmatch(name)
    return earlier is not None and not is_running(int(earlier["file"] or earlier["folder"]))
