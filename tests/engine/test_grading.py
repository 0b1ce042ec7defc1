"""A verdict comes from the judge, or the trial stays open; our failures cost the run."""

import anyio
import msgspec
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import (
    JudgeBusy,
    JudgeFault,
    SystemFault,
    SystemGone,
    UnreadableVerdict,
)
from recall_bench.core.event import Answered, Judged, NotJudged
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import Exhibit, Verdict
from tests.conftest import RELEASED_PAUSES_S
from tests.faulty.fakes import ExactJudge, ScriptedMemory, ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


def fig() -> ScriptedSystem:
    return ScriptedSystem(lambda lived, question: "Fig")


class Moody(ExactJudge):
    """Fails in a given way, as often as told."""

    def __init__(self, fault: JudgeFault, times: int) -> None:
        self._fault, self._times = fault, times

    async def judge(self, exhibit: Exhibit) -> Verdict:
        if self._times:
            self._times -= 1
            raise self._fault
        return await super().judge(exhibit)


async def test_a_judge_that_babbles_once_costs_that_verdict_and_no_more(
    rehearsal: Rehearsal,
) -> None:
    states = await rehearsal.run(fig(), Moody(UnreadableVerdict("no JSON"), 1))

    ada = states.scenarios["ada"]
    assert (ada.count_states(TrialState.NOT_JUDGED), ada.count_states(TrialState.JUDGED)) == (1, 1)
    assert not states.has_ended


async def test_an_unjudged_answer_is_judged_by_the_next_run_without_asking_again(
    rehearsal: Rehearsal,
) -> None:
    await rehearsal.run(fig(), Moody(UnreadableVerdict("no JSON"), 1))
    asked = len(rehearsal.of(Answered))

    states = await rehearsal.run(fig())

    assert states.has_ended
    assert len(rehearsal.of(Answered)) == asked == 2
    assert len(rehearsal.of(Judged)) == 2


async def test_a_hanging_judge_is_cancelled(rehearsal: Rehearsal) -> None:
    class Asleep(ExactJudge):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            await anyio.sleep_forever()
            raise AssertionError

    await rehearsal.run(fig(), Asleep(), judge_timeout_s=0.01)

    faults = [event.fault for event in rehearsal.journal if isinstance(event, NotJudged)]
    assert faults == ["JudgeTimeout", "JudgeTimeout"]


async def test_a_busy_judge_is_asked_again(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0,))

    await rehearsal.run(fig(), Moody(JudgeBusy("429"), 1))

    assert len(rehearsal.of(Judged)) == 2


async def test_a_window_of_any_size_costs_no_more_than_the_story(rehearsal: Rehearsal) -> None:
    """A loop over its days would never end."""
    await rehearsal.run(fig(), ExactJudge(), judge_memory_window=10**15)

    assert len(rehearsal.of(Judged)) == 2


@pytest.mark.parametrize(
    ("window", "shown"), [(0, [[], []]), (1, [[1, 2], [2, 3]]), (5, [[1, 2], [1, 2, 3]])]
)
async def test_the_judge_sees_the_evidence_window_and_never_the_future(
    rehearsal: Rehearsal, window: int, shown: list[list[int]]
) -> None:
    seen: list[list[int]] = []

    class Reader(ExactJudge):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            seen.append([episode.day for episode in exhibit.excerpts])
            return await super().judge(exhibit)

    await rehearsal.run(fig(), Reader(), judge_memory_window=window)

    assert seen == shown


async def test_a_full_docket_loses_nothing(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.engine.scheduler.MAX_WAITING", 0)

    states = await rehearsal.run(fig())

    assert states.has_ended
    assert len(rehearsal.of(Judged)) == 2


async def test_answers_of_later_scenarios_are_judged_even_if_the_system_is_gone(
    rehearsal: Rehearsal,
) -> None:
    """Ada could not be fed and Bob could not be judged; then the system disappears."""
    ada = rehearsal.scenarios["ada"]
    rehearsal.scenarios["bob"] = msgspec.structs.replace(ada, id="bob")
    [card] = rehearsal.plan.scenarios
    cards = (card, card.replace(id="bob"))

    class Reachable(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            if scenario == "ada":
                raise SystemFault("no room")
            return await super().open(scenario)

    class Gone(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            raise SystemGone("no server there")

    reply = fig()._reply
    await rehearsal.run(Reachable(reply), Moody(UnreadableVerdict("?"), 9), scenarios=cards)
    with pytest.raises(SystemGone):
        await rehearsal.run(Gone(reply))

    states = rehearsal.fold_states()
    assert states.scenarios["bob"].count_states(TrialState.JUDGED) == 2
    assert states.scenarios["ada"].count_states(TrialState.OPEN) == 2


@pytest.mark.parametrize(("asked", "waited"), [(0.0, 0.5), (7.5, 7.5), (3600.0, 60.0)])
async def test_a_busy_judge_is_left_alone_as_long_as_it_asks_within_reason(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch, asked: float, waited: float
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", RELEASED_PAUSES_S)

    await rehearsal.run(fig(), Moody(JudgeBusy("429", retry_after_s=asked), 1))

    assert slept == [waited]
    assert len(rehearsal.of(Judged)) == 2
