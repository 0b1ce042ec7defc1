"""The load suite: memories of several sizes, asked at rising rates.

Its figures are times, errors and recall at each rate, and where a system saturates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.event import Observed
from recall_bench.core.random_stream import derive_seed
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    LoadStep,
    MemoryLane,
    SettleStep,
    Step,
    WaitStep,
    WriteStep,
)
from recall_bench.features.suites.latency import (
    find_percentile,
    merge_histograms,
    require_load_libraries,
)
from recall_bench.features.suites.shares import is_known, make_row_share
from recall_bench.features.suites.story_writer import StoryRequest, StoryWriter
from recall_bench.metrics.bootstrap import LEVEL
from recall_bench.metrics.estimate import Estimate, IntervalMethod, estimate_ratio
from recall_bench.reporting.suites.figures import Figure, SuiteResults

VERSION = "3"
CATEGORY = "load"

REST = "rest"
SIZES = (10, 100)
"""Days in each memory."""
VARIANTS = tuple(f"days-{size}" for size in SIZES)
RATES = (4, 16, 64, 256)
"""Arrivals a second at all memories of a story together."""
PHASES = (REST, *(f"{rate}/s" for rate in RATES))
CLIENTS = 4
"""Memories of a story, each a user of its own."""
WRITE_SHARE = 0.1
_ASKED = 4
_MOST_WRITES = 40
"""Days that are written to a memory at one rate: each has to be sent and kept."""
_EXPECTED_WRITES = 32
"""Where there would be more, this many on average: hardly ever more than the most."""
_PERCENTILES = (50.0, 95.0, 99.0, 99.9)
_KEPT_UP = 0.95
"""A system keeps up with a rate if this share of the arrivals is done when the last has come."""
_SPARE_S = 0.25
"""What the last replies may take beyond that."""
_KINDS = {"query": "answer", "ingest": "write"}


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw a story for each size; UsageError if what measures them is not installed."""
    require_load_libraries()
    for size in SIZES:
        for name in request.list_names(f"days-{size}"):
            writer = StoryWriter(request, name, CATEGORY)
            lanes = [_write_client(writer, request, size, client) for client in range(CLIENTS)]
            yield writer.finish(f"days-{size}", PHASES, *lanes)


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:  # noqa: ARG001
    """Nothing: every system can be fed and asked."""
    return ()


