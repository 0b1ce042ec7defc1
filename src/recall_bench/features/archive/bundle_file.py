"""The file format of a bundle: a tar file of known names, compressed with xz, with fixed metadata.

A bundle may come from a stranger. Only regular files with the names below are accepted, each once
and as large as the manifest says; nothing in it is executed. It is read in pieces, and what is
unpacked is limited: all of it to the free space of the disk, each line to what is read at a time.
`write_bundle` refuses what could not be opened.
"""

import lzma
import tarfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.environment import EnvironmentCard
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.folders import describe_file
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import DatasetCard, DrawnStory, FileCard
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.output_paths import PROGRESS, RESULT

FORMAT = 1
MANIFEST = "bundle.json"
BUNDLE_FILES = (JOURNAL, RESULT, PROGRESS)
"""The files of a run folder that a bundle holds; the others follow from the journal."""

_MAGIC = b"\xfd7zXZ\x00"
_FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 26},)
"""Fast, with a dictionary that finds the passages that answers of a whole run repeat."""
_MEMORY_LIMIT = 1 << 28
_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_MAX_MANIFEST = 1 << 24
_MAX_LINE = 1 << 26
_MAX_BYTES = 8**11 - 1
"""The largest size that the header of a file in a tar file can state: 8 GiB."""
_MAX_RATIO = 500
_FREE_BYTES = 1 << 26
"""A bundle may expand to this size however small it is: short runs repeat themselves."""


