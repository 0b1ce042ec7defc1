"""Where downloaded datasets are, and whether they are what was published.

Each dataset has a folder in the user's cache with its files and incomplete ones (`<name>.part`).
Beside the folder are its lock, its receipts (the digest of each file when it was last hashed) and,
for a tree of files, their list.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.folders import CHUNK, digest_file, find_cache_folder
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json, open_regular_file, open_unpacked
from recall_bench.stories.catalogue import SourceFile, find_source

GZIP = b"\x1f\x8b"
"""What a gzip file begins with."""


def is_gzip(path: Path) -> bool:
    """Whether the file is gzip, by its content."""
    with open_regular_file(path) as file:
        return file.read(len(GZIP)) == GZIP


def digest_content(path: Path) -> str:
    """Return the sha-256 of the content of a gzip file."""
    total = sha256()
    for block in unpack_blocks(path):
        total.update(block)
    return total.hexdigest()


def unpack_blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file in blocks; Malformed if it is damaged."""
    try:
        with open_regular_file(path) as raw, open_unpacked(raw) as file:
            while block := file.read(CHUNK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Malformed(str(path), f"cannot be unpacked ({error})") from error


def format_size(size: int) -> str:
    """Format a number of bytes: `2.8 MB`."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


_Kind = TypeVar("_Kind")


class Presence(StrEnum):
    """How much of a file or dataset is downloaded."""

    COMPLETE = "complete"
    PART = "part"
    ABSENT = "absent"
    DIFFERS = "differs"
    """It is complete, but its digest is not the pinned one."""


class Receipt(Record, frozen=True, kw_only=True):
    """The digest of a file; it is hashed again when size or time change."""

    sha256: str
    bytes: int
    modified_ns: int


def get_datasets_folder() -> Path:
    """Return the folder of all downloaded datasets."""
    return find_cache_folder() / "datasets"


def locate_folder(name: str) -> Path:
    """Return the folder of a dataset, which may not exist yet."""
    return get_datasets_folder() / name


def name_part_file(path: Path) -> Path:
    """Return the path of a file while it is incomplete."""
    return path.with_name(f"{path.name}.part")


def list_files(name: str) -> tuple[SourceFile, ...]:
    """List the files of a dataset; none for a tree that was never listed."""
    source = find_source(name)
    if source.listing is None:
        return source.files
    path = _locate_listing(name)
    if not path.exists():
        return ()
    listings = _read_json(path, dict[str, tuple[SourceFile, ...]])
    return listings.get(source.listing.url, ())


def remember_files(name: str, url: str, files: tuple[SourceFile, ...]) -> None:
    """Store the list of a tree's files, by its address."""
    _write_json(_locate_listing(name), {url: files})


def check_presence(name: str, file: SourceFile) -> Presence:
    """Check one file; it is hashed if it has changed since the last time."""
    path = locate_folder(name) / file.name
    if not path.is_file():
        return Presence.PART if name_part_file(path).exists() else Presence.ABSENT
    if file.sha256 is not None and read_receipt(name, file).sha256 != file.sha256:
        return Presence.DIFFERS
    return Presence.COMPLETE


def check_dataset_presence(name: str) -> Presence:
    """Check the data files of a dataset, without optional layers."""
    data = [file for file in list_files(name) if file.layer is None]
    presences = {check_presence(name, file) for file in data}
    if Presence.DIFFERS in presences:
        return Presence.DIFFERS
    if presences == {Presence.COMPLETE}:
        return Presence.COMPLETE
    return Presence.ABSENT if presences <= {Presence.ABSENT} else Presence.PART


def read_receipt(name: str, file: SourceFile) -> Receipt:
    """Return the receipt of a file, hashing it if it has changed; FileNotFoundError if absent."""
    path = locate_folder(name) / file.name
    now = path.stat()
    kept = _load_receipts(name).get(file.name)
    if kept is not None and (kept.bytes, kept.modified_ns) == (now.st_size, now.st_mtime_ns):
        return kept
    receipt = Receipt(sha256=digest_file(path), bytes=now.st_size, modified_ns=now.st_mtime_ns)
    with suppress(OSError):  # In a read-only cache, files are hashed every time.
        _store_receipt(name, file, receipt)
    return receipt


def record_receipt(name: str, file: SourceFile, digest: str) -> None:
    """Record the digest of a file that has just arrived."""
    status = (locate_folder(name) / file.name).stat()
    receipt = Receipt(sha256=digest, bytes=status.st_size, modified_ns=status.st_mtime_ns)
    _store_receipt(name, file, receipt)


def _store_receipt(name: str, file: SourceFile, receipt: Receipt) -> None:
    _write_json(_locate_receipts(name), {**_load_receipts(name), file.name: receipt})


def find_download(name: str) -> Path | None:
    """Return the download of a dataset: its only file, else its folder.

    None if anything is missing or differs from its pin.
    """
    if check_dataset_presence(name) is not Presence.COMPLETE:
        return None
    folder = locate_folder(name)
    if not find_source(name).is_one_file:
        return folder
    return next(folder / file.name for file in list_files(name) if file.layer is None)


def find_layer_file(name: str, layer: str) -> Path | None:
    """Return the downloaded file of a correction layer; None if it is missing or differs."""
    for file in list_files(name):
        if file.layer == layer and check_presence(name, file) is Presence.COMPLETE:
            return locate_folder(name) / file.name
    return None


def check_pin(name: str, path: Path) -> bool | None:
    """Whether data given by path is byte for byte what was published; None without a pin.

    A gzip file counts by its content. A folder is as published if every file of the dataset is in
    it under its published name; a single file, if it is one of them and so are those beside it.
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
    """Return the sha-256 of a file and, if it is gzip, of its content."""
    if not is_gzip(path):
        return (digest_file(path),)
    return digest_file(path), digest_content(path)


def _list_spellings(folder: Path, file: SourceFile) -> tuple[Path, Path]:
    return folder / file.name, folder / f"{file.name}.gz"


def _is_present(folder: Path, file: SourceFile) -> bool:
    paths = (place for place in _list_spellings(folder, file) if place.is_file())
    return any(file.sha256 in list_digests(place) for place in paths)


def _locate_receipts(name: str) -> Path:
    return get_datasets_folder() / f"{name}.receipts.json"


def _locate_listing(name: str) -> Path:
    return get_datasets_folder() / f"{name}.listing.json"


def _load_receipts(name: str) -> dict[str, Receipt]:
    path = _locate_receipts(name)
    if not path.exists():
        return {}
    status = path.stat()
    return _read_receipts(path, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=32)
def _read_receipts(path: Path, _modified_ns: int, _number: int) -> dict[str, Receipt]:
    """Read the receipts, cached until they change: a tree has thousands of files."""
    return _read_json(path, dict[str, Receipt])


def _read_json(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return decode_untrusted_json(path.read_bytes(), kind)
    except msgspec.MsgspecError as error:
        raise Malformed(str(path), f"is not as we write it ({error}); delete it") from error


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    replace_file(path, msgspec.json.encode(content))
