"""Memory, processor time and disk of the processes of a system, where we started them.

Adapters and programs run in processes of their own, which are measured. Built-ins run in this
process, together with what sends the load. A server that was started elsewhere is not measured.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What some processes use."""

    count: int
    rss_bytes: float
    cpu_s: float


class ResourceMeter:
    """Measures the processes that this one started, or this one if the system runs in it."""

    def __init__(self, *, is_here: bool) -> None:
        self._is_here = is_here
        self._start = _measure_processes()

    def read_cpu(self) -> float | None:
        """The processor time of the system's processes until now; None if they are not ours."""
        processes = self._choose(_measure_processes())
        return None if processes is None else processes[1].cpu_s

    def measure(self, folder: Path | None, cpu_before_s: float | None) -> dict[str, float]:
        """What is used now, added since the start, and on disk where a folder is known."""
        processes = self._choose(_measure_processes())
        resources: dict[str, float] = {}
        if processes is not None:
            start, now = processes
            resources = {
                "rss_bytes": now.rss_bytes,
                "added rss_bytes": now.rss_bytes - start.rss_bytes,
                "added cpu_s": now.cpu_s - start.cpu_s,
                "in our process": float(not now.count),
            }
            if cpu_before_s is not None:
                resources["cpu_s"] = max(0.0, now.cpu_s - cpu_before_s)
        if folder is not None:
            resources["disk_bytes"] = float(sum(_find_size(path) for path in folder.rglob("*")))
        return resources

    def _choose(
        self, now: tuple[ProcessUsage, ProcessUsage]
    ) -> tuple[ProcessUsage, ProcessUsage] | None:
        """What there was at the start and what there is now, of the processes that count."""
        own, started = now
        if started.count:
            return self._start[1], started
        return (self._start[0], own) if self._is_here else None


def _measure_processes() -> tuple[ProcessUsage, ProcessUsage]:
    """Measure this process, which counts as none, and all that it started."""
    import psutil

    own = psutil.Process()
    return _sum_usage([own], 0), _sum_usage(children := own.children(recursive=True), len(children))


def _sum_usage(processes: list["psutil.Process"], count: int) -> ProcessUsage:
    import psutil

    rss_bytes = cpu_s = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
            rss_bytes += process.memory_info().rss
            cpu_s += times.user + times.system
        except psutil.Error:
            # It ended while it was looked at.
            continue
    return ProcessUsage(count, rss_bytes, cpu_s)


def _find_size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0
