"""The whole examination: the contract, the controls, and how the system bears a growing story."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from recall_bench.core.diagnosis import Complaint, Diagnosis, Health
from recall_bench.core.history import Episode
from recall_bench.core.memory import Asker, MemorySystem, SystemCard
from recall_bench.core.question import BOUNDARY, Item, Scenario
from recall_bench.core.reader import Reader
from recall_bench.core.shuffle import shuffled
from recall_bench.core.verdict import Judge
from recall_bench.doctor import complaints
from recall_bench.doctor.footprint import Footprint
from recall_bench.doctor.sitting import Room, Sat
from recall_bench.errors import SystemFault
from recall_bench.testing.contract import check_system
from recall_bench.testing.report import ContractReport

QUESTIONS = 48
"""So many are asked of each control; enough to tell a memory from none."""

PROBES = 9
"""So many answers are timed at each quarter of the story, and the middle one is taken."""

QUARTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Clinic:
    """What an examination takes: a small true story, its controls, a reader, a judge."""

    scenario: Scenario
    controls: dict[str, MemorySystem]
    """The built-in systems `none`, `random` and `oracle`; the last has been told the evidence."""
    reader: Reader
    judge: Judge
    code: str
    """Version and digest of the harness."""

    def room(self, card: SystemCard, timeout_s: float) -> Room:
        """The questions that apply to the system, a spread of all there are."""
        last = self.scenario.last_day
        items = [item for item in self.scenario.items if item.is_open(last)]
        items = [item for item in items if _applies(item, card)]
        step = max(1, len(items) // QUESTIONS)
        self.judge.study(self.scenario)
        return Room(
            scenario=self.scenario,
            items=tuple(items[::step][:QUESTIONS]),
            reader=self.reader,
            judge=self.judge,
            timeout_s=timeout_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A diagnosis and what it rests on."""

    diagnosis: Diagnosis
    contract: ContractReport


def _applies(item: Item, card: SystemCard) -> bool:
    return card.asker is not Asker.UNTOLD or item.truth.category != BOUNDARY


async def examine(
    system: MemorySystem,
    clinic: Clinic,
    files: Footprint,
    *,
    timeout_s: float,
    telling: Callable[[str], None] = lambda _: None,
) -> Examined:
    """Examine a system that was made while the footprint is taken. It is left open.

    SystemGone if it cannot be reached.
    """
    room = clinic.room(system.card, timeout_s)
    controls = {
        name: await room.sit(each, room.scenario.episodes) for name, each in clinic.controls.items()
    }
    found: list[Complaint] = []
    figures: dict[str, float] = {f"score of {name}": sat.mean for name, sat in controls.items()}
    contract = await check_system(
        system, timeout_s=timeout_s, telling=lambda name: telling(f"checking {name}")
    )
    found += complaints.of_contract(contract)
    if contract.seen.recall is not None:
        figures["facts found again"] = contract.seen.recall
    telling("living through a small story")
    try:
        lived = await _lived(system, room, files)
    except SystemFault as fault:
        message = f"it could not live through a small story: {fault}"
        found.append(Complaint(check="story", health=Health.INVALID, message=message))
    else:
        found += lived.complaints(system.card, controls)
        figures |= lived.figures()
    return Examined(
        diagnosis=_diagnosis(system.card, clinic, contract, found, figures), contract=contract
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lived:
    """Three lives of one system: one told nothing, one told all, one told all on other days."""

    empty: Sat
    fed: Sat
    moved: Sat
    pace: list[float | None]
    """Seconds an answer took after each quarter of the days; None where none came."""
    sizes: list[int]

    def complaints(self, card: SystemCard, controls: dict[str, Sat]) -> Iterator[Complaint]:
        """What is wrong with them."""
        yield from complaints.of_empty(self.empty, controls["none"])
        yield from complaints.of_bracket(self.fed, controls)
        yield from complaints.of_dates(card, complaints.changed_share(self.fed, self.moved))
        yield from complaints.of_pace(self.pace)
        yield from complaints.of_growth(self.sizes)

    def figures(self) -> dict[str, float]:
        """What was measured of them."""
        timed = {"first": self.pace[0], "last": self.pace[-1]}
        return {
            "score": self.fed.mean,
            "score of an empty memory": self.empty.mean,
            "score with shuffled days": self.moved.mean,
            "answers changed by shuffling": complaints.changed_share(self.fed, self.moved),
            **{
                f"ms an answer, {quarter} quarter": 1000 * seconds
                for quarter, seconds in timed.items()
                if seconds is not None
            },
            "MB on disk": self.sizes[-1] / 1e6,
            "questions": float(len(self.fed.replies)),
        }


async def _lived(system: MemorySystem, room: Room, files: Footprint) -> _Lived:
    empty = await room.sit(system, ())
    fed, pace, sizes = await _grown(system, room, files)
    moved = await room.sit(system, _shuffled(room.scenario.episodes))
    return _Lived(empty=empty, fed=fed, moved=moved, pace=pace, sizes=sizes)


def _diagnosis(
    card: SystemCard,
    clinic: Clinic,
    contract: ContractReport,
    found: Sequence[Complaint],
    figures: dict[str, float],
) -> Diagnosis:
    return Diagnosis(
        health=complaints.health_of(found),
        system=card.digest,
        at=datetime.now(UTC),
        code=clinic.code,
        complaints=tuple(found),
        clock=contract.seen.clock,
        asker=contract.seen.asker,
        figures={name: round(value, 4) for name, value in figures.items()},
    )


async def _grown(
    system: MemorySystem, room: Room, files: Footprint
) -> tuple[Sat, list[float | None], list[int]]:
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
        await room.within("close", memory.close())


def _shuffled(days: Sequence[Episode]) -> tuple[Episode, ...]:
    """The same texts told on each other's days: whoever goes by time answers otherwise."""
    order = shuffled(list(range(len(days))), seed=42)
    return tuple(
        day.but(text=days[other].text, turns=days[other].turns)
        for day, other in zip(days, order, strict=True)
    )
