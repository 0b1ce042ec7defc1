"""The elements of a large JSON array, each decoded when it is asked for.

The file is mapped and not read: one scan finds where each element begins and ends, and an element
is decoded from where it lies. So what is held is one element at a time, however large the file is.
During the scan the pages of the file pass through memory; they are the system's to take back. A
packed file (gzip) is first unpacked into a temporary file, which costs its full size on disk, none
of it in memory, and is gone with the process at the latest.
"""

import gzip
import mmap
import shutil
import zlib
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TypeVar

import msgspec

from recall_bench.errors import Malformed, UsageError

_PACKED = b"\x1f\x8b"
_Shape = TypeVar("_Shape")


def locate_file(data: Path, *names: str) -> Path:
    """The file that is meant: `data` itself, or the one in that folder with one of the names.

    Each name may have `.gz` behind it. UsageError if there is none, or if there are several.
    """
    if not data.is_dir():
        return data
    wanted = " or ".join(names)
    each = (next((p for p in _list_spellings(data / name) if p.is_file()), None) for name in names)
    match [path for path in each if path is not None]:
        case [path]:
            return path
        case []:
            raise UsageError(f"there is no {wanted} in {data}, packed or not; name the file itself")
        case several:
            found = ", ".join(path.name for path in several)
            raise UsageError(f"{data} holds {found}; name the one that is meant")


def _list_spellings(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}.gz")


class JsonArray:
    """The elements of the JSON array in a file, packed or not.

    UsageError if there is no such file, Malformed if it is no array or torn.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        """What an element is called in messages."""
        self._mapped = _map_file(path)
        try:
            self._raw = msgspec.json.decode(self._mapped, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            place = f"{len(self._mapped)} bytes in all"
            raise Malformed(str(path), f"cannot be read as JSON ({error}; {place})") from error
        self._release()

    def __len__(self) -> int:
        return len(self._raw)

    def describe(self, number: int) -> str:
        """How messages call the element with this number, counted from 0: by file and place."""
        return f"{self._path}, {self._kind} {number + 1}"

    def decode(self, number: int, shape: type[_Shape]) -> _Shape:
        """The element with this number, counted from 0; Malformed if it has another shape."""
        try:
            return msgspec.json.decode(self._raw[number], type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Malformed(self.describe(number), f"is not as it should be ({error})") from error
        finally:
            self._release()

    def _release(self) -> None:
        """Let the pages seen so far count as ours no longer; they are read again if needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _map_file(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            if file.read(len(_PACKED)) == _PACKED:
                return _unpack(file)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; name the one you have") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error}); fetch it again") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); check it") from error
    except ValueError as error:
        # The one complaint `mmap` has about a file that was opened.
        raise Malformed(str(path), "is empty, and so cannot be read as JSON") from error


def _unpack(file: BinaryIO) -> mmap.mmap:
    file.seek(0)
    with gzip.open(file) as packed, TemporaryFile() as room:
        shutil.copyfileobj(packed, room, 1 << 20)
        room.flush()
        return mmap.mmap(room.fileno(), 0, access=mmap.ACCESS_READ)
