"""The description of a public dataset, and counts of its data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

from recall_bench.core.record import Record
from recall_bench.core.scenario import Expects, Item, Scenario
from recall_bench.stories.catalogue import (
    PublicDataset,
    SourceFile,
    find_dataset,
    find_source,
    list_datasets,
)
from recall_bench.stories.dataset_folder import (
    Presence,
    check_dataset_presence,
    check_pin,
    check_presence,
    find_download,
    list_files,
    locate_folder,
    name_part_file,
)

Denominators = Callable[[PublicDataset, Item], Iterable[str]]
"""Returns the denominators of the dataset's protocols that a question counts in."""

OnProgress = Callable[[str], None]


class FilePresence(Record, frozen=True, kw_only=True):
    """One file of a dataset, and how much of it is downloaded."""

    name: str
    state: Presence
    layer: str | None
    is_pinned: bool
    bytes: int | None
    """The published length, if known."""
    bytes_here: int
    """The length on disk, complete or not."""


class DatasetEntry(Record, frozen=True, kw_only=True):
    """One row in the list of datasets."""

    name: str
    title: str
    measures: str
    licence: str
    terms: str | None
    homepage: str | None
    obtain: str | None
    """How to get it where we cannot download it."""
    default: str | None
    """Figures of the embedded default; None where it was not run."""
    state: Presence | None
    """None if there is nothing to download."""
    is_pinned: bool | None
    """Whether every data file is pinned; None if there is nothing to download."""
    bytes: int | None
    bytes_here: int
    files: tuple[FilePresence, ...]


class DatasetCounts(Record, frozen=True, kw_only=True):
    """Counts of the data."""

    scenarios: int
    sessions: int
    turns: int
    questions: int
    categories: dict[str, int]
    abstaining: int
    """Questions whose right answer is to abstain."""
    turn_evidence: int
    """Questions that cite at least one turn."""
    session_evidence: int
    """Questions that cite whole sessions only."""
    no_evidence: int
    choices: int
    """Questions that offer options."""
    first_session: date | None
    last_session: date | None
    """None if the dataset has no dates."""
    denominators: dict[str, int]


class DatasetNote(Record, frozen=True, kw_only=True):
    """A named note of one sentence."""

    name: str
    concerns: str


class DatasetDescription(Record, frozen=True, kw_only=True):
    """The description of a dataset."""

    entry: DatasetEntry
    family: str
    has_dates: bool
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    published: tuple[str, ...]
    errata: tuple[DatasetNote, ...]
    layers: tuple[DatasetNote, ...]
    data: str | None
    """The data that was counted; None without data."""
    is_published: bool | None
    """Whether that is byte for byte what was published; None if unknown."""
    counts: DatasetCounts | None


def list_entries() -> tuple[DatasetEntry, ...]:
    """List every dataset, in the catalogue's order."""
    return tuple(_build_entry(dataset) for dataset in list_datasets())


def build_card(
    name: str,
    data: Path | None = None,
    *,
    denominators: Denominators = lambda *_: (),
    on_progress: OnProgress = lambda _: None,
) -> DatasetDescription:
    """Describe a dataset, with counts of the given or else of the downloaded data."""
    dataset = find_dataset(name)
    entry = _build_entry(dataset)
    place = data if data is not None else find_download(name)
    counts, is_published = None, None
    if place is not None:
        scenarios = dataset.load(place, {})
        counts = _count_scenarios(dataset, scenarios, denominators, on_progress)
        # What was downloaded was checked when it was located.
        is_published = check_pin(name, place) if data is not None else entry.is_pinned or None
    return DatasetDescription(
        entry=entry,
        family=dataset.family,
        has_dates=dataset.has_dates,
        notes=dataset.about.notes,
        assumptions=dataset.about.assumptions,
        published=dataset.about.published,
        errata=_list_notes(dataset.about.errata),
        layers=_list_notes(dataset.about.layers),
        data=str(place) if place is not None else None,
        is_published=is_published,
        counts=counts,
    )


def _list_notes(described: dict[str, str]) -> tuple[DatasetNote, ...]:
    return tuple(DatasetNote(name=name, concerns=text) for name, text in described.items())


def _build_entry(dataset: PublicDataset) -> DatasetEntry:
    name, source = dataset.name, find_source(dataset.name)
    files = tuple(_describe_file(name, file) for file in list_files(name))
    data = [file for file in files if file.layer is None]
    is_certain = source.listing is None and all(file.is_pinned for file in data)
    return DatasetEntry(
        name=name,
        title=dataset.title,
        measures=dataset.about.measures,
        licence=source.licence,
        terms=source.terms,
        homepage=source.homepage,
        obtain=source.obtain,
        default=dataset.about.default.get(name),
        state=check_dataset_presence(name) if source.is_published else None,
        is_pinned=is_certain if source.is_published else None,
        bytes=source.bytes,
        bytes_here=sum(file.bytes_here for file in files),
        files=files,
    )


def _describe_file(name: str, file: SourceFile) -> FilePresence:
    path = locate_folder(name) / file.name
    return FilePresence(
        name=file.name,
        state=check_presence(name, file),
        layer=file.layer,
        is_pinned=file.sha256 is not None,
        bytes=file.bytes,
        bytes_here=sum(
            here.stat().st_size for here in (path, name_part_file(path)) if here.exists()
        ),
    )


def _count_scenarios(
    dataset: PublicDataset,
    scenarios: Iterable[Scenario],
    denominators: Denominators,
    on_progress: OnProgress,
) -> DatasetCounts:
    """Count scenario by scenario: a dataset need not fit into memory."""
    totals: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    belongs: Counter[str] = Counter()
    days: set[date] = set()
    for scenario in scenarios:
        on_progress(f"counting {scenario.id}")
        totals.update(scenarios=1, sessions=len(scenario.episodes))
        totals.update(turns=sum(len(episode.turns) for episode in scenario.episodes))
        days.update(_list_ends(scenario) if dataset.has_dates else ())
        for item in scenario.items:
            totals.update(_list_kinds(item))
            categories[item.truth.category] += 1
            belongs.update(denominators(dataset, item))
    return DatasetCounts(
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


def _list_kinds(item: Item) -> Iterator[str]:
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


def _list_ends(scenario: Scenario) -> Iterator[date]:
    if scenario.episodes:
        yield scenario.episodes[0].at.date()
        yield scenario.episodes[-1].at.date()
