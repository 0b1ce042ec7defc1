"""What a fuzz target is: a reader of foreign bytes, with valid content that is changed for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recall_bench.core.errors import BenchError
from tests.fuzz.mutator import Format


@dataclass(frozen=True, slots=True)
class Seed:
    """Valid content, and how it may be changed."""

    content: bytes
    format: Format = Format.JSON
    name: str = ""
    """The file it is, below the folder of the target; empty for what is no file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of the content.

    A change that is accepted must leave the records as they were, or show in the identity: the part
    of them that a run, a report or a verdict records, so that two results are not taken for alike.
    """

    records: object
    identity: object = None
    """None for content that is sealed: if it is accepted at all, its records are the same."""


class OpenTarget(Protocol):
    """A target that is ready to read."""

    seeds: Sequence[Seed]

    def read(self, seed: Seed, content: bytes) -> Reading:
        """Read content in place of the seed's; raises one of the target's refusals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzTarget:
    """One reader, opened in a folder of its own."""

    name: str
    open: Callable[[Path], OpenTarget]
    refusals: tuple[type[Exception], ...] = (BenchError,)
    """What it may raise; each needs a sentence."""


@dataclass(slots=True)
class FileReader:
    """Reads a folder of files, one of which is changed."""

    folder: Path
    seeds: Sequence[Seed]
    look: Callable[[Path], Reading]
    """Reads the folder."""

    def read(self, seed: Seed, content: bytes) -> Reading:
        """Read the folder with this content of one file, and put the file back."""
        path = self.folder / seed.name
        path.write_bytes(content)
        try:
            return self.look(self.folder)
        finally:
            path.write_bytes(seed.content)


@dataclass(slots=True)
class ContentReader:
    """Reads content that is in no file: replies and requests."""

    seeds: Sequence[Seed]
    parse: Callable[[bytes], Reading]

    def read(self, seed: Seed, content: bytes) -> Reading:
        """Read the content."""
        return self.parse(content)


_FORMATS = {
    ".json": Format.JSON,
    ".jsonl": Format.LINES,
    ".yaml": Format.YAML,
    ".csv": Format.CSV,
    ".md": Format.TEXT,
    ".txt": Format.TEXT,
    ".bench": Format.TEXT,
}


def make_file_target(
    name: str,
    write: Callable[[Path], object],
    look: Callable[[Path], Reading],
    *,
    files: Iterable[str] = ("*",),
    refusals: tuple[type[Exception], ...] = (BenchError,),
) -> FuzzTarget:
    """A target that reads a folder; `write` makes the folder, and `files` are changed."""

    def open_folder(folder: Path) -> FileReader:
        write(folder)
        paths = sorted({path for each in files for path in folder.rglob(each) if path.is_file()})
        seeds = [
            Seed(
                path.read_bytes(),
                _FORMATS.get(path.suffix, Format.BYTES),
                path.relative_to(folder).as_posix(),
            )
            for path in paths
        ]
        return FileReader(folder, seeds, look)

    return FuzzTarget(name=name, open=open_folder, refusals=refusals)


def make_content_target(
    name: str,
    seeds: Iterable[bytes | str],
    parse: Callable[[bytes], Reading],
    *,
    kind: Format = Format.JSON,
    refusals: tuple[type[Exception], ...] = (BenchError,),
) -> FuzzTarget:
    """A target that reads one piece of content."""
    made = [Seed(each.encode() if isinstance(each, str) else each, kind) for each in seeds]
    return FuzzTarget(name=name, open=lambda _: ContentReader(made, parse), refusals=refusals)


def write_files(files: Mapping[str, bytes | str]) -> Callable[[Path], None]:
    """What writes these files into a folder."""

    def write(folder: Path) -> None:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write
