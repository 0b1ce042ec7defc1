"""What is known of a public dataset: its card, and what its data holds."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

from recall_bench.core.question import Expects, Item, Scenario
from recall_bench.core.record import Record
from recall_bench.datasets.catalogue import find, public_datasets
from recall_bench.datasets.public import PublicDataset
from recall_bench.datasets.sources import SourceFile, source_of
from recall_bench.downloading.places import (
    Presence,
    files_of,
    folder_of,
    is_pinned,
    located,
    part_of,
    presence_of,
    presence_of_all,
)

Denominators = Callable[[PublicDataset, Item], Iterable[str]]
"""The names of the counts a question belongs to, as the protocols of its dataset have them."""

Telling = Callable[[str], None]


class FilePresence(Record, frozen=True, kw_only=True):
    """One file of a dataset, and how much of it is here."""

    name: str
    state: Presence
    layer: str | None
    is_pinned: bool
    bytes: int | None
    """As published, where that is known."""
    bytes_here: int
    """On disk now, in part or in full."""


class Entry(Record, frozen=True, kw_only=True):
    """A line in the list of datasets."""

    name: str
    title: str
    licence: str
    terms: str | None
    homepage: str | None
    state: Presence | None
    """None where there is nothing to download."""
    is_pinned: bool | None
    """Whether every data file has a pin; None where there is nothing to download."""
    bytes: int | None
    bytes_here: int
    files: tuple[FilePresence, ...]


class Counts(Record, frozen=True, kw_only=True):
    """What the data holds."""

    scenarios: int
    sessions: int
    turns: int
    questions: int
    categories: dict[str, int]
    abstaining: int
    """Questions whose right answer is that nothing is known."""
    turn_evidence: int
    """Questions that cite at least one turn."""
    session_evidence: int
    """Questions that cite whole sessions only."""
    no_evidence: int
    choices: int
    """Questions that offer options."""
    first_session: date | None
    last_session: date | None
    """None where the dataset has no dates of its own."""
    denominators: dict[str, int]


class Note(Record, frozen=True, kw_only=True):
    """Something by its name, in a sentence."""

    name: str
    concerns: str


class Card(Record, frozen=True, kw_only=True):
    """All that is known of a dataset."""

    entry: Entry
    family: str
    has_dates: bool
    notes: tuple[str, ...]
    errata: tuple[Note, ...]
    layers: tuple[Note, ...]
    data: str | None
    """What was counted; None where there is no data."""
    is_published: bool | None
    """Whether that is to the byte what was published; None where nobody can tell."""
    counts: Counts | None


def entries() -> tuple[Entry, ...]:
    """Every dataset there is, in the catalogue's order."""
    return tuple(_entry(dataset) for dataset in public_datasets())


def card_of(
    name: str,
    data: Path | None = None,
    *,
    denominators: Denominators | None = None,
    telling: Telling | None = None,
) -> Card:
    """The card of a dataset, with counts of the data given or, failing that, downloaded."""
    dataset = find(name)
    entry = _entry(dataset)
    place = data if data is not None else located(name)
    counts, is_published = None, None
    if place is not None:
        scenarios = dataset.load(place, {})
        counts = _count(dataset, scenarios, denominators or _none, telling or _silently)
        # What was downloaded was checked when it was located.
        is_published = is_pinned(name, place) if data is not None else entry.is_pinned or None
    return Card(
        entry=entry,
        family=dataset.family,
        has_dates=dataset.has_dates,
        notes=dataset.notes,
        errata=tuple(Note(name=one.name, concerns=one.concerns) for one in dataset.errata),
        layers=tuple(Note(name=one.name, concerns=one.concerns) for one in dataset.layers),
        data=str(place) if place is not None else None,
        is_published=is_published,
        counts=counts,
    )


def _entry(dataset: PublicDataset) -> Entry:
    name, source = dataset.name, source_of(dataset.name)
    files = tuple(_file(name, file) for file in files_of(name))
    data = [file for file in files if file.layer is None]
    is_certain = source.listing is None and all(file.is_pinned for file in data)
    return Entry(
        name=name,
        title=dataset.title,
        licence=source.licence,
        terms=source.terms,
        homepage=source.homepage,
        state=presence_of_all(name) if source.is_published else None,
        is_pinned=is_certain if source.is_published else None,
        bytes=source.bytes,
        bytes_here=sum(file.bytes_here for file in files),
        files=files,
    )


def _file(name: str, file: SourceFile) -> FilePresence:
    path = folder_of(name) / file.name
    return FilePresence(
        name=file.name,
        state=presence_of(name, file),
        layer=file.layer,
        is_pinned=file.sha256 is not None,
        bytes=file.bytes,
        bytes_here=sum(here.stat().st_size for here in (path, part_of(path)) if here.exists()),
    )


def _count(
    dataset: PublicDataset,
    scenarios: Iterable[Scenario],
    denominators: Denominators,
    telling: Telling,
) -> Counts:
    """Count scenario by scenario: a dataset need not fit into memory."""
    totals: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    belongs: Counter[str] = Counter()
    days: set[date] = set()
    for scenario in scenarios:
        telling(f"counting {scenario.id}")
        totals.update(scenarios=1, sessions=len(scenario.episodes))
        totals.update(turns=sum(len(episode.turns) for episode in scenario.episodes))
        days.update(_ends(scenario) if dataset.has_dates else ())
        for item in scenario.items:
            totals.update(_kinds(item))
            categories[item.truth.category] += 1
            belongs.update(denominators(dataset, item))
    return Counts(
        **{field: totals[field] for field in _COUNTED},
        categories=dict(sorted(categories.items())),
        first_session=min(days, default=None),
        last_session=max(days, default=None),
        denominators=dict(belongs),
    )


_COUNTED = (
    "scenarios",
    "sessions",
    "turns",
    "questions",
    "abstaining",
    "turn_evidence",
    "session_evidence",
    "no_evidence",
    "choices",
)


def _kinds(item: Item) -> Iterator[str]:
    yield "questions"
    evidence = item.truth.evidence
    if any(cited.turn is not None for cited in evidence):
        yield "turn_evidence"
    else:
        yield "session_evidence" if evidence else "no_evidence"
    if item.truth.expects is Expects.ABSTAIN:
        yield "abstaining"
    if item.choices:
        yield "choices"


def _ends(scenario: Scenario) -> Iterator[date]:
    if scenario.episodes:
        yield scenario.episodes[0].at.date()
        yield scenario.episodes[-1].at.date()


def _none(_dataset: PublicDataset, _item: Item) -> Iterable[str]:
    return ()


def _silently(_what: str) -> None:
    """Tell nobody."""
