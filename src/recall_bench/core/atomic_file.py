"""Files that appear complete or not at all, and the names of what is temporary.

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
from filecmp import cmp
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir, mkdtemp
from typing import Self

from recall_bench.core.errors import DISK_FULL, BenchError, JournalLost, UsageError

_BUFFER = 1 << 20


class AtomicFile:
    """A file that is replaced on `commit`; without it the old one stays unchanged."""

    def __init__(self, path: Path, *, is_private: bool = False) -> None:
        """A private file can be read by its owner alone, from its first byte on."""
        self._path = path
        self._opener = _open_private if is_private else None
        self._is_committed = False

    def __enter__(self) -> Self:
        try:
            # A link stays a link, and a device or pipe must not be replaced.
            self._target = self._path.resolve()
            if self._target.exists() and not self._target.is_file():
                raise UsageError(f"{self._path}: is not a file; name one to write to")
            self._target.parent.mkdir(parents=True, exist_ok=True)
            sweep_once(self._target.parent)
            self._beside = name_beside(self._target)
            self._file = open(self._beside, "wb", buffering=_BUFFER, opener=self._opener)
        except OSError as error:
            raise self._make_error(error) from error
        return self

    def write(self, text: bytes) -> None:
        """Append to the new content."""
        try:
            self._file.write(text)
        except OSError as error:
            raise self._make_error(error) from error

    def flush(self) -> None:
        """Sync the new content to disk, so that only the renaming is left."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._make_error(error) from error

    def is_unchanged(self) -> bool:
        """Whether the new content is that of the file which it would replace."""
        self.flush()
        return self._target.is_file() and cmp(self._beside, self._target, shallow=False)

    def commit(self) -> None:
        """Replace the old content with the new."""
        self.flush()
        try:
            self._file.close()
            self._beside.replace(self._target)
        except OSError as error:
            raise self._make_error(error) from error
        self._is_committed = True

    def __exit__(self, *_: object) -> None:
        if not self._is_committed:
            # A full disk fails again on closing; the first failure is the one to report.
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._beside.unlink()

    def _make_error(self, error: OSError) -> BenchError:
        if error.errno in DISK_FULL:
            return JournalLost(f"{self._path}: {JournalLost.FULL_DISK}")
        return UsageError(f"{self._path}: cannot be written ({error.strerror or error})")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def replace_file(path: Path, content: bytes, *, is_private: bool = False) -> None:
    """Write one file atomically; a private one can be read by its owner alone."""
    with AtomicFile(path, is_private=is_private) as file:
        file.write(content)
        file.commit()


def open_cache(folder: Path, what: str) -> Path:
    """Make the folder of a cache; UsageError, which names its content, if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{what} cannot be kept in {folder} ({error.strerror or error}); name another folder"
        ) from error
    return folder


def write_shared_file(path: Path, *parts: bytes) -> None:
    """Write the parts as one file, atomically, to a folder that several machines may write to.

    Raises OSError. The file is not synced: a lost cache entry is made again.
    """
    path.parent.mkdir(exist_ok=True)
    sweep_once(path.parent)
    beside = name_beside(path)
    try:
        with beside.open("wb") as file:
            file.writelines(parts)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


_PREFIX = "recall-bench-"
_OWNER = r"(?P<pid>[0-9a-f]+)-(?P<start>[0-9a-f]+)-(?P<machine>[0-9a-f]{8})"
_NAMES = (
    re.compile(rf"\..+\.{_OWNER}\.[0-9]+\.part"),
    re.compile(rf"{_PREFIX}(?:[a-z]+-)?{_OWNER}-\w+"),
)
_NUMBERS = count()
_SWEPT: set[tuple[int, Path]] = set()
"""The folders that a process has swept, by its number: a forked process sweeps again."""


def identify_process() -> str:
    """Identify this process: its number, when it started, and its machine since its last start."""
    return _identify(os.getpid())


@lru_cache(maxsize=1)
def _identify(pid: int) -> str:
    """Cached by the number: a forked process has another one."""
    return f"{pid:x}-{_find_start(pid) or 0:x}-{_identify_machine()}"


@lru_cache(maxsize=1)
def _identify_machine() -> str:
    """A digest of the host, of its last start, and of the namespace of process numbers."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/etc/machine-id").read_text(encoding="utf-8"))
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8"))
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\0".join(parts).encode()).hexdigest()[:8]


def is_running(pid: int, start: int = 0) -> bool:
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
    began = _find_start(pid)
    return began is None or (began != 0 and start in (0, began))


def _find_start(pid: int) -> int | None:
    """When a process started; 0 if it has ended and is not collected, None if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The name of a program, in brackets, may hold spaces and brackets.
        fields = stat.rpartition(")")[2].split()
        return 0 if fields[0] in "ZX" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def name_beside(path: Path) -> Path:
    """A new name beside the path for what is written before it gets that path."""
    return path.with_name(f".{path.name}.{identify_process()}.{next(_NUMBERS)}.part")


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
            leftovers = [entry for entry in entries if _is_left(entry.name)]
    except OSError:
        return
    for entry in leftovers:
        with suppress(OSError):
            owner = entry.stat(follow_symlinks=False).st_uid
            # In a folder that is shared, others can use our names for what is theirs.
            if sys.platform != "win32" and owner != os.geteuid():
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)


def _is_left(name: str) -> bool:
    if not name.startswith((".", _PREFIX)):
        return False
    owner = next((match for pattern in _NAMES if (match := pattern.fullmatch(name))), None)
    return (
        owner is not None
        and owner["machine"] == _identify_machine()
        and not is_running(int(owner["pid"], 16), int(owner["start"], 16))
    )
