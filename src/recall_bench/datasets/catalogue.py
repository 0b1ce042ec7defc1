"""The public datasets by name, and their sources in `sources.toml`: addresses, pinned digests."""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.core.suggestion import suggest_or_list
from recall_bench.datasets.public_dataset import PublicDataset

_SOURCES_FILE = Path(__file__).parent / "sources.toml"


class SourceFile(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One file as it was published."""

    name: str
    """Its path below the dataset's folder, with slashes."""
    urls: tuple[str, ...] = ()
    """Its addresses, tried in this order; empty means below the dataset's places."""
    bytes: int | None = None
    sha256: str | None = None
    """The pinned digest; None without a trusted one."""
    layer: str | None = None
    """The correction layer this file is, if it is not data."""


class FileListing(Record, frozen=True, kw_only=True):
    """A tree of many files, which its host lists at one revision."""

    url: str
    """Returns JSON in pages: `[{"type": "file", "path", "size", "lfs": {"oid"}}]`."""
    folder: str
    """The part of the tree that is the dataset; names are relative to it."""
    place: str
    """The address that the listed paths are relative to."""


class FileSeries(Record, frozen=True, kw_only=True):
    """Files whose names differ in a number."""

    names: tuple[str, ...]
    """With `{}` in the place of the number."""
    first: int
    last: int

    def list_files(self) -> tuple[SourceFile, ...]:
        """List the files by number, without pins."""
        numbers = range(self.first, self.last + 1)
        return tuple(
            SourceFile(name=name.format(number)) for number in numbers for name in self.names
        )


class DatasetSource(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Licence, addresses and files of a dataset."""

    licence: str
    terms: str | None = None
    """What to know before using it, beyond the licence's name."""
    homepage: str | None = None
    places: tuple[str, ...] = ()
    files: tuple[SourceFile, ...] = ()
    series: tuple[FileSeries, ...] = ()
    """Numbered files, which `load_sources` adds to the others."""
    listing: FileListing | None = None
    obtain: str | None = None
    """How to get its files where we cannot download them, in one sentence."""

    @property
    def is_published(self) -> bool:
        """Whether there is anything to download."""
        return bool(self.files) or self.listing is not None

    @property
    def is_one_file(self) -> bool:
        """Whether its data is a single file."""
        return self.listing is None and sum(file.layer is None for file in self.files) == 1

    @property
    def bytes(self) -> int | None:
        """The total length of all files; None unless every length is known."""
        sizes = [file.bytes for file in self.files]
        known = [size for size in sizes if size is not None]
        return sum(known) if sizes and len(known) == len(sizes) else None

    def list_urls(self, file: SourceFile) -> tuple[str, ...]:
        """Return every address of the file, best first."""
        return file.urls or tuple(f"{place}/{file.name}" for place in self.places)


@cache
def load_sources() -> dict[str, DatasetSource]:
    """Return the source of every dataset, by name."""
    raw = tomllib.loads(_SOURCES_FILE.read_text(encoding="utf-8"))
    read = msgspec.convert(raw, dict[str, DatasetSource])
    return {name: _add_series(source) for name, source in read.items()}


def _add_series(source: DatasetSource) -> DatasetSource:
    numbered = (file for each in source.series for file in each.list_files())
    return source.replace(files=(*source.files, *numbered), series=())


def find_source(name: str) -> DatasetSource:
    """Return the source of a dataset; UsageError if there is none."""
    if name not in load_sources():
        raise UsageError(f"no source is known for {name!r}; give its files with --data")
    return load_sources()[name]


_LOADERS = (
    "locomo",
    "longmemeval",
    "convomem",
    "membench",
    "personamem",
    "memoryarena",
    "beam",
    "longmemeval_v2",
    "memoryagentbench",
    "personamem_v2",
    "perltqa",
    "halumem",
    "realmem",
    "persona_json",
)
"""The modules with a tuple `DATASETS`, in the order of the documentation."""


def list_datasets() -> tuple[PublicDataset, ...]:
    """List all datasets, in the order of the documentation."""
    modules = (import_module(f"recall_bench.datasets.{name}") for name in _LOADERS)
    return tuple(dataset for module in modules for dataset in module.DATASETS)


def find_dataset(name: str) -> PublicDataset:
    """Return the dataset of this name; UsageError if there is none."""
    known = {dataset.name: dataset for dataset in list_datasets()}
    if name not in known:
        hint = suggest_or_list(name, known, f"available: {', '.join(known)}")
        raise UsageError(f"no dataset named {name!r}; {hint}")
    return known[name]
