"""Under load, an answer and a write have the limits that they have at rest."""

from datetime import datetime

import anyio
import pytest

from recall_bench.core.scenario import Episode
from recall_bench.features.suites.behaviour import LoadStep
from recall_bench.features.suites.load_generator import LoadGenerator
from tests.faulty.fakes import ScriptedMemory

pytestmark = pytest.mark.anyio

ONE_WRITE = LoadStep(
    phase="5/s", rate=5, seconds=0.2, items=(), episodes=(), write_share=1.0, seed=2
)


class SlowWriter(ScriptedMemory):
    """Takes a tenth of a second for a write."""

    async def ingest(self, episode: Episode) -> None:
        await anyio.sleep(0.1)
        await super().ingest(episode)


async def measure_write(*, answer_timeout_s: float, feed_timeout_s: float) -> dict[str, float]:
    """Send one write, and return what was counted."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    load = LoadGenerator(
        memory=SlowWriter(lambda lived, question: "not asked"),
        questions=[],
        episodes=[Episode(id="d1", day=1, at=datetime(2026, 1, 1), text="One.")],
        most=1,
        answer_timeout_s=answer_timeout_s,
        feed_timeout_s=feed_timeout_s,
    )
    counts = (await load.run(ONE_WRITE)).values
    assert counts["arrivals"] == 1
    return counts


async def test_the_limit_of_an_answer_is_not_that_of_a_write() -> None:
    counts = await measure_write(answer_timeout_s=0.01, feed_timeout_s=60)

    assert (counts["written"], counts["timeouts"]) == (1, 0)


async def test_a_write_beyond_its_limit_is_a_timeout() -> None:
    counts = await measure_write(answer_timeout_s=60, feed_timeout_s=0.01)

    assert (counts["written"], counts["timeouts"]) == (0, 1)
