"""Folders and their files: paths, temporary ones, copies, removal, size, caches and digests."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import DataError, Malformed, UsageError
from recall_bench.core.plan import FileCard
from recall_bench.core.untrusted_json import open_regular_file

_FICLONE = 0x40049409
"""The ioctl of Linux that lets two files share blocks until one changes."""

_ODD_NAME = re.compile(r"[\x00-\x1f\x7f/\\:]|^\.|[. ]$|^$")
"""What leads out of a folder, hides a file, or cannot be a name on every system."""

_NAME_BYTES = 200


def join_id(folder: Path, name: str, where: str) -> Path:
    """The path of something in the folder that is named by an id from a file.

    Malformed, which says where the id stands, if it is more than a name.
    """
    if _ODD_NAME.search(name) or len(name.encode(errors="replace")) > _NAME_BYTES:
        raise Malformed(
            where, f"the id {name!r:.80} cannot be the name of a folder; use letters and hyphens"
        )
    return folder / name


def remove_folder(path: Path) -> None:
    """Remove a folder as far as possible. A link is removed, and what it leads to is kept."""
    if path.is_symlink():
        with suppress(OSError):
            path.unlink()
    shutil.rmtree(path, ignore_errors=True)


class TemporaryFolders:
    """Empty folders in a temporary one, which is made with the first of them."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._root: TemporaryFolder | None = None

    def make(self) -> Path:
        """An empty folder that lasts until `remove_all`, unless it is removed before."""
        if self._root is None:
            if self._parent is not None:
                self._parent.mkdir(parents=True, exist_ok=True)
            self._root = TemporaryFolder(parent=self._parent)
        return Path(mkdtemp(dir=self._root.name))

    def remove_all(self) -> None:
        """Remove every folder; later ones can be made again."""
        if self._root is not None:
            self._root.cleanup()
            self._root = None


class KeptFolders(TemporaryFolders):
    """Empty folders that outlast this process; the caller removes their parent."""

    def __init__(self, parent: Path) -> None:
        super().__init__(parent)
        self._place = parent

    def make(self) -> Path:
        """An empty folder that lasts as long as the one it is in."""
        self._place.mkdir(parents=True, exist_ok=True)
        return Path(mkdtemp(dir=self._place))


def measure_folder(folder: Path) -> int:
    """The sum of the lengths of all files below a folder."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            # A database may remove one of its files while we count.
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


def refuse_other_folder(folder: Path) -> None:
    """Raise DataError unless this is a folder of ours in which no other user can write."""
    try:
        status = folder.lstat()
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror})") from error
    if not stat.S_ISDIR(status.st_mode):
        raise DataError(f"{folder} is not a folder; links are not followed")
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise DataError(
            f"{folder} can be written by other users; make it writable for yourself alone"
        )


def refuse_special_files(folder: Path) -> None:
    """Raise DataError if a folder is a link, or holds what is no file, folder or link below it.

    Links directly in it are refused too: a reader would follow them.
    """
    if folder.is_symlink():
        raise DataError(f"{folder.name} is a link; links are not followed")
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            kind = Path(place, name).lstat().st_mode
            is_link = stat.S_ISLNK(kind)
            if (is_link and Path(place) == folder) or not (
                is_link or stat.S_ISREG(kind) or stat.S_ISDIR(kind)
            ):
                raise DataError(f"{name} is neither a file nor a folder; links are not followed")


def open_folder(folder: Path) -> int | None:
    """A descriptor of a folder, which stays that folder's when its path leads elsewhere.

    None where there are no such descriptors. OSError if it is no folder, or a link to one.
    """
    if os.rename not in os.supports_dir_fd:
        return None
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder's plain files, sharing their blocks where the file system can."""
    failures: list[OSError] = []

    def copy_or_note(source: str, target: str) -> str | Path:
        try:
            return copy_file(source, target)
        except OSError as error:
            failures.append(error)
            raise

    try:
        shutil.copytree(
            source,
            target,
            symlinks=True,
            ignore=_find_special_files,
            copy_function=copy_or_note,
            dirs_exist_ok=True,
        )
    except shutil.Error as error:
        # It holds texts alone, and not which error each was.
        raise (failures[0] if failures else error) from None


