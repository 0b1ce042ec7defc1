"""The figures of the load suite: times, errors and recall at each rate, and where it saturates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.event import Observed
from recall_bench.features.suites.stories.load import CLIENTS, PHASES, RATES, REST, SIZES
from recall_bench.metrics.bootstrap import LEVEL
from recall_bench.metrics.estimate import Estimate, IntervalMethod, estimate_ratio
from recall_bench.metrics.latency import find_percentile, merge_histograms
from recall_bench.reporting.suites.figures import (
    Case,
    Figure,
    SuiteResults,
    has_atoms,
    has_retrieved_atoms,
    make_share,
)

_PERCENTILES = (50.0, 95.0, 99.0, 99.9)
_KEPT_UP = 0.95
"""A system keeps up with a rate if this share of the arrivals is done when the last has come."""
_SPARE_S = 0.25
"""What the last replies may take beyond that."""
_KINDS = {"query": "answer", "ingest": "write"}


@dataclass(frozen=True, slots=True)
class LoadLevel:
    """All memories of one size at one rate."""

    size: int
    rate: int
    seen: Sequence[Observed]

    def sum(self, *names: str) -> float:
        """Sum figures over the memories."""
        return sum(each.values.get(name, 0.0) for each in self.seen for name in names)

    @property
    def arrivals(self) -> int:
        """All arrivals."""
        return sum(each.count or 0 for each in self.seen)

    @property
    def stories(self) -> list[list[Observed]]:
        """The same by story: stories are done one after the other."""
        names = dict.fromkeys(each.scenario for each in self.seen)
        return [[each for each in self.seen if each.scenario == name] for name in names]

    @property
    def seconds(self) -> float:
        """From the first arrival to the last reply, of all stories together."""
        return sum(max(each.seconds or 0.0 for each in story) for story in self.stories)

    def share(self, parts: Sequence[str], wholes: Sequence[str]) -> Estimate | None:
        """The sum of some figures as a share of others; whole memories are resampled."""
        pairs = [(each, sum(each.values.get(name, 0.0) for name in wholes)) for each in self.seen]
        found = [(each, whole) for each, whole in pairs if whole]
        return estimate_ratio(
            [sum(each.values.get(name, 0.0) for name in parts) for each, _ in found],
            [whole for _, whole in found],
            [each.lane for each, _ in found],
            [each.scenario for each, _ in found],
            limits=(0.0, 1.0),
        )

    @property
    def throughput(self) -> float:
        """Arrivals done a second."""
        done = self.sum("answered", "written")
        return done / self.seconds if self.seconds else 0.0

    @property
    def is_kept_up(self) -> bool:
        """Whether the system kept up: nearly all arrivals were done, and not long after."""
        done = self.sum("answered", "written")
        in_time = all(
            (each.seconds or 0.0) <= each.values["planned_s"] / _KEPT_UP + _SPARE_S
            for each in self.seen
        )
        return self.arrivals > 0 and done >= _KEPT_UP * self.arrivals and in_time


def build_load_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the load suite."""
    return tuple(figure for size in SIZES for figure in _list_size(results, size))


def _list_size(results: SuiteResults, size: int) -> Iterator[Figure]:
    stories = [name for name in results.stories if name.startswith(f"days-{size}-")]
    if not stories:
        return
    seen = [each for name in stories for each in results.list_observed(name, "load")]
    levels = [
        LoadLevel(size, rate, [each for each in seen if each.phase == phase])
        for rate, phase in zip(RATES, PHASES[1:], strict=True)
    ]
    yield _find_saturation(size, levels)
    yield _estimate_rest(results, stories, size)
    for level in levels:
        yield from _list_level(level)
    yield _measure_user(size, levels[0])


def _find_saturation(size: int, levels: Sequence[LoadLevel]) -> Figure:
    kept = 0
    for level in levels:
        if not level.is_kept_up:
            break
        kept = level.rate
    is_all = kept == RATES[-1]
    return Figure(
        name=f"saturation/{size}d",
        label=f"{size} days: highest rate it keeps up with",
        estimate=_make_point(float(kept), len(levels)),
        unit="/s",
        note="the highest rate that was tried" if is_all else "",
        is_headline=True,
    )


