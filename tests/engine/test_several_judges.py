"""Every judge of a plan judges every answer once; only the first one decides the score."""

from pathlib import Path
from typing import Any

import pytest

import recall_bench
from recall_bench.core.errors import BudgetSpent, UnreadableVerdict
from recall_bench.core.event import Judged, OtherVerdict, Paid, RunEnded
from recall_bench.core.plan import Plan
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialState
from recall_bench.engine.forecast import PaidRole, price_verdicts
from recall_bench.engine.runs.journal import JOURNAL, read_events
from tests.engine.many import CALL, FAIL, PASS, QUESTIONS, Ruled, fails_below, many, parrot
from tests.engine.result_views import views
from tests.engine.test_resume import Fuse, PowerCut
from tests.fixtures.running import Rehearsal
from tests.gardener import write_persona
from tests.judging.harbour import exhibit, item

pytestmark = pytest.mark.anyio


def panel() -> tuple[Ruled, Ruled, Ruled]:
    """The first fails three of twelve, the second six, the third none."""
    return Ruled(fails_below(3)), Ruled(fails_below(6), charge=CALL), Ruled(lambda n: PASS)


def other_verdicts(rehearsal: Rehearsal) -> dict[tuple[str, int], OtherVerdict]:
    """The last word of each other judge on each question."""
    return {
        (event.trial.item, event.judge): event
        for event in rehearsal.journal
        if isinstance(event, OtherVerdict)
    }


async def test_every_judge_judges_every_answer_and_the_first_gives_the_score(plan: Plan) -> None:
    run = many(plan)
    first, second, third = panel()

    states = await run.run(parrot(), first, others=(second, third))

    assert [len(each.seen) for each in (first, second, third)] == [QUESTIONS] * 3
    scenario = states.scenarios["many"]
    passes = [scenario.get_status(0, 0, item).is_pass for item in range(QUESTIONS)]
    assert passes.count(False) == 3
    said = [[scenario.get_other_status(judge, n).is_pass for n in range(12)] for judge in (0, 1)]
    assert [each.count(False) for each in said] == [6, 0]
    assert states.usage.calls == states.other_usage[0].calls == QUESTIONS
    assert states.other_usage[1].calls == 0
    assert states.has_ended
    assert isinstance(run.journal[-1], RunEnded)


async def test_a_power_cut_after_any_event_asks_no_judge_twice(plan: Plan) -> None:
    undisturbed = many(plan)
    first, second, third = panel()
    await undisturbed.run(parrot(), first, others=(second, third))
    wanted = {place: said.verdict for place, said in other_verdicts(undisturbed).items()}
    assert len(wanted) == 2 * QUESTIONS

    for holds in range(len(undisturbed.journal)):
        run = many(plan)
        first, second, third = panel()
        run.record = Fuse(holds)
        with pytest.raises((PowerCut, BaseExceptionGroup)):
            await run.run(parrot(), first, others=(second, third))
        run.record = None

        states = await run.run(parrot(), first, others=(second, third))

        assert states.has_ended, holds
        found = {place: said.verdict for place, said in other_verdicts(run).items()}
        assert found == wanted, holds
        # The verdict that was lost with the power is asked for again, and no other one.
        assert len(run.of(Judged)) == QUESTIONS, holds
        assert len(run.of(OtherVerdict)) == 2 * QUESTIONS, holds
        asked = sum(len(each.seen) for each in (first, second, third))
        assert asked <= 3 * QUESTIONS + 1, holds


async def test_a_judge_that_fails_costs_no_score_and_is_asked_again(plan: Plan) -> None:
    run = many(plan)
    broken = Ruled(lambda n: UnreadableVerdict("gibberish") if n == 4 else PASS)

    states = await run.run(parrot(), Ruled(fails_below(3)), others=(broken,))

    assert not states.has_ended
    assert states.scenarios["many"].count_states(TrialState.JUDGED) == QUESTIONS
    assert other_verdicts(run)["q4", 0].fault == "UnreadableVerdict"

    mended, first = Ruled(lambda n: FAIL), Ruled(fails_below(3))
    states = await run.run(parrot(), first, others=(mended,))

    assert states.has_ended
    assert (first.seen, mended.seen) == ([], ["many/q4"])
    assert other_verdicts(run)["q4", 0].verdict == FAIL


async def test_the_first_judge_comes_first_where_money_is_short(plan: Plan) -> None:
    run = many(plan)
    first, second = Ruled(fails_below(3), charge=CALL), Ruled(lambda n: PASS, charge=CALL)

    with pytest.raises(BudgetSpent):
        await run.run(parrot(), first, others=(second,), max_cost_usd=0.25 * (QUESTIONS + 2))

    assert len(run.of(Judged)) == QUESTIONS
    states = run.fold_states()
    assert states.usage.cost_usd == 0.25 * (QUESTIONS + len(second.seen))
    paid = [event for event in run.journal if isinstance(event, Paid)]
    assert all(event.judge == 0 for event in paid)
    assert states.other_usage[0].cost_usd == 0.25 * len(second.seen)

    states = await run.run(parrot(), first, others=(second,), max_cost_usd=100.0)
    assert states.has_ended
    assert len(first.seen) == QUESTIONS


def test_a_strict_reading_is_priced_with_its_longer_prompt() -> None:
    exhibits = (exhibit(item("What?", "$465"), "$465"),)
    roles = [
        PaidRole(f"judge {number}", "gpt-4o-mini", target)
        for number, target in ((2, "openai:gpt-4o-mini"), (3, "openai:gpt-4o-mini@strict"))
    ]

    plain, strict = (price_verdicts(role, Settings(), exhibits, 10) for role in roles)

    assert plain.calls == strict.calls == 10
    assert plain.input_tokens < strict.input_tokens
    assert plain.cost_usd
    assert strict.cost_usd


JUDGES = """
def strict(exhibit):
    return {"correctness": 3 if exhibit.answer.text == "" else 0, "completeness": 0, "grounded": 1}

def kind(exhibit):
    return {"correctness": 3, "completeness": 2, "grounded": 1}
"""


def test_processes_record_what_one_process_records(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    (tmp_path / "judges.py").write_text(JUDGES)
    code = tmp_path / "judges.py"
    given: dict[str, Any] = {
        "adapter": "bm25",
        "data": tmp_path / "data",
        "ranges": ("5d",),
        "heatmap_png": False,
        "judges": f"offline, {code}:strict, {code}:kind",
    }
    alone = recall_bench.run(into=tmp_path / "alone", **given)
    assert alone.exit_code == 0

    lines = (tmp_path / "alone" / JOURNAL).read_bytes().splitlines(keepends=True)
    events = list(read_events(tmp_path / "alone" / JOURNAL))
    cut = next(n for n, event in enumerate(events) if isinstance(event, OtherVerdict)) + 1
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / JOURNAL).write_bytes(b"".join(lines[:cut]))
    pooled = recall_bench.run(into=tmp_path / "pool", executor="processes", workers=1, **given)

    assert pooled.exit_code == 0
    assert views(tmp_path / "pool") == views(tmp_path / "alone")
    again = list(read_events(tmp_path / "pool" / JOURNAL))
    assert sum(isinstance(event, OtherVerdict) for event in again) == 2 * alone.summary.overall.owed
