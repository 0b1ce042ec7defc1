"""A memory that takes many days at once is handed them all; a day counts when it says so.

Whatever goes wrong is put down to the first day that it did not say it took.
"""

from collections.abc import Callable, Sequence

import anyio
import pytest
from anyio.lowlevel import checkpoint

from recall_bench.core import retry
from recall_bench.core.errors import JudgeGone, SystemBusy, SystemFault, SystemGone
from recall_bench.core.event import FeedFailed, Ingested, Settled
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.scenario import Episode
from recall_bench.core.trial_states import TrialState
from tests.engine.many import Ruled, many
from tests.faulty.fakes import CopiesInMemory, ScriptedMemory, ScriptedSystem
from tests.fixtures.running import LIFECYCLES, Rehearsal

pytestmark = pytest.mark.anyio

OnIngested = Callable[[Episode], None]


class StreamMemory(ScriptedMemory):
    """Takes what a test lets it take."""

    def __init__(self, system: "StreamSystem") -> None:
        super().__init__(lambda lived, question: " ".join(str(each.day) for each in lived))
        self._system = system

    def __deepcopy__(self, _: object) -> "StreamMemory":
        twin = StreamMemory(self._system)
        twin.lived = list(self.lived)
        return twin

    async def ingest(self, episode: Episode) -> None:
        raise AssertionError("it is handed all of them at once")

    async def ingest_all(self, episodes: Sequence[Episode], on_ingested: OnIngested) -> None:
        self._system.handed.append([episode.day for episode in episodes])
        for episode in episodes:
            await self._system.before(episode)
            self.lived.append(episode)
            on_ingested(episode)


class StreamSystem(ScriptedSystem):
    """Opens such memories; `before` is called before each day is taken."""

    def __init__(self, before: Callable[[Episode], None] | None = None) -> None:
        super().__init__(lambda lived, question: "", can_snapshot=True)
        self.handed: list[list[int]] = []
        self._before = before

    async def before(self, episode: Episode) -> None:
        await checkpoint()
        if self._before is not None:
            self._before(episode)

    async def open(self, scenario: str) -> StreamMemory:
        memory = StreamMemory(self)
        self.opened.append(memory)
        return memory


def fed(rehearsal: Rehearsal) -> list[tuple[str, int]]:
    return [
        (event.checkpoint, event.day) for event in rehearsal.journal if isinstance(event, Ingested)
    ]


def failures(rehearsal: Rehearsal) -> list[FeedFailed]:
    return [event for event in rehearsal.journal if isinstance(event, FeedFailed)]


@pytest.mark.parametrize(
    ("lifecycle", "handed"),
    [
        (Lifecycle.FRESH, [[1, 2], [1, 2, 3]]),
        (Lifecycle.FORKED, [[1, 2], [3]]),
        (Lifecycle.GROWING, [[1, 2], [3]]),
    ],
)
async def test_all_days_up_to_the_checkpoint_are_handed_over_at_once(
    rehearsal: Rehearsal, lifecycle: Lifecycle, handed: list[list[int]]
) -> None:
    system = StreamSystem()

    states = await rehearsal.run(system, lifecycle=lifecycle)

    assert system.handed == handed
    assert fed(rehearsal) == [
        (label, day) for label, days in zip(("2d", "3d"), handed, strict=True) for day in days
    ]
    assert len(rehearsal.of(Settled)) == 2
    assert states.has_ended


async def test_a_fault_names_the_day_after_the_last_one_taken(rehearsal: Rehearsal) -> None:
    def refuse(episode: Episode) -> None:
        if episode.day == 2:
            raise SystemFault("disk is full")

    await rehearsal.run(StreamSystem(refuse))

    assert fed(rehearsal) == [("2d", 1), ("3d", 1)]
    assert [(event.day, event.stage, event.message) for event in failures(rehearsal)] == [
        (2, "ingest", "disk is full")
    ] * 2


class Forgetful(StreamMemory):
    """Ends the stream without a word about the last day."""

    async def ingest_all(self, episodes: Sequence[Episode], on_ingested: OnIngested) -> None:
        await super().ingest_all(episodes[:-1], on_ingested)