def _estimate_rest(results: SuiteResults, stories: Sequence[str], size: int) -> Figure:
    cases = [
        Case(
            story=name, subject=each.item.id, happened=has_atoms(each) or has_retrieved_atoms(each)
        )
        for name in stories
        for each in results.list_results(name)
        if each.trial.checkpoint == REST
    ]
    return make_share(
        cases,
        name=f"recall/{size}d/rest",
        label=f"{size} days, at rest: value in answer or passages",
        best=1.0,
    )


def _list_level(level: LoadLevel) -> Iterator[Figure]:
    start = f"{level.size} days, {level.rate}/s: "
    place = f"{level.size}d/{level.rate}"
    yield Figure(
        name=f"recall/{place}",
        label=f"{start}value in answer or passages",
        estimate=level.share(["right"], ["asked"]),
        best=1.0,
        worst=0.0,
    )
    yield Figure(
        name=f"errors/{place}",
        label=f"{start}failed or too late",
        estimate=level.share(["errors", "timeouts"], ["arrivals"]),
        best=0.0,
        worst=1.0,
    )
    yield Figure(
        name=f"throughput/{place}",
        label=f"{start}done a second",
        estimate=_make_point(level.throughput, level.arrivals),
        unit="/s",
    )
    yield from list_resources(level)
    for kind, words in _KINDS.items():
        encoded = [e.histograms[kind] for e in level.seen if kind in e.histograms]
        merged = merge_histograms(encoded)
        for percent in _PERCENTILES:
            found = find_percentile(merged, percent)
            yield Figure(
                name=f"{kind}/p{percent:g}/{place}",
                label=f"{start}{words}, p{percent:g}",
                estimate=None if found is None else _make_point(found, merged.get_total_count()),
                unit="s",
                note="" if found is not None else "too few cases for this percentile",
                is_headline=kind == "query" and percent == 95.0 and level.rate == RATES[1],
            )


def list_resources(level: LoadLevel) -> Iterator[Figure]:
    """Processor time, memory and disk of the processes that we started for the system."""
    start = f"{level.size} days, {level.rate}/s: "
    place = f"{level.size}d/{level.rate}"
    # All memories share the processes, so each sees about the same: the most counts.
    cores = [
        100 * each.values["cpu_s"] / each.seconds
        for each in level.seen
        if "cpu_s" in each.values and each.seconds
    ]
    yield _make_resource(
        level, f"cpu/{place}", f"{start}processor time", max(cores, default=None), "% of a core"
    )
    rss = [each.values["rss_bytes"] / 1e6 for each in level.seen if "rss_bytes" in each.values]
    yield _make_resource(
        level, f"memory/{place}", f"{start}resident memory", max(rss, default=None), "MB"
    )
    # Each memory has a folder of its own.
    disk = [each.values["disk_bytes"] / 1e6 for each in level.seen if "disk_bytes" in each.values]
    total = sum(disk) / len(level.stories) if disk else None
    figure = _make_resource(level, f"disk/{place}", f"{start}on disk", total, "MB")
    yield figure.replace(note="" if disk else "no folder of it is known")


def _measure_user(size: int, level: LoadLevel) -> Figure:
    """What one more memory adds to the resident memory of the processes we started."""
    added = [
        each.values["added rss_bytes"] for each in level.seen if "added rss_bytes" in each.values
    ]
    found = None if not added else max(added) / CLIENTS / 1e6
    words = f"{size} days: memory of one more user"
    figure = _make_resource(level, f"memory-a-user/{size}d", words, found, "MB")
    if figure.estimate is None or not figure.note:
        return figure
    return figure.replace(note=f"{figure.note}, and with libraries that are loaded once")


def _make_resource(
    level: LoadLevel, name: str, label: str, value: float | None, unit: str
) -> Figure:
    is_shared = any(each.values.get("in our process") for each in level.seen)
    note = "in our process, with what sends the load" if is_shared else ""
    return Figure(
        name=name,
        label=label,
        estimate=None if value is None else _make_point(value, len(level.seen)),
        unit=unit,
        is_offered=value is not None or not level.seen,
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
