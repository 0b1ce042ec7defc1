"""What a system may see, and what becomes of it when it fails."""

from collections.abc import Sequence

import anyio
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, SystemStuck
from recall_bench.core.event import Answered, FeedFailed, NotAnswered, Postponed, RunEnded
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Question, Scenario
from recall_bench.core.trial_states import TrialState
from tests.conftest import card_of
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


async def test_a_question_names_the_moment_and_nothing_of_the_truth(
    rehearsal: Rehearsal, scenario: Scenario
) -> None:
    seen: list[Question] = []

    def eavesdrop(_: Sequence[Episode], question: Question) -> str:
        seen.append(question)
        return "?"

    await rehearsal.run(ScriptedSystem(eavesdrop))

    assert [question.asked_at.day for question in seen] == [2, 3]
    for question, item in zip(seen, scenario.items, strict=True):
        shown = repr(question)
        assert item.id not in shown
        assert item.truth.reference not in shown
        assert item.truth.category not in shown


async def test_a_system_has_lived_the_days_up_to_the_checkpoint_and_no_other(
    rehearsal: Rehearsal,
) -> None:
    def days(lived: Sequence[Episode], _: Question) -> str:
        return " ".join(str(episode.day) for episode in lived)

    await rehearsal.run(ScriptedSystem(days))

    answers = [event.answer.text for event in rehearsal.of(Answered)]  # type: ignore[union-attr]
    assert answers == ["1 2", "1 2 3"]


async def test_a_fault_is_recorded_with_its_reason_and_the_next_question_is_still_put(
    rehearsal: Rehearsal,
) -> None:
    def refuse(_: Sequence[Episode], question: Question) -> str:
        raise SystemFault("index is corrupt")

    states = await rehearsal.run(ScriptedSystem(refuse))

    faults = [event.message for event in rehearsal.journal if isinstance(event, NotAnswered)]
    assert faults == ["index is corrupt", "index is corrupt"]
    assert states.has_ended


async def test_a_bug_is_not_a_fault_and_stops_the_run(rehearsal: Rehearsal) -> None:
    def crash(_: Sequence[Episode], question: Question) -> str:
        raise KeyError("oops")

    with pytest.raises(ExceptionGroup):
        await rehearsal.run(ScriptedSystem(crash))


class Sleeper(ScriptedMemory):
    """Never answers, and says whether it was cancelled."""

    cancelled = 0

    async def answer(self, question: Question) -> Answer:
        try:
            await anyio.sleep_forever()
        finally:
            Sleeper.cancelled += 1
        raise AssertionError("slept for ever, and still woke")


class SleeperSystem(ScriptedSystem):
    async def open(self, scenario: str) -> ScriptedMemory:
        return Sleeper(lambda lived, question: "")


async def test_a_hanging_question_is_cancelled_and_recorded_as_a_timeout(
    rehearsal: Rehearsal,
) -> None:
    Sleeper.cancelled = 0

    await rehearsal.run(SleeperSystem(lambda lived, question: ""), answer_timeout_s=0.01)

    faults = [event.fault for event in rehearsal.journal if isinstance(event, NotAnswered)]
    assert faults == ["SystemTimeout", "SystemTimeout"]
    assert Sleeper.cancelled == 2


async def test_a_system_that_is_gone_ends_the_asking_and_nothing_is_held_against_it(
    rehearsal: Rehearsal,
) -> None:
    def vanish(lived: Sequence[Episode], question: Question) -> str:
        if len(lived) == 3:
            raise SystemGone("connection refused")
        return "Fig"

    with pytest.raises(SystemGone, match="connection refused"):
        await rehearsal.run(ScriptedSystem(vanish))

    ada = rehearsal.fold_states().scenarios["ada"]
    assert (ada.count_states(TrialState.JUDGED), ada.count_states(TrialState.OPEN)) == (1, 1)
    assert not rehearsal.of(NotAnswered)
    assert not rehearsal.of(RunEnded)


async def test_what_a_lost_system_owes_is_asked_when_it_is_back(rehearsal: Rehearsal) -> None:
    def vanish(lived: Sequence[Episode], question: Question) -> str:
        raise SystemGone("connection refused")

    with pytest.raises(SystemGone):
        await rehearsal.run(ScriptedSystem(vanish))
    states = await rehearsal.run(ScriptedSystem(lambda lived, question: "Fig"))

    assert states.scenarios["ada"].count_states(TrialState.JUDGED) == 2


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0, 0.0))


