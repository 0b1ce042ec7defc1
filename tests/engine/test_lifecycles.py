"""Each checkpoint meets a system that has lived exactly the days up to it."""

from collections.abc import Sequence

import pytest

from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.event import Answered, Ingested
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Lifecycle
from recall_bench.core.scenario import Episode, Question
from tests.faulty.fakes import CopiesInMemory, ScriptedMemory, ScriptedSystem
from tests.fixtures.running import LIFECYCLES, Rehearsal

pytestmark = pytest.mark.anyio


class Diarist(ScriptedMemory):
    """Remembers being asked, and says how often, and what it has lived."""

    asked = 0

    async def answer(self, question: Question) -> Answer:
        self.asked += 1
        return Answer(text=f"asked {self.asked}, lived {len(self.lived)}")


class DiaristSystem(ScriptedSystem):
    def __init__(self) -> None:
        super().__init__(_unused, can_snapshot=True)

    async def open(self, scenario: str) -> ScriptedMemory:
        return Diarist(_unused)


def _unused(lived: Sequence[Episode], question: Question) -> str:
    return ""


def answers(rehearsal: Rehearsal) -> list[str]:
    return [event.answer.text for event in rehearsal.journal if isinstance(event, Answered)]


def fed(rehearsal: Rehearsal) -> list[int]:
    return [event.day for event in rehearsal.journal if isinstance(event, Ingested)]


@pytest.mark.parametrize(
    ("lifecycle", "replies", "days"),
    [
        (Lifecycle.FRESH, ["asked 1, lived 2", "asked 1, lived 3"], [1, 2, 1, 2, 3]),
        (Lifecycle.FORKED, ["asked 1, lived 2", "asked 1, lived 3"], [1, 2, 3]),
        (Lifecycle.GROWING, ["asked 1, lived 2", "asked 2, lived 3"], [1, 2, 3]),
    ],
)
async def test_what_a_question_leaves_behind_and_what_feeding_costs(
    rehearsal: Rehearsal, lifecycle: Lifecycle, replies: list[str], days: list[int]
) -> None:
    await rehearsal.run(DiaristSystem(), lifecycle=lifecycle)

    assert answers(rehearsal) == replies
    assert fed(rehearsal) == days


@pytest.mark.parametrize("lifecycle", [Lifecycle.FRESH, Lifecycle.FORKED])
async def test_each_repeat_meets_a_memory_that_was_asked_nothing(
    rehearsal: Rehearsal, lifecycle: Lifecycle
) -> None:
    await rehearsal.run(DiaristSystem(), lifecycle=lifecycle, repeats=2)

    assert answers(rehearsal) == ["asked 1, lived 2"] * 2 + ["asked 1, lived 3"] * 2


async def test_a_system_without_snapshots_says_so_before_anything_is_fed(
    rehearsal: Rehearsal,
) -> None:
    with pytest.raises(UsageError, match="--lifecycle forked: scripted cannot be copied"):
        await rehearsal.run(ScriptedSystem(_unused), lifecycle=Lifecycle.FORKED)

    assert fed(rehearsal) == []


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_every_memory_is_closed(rehearsal: Rehearsal, lifecycle: Lifecycle) -> None:
    closed: list[int] = []

    class Counted(ScriptedMemory):
        async def close(self) -> None:
            closed.append(len(self.lived))

    class CountedSystem(ScriptedSystem):
        opened_count = 0

        async def open(self, scenario: str) -> ScriptedMemory:
            self.opened_count += 1
            return Counted(_unused)

    system = CountedSystem(_unused, can_snapshot=True)
    await rehearsal.run(system, lifecycle=lifecycle)

    copies = 2 if lifecycle is Lifecycle.FORKED else 0
    assert len(closed) == system.opened_count + copies


async def test_no_snapshot_outlives_its_checkpoint(rehearsal: Rehearsal) -> None:
    system = ScriptedSystem(_unused, can_snapshot=True)

    await rehearsal.run(system, lifecycle=Lifecycle.FORKED)

    assert system.snapshots is not None
    assert system.snapshots._kept == {}


