"""A run may be killed at any moment; its outcomes do not depend on when."""

from datetime import UTC, datetime

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.event import Answered, Event, Judged, NotAnswered, RunEnded, RunResumed
from recall_bench.core.plan import Lifecycle, Trial
from recall_bench.core.trial_states import TrialState
from tests.faulty.fakes import ScriptedSystem
from tests.fixtures.running import LIFECYCLES, Rehearsal

pytestmark = pytest.mark.anyio


class PowerCut(BaseException):
    """Not an Exception: nothing in the harness may catch it."""


class Fuse:
    """Lets a number of events through, then blows."""

    def __init__(self, holds: int) -> None:
        self._left = holds

    def __call__(self, event: Event) -> None:
        if self._left == 0:
            raise PowerCut
        self._left -= 1


def system() -> ScriptedSystem:
    return ScriptedSystem(lambda lived, question: lived[-1].text, can_snapshot=True)


def outcomes(rehearsal: Rehearsal) -> dict[Trial, object]:
    return {
        event.trial: event.verdict if isinstance(event, Judged) else event.fault
        for event in rehearsal.journal
        if isinstance(event, Judged | NotAnswered)
    }


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
@pytest.mark.parametrize("holds", range(13))
async def test_a_power_cut_after_any_event_changes_no_outcome(
    rehearsal: Rehearsal, lifecycle: Lifecycle, holds: int
) -> None:
    whole = Rehearsal(plan=rehearsal.plan, scenarios=rehearsal.scenarios)
    await whole.run(system(), lifecycle=lifecycle)

    rehearsal.record = Fuse(holds)
    try:
        await rehearsal.run(system(), lifecycle=lifecycle)
    except (PowerCut, BaseExceptionGroup):
        rehearsal.record = None
        await rehearsal.run(system(), lifecycle=lifecycle)

    assert outcomes(rehearsal) == outcomes(whole)
    for kind in (Answered, Judged, RunEnded):
        assert len(rehearsal.of(kind)) == len(whole.of(kind)), kind


async def test_a_finished_run_asks_feeds_and_judges_nothing_when_resumed(
    rehearsal: Rehearsal,
) -> None:
    await rehearsal.run(system())
    before = [event for event in rehearsal.journal if not isinstance(event, RunEnded)]

    await rehearsal.run(system())

    assert [e for e in rehearsal.journal if not isinstance(e, RunEnded)] == before


@pytest.mark.parametrize("holds", range(12))
async def test_a_power_cut_while_failures_are_retried_changes_no_outcome(
    rehearsal: Rehearsal, holds: int
) -> None:
    """A run that had ended is reopened; being killed in that must not look like the old end."""

    def fail(lived: object, question: object) -> str:
        raise SystemFault("down")

    await rehearsal.run(ScriptedSystem(fail))
    rehearsal.journal.append(RunResumed(at=datetime.now(UTC), code="1"))
    rehearsal.reopened = True
    rehearsal.record = Fuse(holds)
    try:
        await rehearsal.run(system())
    except (PowerCut, BaseExceptionGroup):
        rehearsal.record = None
        rehearsal.journal.append(RunResumed(at=datetime.now(UTC), code="1"))
        await rehearsal.run(system())

    states = rehearsal.fold_states()
    assert states.scenarios["ada"].count_states(TrialState.JUDGED) == 2
    assert states.has_ended