@pytest.mark.usefixtures("_no_pauses")
async def test_a_busy_system_is_asked_again_and_the_answer_counts(rehearsal: Rehearsal) -> None:
    calls = 0

    def busy_twice(_: Sequence[Episode], question: Question) -> str:
        nonlocal calls
        calls += 1
        if calls in (1, 2):
            raise SystemBusy("429")
        return "Fig"

    await rehearsal.run(ScriptedSystem(busy_twice))

    assert len(rehearsal.of(Answered)) == 2
    assert calls == 4
    assert [event.message for event in rehearsal.journal if isinstance(event, Postponed)] == [
        "429",
        "429",
    ]


@pytest.mark.usefixtures("_no_pauses")
async def test_a_system_that_stays_busy_has_failed_the_question(rehearsal: Rehearsal) -> None:
    def busy(_: Sequence[Episode], question: Question) -> str:
        raise SystemBusy("429")

    await rehearsal.run(ScriptedSystem(busy))

    faults = [event.fault for event in rehearsal.journal if isinstance(event, NotAnswered)]
    assert faults == ["SystemBusy", "SystemBusy"]


class Stubborn(ScriptedMemory):
    """Hangs at its first question and cannot be used afterwards."""

    hung = False

    async def answer(self, question: Question) -> Answer:
        if self.hung:
            raise SystemStuck("still busy with an earlier question")
        self.hung = True
        await anyio.sleep_forever()
        raise AssertionError


class StubbornOnce(ScriptedSystem):
    """Its first memory gets stuck; later ones are fine."""

    async def open(self, scenario: str) -> ScriptedMemory:
        memory = await super().open(scenario)
        if len(self.opened) == 1:
            self.opened[0] = Stubborn(lambda lived, question: "")
            return self.opened[0]
        return memory


async def test_a_stuck_memory_is_replaced_by_one_that_lived_the_same_days(
    rehearsal: Rehearsal,
) -> None:
    system = StubbornOnce(lambda lived, question: " ".join(str(e.day) for e in lived))
    first, second = rehearsal.scenarios["ada"].items
    both = rehearsal.scenarios["ada"]
    rehearsal.scenarios["ada"] = type(both)(
        id=both.id,
        epoch=both.epoch,
        episodes=both.episodes,
        items=(first, second.replace(known_from=1)),
    )
    scenarios = (card_of(rehearsal.scenarios["ada"]),)

    await rehearsal.run(system, answer_timeout_s=0.01, scenarios=scenarios)

    outcomes = [
        event.fault if isinstance(event, NotAnswered) else event.answer.text
        for event in rehearsal.journal
        if isinstance(event, NotAnswered | Answered)
    ]
    assert outcomes == ["SystemTimeout", "1 2", "1 2 3"]


class Choosy(ScriptedMemory):
    """Fails at one stage of its life."""

    def __init__(self, stage: str) -> None:
        super().__init__(lambda lived, question: "Fig")
        self._stage = stage

    async def ingest(self, episode: Episode) -> None:
        if self._stage == "ingest" and episode.day == 3:
            raise SystemFault("day 3 is too much")
        await super().ingest(episode)

    async def settle(self) -> None:
        if self._stage == "settle" and len(self.lived) == 3:
            raise SystemFault("reindex failed")

    async def close(self) -> None:
        if self._stage == "close":
            raise SystemFault("cannot let go")


class ChoosySystem(ScriptedSystem):
    def __init__(self, stage: str) -> None:
        super().__init__(lambda lived, question: "")
        self._stage = stage

    async def open(self, scenario: str) -> ScriptedMemory:
        if self._stage == "open":
            raise SystemFault("no licence")
        return Choosy(self._stage)


@pytest.mark.parametrize(
    ("stage", "judged", "open_trials"),
    [("open", 0, 2), ("ingest", 1, 1), ("settle", 1, 1), ("close", 2, 0)],
)
async def test_a_system_that_cannot_be_fed_leaves_its_trials_open_and_says_why(
    rehearsal: Rehearsal, stage: str, judged: int, open_trials: int
) -> None:
    states = await rehearsal.run(ChoosySystem(stage))

    ada = states.scenarios["ada"]
    assert (ada.count_states(TrialState.JUDGED), ada.count_states(TrialState.OPEN)) == (
        judged,
        open_trials,
    )
    assert {event.stage for event in rehearsal.journal if isinstance(event, FeedFailed)} == {stage}
    assert states.has_ended is (stage == "close")


async def test_feeding_has_a_timeout_too(rehearsal: Rehearsal) -> None:
    class Swamped(ScriptedMemory):
        async def ingest(self, episode: Episode) -> None:
            await anyio.sleep_forever()

    class SwampedSystem(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            return Swamped(lambda lived, question: "")

    await rehearsal.run(SwampedSystem(lambda lived, question: ""), feed_timeout_s=0.01)

    [failed] = [event for event in rehearsal.journal if isinstance(event, FeedFailed)]
    assert (failed.stage, failed.fault, failed.day) == ("ingest", "SystemTimeout", 1)