async def test_a_snapshot_that_fails_is_recorded_and_leaves_the_rest_open(
    rehearsal: Rehearsal,
) -> None:
    class NoCopies(CopiesInMemory):
        async def save(self, memory: object) -> str:
            raise SystemFault("disk full")

    system = ScriptedSystem(_unused, can_snapshot=True)
    system.snapshots = NoCopies()

    states = await rehearsal.run(system, lifecycle=Lifecycle.FORKED)

    [failure] = states.scenarios["ada"].failures
    assert (failure.stage, failure.checkpoint, failure.message) == ("snapshot", "2d", "disk full")
    assert not states.has_ended


class Attesting(ScriptedMemory):
    """Claims to have lived some days already."""

    claims: int | None = None

    async def attest(self) -> int | None:
        return self.claims


class AttestingSystem(ScriptedSystem):
    def __init__(self, claims: int | None) -> None:
        super().__init__(_unused)
        self._claims = claims

    async def open(self, scenario: str) -> ScriptedMemory:
        memory = Attesting(lambda lived, question: f"lived {len(lived)}")
        memory.claims = self._claims
        return memory


async def interrupted_after_first_checkpoint(rehearsal: Rehearsal) -> None:
    def vanish(lived: Sequence[Episode], question: Question) -> str:
        if len(lived) == 3:
            raise SystemGone("bye")
        return "Fig"

    with pytest.raises(SystemGone):
        await rehearsal.run(ScriptedSystem(vanish), lifecycle=Lifecycle.GROWING)
    rehearsal.journal = [
        event for event in rehearsal.journal if not (isinstance(event, Ingested) and event.day == 3)
    ]


async def test_catch_up_is_skipped_for_a_system_that_attests_what_it_was_fed(
    rehearsal: Rehearsal,
) -> None:
    await interrupted_after_first_checkpoint(rehearsal)
    before = len(fed(rehearsal))

    await rehearsal.run(AttestingSystem(claims=2), skip_catchup=True)

    assert fed(rehearsal)[before:] == [3]
    assert answers(rehearsal)[-1] == "lived 1"


async def test_catch_up_is_skipped_at_the_checkpoint_that_the_system_was_fed_to(
    rehearsal: Rehearsal,
) -> None:
    def vanish(lived: Sequence[Episode], question: Question) -> str:
        raise SystemGone("bye")

    with pytest.raises(SystemGone):
        await rehearsal.run(ScriptedSystem(vanish), lifecycle=Lifecycle.GROWING)
    assert fed(rehearsal) == [1, 2]

    states = await rehearsal.run(AttestingSystem(claims=2), skip_catchup=True)

    assert fed(rehearsal) == [1, 2, 3]
    assert states.has_ended


async def test_catch_up_is_not_skipped_for_a_checkpoint_already_passed(
    rehearsal: Rehearsal,
) -> None:
    def fail_early(lived: Sequence[Episode], question: Question) -> str:
        if len(lived) == 2:
            raise SystemFault("down")
        return "Fig"

    await rehearsal.run(ScriptedSystem(fail_early), lifecycle=Lifecycle.GROWING)
    rehearsal.reopened = True

    with pytest.raises(UsageError, match="beyond the checkpoint 2d"):
        await rehearsal.run(AttestingSystem(claims=3), skip_catchup=True)


async def test_a_snapshot_that_cannot_be_dropped_costs_no_result(rehearsal: Rehearsal) -> None:
    class Clinging(CopiesInMemory):
        async def drop(self, token: str) -> None:
            raise SystemFault("in use")

    system = ScriptedSystem(_unused, can_snapshot=True)
    system.snapshots = Clinging()

    states = await rehearsal.run(system, lifecycle=Lifecycle.FORKED)

    assert states.has_ended
    assert {failure.stage for failure in states.scenarios["ada"].failures} == {"close"}


@pytest.mark.parametrize(
    ("claims", "error", "message"),
    [
        (0, SystemGone, "remembers 0 of the 2 days it was fed"),
        (None, UsageError, "cannot say which days it still remembers"),
    ],
)
async def test_a_system_that_lost_its_memory_is_not_taken_at_its_word(
    rehearsal: Rehearsal, claims: int | None, error: type[Exception], message: str
) -> None:
    await interrupted_after_first_checkpoint(rehearsal)

    with pytest.raises(error, match=message):
        await rehearsal.run(AttestingSystem(claims), skip_catchup=True)