class BundleDataset(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What it takes to have the data of a run again, without its text."""

    digest: str
    """Of all histories and questions, as in the plan."""
    stories: tuple[DrawnStory, ...] = ()
    """The shipped stories; they are built again from the package."""
    seed: str | None = None
    """The seed that they were drawn from; None for stories as released, or while it is secret."""
    commitment: str | None = None
    """The digest of the seed, where there is one."""
    public: DatasetCard | None = None
    """The public dataset, by the digests of its files."""
    items: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """For data of one's own, the ids of the questions by scenario."""


class BundleManifest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `bundle.json`: all of it follows from the journal."""

    format: int
    plan: str
    """The digest of the plan."""
    link: str | None
    """The checksum of the last line of the journal, which covers all lines."""
    codes: tuple[str, ...]
    """The versions of the harness that worked on the run."""
    system: SystemCard
    judge: JudgeCard
    appellate: JudgeCard | None = None
    reader: ReaderCard | None = None
    environments: tuple[EnvironmentCard, ...] = ()
    dataset: BundleDataset
    files: tuple[FileCard, ...]


def describe_files(folder: Path) -> tuple[FileCard, ...]:
    """Describe the files of a run folder that go into a bundle, by digest."""
    paths = (folder / name for name in BUNDLE_FILES)
    return tuple(describe_file(path) for path in paths if path.is_file())


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def write_bundle(path: Path, manifest: BundleManifest, folder: Path) -> None:
    """Write a bundle; equal runs give equal bytes."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    size = len(content) + sum(card.bytes for card in manifest.files)
    if size > _MAX_BYTES:
        raise _make_size_error(folder, f"has {size / 1e9:.1f} GB", f"{_MAX_BYTES / 1e9:.1f} GB")
    if len(content) > _MAX_MANIFEST:
        problem = f"its manifest has {len(content) / 1e6:.0f} MB"
        raise _make_size_error(folder, problem, f"one of {_MAX_MANIFEST / 1e6:.0f} MB")
    compressor = lzma.LZMACompressor(filters=[dict(filter_) for filter_ in _FILTERS])
    written = 0
    with AtomicFile(path) as file:

        def store(compressed: bytes) -> None:
            nonlocal written
            written += len(compressed)
            file.write(compressed)

        def write(content: bytes) -> None:
            store(compressor.compress(content))

        _write_member(MANIFEST, len(content), iter((content,)), write)
        for card in manifest.files:
            lines = _LineLimit(folder / card.name)
            chunks = (lines.check(chunk) for chunk in _read_chunks(folder / card.name))
            _write_member(card.name, card.bytes, chunks, write)
        write(bytes(2 * _BLOCK))
        store(compressor.flush())
        if size > _limit_expansion(written):
            problem = f"would expand {size // written:,} times when it is opened"
            raise _make_size_error(folder, problem, f"{_MAX_RATIO} times")
        file.commit()


def _make_size_error(folder: Path, found: str, limit: str) -> UsageError:
    return UsageError(
        f"{folder}: {found}, and the limit of a bundle is {limit}; make runs of fewer personas, "
        "and a bundle of each"
    )


def _limit_expansion(size: int) -> int:
    """The most bytes that a bundle of this size may expand to."""
    return max(_FREE_BYTES, size * _MAX_RATIO)


def _write_member(
    name: str, size: int, content: Iterator[bytes], write: Callable[[bytes], None]
) -> None:
    header = tarfile.TarInfo(name)
    header.size = size
    write(header.tobuf(tarfile.USTAR_FORMAT))
    written = 0
    for chunk in content:
        write(chunk)
        written += len(chunk)
    if written != size:
        raise UsageError(f"{name}: changed while it was read; wait until the run has ended")
    write(bytes(-size % _BLOCK))


class _LineLimit:
    """Refuses a file with a line that is too long to be read at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._length = 0

    def check(self, chunk: bytes) -> bytes:
        """Return the next part of the file; DataError if a line is too long."""
        if self._path.suffix == ".jsonl":
            last = chunk.rfind(b"\n")
            self._length = len(chunk) - last - 1 + (self._length if last < 0 else 0)
            if self._length > _MAX_LINE:
                raise DataError(
                    f"{self._path.name}: has a line of more than {_MAX_LINE / 1e6:.0f} MB, and no "
                    "bundle may hold one"
                )
        return chunk


class _BundleReader:
    """Reads the decompressed content of a bundle, up to a limit."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_LIMIT)
        self._buffer = bytearray()
        self._left = _limit_expansion(path.stat().st_size)

    def close(self) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Read exactly this many bytes; DataError if there are fewer."""
        while len(self._buffer) < size:
            if not (more := self._decompress()):
                raise self.make_error("is cut off")
            self._buffer += more
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content

    def refuse_rest(self) -> None:
        """Refuse anything behind the end."""
        if self._buffer or self._decompress() or self._decompressor.unused_data:
            raise self.make_error("goes on behind its end")
        if self._file.read(1):
            raise self.make_error("goes on behind its end")

    def _decompress(self) -> bytes:
        while not self._decompressor.eof:
            fed = self._file.read(_CHUNK) if self._decompressor.needs_input else b""
            if self._decompressor.needs_input and not fed:
                return b""
            try:
                expanded = self._decompressor.decompress(fed, _CHUNK)
            except (lzma.LZMAError, EOFError) as error:
                raise self.make_error(f"cannot be decompressed ({error})") from error
            self._left -= len(expanded)
            if self._left < 0:
                raise self.make_error("expands to more than a run can be")
            if expanded:
                return expanded
        return b""

    def make_error(self, problem: str) -> DataError:
        return DataError(f"{self._path}: {problem}, so it is not opened")


def is_bundle(path: Path) -> bool:
    """Whether a path is a file that begins as bundles do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def unpack_bundle(path: Path, into: Path) -> BundleManifest:
    """Write the files of a bundle to an empty folder and return its manifest.

    DataError if it is damaged, or holds anything but the files that its manifest names.
    """
    try:
        reader = _BundleReader(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        manifest = _read_manifest(reader)
        _refuse_full_disk(path, manifest, into)
        for card in manifest.files:
            if _read_header(reader, card.name) != card.bytes:
                raise reader.make_error(f"holds another {card.name} than its manifest says")
            _unpack_member(reader, card, into / card.name)
        if any(reader.read(2 * _BLOCK)):
            raise reader.make_error("holds more files than its manifest names")
        reader.refuse_rest()
    finally:
        reader.close()
    return manifest


def _refuse_full_disk(path: Path, manifest: BundleManifest, into: Path) -> None:
    needed, free = sum(card.bytes for card in manifest.files), disk_usage(into).free
    if needed > free:
        raise UsageError(
            f"{path}: needs {needed / 1e9:.1f} GB in {into.parent}, where {free / 1e9:.1f} GB are "
            "free; name another folder in the variable TMPDIR"
        )


def _read_manifest(reader: _BundleReader) -> BundleManifest:
    size = _read_header(reader, MANIFEST)
    if size > _MAX_MANIFEST:
        raise reader.make_error("has too large a manifest")
    content = reader.read(size)
    reader.read(-size % _BLOCK)
    try:
        manifest = decode_untrusted_json(content, BundleManifest)
    except msgspec.DecodeError as error:
        raise reader.make_error(f"has a manifest that cannot be read ({error})") from error
    if manifest.format != FORMAT:
        raise reader.make_error(f"has format {manifest.format}, which this version does not know")
    names = [card.name for card in manifest.files]
    if names != [name for name in BUNDLE_FILES if name in names] or JOURNAL not in names:
        raise reader.make_error("names files that no bundle holds")
    return manifest


def _read_header(reader: _BundleReader, name: str) -> int:
    """Read the header of the next file, which must have this name; return its size."""
    try:
        header = tarfile.TarInfo.frombuf(reader.read(_BLOCK), "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeError) as error:
        raise reader.make_error(f"is not a bundle ({error})") from error
    if header.type != tarfile.REGTYPE or header.linkname:
        raise reader.make_error("holds a link or another special file")
    if header.name != name:
        raise reader.make_error(f"holds {header.name[:80]!r} where {name} should be")
    if header.size < 0:
        raise reader.make_error("states a size below zero")
    return header.size


def _unpack_member(reader: _BundleReader, card: FileCard, path: Path) -> None:
    digest, remaining, lines = sha256(), card.bytes, _LineLimit(path)
    with path.open("xb") as file:
        while remaining:
            chunk = lines.check(reader.read(min(remaining, _CHUNK)))
            digest.update(chunk)
            file.write(chunk)
            remaining -= len(chunk)
    reader.read(-card.bytes % _BLOCK)
    if digest.hexdigest() != card.sha256:
        raise reader.make_error(f"holds another {card.name} than its manifest says")
