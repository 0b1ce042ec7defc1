"""The public datasets by name. All that is no code about them is in `datasets.toml`."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.feature import list_offers, load_target
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.record import Record
from recall_bench.core.scenario import Scenario

_FILE = Path(__file__).parent / "datasets.toml"


Load = Callable[..., Sequence[Scenario]]
"""Reads the dataset's file or folder, with corrections by name and options of the loader.

Scenarios come in file order and may be built on demand. The ids that a system sees (of scenarios,
episodes and sessions) must reveal nothing about the answers.
"""


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


class DatasetSource(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A dataset with its loader, licence, addresses and files."""

    licence: str
    title: str = ""
    family: str | None = None
    """None if it is the name of the dataset."""
    loader: str = ""
    """`package.module:function`, imported when the dataset is loaded."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """What the loader is told beside the place of the data."""
    has_dates: bool = True
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
        sizes = [file.bytes for file in self.files if file.bytes is not None]
        return sum(sizes) if sizes and len(sizes) == len(self.files) else None

    def list_urls(self, file: SourceFile) -> tuple[str, ...]:
        """Return every address of the file, best first."""
        return file.urls or tuple(f"{place}/{file.name}" for place in self.places)


class DatasetNotes(Record, frozen=True, kw_only=True):
    """What to know before quoting a number."""

    measures: str = ""
    """What it measures, in a few words."""
    notes: tuple[str, ...] = ()
    """Facts, a sentence each."""
    assumptions: tuple[str, ...] = ()
    """What the loader takes for granted and upstream does not state, a sentence each."""
    published: tuple[str, ...] = ()
    """Published figures and whether their protocol can be reproduced here, a sentence each."""
    default: dict[str, str] = msgspec.field(default_factory=dict)
    """By dataset, figures of the embedded default (`hybrid`, by `strict`) where it was run."""
    errata: dict[str, str] = msgspec.field(default_factory=dict)
    """Known faults of the published file by name, each with its treatment in one sentence."""
    layers: dict[str, str] = msgspec.field(default_factory=dict)
    """Published corrections of the gold by their value of `--errata`, in one sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """One dataset in one of its sizes or views."""

    name: str
    """The value of `--dataset`: `longmemeval-s`."""
    family: str
    """The family of protocols that measure it: `longmemeval`."""
    title: str
    load: Load
    has_dates: bool
    """Whether its times are real; if not, its sessions are a day apart, in their order."""

    @property
    def about(self) -> DatasetNotes:
        """The notes on this dataset, or on its family."""
        notes = load_notes()
        entry = notes.get(self.name) or notes.get(self.family)
        if entry is None and self.name in load_sources():
            raise LookupError(f"{self.name}: {_FILE.name} has no entry [notes.{self.family}]")
        return entry or DatasetNotes()


@cache
def read_tables() -> dict[str, Any]:
    """Read `datasets.toml`: sources, notes and protocols."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


@cache
def load_sources() -> dict[str, DatasetSource]:
    """Return the source of every dataset, by name, in the order of the documentation."""
    sources = msgspec.convert(read_tables()["sources"], dict[str, DatasetSource])
    return {name: _add_series(source) for name, source in sources.items()}


def _add_series(source: DatasetSource) -> DatasetSource:
    numbered = (
        SourceFile(name=name.format(number))
        for series in source.series
        for number in range(series.first, series.last + 1)
        for name in series.names
    )
    return source.replace(files=(*source.files, *numbered), series=())


@cache
def load_notes() -> dict[str, DatasetNotes]:
    """Return the notes on every dataset, by dataset or family."""
    return msgspec.convert(read_tables()["notes"], dict[str, DatasetNotes])


def find_source(name: str) -> DatasetSource:
    """Return the source of a dataset; UsageError if there is none."""
    if name in list_offers("loaders"):
        return DatasetSource(licence="not stated", title=name)
    if name not in load_sources():
        raise UsageError(f"no source is known for {name!r}; give its files with --data")
    return load_sources()[name]


@cache
def list_datasets() -> tuple[PublicDataset, ...]:
    """List all datasets, ours in the order of the documentation. No loader is imported."""
    ours = tuple(
        PublicDataset(
            name=name,
            family=source.family or name,
            title=source.title,
            load=partial(_load, source),
            has_dates=source.has_dates,
        )
        for name, source in load_sources().items()
    )
    others = (
        PublicDataset(
            name=name, family=name, title=name, load=partial(_load_offer, target), has_dates=True
        )
        for name, target in list_offers("loaders").items()
    )
    return (*ours, *others)


def _load_offer(target: str, data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    scenarios: Sequence[Scenario] = load_target(target)(data, layers)
    return scenarios


def _load(source: DatasetSource, data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    load: Load = load_target(source.loader)
    return load(data, layers, **source.options)


def find_dataset(name: str) -> PublicDataset:
    """Return the dataset of this name; UsageError if there is none."""
    datasets = {dataset.name: dataset for dataset in list_datasets()}
    if name not in datasets:
        hint = suggest_or_list(name, datasets, f"available: {', '.join(datasets)}")
        raise UsageError(f"no dataset named {name!r}; {hint}")
    return datasets[name]
