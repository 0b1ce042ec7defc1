"""What a system leaves on disk while it is examined."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import cast

from recall_bench.core import user_code
from recall_bench.core.diagnosis import Diagnosis, DoctorFinding, SystemHealth
from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Asker, MemorySystem, Reader, SystemCard
from recall_bench.core.scenario import BOUNDARY, Episode, Item, Scenario
from recall_bench.core.schedule import shuffle
from recall_bench.core.verdict import Judge
from recall_bench.datasets.supporting_passages import share_evidence
from recall_bench.testing import doctor_probe
from recall_bench.testing.check_context import ContractReport
from recall_bench.testing.contract import check_system
from recall_bench.testing.doctor_probe import ProbeResult, StoryProbe


class DiskFootprint:
    """A scratch folder that takes everything written to the place for temporary files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def size(self) -> int:
        """Bytes in it at this moment."""
        total = 0
        for place, _, names in os.walk(self._folder):
            for name in names:
                try:
                    total += Path(place, name).lstat().st_size
                except FileNotFoundError:
                    continue
        return total


@contextmanager
def track_footprint() -> Iterator[DiskFootprint]:
    """While it lasts, temporary files of this process and its children go to one folder."""
    before, chosen = os.environ.get("TMPDIR"), tempfile.tempdir
    with tempfile.TemporaryDirectory(
        prefix="recall-bench-doctor-", ignore_cleanup_errors=True
    ) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield DiskFootprint(Path(folder))
        finally:
            tempfile.tempdir = chosen
            if before is None:
                os.environ.pop("TMPDIR", None)
            else:
                os.environ["TMPDIR"] = before


QUESTIONS = 48
"""So many are asked of each control; enough to tell a memory from none."""

PROBES = 9
"""So many answers are timed at each quarter of the story, and the middle one is taken."""

QUARTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSetup:
    """What an examination takes: a small true story, its controls, a reader, a judge."""

    scenario: Scenario
    controls: dict[str, MemorySystem]
    """The built-in systems `none`, `random` and `oracle`; the last has been told the evidence."""
    reader: Reader
    judge: Judge
    code: str
    """Version and digest of the harness."""

    def make_probe(self, card: SystemCard, timeout_s: float) -> StoryProbe:
        """The questions that apply to the system, a spread of all there are."""
        last = self.scenario.last_day
        items = [item for item in self.scenario.items if item.is_open(last)]
        items = [item for item in items if _is_applicable(item, card)]
        step = max(1, len(items) // QUESTIONS)
        self.judge.study(self.scenario)
        return StoryProbe(
            scenario=self.scenario,
            items=tuple(items[::step][:QUESTIONS]),
            reader=self.reader,
            judge=self.judge,
            timeout_s=timeout_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorResult:
    """A diagnosis and what it rests on."""

    diagnosis: Diagnosis
    contract: ContractReport


def _is_applicable(item: Item, card: SystemCard) -> bool:
    return card.asker is not Asker.UNTOLD or item.truth.category != BOUNDARY


async def examine_system(
    system: MemorySystem,
    clinic: DoctorSetup,
    files: DiskFootprint,
    *,
    timeout_s: float,
    telling: Callable[[str], None] = lambda _: None,
) -> DoctorResult:
    """Examine a system that was made while the footprint is taken. It is left open.

    SystemGone if it cannot be reached.
    """
    room = clinic.make_probe(system.card, timeout_s)
    controls = {
        name: await room.run(each, room.scenario.episodes) for name, each in clinic.controls.items()
    }
    found: list[DoctorFinding] = []
    figures: dict[str, float] = {f"score of {name}": sat.mean for name, sat in controls.items()}
    contract = await check_system(
        system, timeout_s=timeout_s, telling=lambda name: telling(f"checking {name}")
    )
    found += doctor_probe.check_contract_report(contract)
    if contract.seen.recall is not None:
        figures["facts found again"] = contract.seen.recall
    telling("living through a small story")
    try:
        lived = await _run_story(system, room, files)
    except SystemFault as fault:
        message = f"it could not live through a small story: {fault}"
        found.append(DoctorFinding(check="story", health=SystemHealth.INVALID, message=message))
    else:
        found += lived.check(system.card, controls)
        figures |= lived.list_figures()
    return DoctorResult(
        diagnosis=_build_diagnosis(system.card, clinic, contract, found, figures), contract=contract
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoryRuns:
    """Three lives of one system: one told nothing, one told all, one told all on other days."""

    empty: ProbeResult
    fed: ProbeResult
    moved: ProbeResult
    pace: list[float | None]
    """Seconds an answer took after each quarter of the days; None where none came."""
    sizes: list[int]

    def check(self, card: SystemCard, controls: dict[str, ProbeResult]) -> Iterator[DoctorFinding]:
        """What is wrong with them."""
        yield from doctor_probe.check_empty_memory(self.empty, controls["none"])
        yield from doctor_probe.check_controls(self.fed, controls)
        yield from doctor_probe.check_date_use(
            card, doctor_probe.measure_changes(self.fed, self.moved)
        )
        yield from doctor_probe.check_latency(self.pace)
        yield from doctor_probe.check_growth(self.sizes)

    def list_figures(self) -> dict[str, float]:
        """What was measured of them."""
        timed = {"first": self.pace[0], "last": self.pace[-1]}
        return {
            "score": self.fed.mean,
            "score of an empty memory": self.empty.mean,
            "score with shuffled days": self.moved.mean,
            "answers changed by shuffling": doctor_probe.measure_changes(self.fed, self.moved),
            **{
                f"ms an answer, {quarter} quarter": 1000 * seconds
                for quarter, seconds in timed.items()
                if seconds is not None
            },
            "MB on disk": self.sizes[-1] / 1e6,
            "questions": float(len(self.fed.replies)),
        }


async def _run_story(system: MemorySystem, room: StoryProbe, files: DiskFootprint) -> _StoryRuns:
    empty = await room.run(system, ())
    fed, pace, sizes = await _run_growing(system, room, files)
    moved = await room.run(system, _shuffle_days(room.scenario.episodes))
    return _StoryRuns(empty=empty, fed=fed, moved=moved, pace=pace, sizes=sizes)


def _build_diagnosis(
    card: SystemCard,
    clinic: DoctorSetup,
    contract: ContractReport,
    found: Sequence[DoctorFinding],
    figures: dict[str, float],
) -> Diagnosis:
    return Diagnosis(
        health=doctor_probe.derive_health(found),
        system=card.digest,
        at=datetime.now(UTC),
        code=clinic.code,
        complaints=tuple(found),
        clock=contract.seen.clock,
        asker=contract.seen.asker,
        figures={name: round(value, 4) for name, value in figures.items()},
    )


async def _run_growing(
    system: MemorySystem, room: StoryProbe, files: DiskFootprint
) -> tuple[ProbeResult, list[float | None], list[int]]:
    """One life: at each quarter answers are timed and files weighed, at the end all is asked."""
    days = room.scenario.episodes
    memory = await room.open(system)
    pace: list[float | None] = []
    sizes: list[int] = []
    faults: list[str] = []
    try:
        for quarter in range(QUARTERS):
            start, end = (len(days) * part // QUARTERS for part in (quarter, quarter + 1))
            await room.feed(memory, days[start:end])
            timed = await room.ask(memory, days[:end], room.items[:PROBES])
            pace.append(median(timed.seconds) if timed.seconds else None)
            sizes.append(files.size)
            faults += timed.faults
        fed = await room.ask(memory, days)
        fed.faults[:0] = faults
        return fed, pace, sizes
    finally:
        await room.call("close", memory.close)


def _shuffle_days(days: Sequence[Episode]) -> tuple[Episode, ...]:
    """The same texts told on each other's days: whoever goes by time answers otherwise."""
    order = shuffle(list(range(len(days))), seed=42)
    return tuple(
        day.replace(text=days[other].text, turns=days[other].turns)
        for day, other in zip(days, order, strict=True)
    )


CONTROLS = ("none", "random", "oracle")


def build_doctor_setup(scenario: Scenario, code: str) -> DoctorSetup:
    """The controls among the built-in systems, the extractive reader and the offline judge.

    `code` names the version of the harness that examines.
    """
    from recall_bench.judging.offline.offline_judge import OfflineJudge
    from recall_bench.systems.readers import ExtractiveReader

    return DoctorSetup(
        scenario=scenario,
        controls={name: _load_control(name, scenario) for name in CONTROLS},
        reader=ExtractiveReader(),
        judge=OfflineJudge({}),
        code=code,
    )


def _load_control(name: str, scenario: Scenario) -> MemorySystem:
    system = cast("MemorySystem", user_code.load_plugin("systems", name)({}))
    share_evidence(system, scenario)
    return system