class Hasty(StreamMemory):
    """Says that it took the last day first."""

    async def ingest_all(self, episodes: Sequence[Episode], on_ingested: OnIngested) -> None:
        await super().ingest_all(episodes[::-1], on_ingested)


class Stalled(StreamMemory):
    """Takes one day and then nothing more."""

    async def ingest_all(self, episodes: Sequence[Episode], on_ingested: OnIngested) -> None:
        await super().ingest_all(episodes[:1], on_ingested)
        await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("kind", "day", "message"),
    [
        (Forgetful, 2, "it took 1 of 2 days and ended the stream"),
        (Hasty, 1, "it confirmed day 2 out of order"),
        (Stalled, 2, "ingest took longer than 0.02 s; --ingest-timeout sets the limit"),
    ],
)
async def test_days_that_were_not_taken_in_order_and_in_time_are_a_fault(
    rehearsal: Rehearsal, kind: type[StreamMemory], day: int, message: str
) -> None:
    class Opens(StreamSystem):
        async def open(self, scenario: str) -> StreamMemory:
            return kind(self)

    await rehearsal.run(Opens(), feed_timeout_s=0.02)

    first, *others = failures(rehearsal)
    assert (first.day, first.message) == (day, message)
    # A memory of its own may fare better at the next checkpoint, unless one waits for it in vain.
    assert len(others) == (0 if kind is Stalled else 1)


class Patient(StreamSystem):
    """Takes a while over each day, more in all than one day may take."""

    async def before(self, episode: Episode) -> None:
        await anyio.sleep(0.1)


async def test_the_time_allowed_is_for_each_day_and_not_for_all(plan: Plan) -> None:
    rehearsal = many(plan, days=5, checkpoints=(Checkpoint(label="5d", days=5),))

    await rehearsal.run(Patient(), feed_timeout_s=0.4)

    assert not failures(rehearsal)
    assert len(fed(rehearsal)) == 5


async def test_a_busy_memory_is_handed_what_is_left(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0, 0.0))
    refusals = iter([SystemBusy("later")])

    def busy_once(episode: Episode) -> None:
        if episode.day == 2:
            for refusal in refusals:
                raise refusal

    system = StreamSystem(busy_once)
    await rehearsal.run(system, lifecycle=Lifecycle.GROWING)

    assert system.handed == [[1, 2], [2], [3]]
    assert fed(rehearsal) == [("2d", 1), ("2d", 2), ("3d", 3)]


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_a_stream_that_broke_off_goes_on_when_the_system_is_back(
    rehearsal: Rehearsal, lifecycle: Lifecycle
) -> None:
    def vanish(episode: Episode) -> None:
        if episode.day == 2:
            raise SystemGone("connection reset")

    with pytest.raises(SystemGone):
        await rehearsal.run(StreamSystem(vanish), lifecycle=lifecycle)
    assert not failures(rehearsal)
    states = await rehearsal.run(StreamSystem(), lifecycle=lifecycle)

    assert states.scenarios["ada"].count_states(TrialState.JUDGED) == 2


async def test_nothing_more_is_taken_once_the_court_has_adjourned(plan: Plan) -> None:
    """The judge is lost over the first checkpoint's answers, while the second is being fed."""
    rehearsal = many(
        plan,
        days=200,
        checkpoints=(Checkpoint(label="1d", days=1), Checkpoint(label="200d", days=200)),
        lifecycle=Lifecycle.FORKED,
    )

    def gone(_: int) -> JudgeGone:
        return JudgeGone("no such model")

    with pytest.raises(JudgeGone):
        await rehearsal.run(Numbers(), Ruled(gone))

    assert len(fed(rehearsal)) < 200
    assert not failures(rehearsal)


class Numbers(StreamSystem):
    """Its answers are numbers, as the judge wants them."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshots = CopiesInMemory()

    async def open(self, scenario: str) -> StreamMemory:
        memory = await super().open(scenario)
        memory.reply = lambda lived, question: question.text
        return memory
