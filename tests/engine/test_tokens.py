"""A limit in tokens stops a run as one in money does, and both may be set at once."""

import pytest

from recall_bench.core.errors import BudgetSpent
from recall_bench.core.event import Answered, Judged, NotJudged, RunEnded
from recall_bench.core.plan import Plan
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from tests.engine.many import CALL, PASS, QUESTIONS, Ruled, many, parrot

pytestmark = pytest.mark.anyio


def charging(usage: Usage) -> Ruled:
    return Ruled(lambda n: PASS, charge=usage)


async def test_the_tokens_taken_stop_the_run_and_more_of_them_go_on(plan: Plan) -> None:
    run, judge = many(plan), charging(CALL)

    said = r"judging has taken 440 tokens and --max-tokens allows 400; run the same command"
    with pytest.raises(BudgetSpent, match=said):
        await run.run(parrot(), judge, max_tokens=4 * CALL.tokens - 40)
    assert len(run.of(Judged)) == 4
    assert not run.of(NotJudged)
    assert not run.of(RunEnded)
    with pytest.raises(BudgetSpent):
        await run.run(parrot(), judge, max_tokens=4 * CALL.tokens)
    assert len(run.of(Judged)) == 4

    states = await run.run(parrot(), judge, max_tokens=1_000_000)

    assert states.has_ended
    assert sorted(judge.seen) == sorted(f"many/q{n}" for n in range(QUESTIONS))
    assert len(run.of(Answered)) == QUESTIONS


@pytest.mark.parametrize(
    ("usd", "tokens", "verdicts", "said"),
    [
        (2 * CALL.cost_usd, 4 * CALL.tokens, 2, "--max-cost allows"),
        (4 * CALL.cost_usd, 2 * CALL.tokens, 2, "--max-tokens allows"),
    ],
)
async def test_of_two_limits_the_first_that_is_reached_decides(
    plan: Plan, usd: float, tokens: int, verdicts: int, said: str
) -> None:
    run = many(plan)

    with pytest.raises(BudgetSpent, match=said):
        await run.run(parrot(), charging(CALL), max_cost_usd=usd, max_tokens=tokens)

    assert len(run.of(Judged)) == verdicts


async def test_unknown_tokens_stop_a_run_with_such_a_limit_and_none_without(
    plan: Plan,
) -> None:
    """A server of one's own costs nothing, so its price is known; its tokens are not."""
    run, silent = many(plan), charging(Usage(calls=1))

    with pytest.raises(BudgetSpent, match=r"the judge's server .* --max-tokens cannot be kept"):
        await run.run(parrot(), silent, max_tokens=1_000_000)
    assert len(run.of(Judged)) == 1, "what was paid for is kept"

    states = await run.run(parrot(), silent, max_cost_usd=100.0)

    assert states.has_ended
    assert len(silent.seen) == QUESTIONS


async def test_a_price_no_one_knows_does_not_matter_to_a_limit_in_tokens(plan: Plan) -> None:
    told = Usage(calls=1, input_tokens=10, unpriced=1)

    states = await many(plan).run(parrot(), charging(told), max_tokens=10 * QUESTIONS)

    assert states.has_ended


async def test_verdicts_on_record_take_no_tokens(plan: Plan) -> None:
    states = await many(plan).run(parrot(), charging(Usage(cached=1)), max_tokens=1)

    assert states.has_ended


@pytest.mark.parametrize(
    ("parallelism", "max_calls", "at_once"), [(1, None, 1), (8, None, 8), (8, 3, 3), (2, 9, 2)]
)
async def test_calls_allowed_at_a_time_cap_what_one_process_does_at_once(
    parallelism: int, max_calls: int | None, at_once: int
) -> None:
    assert Settings(parallelism=parallelism, max_calls=max_calls).concurrency == at_once
