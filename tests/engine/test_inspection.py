"""A memory that lets one look into it is looked into once a checkpoint, before it is asked.

What it says is recorded. What goes wrong is recorded too, and costs no trial.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, SystemStuck
from recall_bench.core.event import Answered, Event, FeedFailed, Ingested, Inspected, Settled
from recall_bench.core.memory import Answer, Holdings
from recall_bench.core.plan import Lifecycle
from recall_bench.core.scenario import Episode, Question
from tests.conftest import episode
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.fixtures.running import LIFECYCLES, Rehearsal

pytestmark = pytest.mark.anyio


def plum(lived: Sequence[Episode], question: Question) -> str:
    return "Plum"


def everything(memory: "Open") -> Holdings:
    days = tuple(each.day for each in memory.lived)
    return Holdings(days=days, bytes=100 * len(days))


class Open(ScriptedMemory):
    """Says of itself what the test says."""

    def __init__(self, told: Callable[["Open"], Holdings | Awaitable[Holdings]]) -> None:
        super().__init__(plum)
        self._told = told
        self.is_stuck = False

    async def settle(self) -> None:
        self._refuse_if_stuck()

    async def answer(self, question: Question) -> Answer:
        self._refuse_if_stuck()
        return await super().answer(question)

    async def holdings(self) -> Holdings:
        self._refuse_if_stuck()
        told = self._told(self)
        return told if isinstance(told, Holdings) else await told

    def __deepcopy__(self, memo: object) -> "Open":
        self._refuse_if_stuck()
        twin = Open(self._told)
        twin.lived = list(self.lived)
        return twin

    def _refuse_if_stuck(self) -> None:
        if self.is_stuck:
            raise SystemStuck("it does not move")


class OpenSystem(ScriptedSystem):
    """Its memories can be copied."""

    def __init__(self, told: Callable[[Open], Holdings | Awaitable[Holdings]] = everything) -> None:
        super().__init__(plum, can_snapshot=True)
        self._told = told

    async def open(self, scenario: str) -> ScriptedMemory:
        self.opened.append(Open(self._told))
        return self.opened[-1]


def inspected(rehearsal: Rehearsal) -> list[Inspected]:
    return [event for event in rehearsal.journal if isinstance(event, Inspected)]


def told(rehearsal: Rehearsal) -> list[tuple[str, tuple[int, ...] | None, int | None]]:
    return [(event.checkpoint, event.lost, event.bytes) for event in inspected(rehearsal)]


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0, 0.0))


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_every_checkpoint_is_looked_into_once(
    rehearsal: Rehearsal, lifecycle: Lifecycle, repeats: int
) -> None:
    await rehearsal.run(OpenSystem(), lifecycle=lifecycle, repeats=repeats)

    assert told(rehearsal) == [("2d", (), 200), ("3d", (), 300)]


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_it_is_looked_into_once_it_has_settled_and_before_it_is_asked(
    rehearsal: Rehearsal, lifecycle: Lifecycle
) -> None:
    await rehearsal.run(OpenSystem(), lifecycle=lifecycle)

    course: list[Event] = [
        event for event in rehearsal.journal if isinstance(event, Settled | Inspected | Answered)
    ]
    first = [type(event).__name__ for event in course[:3]]
    assert first == ["Settled", "Inspected", "Answered"]


async def test_what_it_was_fed_and_does_not_hold_is_lost(rehearsal: Rehearsal) -> None:
    system = OpenSystem(lambda memory: Holdings(days=(99, 3, 2)))

    await rehearsal.run(system)

    assert told(rehearsal) == [("2d", (1,), None), ("3d", (1,), None)]


async def test_what_was_not_fed_yet_is_not_lost(rehearsal: Rehearsal) -> None:
    await rehearsal.run(OpenSystem(lambda memory: Holdings(days=())))

    assert told(rehearsal) == [("2d", (1, 2), None), ("3d", (1, 2, 3), None)]


async def test_a_day_without_a_word_cannot_be_lost(rehearsal: Rehearsal) -> None:
    scenario = rehearsal.scenarios["ada"]
    first, _, third = scenario.episodes
    rehearsal.scenarios["ada"] = scenario.replace(episodes=(first, episode(2, " \n"), third))

    await rehearsal.run(OpenSystem(lambda memory: Holdings(days=(1,))))

    assert told(rehearsal) == [("2d", (), None), ("3d", (3,), None)]


@pytest.mark.parametrize(
    ("says", "recorded"),
    [
        pytest.param(Holdings(bytes=7), (None, 7), id="only its size"),
        pytest.param(Holdings(days=(1, 2)), ((), None), id="only its days"),
        pytest.param(Holdings(bytes=0), (None, 0), id="that it is empty"),
    ],
)
async def test_it_may_say_one_thing_and_not_the_other(
    rehearsal: Rehearsal, says: Holdings, recorded: tuple[tuple[int, ...] | None, int | None]
) -> None:
    await rehearsal.run(OpenSystem(lambda memory: says))

    assert told(rehearsal)[0][1:] == recorded


async def test_a_memory_that_says_nothing_leaves_no_word(rehearsal: Rehearsal) -> None:
    await rehearsal.run(OpenSystem(lambda memory: Holdings()))

    assert not inspected(rehearsal)


async def test_a_memory_that_cannot_be_looked_into_is_not(rehearsal: Rehearsal) -> None:
    states = await rehearsal.run(ScriptedSystem(plum))

    assert states.has_ended
    assert not inspected(rehearsal)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(SystemFault("no index"), "SystemFault: no index", id="fails"),
        pytest.param(SystemGone("hung up"), "SystemGone: hung up", id="cannot be reached for it"),
        pytest.param(SystemBusy("later"), "SystemBusy: later", id="is always busy"),
    ],
)
@pytest.mark.parametrize("lifecycle", LIFECYCLES)
@pytest.mark.usefixtures("_no_pauses")
async def test_a_memory_costs_no_trial_that(
    rehearsal: Rehearsal, lifecycle: Lifecycle, fault: Exception, said: str
) -> None:
    def fail(memory: Open) -> Holdings:
        raise fault

    states = await rehearsal.run(OpenSystem(fail), lifecycle=lifecycle)

    assert states.has_ended
    assert len(rehearsal.of(Answered)) == 2
    assert [(event.fault, event.lost, event.bytes) for event in inspected(rehearsal)] == [
        (said, None, None),
        (said, None, None),
    ]
    assert not states.scenarios["ada"].failures


@pytest.mark.usefixtures("_no_pauses")
async def test_a_busy_memory_is_looked_into_again(rehearsal: Rehearsal) -> None:
    calls: list[int] = []

    def busy(memory: Open) -> Holdings:
        calls.append(len(memory.lived))
        if len(calls) == 1:
            raise SystemBusy("later")
        return everything(memory)

    await rehearsal.run(OpenSystem(busy))

    assert calls == [2, 2, 3]
    assert told(rehearsal) == [("2d", (), 200), ("3d", (), 300)]


@pytest.mark.parametrize("size", [-1, 2**63])
async def test_a_size_that_cannot_be_is_not_recorded(rehearsal: Rehearsal, size: int) -> None:
    states = await rehearsal.run(OpenSystem(lambda memory: Holdings(days=(1,), bytes=size)))

    assert states.has_ended
    assert [(event.lost, event.bytes) for event in inspected(rehearsal)] == [(None, None)] * 2
    assert f"it reports a size of {size} bytes" in str(inspected(rehearsal)[0].fault)


@pytest.mark.parametrize("gets_stuck", [False, True])
@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_a_memory_that_hangs_over_it_costs_no_trial_and_is_not_looked_into_again(
    rehearsal: Rehearsal, lifecycle: Lifecycle, gets_stuck: bool
) -> None:
    async def hang(memory: Open) -> Holdings:
        memory.is_stuck = gets_stuck
        await anyio.sleep_forever()
        raise AssertionError

    system = OpenSystem(hang)
    with anyio.fail_after(5):
        states = await rehearsal.run(system, lifecycle=lifecycle, feed_timeout_s=0.01)

    assert states.has_ended
    [once] = inspected(rehearsal)
    assert once.fault == "SystemTimeout: looking into it took longer than 0.01 s"
    assert len(rehearsal.of(Answered)) == 2
    assert not rehearsal.of(FeedFailed)
    assert all(memory.closed for memory in system.opened)
    usual = 5 if lifecycle is Lifecycle.FRESH else 3
    assert len(rehearsal.of(Ingested)) == usual + 2 * gets_stuck


async def test_a_defect_of_ours_is_not_held_back(rehearsal: Rehearsal) -> None:
    def fail(memory: Open) -> Holdings:
        raise ZeroDivisionError

    with pytest.raises((ZeroDivisionError, ExceptionGroup)):
        await rehearsal.run(OpenSystem(fail))


async def test_a_run_that_goes_on_looks_again_and_only_where_it_asks_again(
    rehearsal: Rehearsal,
) -> None:
    class Vanishes(OpenSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            if len(self.opened) == 1:
                raise SystemGone("bye")
            return await super().open(scenario)

    with pytest.raises(SystemGone):
        await rehearsal.run(Vanishes(), lifecycle=Lifecycle.FRESH)
    assert told(rehearsal) == [("2d", (), 200)]
    await rehearsal.run(OpenSystem(), lifecycle=Lifecycle.FRESH)

    assert told(rehearsal) == [("2d", (), 200), ("3d", (), 300)]
