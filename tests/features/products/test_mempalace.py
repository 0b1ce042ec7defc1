"""MemPalace: a palace for each memory, though its settings are those of the process."""

from pathlib import Path

import pytest

from recall_bench.core.memory import Asker, Memory, RetrievalReply
from recall_bench.features.products.mempalace import _merge_rankings
from recall_bench.testing import CHECKS, assert_contract_async
from tests.features.products.installed import lent, python_of, served
from tests.features.products.pins import pinned
from tests.systems.diary import EPISODES, QUESTIONS, question

pytestmark = pytest.mark.anyio

PATIENCE_S = 600.0


def test_two_rankings_become_one_that_keeps_the_order_of_each() -> None:
    words_first = [{"id": 1, "similarity": 0.4}, {"id": 2, "similarity": 0.9}]
    other_room = [{"id": 3, "similarity": 0.5}, {"id": 4, "similarity": 0.1}]

    merged = _merge_rankings([words_first, other_room, []])

    assert [hit["id"] for hit in merged] == [3, 1, 2, 4]


@pytest.mark.slow
async def test_it_keeps_the_contract_and_its_sessions_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python_of("mempalace")
    monkeypatch.setenv("HOME", str(tmp_path))
    quick = [check.name for check in CHECKS if check.name != "large-day"]

    with lent(monkeypatch) as endpoint:
        system = await served("mempalace", "respect_sessions=true")
        report = await assert_contract_async(system, only=quick, timeout_s=PATIENCE_S)

    assert system.card.version == pinned("mempalace")["mempalace"]
    passed = {check.name for check in report.checks if check.outcome == "passed"}
    assert {
        "round-trip",
        "isolation",
        "reset",
        "dates",
        "sessions",
        "snapshots",
        "holdings",
        "delete",
        "delete-session",
        "delete-person",
        "stored",
        "reopen",
    } <= passed
    assert report.seen.asker is Asker.HONOURED
    assert endpoint.meter.total.calls > 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
async def test_a_memory_opened_later_in_the_same_process_changes_nothing_for_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("mempalace")

    with lent(monkeypatch):
        system = await served("mempalace")
        first = await system.open("diary")
        await first.ingest(EPISODES[0])
        second = await system.open("diary")
        await second.ingest(EPISODES[4])
        await first.ingest(EPISODES[3])
        in_first, in_second = await _days(first), await _days(second)
        await second.close()
        left = await _days(first)
        await first.close()
        await system.close()

    assert in_first == left == {1, 4}
    assert in_second == {5}


async def _days(memory: Memory) -> set[int | None]:
    """All the days a memory finds anything of."""
    await memory.settle()
    days: set[int | None] = set()
    for text in QUESTIONS:
        found = await memory.answer(question(text))
        assert isinstance(found, RetrievalReply)
        days |= {passage.day for passage in found.passages}
    return days