def _find_special_files(folder: str, names: list[str]) -> list[str]:
    """Pipes, sockets and devices: to open one may block for ever."""
    plain = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
    special = [n for n in names if stat.S_IFMT(Path(folder, n).lstat().st_mode) not in plain]
    for name in special:
        sys.stderr.write(f"note: {folder}/{name} is no plain file, and is not copied\n")
    return special


def copy_file(source: str | Path, target: str | Path) -> str | Path:
    """Copy a file, sharing its blocks where the file system can."""
    try:
        from fcntl import ioctl

        with Path(source).open("rb") as original, Path(target).open("wb") as write:
            ioctl(write, _FICLONE, original.fileno())
        shutil.copystat(source, target)
        return target
    except (ImportError, OSError):
        return shutil.copy2(source, target)


def find_cache_folder() -> Path:
    """Where played personas are kept: `RECALL_BENCH_CACHE`, or the platform's cache folder."""
    if named := os.environ.get("RECALL_BENCH_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "recall-bench"


def make_cache_folder(folder: Path) -> None:
    """Make a folder of the cache; where that is impossible, say what to set."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileNotFoundError, NotADirectoryError, FileExistsError, PermissionError) as error:
        raise UsageError(
            f"{folder}: cannot be made ({error.strerror}); set RECALL_BENCH_CACHE to a folder that "
            "can be written to"
        ) from None


def refuse_other_files(folder: Path, own: Collection[str]) -> None:
    """UsageError if the folder holds anything but these names; hidden files are ignored."""
    if not folder.is_dir():
        return
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    foreign = [name for name in names if name not in own]
    if foreign:
        raise UsageError(
            f"{folder}: holds files that were not written here, such as {foreign[0]}; "
            "name an empty folder, or a new one"
        )


CHUNK = 1 << 20
"""Bytes read at a time."""

_PROGRAM_BYTES = 1 << 20
"""Bytes digested of a program's file: a script is read whole, the weights of a model are not."""

_SCRIPT_SUFFIXES = (".js", ".mjs", ".py", ".rb", ".sh", ".ts")


def digest_file(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Return the sha-256 of a file; `on_bytes` receives the number of bytes read."""
    total, done = sha256(), 0
    with open_regular_file(path) as file:
        while block := file.read(CHUNK):
            total.update(block)
            done += len(block)
            if on_bytes is not None:
                on_bytes(done)
    return total.hexdigest()


def describe_file(path: Path, name: str | None = None) -> FileCard:
    """Return the card of a file, under another name if one is given."""
    digest = digest_file(path)
    return FileCard(name=name or path.name, sha256=digest, bytes=path.stat().st_size)


def digest_program(words: Sequence[str], program: Path) -> str | None:
    """Digest the program, unless it is found on the PATH, and the script that it runs.

    None if neither is a file that can be read. `program` is the full path of the first word. The
    digest is of sizes and beginnings.
    """
    # Not the whole path, because Windows adds a suffix.
    own = [program] if Path(words[0]).absolute().parent == program.parent else []
    files = [file for file in (*own, _find_script(words)) if file and _is_readable(file)]
    if not files:
        return None
    digest = sha256()
    for file in files:
        digest.update(b"%d\n" % file.stat().st_size)
        with file.open("rb") as opened:
            digest.update(opened.read(_PROGRAM_BYTES))
    return digest.hexdigest()[:12]


def is_file(word: str | Path) -> bool:
    """Whether a word is the path of a file; also False for what no path can be."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _find_script(words: Sequence[str]) -> Path | None:
    """The first argument that is a file and no value of an option.

    A value may be a log that grows with every call. What is named like a script is no value, as in
    `python -u tool.py`.
    """
    return next(
        (
            Path(word)
            for before, word in pairwise(words)
            if not word.startswith("-")
            and (not before.startswith("-") or word.endswith(_SCRIPT_SUFFIXES))
            and _is_readable(word)
        ),
        None,
    )


def _is_readable(word: str | Path) -> bool:
    return is_file(word) and os.access(word, os.R_OK)
