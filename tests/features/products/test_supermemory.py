"""Supermemory is waited for until it has dreamt, and told the date of a day."""

from collections.abc import Iterator

import pytest

from recall_bench.core.errors import SystemFault
from tests.features.products.fake_service import KEY, lived, running, without_proxies
from tests.features.products.fake_supermemory import STAGES, FakeSupermemory
from tests.features.products.installed import python_of, served
from tests.systems.diary import EPISODES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSupermemory]:
    python_of("supermemory")
    without_proxies(monkeypatch)
    monkeypatch.setenv("SUPERMEMORY_API_KEY", KEY)
    fake = FakeSupermemory()
    with running(fake):
        yield fake


async def test_a_document_that_is_missing_queued_or_dreamt_of_is_waited_for(
    service: FakeSupermemory,
) -> None:
    system = await served("supermemory", f"base_url={service.url}", "poll_s=0.01")
    memory = await system.open("diary")
    await lived(memory)

    assert set(service.polls.values()) == {len(STAGES)}
    (documents,) = service.namespaces.values()
    assert len(documents) == len(EPISODES)
    assert documents["doc-0007-01"]["date"] == "2025-03-02T00:00:00+00:00"
    assert documents["doc-0007-01"]["dreaming"] == "dynamic"
    await memory.close()
    await system.close()


async def test_a_document_that_failed_is_an_error(service: FakeSupermemory) -> None:
    service.fails = True
    system = await served("supermemory", f"base_url={service.url}", "poll_s=0.01")
    memory = await system.open("diary")
    await memory.ingest(EPISODES[0])

    with pytest.raises(SystemFault, match="failed to process what it was given: 0001-01"):
        await memory.settle()

    await memory.close()
    await system.close()


async def test_what_is_never_done_ends_with_the_setting_that_allows_more(
    service: FakeSupermemory,
) -> None:
    settings = ("poll_s=0.01", "settle_timeout_s=0.02")
    system = await served("supermemory", f"base_url={service.url}", *settings)
    memory = await system.open("diary")
    await memory.ingest(EPISODES[0])
    service.polls["doc-0001-01"] = -1_000_000

    with pytest.raises(SystemFault, match="give it longer with settle_timeout_s"):
        await memory.settle()

    await memory.close()
    await system.close()
