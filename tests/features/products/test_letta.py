"""Letta keeps a day's notes as passages of an archive, dated with the day."""

from collections.abc import Iterator

import pytest

from tests.features.products.fake_letta import FakeLetta
from tests.features.products.fake_service import KEY, running, without_proxies
from tests.features.products.installed import python_of, served
from tests.systems.diary import EPISODES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLetta]:
    python_of("letta")
    without_proxies(monkeypatch)
    monkeypatch.setenv("LETTA_API_KEY", KEY)
    fake = FakeLetta()
    with running(fake):
        yield fake


async def test_a_note_is_a_passage_created_on_its_day_by_the_embedder_asked_for(
    service: FakeLetta,
) -> None:
    system = await served("letta", f"base_url={service.url}", "embedding=letta/letta-free")
    memory = await system.open("diary")
    await memory.ingest(EPISODES[8])

    (created,) = service.asked(r"POST /v1/archives/")
    assert created.body["embedding"] == "letta/letta-free"
    (passages,) = service.archives.values()
    assert [passage["created_at"] for passage in passages] == ["2025-03-04T00:00:00+00:00"]
    assert passages[0]["tags"] == ["session:family"]
    assert passages[0]["metadata"]["day"] == 9
    await memory.close()
    await system.close()
