"""Compare memory systems: two personas and LoCoMo, one budget, one reader, one machine.

python benchmarks/systems.py --work FOLDER --locomo locomo10.json       all systems
python benchmarks/systems.py --work FOLDER --only chroma bm25           these, again
python benchmarks/systems.py --work FOLDER --table docs/results/systems.md    the table of what is
                                                                        in FOLDER, nothing run

Each system's figures are stored in FOLDER, so an interrupted run can continue. A product runs in its
own environment (`make product NAME=…`) and process; a built-in runs in this one. The same extractive
reader writes every answer from the ten best passages that a system returned.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import anyio
import msgspec

import recall_bench
from recall_bench.core.memory import MemorySystem
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.systems.resolver import resolve_system
from recall_bench.text.passage_tracer import PassageTracer

BUILT_IN = ("none", "random", "bm25", "vector", "hybrid")
PRODUCTS = (
    *("files", "chroma", "lancedb", "qdrant", "txtai", "llama-index", "langmem"),
    *("mem0", "mempalace", "hebb-mind", "mcp-server-memory"),
)
PERSONAS = ("er-physician", "financial-advisor")
RANGES = ("180d",)
TOP_K = 10
ROOT = Path(__file__).parents[1]


class Figures(msgspec.Struct, kw_only=True):
    """One system's row."""

    system: str
    version: str
    clock: str | None
    asker: str
    at: str
    mean: float
    mean_interval: tuple[float, float] | None
    trials: int
    failed: int
    ingest_s: float
    """Seconds to ingest and settle both personas."""
    p50_ms: float
    p95_ms: float
    disk_mb: float
    """The peak size of its folders."""
    tokens: float
    """Mean tokens of the passages of an answer."""
    traced: float | None
    turn_recall: float | None = None
    turn_interval: tuple[float, float] | None = None
    session_recall: float | None = None
    session_interval: tuple[float, float] | None = None
    locomo_ingest_s: float | None = None
    locomo_questions: int = 0


def find_target(name: str, products: Path = ROOT / ".products") -> str:
    """The value of `--adapter`: a name, or a command in the product's environment."""
    python = products / name / "bin" / "python"
    if name in BUILT_IN or name == "files" or not python.exists():
        return name
    return f"command:{python} -m recall_bench serve {name} --stdio"


