"""What a file's bytes come to."""

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.record import Record
from recall_bench.datasets.catalogue import SourceFile, find_source

CHUNK = 1 << 20
"""How much is read at a time."""

_GZIP = b"\x1f\x8b"


def digest_file(path: Path, told: Callable[[int], None] | None = None) -> str:
    """The sha-256 of a file as it is; `told` hears how many bytes were read."""
    total, done = sha256(), 0
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            total.update(block)
            done += len(block)
            if told is not None:
                told(done)
    return total.hexdigest()


def is_gzip(path: Path) -> bool:
    """Whether the file is gzip, whatever it is called."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def digest_content(path: Path) -> str:
    """The sha-256 of what a gzip file holds."""
    total = sha256()
    for block in unpack_blocks(path):
        total.update(block)
    return total.hexdigest()


def unpack_blocks(path: Path) -> Iterator[bytes]:
    """What a gzip file holds, block by block; Malformed if it is torn."""
    try:
        with gzip.open(path, "rb") as file:
            while block := file.read(CHUNK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error})") from error


def format_size(size: int) -> str:
    """A number of bytes for people: `2.8 MB`."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


_Kind = TypeVar("_Kind")


class Presence(StrEnum):
    """How much of something is here."""

    COMPLETE = "complete"
    PART = "part"
    ABSENT = "absent"
    DIFFERS = "differs"
    """It is here, and its bytes are not those that were pinned."""


class Receipt(Record, frozen=True, kw_only=True):
    """What a file was when it was hashed; it need not be hashed again until it changes."""

    sha256: str
    bytes: int
    modified_ns: int


def get_datasets_folder() -> Path:
    """What every downloaded dataset lies below."""
    return find_cache_folder() / "datasets"


def locate_folder(name: str) -> Path:
    """Where a dataset's files lie, whether or not they do yet."""
    return get_datasets_folder() / name


def name_part_file(path: Path) -> Path:
    """Where a file is gathered until it is whole."""
    return path.with_name(f"{path.name}.part")


def list_files(name: str) -> tuple[SourceFile, ...]:
    """The files a dataset consists of; of a tree that was never listed, none."""
    source = find_source(name)
    if source.listing is None:
        return source.files
    path = _locate_listing(name)
    if not path.exists():
        return ()
    found = _read_json(path, dict[str, tuple[SourceFile, ...]])
    return found.get(source.listing.url, ())


def remember_files(name: str, url: str, files: tuple[SourceFile, ...]) -> None:
    """Keep the list of a tree's files, under the address that gave it."""
    _write_json(_locate_listing(name), {url: files})


def check_presence(name: str, file: SourceFile) -> Presence:
    """How much of one file is here. Hashes it if it is not the one that was hashed last."""
    path = locate_folder(name) / file.name
    if not path.is_file():
        return Presence.PART if name_part_file(path).exists() else Presence.ABSENT
    if file.sha256 is not None and read_receipt(name, file).sha256 != file.sha256:
        return Presence.DIFFERS
    return Presence.COMPLETE


def check_dataset_presence(name: str) -> Presence:
    """How much of a dataset's data is here, its optional layers apart."""
    data = [file for file in list_files(name) if file.layer is None]
    found = {check_presence(name, file) for file in data}
    if Presence.DIFFERS in found:
        return Presence.DIFFERS
    if found == {Presence.COMPLETE}:
        return Presence.COMPLETE
    return Presence.ABSENT if found <= {Presence.ABSENT} else Presence.PART


def read_receipt(name: str, file: SourceFile) -> Receipt:
    """What a file is, from its receipt if it was not touched since; FileNotFoundError if absent."""
    path = locate_folder(name) / file.name
    now = path.stat()
    kept = _load_receipts(name).get(file.name)
    if kept is not None and (kept.bytes, kept.modified_ns) == (now.st_size, now.st_mtime_ns):
        return kept
    receipt = Receipt(sha256=digest_file(path), bytes=now.st_size, modified_ns=now.st_mtime_ns)
    with suppress(OSError):  # In a cache that may only be read, files are hashed every time.
        _store_receipt(name, file, receipt)
    return receipt


def record_receipt(name: str, file: SourceFile, digest: str) -> None:
    """Put on record what a file that has just arrived was found to be."""
    found = (locate_folder(name) / file.name).stat()
    receipt = Receipt(sha256=digest, bytes=found.st_size, modified_ns=found.st_mtime_ns)
    _store_receipt(name, file, receipt)


def _store_receipt(name: str, file: SourceFile, receipt: Receipt) -> None:
    _write_json(_locate_receipts(name), {**_load_receipts(name), file.name: receipt})


def find_download(name: str) -> Path | None:
    """The complete download of a dataset: its file if its data is one, else its folder.

    None if anything is missing or is not what was pinned.
    """
    if check_dataset_presence(name) is not Presence.COMPLETE:
        return None
    folder = locate_folder(name)
    if not find_source(name).is_one_file:
        return folder
    return next(folder / file.name for file in list_files(name) if file.layer is None)


def find_layer_file(name: str, layer: str) -> Path | None:
    """The downloaded file of a correction layer; None if it is not here as published."""
    for file in list_files(name):
        if file.layer == layer and check_presence(name, file) is Presence.COMPLETE:
            return locate_folder(name) / file.name
    return None


def check_pin(name: str, path: Path) -> bool | None:
    """Whether data given by path is, to the byte, what was published; None where there is no pin.

    A gzip file counts by what it holds. A folder is as published if every file of the dataset is
    in it under its published name; a single file, if it is one of them and so are those beside it.
    """
    data = [file for file in find_source(name).files if file.layer is None]
    if not path.exists():
        raise UsageError(f"there is no {path}; name data you have")
    if not data or any(file.sha256 is None for file in data):
        return None
    if path.is_dir():
        return all(_is_present(path, file) for file in data)
    digests = list_digests(path)
    others = [file for file in data if file.sha256 not in digests]
    beside = [
        file
        for file in others
        if any(place.is_file() for place in _list_spellings(path.parent, file))
    ]
    return len(others) < len(data) and all(_is_present(path.parent, file) for file in beside)


def list_digests(path: Path) -> tuple[str, ...]:
    """The sha-256 of a file and, if it is gzip, of what it holds."""
    if not is_gzip(path):
        return (digest_file(path),)
    return digest_file(path), digest_content(path)


def _list_spellings(folder: Path, file: SourceFile) -> tuple[Path, Path]:
    return folder / file.name, folder / f"{file.name}.gz"


def _is_present(folder: Path, file: SourceFile) -> bool:
    found = (place for place in _list_spellings(folder, file) if place.is_file())
    return any(file.sha256 in list_digests(place) for place in found)


def _locate_receipts(name: str) -> Path:
    return get_datasets_folder() / f"{name}.receipts.json"


def _locate_listing(name: str) -> Path:
    return get_datasets_folder() / f"{name}.listing.json"


def _load_receipts(name: str) -> dict[str, Receipt]:
    path = _locate_receipts(name)
    if not path.exists():
        return {}
    found = path.stat()
    return _read_receipts(path, found.st_mtime_ns, found.st_ino)


@lru_cache(maxsize=32)
def _read_receipts(path: Path, _modified_ns: int, _number: int) -> dict[str, Receipt]:
    """Read once for each time it was written: a tree has thousands of files."""
    return _read_json(path, dict[str, Receipt])


def _read_json(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Malformed(str(path), f"is not as we write it ({error}); delete it") from error


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    """Replace the file at once, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(msgspec.json.encode(content))
    fresh.replace(path)


__all__ = ["check_pin", "find_download", "find_layer_file"]
