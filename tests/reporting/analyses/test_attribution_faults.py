"""What a fault costs lands in the leaf of that fault, and in no other.

Each faulty memory is run as any system is, judged offline, and compared with the honest one trial
by trial: the trials that only it missed are those its fault has cost.
"""

from pathlib import Path

import anyio
import pytest

from recall_bench.core.scenario import ATTRIBUTION, Scenario
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.reporting.analyses.attribution import FailureLeaf, find_leaf, is_miss
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest
from tests.faulty.faults import (
    FAULTS,
    Faulty,
    KeepsOldMemories,
    MisreadsFinds,
    MixesTenants,
    RemembersQuestions,
    SlowsDown,
)
from tests.reporting.analyses.known_story import PERSONAS, run_table, told


@pytest.fixture(scope="module")
def personas() -> tuple[Scenario, ...]:
    return tuple(map(told, PERSONAS))


@pytest.fixture(scope="module")
def honest(personas: tuple[Scenario, ...], tmp_path_factory: pytest.TempPathFactory) -> TrialTable:
    return lived(Honest, personas, tmp_path_factory.mktemp("honest"))


def lived(adapter: type[Honest], personas: tuple[Scenario, ...], folder: Path) -> TrialTable:
    system = build_python_system(adapter, {"step_s": 0.0} if adapter is SlowsDown else {})

    async def run() -> TrialTable:
        # A tenant can be mixed up with another only while that one is there.
        neighbours = [await system.open("neighbour")] if adapter is MixesTenants else []
        for neighbour in neighbours:
            for episode in personas[-1].episodes:
                await neighbour.ingest(episode)
        try:
            return await run_table(system, folder, *personas)
        finally:
            for neighbour in neighbours:
                await neighbour.close()
            await system.close()

    return anyio.run(run)


def cost(faulty: TrialTable, honest: TrialTable) -> list[TrialRow]:
    """The misses that the honest memory did not have."""
    passed = {row.trial for row in honest.rows if is_miss(row) is False}
    return [row for row in faulty.rows if row.trial in passed and is_miss(row)]


def test_the_honest_memory_misses_nothing(honest: TrialTable) -> None:
    assert len(honest.rows) == 124
    assert [row.trial for row in honest.rows if is_miss(row) is not False] == []


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.lands_in], ids=lambda fault: fault.__name__
)
def test_what_a_fault_costs_lands_in_its_leaf(
    fault: type[Faulty], personas: tuple[Scenario, ...], honest: TrialTable, tmp_path: Path
) -> None:
    KeepsOldMemories._kept.clear()

    missed = cost(lived(fault, personas, tmp_path), honest)

    assert len(missed) >= 4
    if fault is MisreadsFinds:
        # Where it is asked whose something is, the wrong line to read from is another person's.
        missed = [row for row in missed if row.category != ATTRIBUTION]
        assert missed
    if fault is RemembersQuestions:
        # A Yes to what never was is made up, however it came about.
        missed = [row for row in missed if row.category != "negative-recall"]
    assert {find_leaf(row) for row in missed} == {FailureLeaf(fault.lands_in or "")}


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if not fault.lands_in], ids=lambda fault: fault.__name__
)
def test_a_fault_without_a_leaf_costs_nothing(
    fault: type[Faulty], personas: tuple[Scenario, ...], honest: TrialTable, tmp_path: Path
) -> None:
    assert cost(lived(fault, personas, tmp_path), honest) == []


def test_who_reads_from_another_persons_line_has_the_wrong_person(
    personas: tuple[Scenario, ...], honest: TrialTable, tmp_path: Path
) -> None:
    missed = cost(lived(MisreadsFinds, personas, tmp_path), honest)

    of_whom = [row for row in missed if row.category == ATTRIBUTION]
    assert {find_leaf(row) for row in of_whom} == {FailureLeaf.WRONG_PLACE}


class Secretive(Honest):
    """Answers well, and shows nothing of what it found or holds."""

    def query(self, question: str, context: object) -> object:
        reply = super().query(question, context)  # type: ignore[arg-type]
        return reply["answer"] if isinstance(reply, dict) else reply

    stored_days = None  # type: ignore[assignment]
    stored_bytes = None  # type: ignore[assignment]


class DropsInSecret(Secretive):
    """Never keeps an even day."""

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        if day % 2:
            super().ingest_day(day, content, metadata)  # type: ignore[arg-type]


def test_of_a_system_that_shows_nothing_a_gap_is_not_traced(
    personas: tuple[Scenario, ...], honest: TrialTable, tmp_path: Path
) -> None:
    missed = cost(lived(DropsInSecret, personas, tmp_path), honest)

    leaves = {find_leaf(row) for row in missed}
    assert FailureLeaf.UNTRACED in leaves
    assert leaves <= {FailureLeaf.UNTRACED, FailureLeaf.STALE, FailureLeaf.WRONG_PLACE}