def _write_client(writer: StoryWriter, request: StoryRequest, size: int, place: int) -> MemoryLane:
    client = f"client-{place + 1}"
    steps: list[Step] = []
    items: list[str] = []
    for number in range(size):
        is_told = number % max(1, size // _ASKED) == 0 and len(items) < _ASKED
        fact = writer.facts.draw_fact() if is_told else None
        day = writer.write_day(*(() if fact is None else (fact.sentence,)))
        steps.append(WriteStep(phase=REST, episode=day))
        if fact is not None:
            items.append(
                writer.add_item(
                    f"{client}-{fact.id}",
                    fact.asks,
                    kind=REST,
                    reference=fact.value,
                    atoms=(fact.value,),
                )
            )
    questions = tuple(items)
    steps += [SettleStep(phase=REST), AskStep(phase=REST, items=questions)]
    for rate, phase in zip(RATES, PHASES[1:], strict=True):
        arrivals = rate / CLIENTS * request.load_s
        is_few = arrivals * WRITE_SHARE <= _MOST_WRITES
        # Small enough that the writes are spread over all of the time.
        write_share = WRITE_SHARE if is_few else _EXPECTED_WRITES / arrivals
        due = min(int(arrivals * write_share * 2) + 1, _MOST_WRITES)
        load = LoadStep(
            phase=phase,
            rate=rate / CLIENTS,
            seconds=request.load_s,
            items=questions,
            episodes=tuple(writer.write_day() for _ in range(due)),
            write_share=write_share,
            seed=derive_seed(request.seed, writer.name, client),
        )
        steps += [WaitStep(phase=phase, name=phase), load]
    return MemoryLane(name=client, opened_as=f"{writer.opaque}{place + 1}", steps=tuple(steps))


@dataclass(frozen=True, slots=True)
class LoadLevel:
    """All memories of one size at one rate."""

    size: int
    rate: int
    lanes: Sequence[Observed]

    @property
    def place(self) -> str:
        """How its figures are named."""
        return f"{self.size}d/{self.rate}"

    @property
    def title(self) -> str:
        """How their labels begin."""
        return f"{self.size} days, {self.rate}/s: "

    @property
    def arrivals(self) -> int:
        """All arrivals."""
        return sum(lane.count or 0 for lane in self.lanes)

    @property
    def done(self) -> float:
        """The arrivals that were answered or written."""
        return sum(
            lane.values.get(name, 0.0) for lane in self.lanes for name in ("answered", "written")
        )

    @property
    def stories(self) -> list[list[Observed]]:
        """The same by story: stories are done one after the other."""
        names = dict.fromkeys(lane.scenario for lane in self.lanes)
        return [[lane for lane in self.lanes if lane.scenario == name] for name in names]

    @property
    def throughput(self) -> float:
        """Arrivals done a second, from the first arrival to the last reply of each story."""
        seconds = sum(max(lane.seconds or 0.0 for lane in story) for story in self.stories)
        return self.done / seconds if seconds else 0.0

    @property
    def is_kept_up(self) -> bool:
        """Whether the system kept up: nearly all arrivals were done, and not long after."""
        in_time = all(
            (lane.seconds or 0.0) <= lane.values["planned_s"] / _KEPT_UP + _SPARE_S
            for lane in self.lanes
        )
        return self.arrivals > 0 and self.done >= _KEPT_UP * self.arrivals and in_time

    def share(self, parts: Sequence[str], whole: str) -> Estimate | None:
        """The sum of some figures as a share of another; whole memories are resampled."""
        lanes = [lane for lane in self.lanes if lane.values.get(whole)]
        return estimate_ratio(
            [sum(lane.values.get(name, 0.0) for name in parts) for lane in lanes],
            [lane.values[whole] for lane in lanes],
            [lane.lane for lane in lanes],
            [lane.scenario for lane in lanes],
            limits=(0.0, 1.0),
        )

    def list_values(self, name: str) -> list[float]:
        """A value of every memory that has it."""
        return [lane.values[name] for lane in self.lanes if name in lane.values]


def build_load_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the load suite."""
    return tuple(figure for size in SIZES for figure in _list_size(results, size))


def _list_size(results: SuiteResults, size: int) -> Iterator[Figure]:
    stories = [name for name in results.stories if name.startswith(f"days-{size}-")]
    if not stories:
        return
    loads = [load for name in stories for load in results.list_observed(name, "load")]
    levels = [
        LoadLevel(size, rate, [load for load in loads if load.phase == phase])
        for rate, phase in zip(RATES, PHASES[1:], strict=True)
    ]
    saturation = 0
    for level in levels:
        if not level.is_kept_up:
            break
        saturation = level.rate
    yield Figure(
        name=f"saturation/{size}d",
        label=f"{size} days: highest rate it keeps up with",
        estimate=_make_point(float(saturation), len(levels)),
        unit="/s",
        note="the highest rate that was tried" if saturation == RATES[-1] else "",
        is_headline=True,
    )
    yield make_row_share(
        f"recall/{size}d/rest",
        f"{size} days, at rest: value in answer or passages",
        (
            (name, result)
            for name in stories
            for result in results.list_results(name)
            if result.trial.checkpoint == REST
        ),
        is_known,
        best=1.0,
    )
    for level in levels:
        yield from _list_level(level)
    # What one more memory adds to the resident memory of the processes we started.
    added = [most / CLIENTS / 1e6 for most in levels[0].list_values("added rss_bytes")]
    figure = _make_resource(
        levels[0], f"memory-a-user/{size}d", f"{size} days: memory of one more user", added, "MB"
    )
    if figure.estimate is not None and figure.note:
        figure = figure.replace(note=f"{figure.note}, and with libraries that are loaded once")
    yield figure


def _list_level(level: LoadLevel) -> Iterator[Figure]:
    yield Figure(
        name=f"recall/{level.place}",
        label=f"{level.title}value in answer or passages",
        estimate=level.share(["right"], "asked"),
        best=1.0,
        worst=0.0,
    )
    yield Figure(
        name=f"errors/{level.place}",
        label=f"{level.title}failed or too late",
        estimate=level.share(["errors", "timeouts"], "arrivals"),
        best=0.0,
        worst=1.0,
    )
    yield Figure(
        name=f"throughput/{level.place}",
        label=f"{level.title}done a second",
        estimate=_make_point(level.throughput, level.arrivals),
        unit="/s",
    )
    yield from list_resources(level)
    for kind, words in _KINDS.items():
        merged = merge_histograms(
            [lane.histograms[kind] for lane in level.lanes if kind in lane.histograms]
        )
        for percent in _PERCENTILES:
            value = find_percentile(merged, percent)
            yield Figure(
                name=f"{kind}/p{percent:g}/{level.place}",
                label=f"{level.title}{words}, p{percent:g}",
                estimate=None if value is None else _make_point(value, merged.get_total_count()),
                unit="s",
                note="" if value is not None else "too few cases for this percentile",
                is_headline=kind == "query" and percent == 95.0 and level.rate == RATES[1],
            )


def list_resources(level: LoadLevel) -> Iterator[Figure]:
    """Processor time, memory and disk of the processes that we started for the system."""
    cores = [
        100 * lane.values["cpu_s"] / lane.seconds
        for lane in level.lanes
        if "cpu_s" in lane.values and lane.seconds
    ]
    yield _make_resource(
        level, f"cpu/{level.place}", f"{level.title}processor time", cores, "% of a core"
    )
    rss = [most / 1e6 for most in level.list_values("rss_bytes")]
    yield _make_resource(level, f"memory/{level.place}", f"{level.title}resident memory", rss, "MB")
    # Each memory has a folder of its own.
    disk = level.list_values("disk_bytes")
    total = [sum(size / 1e6 for size in disk) / len(level.stories)] if disk else []
    figure = _make_resource(level, f"disk/{level.place}", f"{level.title}on disk", total, "MB")
    yield figure.replace(note="" if disk else "no folder of it is known")


def _make_resource(
    level: LoadLevel, name: str, label: str, values: Iterable[float], unit: str
) -> Figure:
    """All memories share the processes, so each sees about the same: the most counts."""
    value = max(values, default=None)
    is_shared = any(lane.values.get("in our process") for lane in level.lanes)
    note = "in our process, with what sends the load" if is_shared else ""
    return Figure(
        name=name,
        label=label,
        estimate=None if value is None else _make_point(value, len(level.lanes)),
        unit=unit,
        is_offered=value is not None or not level.lanes,
        note=note if value is not None else "no process of it was started by us",
    )


def _make_point(value: float, count: int) -> Estimate:
    """A figure without an interval."""
    return Estimate(
        value=value,
        low=None,
        high=None,
        level=LEVEL,
        method=IntervalMethod.NONE,
        questions=count,
        personas=1,
        trials=count,
        missing=0,
    )
