"""Hindsight is waited for until it has consolidated, and told both dates."""

from collections.abc import Iterator

import pytest

from recall_bench.core.errors import SystemFault
from tests.features.products.fake_hindsight import STAGES, FakeHindsight
from tests.features.products.fake_service import KEY, lived, running, without_proxies
from tests.features.products.installed import python_of, served
from tests.systems.diary import EPISODES, question

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHindsight]:
    python_of("hindsight")
    without_proxies(monkeypatch)
    monkeypatch.setenv("HINDSIGHT_API_KEY", KEY)
    fake = FakeHindsight()
    with running(fake):
        yield fake


async def test_the_day_is_a_timestamp_and_the_question_has_one_too(service: FakeHindsight) -> None:
    system = await served("hindsight", f"base_url={service.url}", "poll_s=0.01")
    memory = await system.open("diary")
    await lived(memory)
    await memory.answer(question("boiler", day=12))

    (bank,) = service.banks
    assert service.polls[bank] == len(STAGES)
    assert service.banks[bank]["0007-01"]["timestamp"].startswith("2025-03-02T00:00:00")
    (recall,) = service.asked(r"POST .*/recall")
    assert recall.body["query_timestamp"] == "2025-03-07T00:00:00+00:00"
    retained = service.asked(r"POST .*/memories")
    assert all(request.body["async"] for request in retained)
    assert len({request.body["operation_id"] for request in retained}) == len(EPISODES)
    await memory.close()
    await system.close()


async def test_what_failed_is_an_error(service: FakeHindsight) -> None:
    system = await served("hindsight", f"base_url={service.url}", "poll_s=0.01")
    memory = await system.open("diary")
    await memory.ingest(EPISODES[0])
    service.fails = True

    with pytest.raises(SystemFault, match="failed to process 1"):
        await memory.settle()

    await memory.close()
    await system.close()
