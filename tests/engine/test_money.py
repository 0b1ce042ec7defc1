"""Every call is on a bill, every bill on record, and spent money begins no verdict."""

import anyio
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import BudgetSpent, JudgeBusy, SystemFault, UnreadableVerdict
from recall_bench.core.event import (
    Answered,
    Ingested,
    Judged,
    NotJudged,
    Postponed,
    RunEnded,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, Verdict
from tests.engine.many import (
    CALL,
    FAIL,
    PASS,
    QUESTIONS,
    Ruled,
    fails_below,
    many,
    parrot,
)
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


def passing(*, computes: bool = False) -> Ruled:
    return Ruled(lambda n: PASS, charge=None if computes else CALL, computes=computes)


def events(run: Rehearsal) -> list[Judged]:
    return [event for event in run.journal if isinstance(event, Judged)]


async def test_a_free_verdict_has_no_bill(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(parrot(), Ruled(lambda n: PASS))

    assert all(event.usage is None for event in events(run))
    assert states.usage == Usage()


async def test_a_trial_s_bill_is_of_both_judges_and_says_what_the_review_cost(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(
        parrot(),
        Ruled(fails_below(2), charge=CALL),
        appellate=Ruled(lambda n: PASS, charge=CALL + CALL),
    )

    both = [event for event in events(run) if event.primary == FAIL]
    assert [(event.usage, event.review_usage) for event in both] == [
        (CALL + CALL + CALL, CALL + CALL)
    ] * 2
    later = [event for event in events(run) if event.primary == PASS]
    assert [(event.usage, event.review_usage) for event in later] == [
        (CALL + CALL, CALL + CALL)
    ] * 2
    assert states.usage.calls == QUESTIONS + 2 * 4
    assert states.review_usage.cost_usd == 2 * 4 * CALL.cost_usd


async def test_what_was_paid_in_vain_is_on_record(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(parrot(), Ruled(lambda n: UnreadableVerdict("?"), charge=CALL))

    usages = [event.usage for event in run.journal if isinstance(event, NotJudged)]
    assert usages == [CALL] * QUESTIONS
    assert states.usage.calls == QUESTIONS


async def test_every_attempt_at_a_busy_judge_is_paid_for(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0,))
    run = many(plan)
    attempts: list[int] = []

    def rule(number: int) -> Verdict | JudgeBusy:
        attempts.append(number)
        return PASS if attempts.count(number) == 2 else JudgeBusy("429")

    await run.run(parrot(), Ruled(rule, charge=CALL))

    assert {event.usage for event in events(run)} == {CALL + CALL}
    assert len(run.of(Postponed)) == QUESTIONS


async def test_what_earlier_processes_paid_counts(plan: Plan) -> None:
    run = many(plan)
    with pytest.raises(BudgetSpent):
        await run.run(parrot(), passing(), max_cost_usd=1.0)

    assert run.fold_states().usage.cost_usd == 1.0

    with pytest.raises(BudgetSpent):
        await run.run(parrot(), passing(), max_cost_usd=2.0)

    assert run.fold_states().usage.cost_usd == 2.0


async def test_the_money_spent_stops_the_run_and_more_of_it_goes_on(plan: Plan) -> None:
    run = many(plan)
    judge = passing()

    with pytest.raises(BudgetSpent, match=r"\$1\.0000 .* allows \$0\.9000; run the same command"):
        await run.run(parrot(), judge, max_cost_usd=0.9)

    assert len(events(run)) == 4
    assert not run.of(NotJudged)
    assert not run.of(RunEnded)

    states = await run.run(parrot(), judge, max_cost_usd=100.0)

    assert states.has_ended
    assert sorted(judge.seen) == sorted(f"many/q{n}" for n in range(QUESTIONS))
    assert len(run.of(Answered)) == QUESTIONS


async def test_a_limit_that_cannot_be_kept_stops_the_run_and_none_goes_on(plan: Plan) -> None:
    run = many(plan)
    uncounted = Ruled(lambda n: PASS, charge=Usage(calls=1, unpriced=1))

    with pytest.raises(BudgetSpent, match="its cost is unknown"):
        await run.run(parrot(), uncounted, max_cost_usd=100.0)

    assert len(events(run)) == 1, "what was paid for is kept"

    states = await run.run(parrot(), uncounted)

    assert states.has_ended
    assert len(uncounted.seen) == QUESTIONS


@pytest.mark.parametrize("parallelism", [1, 3])
async def test_a_bounded_number_of_verdicts_overshoots(plan: Plan, parallelism: int) -> None:
    """Three scenarios are graded side by side, but their verdicts share the places."""
    run = many(plan, "ada", "bob", "cid")

    class Slow(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            await anyio.sleep(0.002)
            return await super().judge(exhibit)

    with pytest.raises(BudgetSpent):
        await run.run(
            parrot(),
            Slow(lambda n: PASS, charge=CALL),
            max_cost_usd=3 * CALL.cost_usd,
            parallelism=parallelism,
        )

    assert 3 <= run.fold_states().usage.calls < 3 + parallelism


async def test_scenarios_together_seek_no_more_verdicts_at_a_time_than_allowed(
    plan: Plan,
) -> None:
    run = many(plan, "ada", "bob", "cid")
    inside: list[str] = []
    most = 0

    class Counting(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            nonlocal most
            inside.append(exhibit.scenario)
            most = max(most, len(inside))
            await anyio.sleep(0.001)
            inside.remove(exhibit.scenario)
            return PASS

    await run.run(parrot(), Counting(lambda n: PASS), parallelism=2)

    assert most == 2


class Waiting(ScriptedMemory):
    """Gives its first answer at once, and every other a while after the first verdict."""

    def __init__(self, judged: anyio.Event) -> None:
        super().__init__(lambda lived, question: "")
        self._judged = judged
        self._asked = False

    async def ingest(self, episode: Episode) -> None:
        await super().ingest(episode)
        await anyio.sleep(0.005)

    async def answer(self, question: Question) -> Answer:
        if self._asked:
            await self._judged.wait()
            await anyio.sleep(0.01)
        self._asked = True
        return Answer(text=question.text)

    def __deepcopy__(self, memo: object) -> "Waiting":
        return Waiting(self._judged)


class WaitingSystem(ScriptedSystem):
    def __init__(self, judged: anyio.Event, *, can_snapshot: bool = False) -> None:
        super().__init__(lambda lived, question: "", can_snapshot=can_snapshot)
        self._judged = judged

    async def open(self, scenario: str) -> ScriptedMemory:
        memory = Waiting(self._judged)
        self.opened.append(memory)
        return memory


class Telling(Ruled):
    """Says when it has begun."""

    def __init__(self, judged: anyio.Event) -> None:
        super().__init__(lambda n: PASS, charge=CALL)
        self._judged = judged

    async def judge(self, exhibit: Exhibit) -> Verdict:
        self._judged.set()
        return await super().judge(exhibit)


TWICE = (Checkpoint(label="1d", days=1), Checkpoint(label="9d", days=9))


async def test_asking_ends_with_the_money_and_an_answer_under_way_is_kept(plan: Plan) -> None:
    """The second answer waits for the first verdict, which spends everything."""
    run, judged = many(plan, days=9, checkpoints=TWICE), anyio.Event()
    system = WaitingSystem(judged)

    with pytest.raises(BudgetSpent):
        await run.run(system, Telling(judged), max_cost_usd=0.01)

    assert 2 <= len(run.of(Answered)) < QUESTIONS
    assert len(run.of(Judged)) == 1
    assert [memory.closed for memory in system.opened] == [True]


async def test_feeding_ends_with_the_money(plan: Plan) -> None:
    """A copy is asked while the original is fed on."""
    run, judged = many(plan, days=9, checkpoints=TWICE), anyio.Event()
    system = WaitingSystem(judged, can_snapshot=True)

    with pytest.raises(BudgetSpent):
        await run.run(system, Telling(judged), max_cost_usd=0.01, lifecycle=Lifecycle.FORKED)

    assert len(run.of(Ingested)) < 9
    assert [memory.closed for memory in system.opened] == [True]


async def test_nothing_is_fed_for_verdicts_that_cannot_be_paid(plan: Plan) -> None:
    run = many(plan)
    system, judge = parrot(), passing()

    with pytest.raises(BudgetSpent):
        await run.run(system, judge, max_cost_usd=0.0)

    assert system.opened == []
    assert judge.seen == []


async def test_a_judge_that_computes_is_never_stopped(plan: Plan) -> None:
    """Money spent on reviews leaves every answer its first verdict; reviews follow later."""
    run = many(plan)
    first = Ruled(fails_below(6), computes=True)
    second = Ruled(lambda n: PASS, charge=CALL)

    with pytest.raises(BudgetSpent):
        await run.run(parrot(), first, appellate=second, max_cost_usd=2 * CALL.cost_usd)

    ada = run.fold_states().scenarios["many"]
    assert ada.count_states(TrialState.JUDGED) == len(run.of(Answered))
    assert ada.count_states(TrialState.ANSWERED, TrialState.NOT_JUDGED) == 0
    assert len(second.seen) == 2

    await run.run(parrot(), first, appellate=second, max_cost_usd=100.0)

    assert len(first.seen) == QUESTIONS
    assert len(second.seen) == len(set(second.seen)) == QUESTIONS
    assert run.fold_states().has_ended


async def test_a_run_with_nothing_left_to_pay_for_ends_whatever_was_spent(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(parrot(), passing(), max_cost_usd=QUESTIONS * CALL.cost_usd)

    assert states.has_ended


async def test_a_judge_that_computes_judges_what_later_scenarios_answered_before(
    plan: Plan,
) -> None:
    """Bob's answers await a verdict when the money for reviews is spent on Ada's."""
    run = many(plan, "ada", "bob")

    class Slow(ScriptedMemory):
        async def close(self) -> None:
            await anyio.sleep(0.02)

    class System(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            if scenario == "ada" and not self.has_room:
                raise SystemFault("no room")
            return Slow(lambda lived, question: question.text)

        has_room = False

    system = System(lambda lived, question: "")
    await run.run(system, Ruled(lambda n: UnreadableVerdict("?"), computes=True))
    system.has_room = True
    with pytest.raises(BudgetSpent):
        await run.run(
            system,
            Ruled(fails_below(6), computes=True),
            appellate=Ruled(lambda n: PASS, charge=CALL),
            max_cost_usd=0.01,
        )

    assert run.fold_states().scenarios["bob"].count_states(TrialState.JUDGED) == QUESTIONS


async def test_a_first_verdict_paid_for_is_kept_when_its_review_cannot_be(plan: Plan) -> None:
    run = many(plan)
    first = Ruled(lambda n: FAIL, charge=CALL)
    second = Ruled(lambda n: PASS, charge=CALL)

    with pytest.raises(BudgetSpent):
        await run.run(parrot(), first, appellate=second, max_cost_usd=3 * CALL.cost_usd)

    assert [(event.primary, event.usage) for event in events(run)] == [
        (FAIL, CALL + CALL),
        (None, CALL),
    ]

    await run.run(parrot(), first, appellate=second)

    assert len(first.seen) == len(second.seen) == QUESTIONS
    assert run.fold_states().usage.calls == 2 * QUESTIONS


async def test_what_was_paid_for_a_verdict_that_was_cut_off_is_on_record(plan: Plan) -> None:
    run = many(plan)

    class Endless(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            exhibit.bill(CALL)
            await anyio.sleep_forever()
            raise AssertionError

    with anyio.move_on_after(0.05):
        await run.run(parrot(), Endless(lambda n: PASS))

    assert run.fold_states().usage == CALL
