"""A dataset opened for an evaluation: the request, the scenarios and the questions asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Declared
from recall_bench.core.folders import describe_file
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.plan import DatasetCard, FileCard, ScenarioCard, build_scenario_card
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import RUNS, Settings
from recall_bench.judging.methodologies import STRICT, Methodology, find_methodology
from recall_bench.stories.catalogue import PublicDataset, find_dataset, find_source
from recall_bench.stories.dataset_folder import check_pin, find_download, find_layer_file

REPORTS = Path("reports")
"""Where reports go that were not given a folder."""


class EvalMode(StrEnum):
    """What of a history is kept to be searched."""

    RAW = "raw"
    CONSOLIDATED = "consolidated"
    """What a system makes of it, in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest:
    """A dataset, how it is measured, and how much of it."""

    dataset: str
    settings: Settings = field(default_factory=Settings)
    protocol: str = STRICT
    mode: EvalMode = EvalMode.RAW
    errata: tuple[str, ...] = ()
    """Optional corrections to lay over the gold: `audit`, or `audit=FILE`."""
    categories: tuple[str, ...] = ()
    """Only these; empty means all."""
    max_scenarios: int | None = None
    scenario_offset: int = 0
    skip_qa: bool = False
    answers_from: Path | None = None
    """A run folder whose recorded answers are judged and measured again; nothing is asked."""
    rebuild: bool = False
    floors: bool = True
    reports: Path = REPORTS

    def __post_init__(self) -> None:
        if self.max_scenarios is not None and self.max_scenarios < 1:
            raise UsageError(f"--max-scenarios: {self.max_scenarios} leaves nothing to ask")
        if self.scenario_offset < 0:
            raise UsageError(
                f"--scenario-offset: {self.scenario_offset} is not a count; give the number to skip"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDataset:
    """A dataset that can be asked."""

    dataset: PublicDataset
    methodology: Methodology
    card: DatasetCard
    scenarios: tuple[ScenarioCard, ...]
    questions: Mapping[str, Declared]
    has_choices: bool
    notes: tuple[str, ...]
    places: Mapping[str, int]
    """Where in the dataset each scenario stands."""
    source: Sequence[Scenario]
    narrowed: "QuestionFilter"

    def load(self, scenario: str) -> Scenario:
        """One scenario, built anew, with the questions that are asked."""
        return self.narrowed.apply(self.source[self.places[scenario]])


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """Which questions of a scenario are asked, and what its sessions are called."""

    methodology: Methodology
    categories: frozenset[str]

    def apply(self, scenario: Scenario) -> Scenario:
        """The scenario with these questions alone.

        Its sessions are named after it too: a system that mixes two histories up and gives the
        session of one for that of another is not taken at its word.
        """
        items = tuple(
            item
            for item in scenario.items
            if self.methodology.includes(item)
            and (not self.categories or item.truth.category in self.categories)
        )
        named = (episode.replace(id=f"{scenario.id}-{episode.id}") for episode in scenario.episodes)
        return scenario.replace(items=items, episodes=tuple(named))


def open_dataset(request: EvalRequest) -> OpenedDataset:
    """The dataset that a request names, read once from end to end.

    UsageError if it, its file, its protocol or one of the categories is not there.
    """
    dataset = find_dataset(request.dataset)
    methodology = find_methodology(dataset.family, request.protocol)
    data = _find_data(dataset, request)
    layers = dict(_find_layers(dataset, request, data))
    source = dataset.load(data, layers)
    if not source:
        raise DataError(f"{data}: there is no scenario in it; name the file that was published")
    end = None if request.max_scenarios is None else request.scenario_offset + request.max_scenarios
    places = range(len(source))[request.scenario_offset : end]
    if not places:
        raise UsageError(
            f"--scenario-offset: {dataset.name} has {len(source)} scenarios and none after "
            f"{request.scenario_offset}"
        )
    narrowing = QuestionFilter(methodology, frozenset(request.categories))
    read = _DatasetScan(narrowing)
    read.scan(source, places)
    read.refuse_unknown(request.categories)
    return OpenedDataset(
        dataset=dataset,
        methodology=methodology,
        card=DatasetCard(
            name=dataset.name,
            files=tuple(_describe_files(data, layers, _list_own_folders(request))),
            protocol=methodology.label,
            eval_version=methodology.eval_version,
            layers=tuple(layers),
        ),
        scenarios=tuple(read.cards),
        questions=read.questions,
        has_choices=read.has_choices,
        notes=tuple(_describe_data(dataset, data)),
        places=read.places,
        source=source,
        narrowed=narrowing,
    )


class _DatasetScan:
    """What one pass over a dataset tells."""

    def __init__(self, narrowing: QuestionFilter) -> None:
        self._narrowing = narrowing
        self._seen: dict[str, None] = {}
        self.cards: list[ScenarioCard] = []
        self.questions: dict[str, Declared] = {}
        self.places: dict[str, int] = {}
        self.has_choices = False

    def scan(self, source: Sequence[Scenario], places: range) -> None:
        """Look at the scenarios at these places, one at a time."""
        for place in places:
            whole = source[place]
            self._seen |= dict.fromkeys(item.truth.category for item in whole.items)
            scenario = self._narrowing.apply(whole)
            if not scenario.items:
                continue
            if scenario.id in self.places:
                raise DataError(f"two scenarios are called {scenario.id}; mend the loader")
            self.cards.append(build_scenario_card(scenario))
            self.places[scenario.id] = place
            self.has_choices = self.has_choices or any(item.choices for item in scenario.items)
            self.questions[scenario.id] = Declared(
                at=datetime.now(UTC),
                scenario=scenario.id,
                items=scenario.items,
                days=tuple(episode.day for episode in scenario.episodes),
            )

    def refuse_unknown(self, categories: Sequence[str]) -> None:
        """Raise UsageError for an unknown category, or if nothing is left to ask."""
        for name in categories:
            if name not in self._seen:
                hint = suggest_or_list(name, self._seen, f"there are {', '.join(self._seen)}")
                raise UsageError(f"--categories: no question is of {name!r}; {hint}")
        if not self.cards:
            raise UsageError("nothing is left to ask; name other --categories")


def _find_data(dataset: PublicDataset, request: EvalRequest) -> Path:
    given = request.settings.data
    if given is not None:
        if not given.exists():
            raise UsageError(f"--data: there is no file or folder {given}")
        return given
    source = find_source(dataset.name)
    if not source.is_published:
        obtain = source.obtain or f"{dataset.name} is of your own making"
        raise UsageError(f"{obtain.rstrip('.')}; name its files with --data")
    found = find_download(dataset.name)
    if found is None:
        raise UsageError(
            f"{dataset.name} is not downloaded; `recall-bench datasets download {dataset.name}` "
            "gets it, or name what you have with --data"
        )
    return found


def _find_layers(
    dataset: PublicDataset, request: EvalRequest, data: Path
) -> Iterator[tuple[str, Path]]:
    known = dataset.about.layers
    for word in request.errata:
        name, _, path = word.partition("=")
        if name not in known:
            raise UsageError(
                f"--errata: {dataset.name} has no corrections called {name!r}; "
                f"there are {', '.join(known) or 'none'}"
            )
        yield name, Path(path) if path else _find_layer(dataset, name, data)


def _find_layer(dataset: PublicDataset, name: str, data: Path) -> Path:
    folder = data if data.is_dir() else data.parent
    names = [file.name for file in find_source(dataset.name).files if file.layer == name]
    beside = [folder / each for each in names if (folder / each).is_file()]
    found = beside[0] if beside else find_layer_file(dataset.name, name)
    if found is None:
        raise UsageError(
            f"--errata: the corrections {name!r} are not here; `recall-bench datasets download "
            f"{dataset.name}` gets them, or say --errata {name}=FILE"
        )
    return found


def _list_own_folders(request: EvalRequest) -> tuple[Path, ...]:
    """Where runs and reports go, which may be below the data."""
    places = (RUNS, request.reports, request.settings.into)
    return tuple(path.resolve() for path in places if path is not None)


def _describe_files(
    data: Path, layers: Mapping[str, Path], ours: Sequence[Path]
) -> Iterator[FileCard]:
    parts = sorted(_list_files(data, ours)) if data.is_dir() else [data]
    for path in [*parts, *(layer for layer in layers.values() if layer not in parts)]:
        name = path.relative_to(data).as_posix() if path in parts and data.is_dir() else path.name
        yield describe_file(path, name)


def _list_files(data: Path, ours: Sequence[Path]) -> Iterator[Path]:
    """The files in a folder, but for our own: with those no two runs would have one plan."""
    folder = data.resolve()
    apart = [our for our in ours if folder in our.parents]
    for path in data.rglob("*"):
        inside = path.resolve()
        if path.is_file() and not any(inside.is_relative_to(each) for each in apart):
            yield path


def _describe_data(dataset: PublicDataset, data: Path) -> Iterator[str]:
    pinned = check_pin(dataset.name, data)
    if pinned:
        yield f"The data is, to the byte, {dataset.name} as it was published."
    if pinned is False:
        yield (
            f"{data.resolve().name} is not, to the byte, {dataset.name} as it was published; "
            "say so beside its numbers"
        )
    if not dataset.has_dates:
        yield f"{dataset.name} has no dates: its sessions are dated a day apart, in their order"
