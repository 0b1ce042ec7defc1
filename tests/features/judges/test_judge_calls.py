"""Every answer gets a verdict or a fault; a judge that is gone or too expensive stops judging."""

import anyio
import pytest

from recall_bench.core import retry
from recall_bench.core.errors import BudgetSpent, JudgeBusy, JudgeFault, JudgeGone, JudgeTimeout
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.features.judges.judge_agreement import LabelledExhibits
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS
from recall_bench.judging.judge_calls import JudgeLimits, judge_all
from tests.features.judges.orchard import Reader, labelled

pytestmark = pytest.mark.anyio


def exhibits(*answers: str) -> list[Exhibit]:
    window = LabelledExhibits(NO_CORPUS, 0)
    return [window.build(labelled(answer)) for answer in answers]


@pytest.mark.parametrize("computes", [True, False])
async def test_verdicts_and_faults_keep_the_order_of_the_answers(computes: bool) -> None:
    answers = ["3 2 1", "nonsense", "0 0 0", "1 1 1", "9 9 9"]

    heard = await judge_all(
        Reader(computes=computes), exhibits(*answers), JudgeLimits(parallelism=3)
    )

    found = [part.composite if isinstance(part, Verdict) else None for part in heard.outcomes]
    assert found == [6, None, 0, 3, None]
    assert heard.not_judged == 2
    assert heard.faults == {"JudgeFault": 2}


async def test_a_verdict_that_comes_late_keeps_its_place() -> None:
    class Ponderous(Reader):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            if exhibit.answer.text == "3 2 1":
                while len(self.seen) < 3:
                    await anyio.lowlevel.checkpoint()
            return await super().judge(exhibit)

    answers = exhibits("3 2 1", "0 0 0", "1 1 1", "1 0 0")

    heard = await judge_all(Ponderous(computes=False), answers, JudgeLimits(parallelism=2))

    found = [part.composite for part in heard.outcomes if isinstance(part, Verdict)]
    assert found == [6, 0, 3, 1]


async def test_no_more_are_asked_at_a_time_than_agreed() -> None:
    class Crowded(Reader):
        now = most = 0

        async def judge(self, exhibit: Exhibit) -> Verdict:
            self.now += 1
            self.most = max(self.most, self.now)
            await anyio.lowlevel.checkpoint()
            self.now -= 1
            return await super().judge(exhibit)

    judge = Crowded(computes=False)

    await judge_all(judge, exhibits(*["3 2 1"] * 20), JudgeLimits(parallelism=3))

    assert judge.most == 3


async def test_every_call_is_billed_verdict_or_not() -> None:
    judge = Reader(computes=False, cost_usd=0.25)

    heard = await judge_all(judge, exhibits("3 2 1", "nonsense"))

    assert heard.usage == Usage(calls=2, input_tokens=20, output_tokens=4, cost_usd=0.5)


async def test_a_spent_budget_stops_judging() -> None:
    judge = Reader(computes=False, cost_usd=0.25)

    with pytest.raises(BudgetSpent, match=r"cost \$0\.5000 and --max-cost allows \$0\.5000"):
        await judge_all(
            judge, exhibits(*["3 2 1"] * 9), JudgeLimits(parallelism=1, max_cost_usd=0.5)
        )

    assert len(judge.seen) == 2


async def test_a_limit_that_cannot_be_kept_stops_judging() -> None:
    class Uncounted(Reader):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            exhibit.bill(Usage(calls=1, unpriced=1))
            return await super().judge(exhibit)

    judge = Uncounted(computes=False)

    with pytest.raises(BudgetSpent, match="its cost is unknown"):
        await judge_all(
            judge, exhibits(*["3 2 1"] * 9), JudgeLimits(parallelism=1, max_cost_usd=5.0)
        )

    assert len(judge.seen) == 1


async def test_a_judge_that_is_gone_stops_judging() -> None:
    class Gone(Reader):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            if exhibit.answer.text == "0 0 0":
                raise JudgeGone("the key is refused")
            return await super().judge(exhibit)

    judge = Gone(computes=False)

    with pytest.raises(JudgeGone, match="the key is refused"):
        await judge_all(
            judge, exhibits("3 2 1", "0 0 0", *["3 2 1"] * 50), JudgeLimits(parallelism=2)
        )
    with pytest.raises(JudgeGone):
        await judge_all(Gone(computes=True), exhibits("0 0 0"))

    assert len(judge.seen) < 10


async def test_a_busy_judge_is_asked_again_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0))

    class Busy(Reader):
        def __init__(self, times: int) -> None:
            super().__init__(computes=False)
            self.left = times

        async def judge(self, exhibit: Exhibit) -> Verdict:
            self.left -= 1
            if self.left >= 0:
                raise JudgeBusy("come back")
            return await super().judge(exhibit)

    patient = await judge_all(Busy(2), exhibits("3 2 1"))
    spurned = await judge_all(Busy(3), exhibits("3 2 1"))

    assert patient.not_judged == 0
    assert spurned.faults == {"JudgeBusy": 1}


async def test_a_judge_that_hangs_is_given_up() -> None:
    class Slow(Reader):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            await anyio.sleep_forever()
            raise AssertionError

    heard = await judge_all(Slow(computes=False), exhibits("3 2 1"), JudgeLimits(timeout_s=0.01))

    (fault,) = heard.outcomes
    assert isinstance(fault, JudgeTimeout)
    assert isinstance(fault, JudgeFault)


async def test_progress_is_reported() -> None:
    told: list[int] = []

    await judge_all(
        Reader(), exhibits("3 2 1", "nonsense", "0 0 0"), JudgeLimits(on_progress=told.append)
    )

    assert told == [1, 2, 3]


async def test_a_no_ends_the_question_at_once() -> None:
    assert (await judge_all(Reader(computes=False), [])).outcomes == ()
