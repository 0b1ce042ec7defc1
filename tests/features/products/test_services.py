"""Products that are services: each through its own SDK, against a fake of its server on loopback.

What is proved is the adapter, the SDK and the transport together; nothing here met a product.
One child serves all tests of a product that want nothing else of it: importing an SDK takes long.
"""

import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import Asker, Clock, MemorySystem, RetrievalReply
from recall_bench.testing import CHECKS, assert_contract_async
from tests.features.products.fake_hindsight import FakeHindsight
from tests.features.products.fake_letta import FakeLetta
from tests.features.products.fake_service import KEY, FakeService, lived, running, without_proxies
from tests.features.products.fake_supermemory import FakeSupermemory
from tests.features.products.fake_zep import FakeZep
from tests.features.products.installed import python_of, served
from tests.features.products.pins import pinned
from tests.systems.diary import EPISODES, question

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATIENCE_S = 300.0


@dataclass(frozen=True)
class Case:
    name: str
    fake: type[FakeService]
    package: str
    variable: str
    taken: str
    """How the SDK hands something over."""
    found: str
    """How the SDK searches."""
    quickly: tuple[str, ...] = ("poll_s=0.01",)


CASES = (
    Case(
        "supermemory",
        FakeSupermemory,
        "supermemory",
        "SUPERMEMORY_API_KEY",
        r"POST /ns/[^/]+/document",
        r"POST /ns/[^/]+/search",
    ),
    Case(
        "zep",
        FakeZep,
        "zep-cloud",
        "ZEP_API_KEY",
        r"POST /graphs/[^/]+/episodes",
        r"POST /graphs/[^/]+/search/edges",
    ),
    Case(
        "letta",
        FakeLetta,
        "letta-client",
        "LETTA_API_KEY",
        r"POST /v1/archives/[^/]+/passages/batch",
        r"POST /v1/passages/search",
        quickly=(),
    ),
    Case(
        "hindsight",
        FakeHindsight,
        "hindsight-client",
        "HINDSIGHT_API_KEY",
        r"POST /v1/default/banks/[^/]+/memories",
        r"POST /v1/default/banks/[^/]+/memories/recall",
    ),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all, because a child is spoken to from the loop it was started in."""
    return "asyncio"


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """A product whose SDK is installed here, and whose key is known."""
    found: Case = request.param
    python_of(found.name)
    with pytest.MonkeyPatch.context() as patch:
        without_proxies(patch)
        patch.setenv(found.variable, KEY)
        yield found


@pytest.fixture(scope="module")
def fake(case: Case) -> Iterator[FakeService]:
    made = case.fake()
    with running(made):
        yield made


@pytest.fixture
def service(fake: FakeService) -> FakeService:
    """The fake as it was in the beginning, whatever another test left in it."""
    fake.requests.clear()
    fake.refusals.clear()
    fake.is_haunted = False
    kept(fake).clear()
    return fake


@pytest.fixture(scope="module")
async def system(case: Case, fake: FakeService) -> AsyncIterator[MemorySystem]:
    """The product with its usual settings, in a child that all tests share."""
    made = await served(case.name, *settings(case, fake))
    yield made
    await made.close()


def settings(case: Case, service: FakeService, *more: str) -> tuple[str, ...]:
    return (f"base_url={service.url}", *case.quickly, *more)


def kept(service: FakeService) -> dict[str, object]:
    """What a fake has of memories: namespaces, graphs, archives or banks."""
    names = ("namespaces", "graphs", "archives", "banks")
    return next(getattr(service, name) for name in names if hasattr(service, name))


async def test_it_is_the_version_that_is_pinned_and_its_card_has_no_key(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    assert (system.card.name, system.card.version) == (case.name, pinned(case.name)[case.package])
    assert (system.card.clock, system.card.answers) == (Clock.NATIVE, False)
    assert system.snapshots is None
    assert KEY not in str(system.card)


async def test_it_keeps_the_contract_and_its_sessions_apart(
    case: Case, service: FakeService
) -> None:
    system = await served(case.name, *settings(case, service, "respect_sessions=true"))
    quick = [check.name for check in CHECKS if check.name not in ("large-day", "unicode")]

    report = await assert_contract_async(system, only=quick, timeout_s=PATIENCE_S)

    passed = {check.name for check in report.checks if check.outcome == "passed"}
    assert {"round-trip", "isolation", "reset", "readiness", "dates", "sessions"} <= passed
    assert report.seen.asker is Asker.HONOURED
    assert kept(service) == {}


async def test_what_is_found_is_traced_dated_and_scored_and_all_is_deleted_at_the_end(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    memory = await system.open("diary")
    await lived(memory)

    reply = await memory.answer(question("What did Inspector Hale praise?"))

    assert isinstance(reply, RetrievalReply)
    assert reply.passages[0].day == 7
    assert reply.passages[0].text.startswith("On 2025-03-02 (principal): ")
    assert "praised the drainage" in reply.passages[0].text
    scores = [passage.score for passage in reply.passages]
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert len(kept(service)) == 1
    await memory.close()
    assert kept(service) == {}


async def test_two_memories_have_unique_names(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    one = await system.open("diary")
    two = await system.open("diary")
    for memory in (one, two):
        await memory.ingest(EPISODES[0])

    names = list(kept(service))

    assert len(set(names)) == 2
    assert all("recall-bench-" in name for name in names)
    await one.close()
    await two.close()


async def test_a_busy_service_is_asked_again_when_it_says_and_nothing_is_kept_twice(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    memory = await system.open("diary")
    service.refusals.append((429, {"Retry-After": "7"}, {"message": "slowly"}))

    with pytest.raises(SystemBusy) as busy:
        await memory.ingest(EPISODES[0])
    await memory.ingest(EPISODES[0])
    await memory.ingest(EPISODES[0])

    assert busy.value.retry_after_s == 7
    assert len(service.asked(case.taken)) == 2
    await memory.close()


async def test_a_busy_service_is_busy_to_a_question_too(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    memory = await system.open("diary")
    await lived(memory)
    before = len(service.asked(case.found))
    service.refusals.append((429, {"Retry-After": "3"}, {"message": "slowly"}))

    with pytest.raises(SystemBusy) as busy:
        await memory.answer(question("boiler"))

    assert busy.value.retry_after_s == 3
    assert len(service.asked(case.found)) == before + 1
    await memory.close()


async def test_a_refusal_costs_the_system_and_does_not_tell_the_key(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    memory = await system.open("diary")
    service.refusals.append((400, {"X-Key": KEY}, {"message": f"{KEY} may not do that"}))

    with pytest.raises(SystemFault, match="may not do that") as fault:
        await memory.ingest(EPISODES[0])

    assert not isinstance(fault.value, SystemBusy)
    assert "HTTP 400" in str(fault.value)
    assert KEY not in str(fault.value)
    await memory.close()


async def test_a_service_that_is_not_there_is_out_of_reach(case: Case) -> None:
    with socket.socket() as taken:  # and not listened on, so that nobody else can
        taken.bind(("127.0.0.1", 0))
        system = await served(case.name, f"base_url=http://127.0.0.1:{taken.getsockname()[1]}")

        with pytest.raises(SystemGone, match="cannot be reached"):
            await system.open("diary")

        await system.close()


async def test_a_memory_that_is_not_empty_is_not_used_and_not_deleted(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    service.is_haunted = True

    with pytest.raises(SystemFault, match=r"recall-bench-\w+ is not empty"):
        await system.open("diary")

    assert not [request for request in service.requests if request.method == "DELETE"]


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.name, indirect=True)
async def test_what_was_created_is_deleted_where_opening_fails(
    case: Case, service: FakeService, system: MemorySystem
) -> None:
    service.refusals.extend([None, (429, {"Retry-After": "1"}, {"message": "slowly"})])

    with pytest.raises(SystemBusy):
        await system.open("diary")

    assert [request.method for request in service.requests][-1] == "DELETE"
    assert kept(service) == {}


async def test_without_a_key_it_says_which_variable_to_set(
    case: Case, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(case.variable)

    with pytest.raises((UsageError, SystemGone), match=case.variable):
        await served(case.name, *settings(case, service))
