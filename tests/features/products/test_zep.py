"""Zep is given what it takes: pieces that are short enough, dated with a zone."""

from collections.abc import Iterator

import msgspec
import pytest

from recall_bench.core.memory import RetrievalReply
from tests.features.products.fake_service import KEY, Reply, Request, running, without_proxies
from tests.features.products.fake_zep import FakeZep
from tests.features.products.installed import python_of, served
from tests.systems.diary import EPISODES, question

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Outdated(FakeZep):
    """A graph in which every fact is over, and happened long before it was told."""

    def search(self, request: Request, graph: str) -> Reply:
        status, body = super().search(request, graph)
        assert isinstance(body, dict)
        for fact in body["items"]:
            fact |= {"valid_at": "1999-12-31T10:00:00Z", "invalid_at": "2001-02-03T00:00:00Z"}
            fact["relevance"] = 0.25
        return status, body


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outdated]:
    python_of("zep")
    without_proxies(monkeypatch)
    monkeypatch.setenv("ZEP_API_KEY", KEY)
    fake = Outdated()
    with running(fake):
        yield fake


async def test_a_long_day_is_sent_in_pieces_with_a_time_and_a_key_of_their_own(
    service: Outdated,
) -> None:
    system = await served("zep", f"base_url={service.url}", "poll_s=0.01")
    memory = await system.open("diary")
    text = EPISODES[0].text + " The frost went on." * 2000

    await memory.ingest(msgspec.structs.replace(EPISODES[0], text=text))
    await memory.settle()

    (episodes,) = service.graphs.values()
    assert len(episodes) > 3
    assert max(len(each["data"]) for each in episodes.values()) > 5_000
    assert {each["reference_time"] for each in episodes.values()} == {"2025-02-24T00:00:00+00:00"}
    assert sum(each["data"].count("The frost went on.") for each in episodes.values()) == 2000
    await memory.close()
    await system.close()


async def test_a_fact_has_its_validity_and_the_day_of_its_source(service: Outdated) -> None:
    system = await served("zep", f"base_url={service.url}", "poll_s=0.01", "k=1")
    memory = await system.open("diary")
    await memory.ingest(EPISODES[4])
    await memory.settle()

    reply = await memory.answer(question("When does the stall open?"))

    assert isinstance(reply, RetrievalReply)
    (passage,) = reply.passages
    assert passage.text.startswith("On 1999-12-31 (market): ")
    assert passage.text.endswith("(until 2001-02-03)")
    assert (passage.day, passage.source, passage.score) == (5, "0005-01", 0.25)
    await memory.close()
    await system.close()