class TemporaryStorage:
    """The temporary folder of everything that a system writes, and its peak size."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="systems-"))
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._measure, daemon=True)
        self.peak = 0

    def __enter__(self) -> Self:
        self._before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self._folder)
        tempfile.tempdir = None
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()
        tempfile.tempdir = None
        if self._before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = self._before
        shutil.rmtree(self._folder, ignore_errors=True)

    def _measure(self) -> None:
        while not self._over.wait(0.5):
            self.peak = max(self.peak, sum(_list_sizes(self._folder)))


def _list_sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
            except OSError:
                continue


def measure_personas(name: str, work: Path) -> Figures:
    """Run the first half year of the two personas."""
    folder = work / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    with TemporaryStorage() as storage:
        done = recall_bench.run(
            adapter=find_target(name),
            personas=PERSONAS,
            arcs="arcs-1000d.yaml",
            edition=2,
            ranges=RANGES,
            groups_enabled=True,
            reader="extractive",
            top_k=TOP_K,
            lifecycle="growing",
            into=folder,
            heatmap_png=False,
        )
    run, overall = done.folder, done.summary.overall
    marks, questions, strata = [], [], []
    for scenario in run.scenarios:
        for result in run.results(scenario):
            verdict = getattr(result.outcome, "verdict", None)
            marks.append(float(verdict.composite) if verdict else 0.0)
            questions.append(result.trial.item)
            strata.append(scenario)
    found = estimate_mean(marks, questions, strata, limits=(0.0, 6.0))
    card, service = run.plan.system, run.service
    clocks = [part.clock for part in done.summary.checkpoints]
    deliveries = service.deliveries
    return Figures(
        system=name,
        version=card.version,
        clock=card.clock.value if card.clock else None,
        asker=card.asker.value,
        at=datetime.now(UTC).isoformat(timespec="minutes"),
        mean=statistics.fmean(marks),
        mean_interval=found.interval if found else None,
        trials=overall.owed,
        failed=overall.not_answered,
        ingest_s=sum(clock.ingest_s + clock.settle_s for clock in clocks),
        p50_ms=1000 * (service.compute_latency(0.5) or 0),
        p95_ms=1000 * (service.compute_latency(0.95) or 0),
        disk_mb=storage.peak / 1e6,
        tokens=deliveries.tokens / max(1, deliveries.answers),
        traced=deliveries.traced_share,
    )


async def measure_locomo(system: MemorySystem, scenarios: list[Scenario], row: Figures) -> None:
    """Add turn and session recall at ten, on questions of categories 1 to 4 that cite a turn."""
    turns, sessions, questions, strata = [], [], [], []
    fed_s = 0.0
    for scenario in scenarios:
        memory = await system.open(scenario.id)
        started = time.perf_counter()
        for episode in scenario.episodes:
            await memory.ingest(episode)
        await memory.settle()
        fed_s += time.perf_counter() - started
        tracer, at = PassageTracer(scenario.episodes), scenario.compute_date(scenario.last_day)
        for item in scenario.items:
            if item.truth.category == "adversarial" or not item.truth.evidence:
                continue
            reply = await memory.answer(item.ask(scenario.id, at, TOP_K))
            found = [tracer.trace(each, scenario.last_day) for each in reply.passages[:TOP_K]]
            cited = {(each.day, each.turn) for each in item.truth.evidence}
            days = {day for day, _ in cited}
            turns.append(len(cited & {(each.day, each.turn) for each in found}) / len(cited))
            sessions.append(len(days & {each.day for each in found}) / len(days))
            questions.append(item.id)
            strata.append(scenario.id)
        await memory.close()
    await system.close()
    # The interval resamples the ten conversations.
    names = [str(number) for number in range(len(strata))]
    both = [estimate_mean(values, names, strata, limits=(0.0, 1.0)) for values in (turns, sessions)]
    row.turn_recall, row.session_recall = statistics.fmean(turns), statistics.fmean(sessions)
    row.turn_interval, row.session_interval = (each.interval if each else None for each in both)
    row.locomo_ingest_s, row.locomo_questions = fed_s, len(turns)


def measure(name: str, work: Path, locomo: Path | None, *, keep_personas: bool) -> None:
    """Measure a system, store its figures and print its row."""
    file = work / f"{name}.json"
    if keep_personas and file.exists():
        row = msgspec.json.decode(file.read_bytes(), type=Figures)
    else:
        row = measure_personas(name, work)
    if locomo is not None and name != "none":
        from recall_bench.features.datasets.locomo import load

        system = resolve_system(Settings(adapter=find_target(name), top_k=TOP_K))
        anyio.run(measure_locomo, system, list(load(locomo, {})), row)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(row)))
    print(format_row(row), flush=True)


HEAD = (
    "| system | knows date | asker | mean of 6 | LoCoMo turn R@10 | session R@10 | ingest s "
    "| p50 ms | p95 ms | disk MB | tokens | traced | failed |\n"
    "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def format_row(row: Figures) -> str:
    return (
        f"| {row.system} {row.version} | {row.clock or 'not said'} | {row.asker} "
        f"| {_format_estimate(row.mean, row.mean_interval)} "
        f"| {_format_estimate(row.turn_recall, row.turn_interval, 3)} "
        f"| {_format_estimate(row.session_recall, row.session_interval, 3)} "
        f"| {row.ingest_s:.1f} | {row.p50_ms:.1f} | {row.p95_ms:.1f} | {row.disk_mb:.1f} "
        f"| {row.tokens:.0f} | {'--' if row.traced is None else f'{row.traced:.0%}'} "
        f"| {row.failed} |"
    )


def _format_estimate(
    value: float | None, interval: tuple[float, float] | None, digits: int = 2
) -> str:
    if value is None:
        return "--"
    words = f"{value:.{digits}f}"
    if interval is not None:
        words += f" ({interval[0]:.{digits}f}–{interval[1]:.{digits}f})"
    return words


def render_table(work: Path) -> str:
    rows = [
        msgspec.json.decode(path.read_bytes(), type=Figures) for path in sorted(work.glob("*.json"))
    ]
    rows.sort(key=lambda row: (row.turn_recall or 0, row.mean))
    return "\n".join([HEAD, *(format_row(row) for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--keep-personas", action="store_true")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.table is None:
        print(HEAD)
        for name in given.only or (*BUILT_IN, *PRODUCTS):
            if given.only or not (given.work / f"{name}.json").exists():
                measure(name, given.work, given.locomo, keep_personas=given.keep_personas)
        return
    before = given.table.read_text(encoding="utf-8") if given.table.exists() else "# Systems\n\n"
    head, _, rest = before.partition("| system |")
    after = rest.split("\n\n", 1)[1] if "\n\n" in rest else ""
    given.table.write_text(f"{head}{render_table(given.work)}\n\n{after}".rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
