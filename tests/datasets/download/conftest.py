"""A cache of its own, a server on loopback, and datasets that are published there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest

from recall_bench.core.scenario import Episode, Evidence, Expects, Item, Scenario, Truth, Turn
from recall_bench.datasets import catalogue, dataset_card
from recall_bench.datasets import download as download_module
from recall_bench.datasets.catalogue import DatasetNotes, DatasetSource, PublicDataset, SourceFile
from recall_bench.datasets.download import DownloadOptions, download
from tests.datasets.download.server import Server, serving

BODY = bytes(range(256)) * 400
"""A hundred thousand bytes, more than a buffer holds."""

Publish = Callable[..., None]


@dataclass
class Listener:
    """Keeps what it is told."""

    lines: list[str] = field(default_factory=list)
    reached: list[tuple[str, int, int | None]] = field(default_factory=list)

    def update(self, what: str, done: int, total: int | None) -> None:
        self.reached.append((what, done, total))

    def note(self, line: str) -> None:
        self.lines.append(line)


def get(*names: str, **ways: object) -> Listener:
    """What is told while these datasets are downloaded."""
    watch = Listener()
    download(names, DownloadOptions(**ways), watch)  # type: ignore[arg-type]
    return watch


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def watch() -> Listener:
    return Listener()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def pinned(name: str, body: bytes, *urls: str, layer: str | None = None) -> SourceFile:
    digest = sha256(body).hexdigest()
    return SourceFile(name=name, urls=urls, bytes=len(body), sha256=digest, layer=layer)


def scenario(_data: Path) -> Scenario:
    """A talk of two sessions, and four questions of every kind."""
    episodes = tuple(
        Episode(
            id=f"s{day}",
            day=day,
            at=datetime(2024, 1, day),
            text="hello",
            turns=(Turn(speaker="a", text="hello"), Turn(speaker="b", text="hello")),
        )
        for day in (1, 2)
    )
    truths = (
        Truth(reference="x", category="facts", evidence=(Evidence(day=1, turn=1),)),
        Truth(reference="x", category="facts", evidence=(Evidence(day=1),)),
        Truth(reference="x", category="tricks", expects=Expects.ABSTAIN),
        Truth(
            reference="x", category="letters", evidence=(Evidence(day=1), Evidence(day=2, turn=0))
        ),
    )
    items = tuple(
        Item(
            id=f"q{number}",
            text="?",
            truth=truth,
            known_from=2,
            choices=("(A) x", "(B) y") if truth.category == "letters" else (),
        )
        for number, truth in enumerate(truths)
    )
    return Scenario(id="talk", epoch=episodes[0].at.date(), episodes=episodes, items=items)


def _load(data: Path, _layers: Mapping[str, Path]) -> Sequence[Scenario]:
    assert data.exists()
    return [scenario(data)]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """`publish(talks=Source(...))`: datasets of these names, and no others."""

    def put(**published: DatasetSource) -> None:
        datasets = tuple(
            PublicDataset(
                name=name,
                family="talks",
                title=f"The {name}",
                load=_load,
                has_dates=name != "dateless",
            )
            for name in published
        )
        for module in (catalogue, download_module, dataset_card):
            monkeypatch.setattr(module, "list_datasets", lambda: datasets)
        about = DatasetNotes(
            notes=("A note.",),
            errata={"typos": "Three words are misspelt."},
            layers={"audit": "Somebody found two errors."},
        )
        monkeypatch.setattr(catalogue, "load_notes", lambda: {"talks": about})
        monkeypatch.setattr(catalogue, "load_sources", lambda: published)

    return put
