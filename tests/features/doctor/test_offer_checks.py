"""Each optional part that a memory offers is checked, and the one that breaks it is named."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from recall_bench.core.memory import MemorySystem, Offer
from recall_bench.systems.builtin.retrieval_systems import build_bm25, build_hybrid
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest, Outcome, check_system
from tests.features.doctor.broken import result
from tests.systems.offering_adapters import LedgerMemory

pytestmark = pytest.mark.anyio

OFFERS = [offer.value for offer in Offer]


async def test_an_honest_memory_passes_every_check_of_what_it_offers() -> None:
    system = build_python_system(LedgerMemory)
    report = await check_system(system, only=OFFERS)
    await system.close()

    assert {check.name: check.outcome for check in report.checks} == dict.fromkeys(
        OFFERS, Outcome.PASSED
    )


@pytest.mark.parametrize("build", [build_bm25, build_hybrid])
async def test_the_built_ins_pass_too(build: Callable[..., MemorySystem]) -> None:
    report = await check_system(build({}), only=OFFERS)

    assert {check.name for check in report.checks if check.outcome is Outcome.PASSED} == {
        *OFFERS
    } - {"consolidate", "reopen"}
    assert report.get_result("reopen").message == "not offered"


async def test_what_is_not_offered_is_not_checked() -> None:
    report = await check_system(build_python_system(Honest), only=OFFERS)

    assert {(check.outcome, check.message) for check in report.checks} == {
        (Outcome.NOT_APPLICABLE, "not offered")
    }


class SoftDelete(LedgerMemory):
    """Hides what it is told to erase from answers, and keeps it."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir)
        self._hidden: list[str] = []

    def forget(self, subject: str) -> bool:
        self._hidden.append(subject.lower())
        return True

    def query(self, question: str) -> str:
        answer = super().query(question)
        return "I do not know." if any(each in answer.lower() for each in self._hidden) else answer


class KeepsAll(LedgerMemory):
    """Confirms everything, and erases nothing."""

    def _erase(self, is_erased: object) -> int:
        return 1


class ErasesAll(LedgerMemory):
    """Erases everything, whatever it is told to erase."""

    def _erase(self, is_erased: object) -> int:
        count, self._entries = len(self._entries), []
        return count


class ListsNothing(LedgerMemory):
    """Lists nothing."""

    def stored(self) -> list[dict[str, object]]:
        return []


class ListsTitles(LedgerMemory):
    """Lists something else than it answers from."""

    def stored(self) -> Iterable[str]:  # type: ignore[override]
        return [f"entry {number}" for number, _ in enumerate(self._entries)]


class LosesState(LedgerMemory):
    """Starts empty when it is reopened."""

    def reopen(self) -> None:
        self.setup()


class ConsolidatesAway(LedgerMemory):
    """Keeps nothing of what it consolidates."""

    def consolidate(self) -> None:
        self._entries = []


class RefusesLate(LedgerMemory):
    """Has a method that is not implemented."""

    def forget(self, subject: str) -> int:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (SoftDelete, "forget", "stored still lists it"),
        (KeepsAll, "forget", "it is still found"),
        (KeepsAll, "delete", "it is still found"),
        (KeepsAll, "delete-session", "it is still found"),
        (KeepsAll, "delete-person", "it is still found"),
        (KeepsAll, "retain", "it is still found"),
        (ErasesAll, "delete", "erase only what is named"),
        (ErasesAll, "retain", "erase only what is named"),
        (ListsNothing, "stored", "it listed nothing"),
        (ListsTitles, "stored", "none of 2 entries has it"),
        (LosesState, "reopen", "after the memory was closed and reopened"),
        (ConsolidatesAway, "consolidate", "after it consolidated"),
    ],
)
async def test_a_memory_that_breaks_a_part_is_named(
    kind: type[LedgerMemory], name: str, said: str
) -> None:
    system = build_python_system(kind)
    outcome, message = await result(system, name)
    await system.close()

    assert outcome is Outcome.FAILED
    assert said in message


async def test_a_part_that_is_not_implemented_is_not_offered() -> None:
    system = build_python_system(RefusesLate)
    assert await result(system, "forget") == (Outcome.NOT_APPLICABLE, "not offered")
    await system.close()
