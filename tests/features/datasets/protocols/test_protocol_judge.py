"""A model judges by a dataset's own rules: a score in the place of marks, and paid for once."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import (
    JudgeBusy,
    JudgeFault,
    JudgeGone,
    ModelBusy,
    ModelFault,
    ModelGone,
    UnreadableVerdict,
)
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Expects, Item, Truth
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, ignore_usage
from recall_bench.features.datasets.protocols.longmemeval_protocol import LONGMEMEVAL_RULES
from recall_bench.judging.judges import NoJudge
from recall_bench.judging.protocols.registry import ProtocolJudge
from recall_bench.judging.verdicts import VerdictCache
from tests.scripted_model import CALL, ScriptedModel, cut_off

pytestmark = pytest.mark.anyio


def item(category: str = "single-session-user", expects: Expects = Expects.ANSWER) -> Item:
    truth = Truth(reference="a kayak", category=category, expects=expects)
    return Item(id="q", text="What did Ada buy?", truth=truth, known_from=1)


def exhibit(
    answer: str,
    asked: Item | None = None,
    bill: Callable[[Usage], None] = ignore_usage,
) -> Exhibit:
    return Exhibit(
        scenario="s",
        item=asked or item(),
        asked_at=datetime(2023, 5, 1),
        days=1,
        answer=Answer(text=answer),
        bill=bill,
    )


def judge(model: ScriptedModel, cache: VerdictCache | None = None) -> ProtocolJudge:
    return ProtocolJudge(LONGMEMEVAL_RULES, model, cache)


@pytest.mark.parametrize(("said", "score"), [("yes", 1.0), ("No.", 0.0)])
async def test_yes_and_no_are_a_score_and_no_marks(said: str, score: float) -> None:
    verdict = await judge(ScriptedModel(said)).judge(exhibit("It was a kayak."))

    assert (verdict.score, verdict.marks) == (score, {})
    assert verdict.reason


async def test_the_rule_is_that_of_the_type_and_of_abstention_before_it() -> None:
    model = ScriptedModel("yes", "yes", "yes")
    held = judge(model)

    for asked in (
        item(),
        item("knowledge-update"),
        item("knowledge-update", expects=Expects.ABSTAIN),
    ):
        await held.judge(exhibit("It was a kayak.", asked))

    fact, update, abstention = (prompt.user for prompt in model.asked)
    assert "What the question asks about has changed over time" in update
    assert "cannot be answered from what the user has told" in abstention
    assert len({fact, update, abstention}) == 3


async def test_what_was_paid_for_is_not_paid_for_twice(tmp_path: Path) -> None:
    model = ScriptedModel("yes")
    first = await judge(model, VerdictCache(tmp_path)).judge(exhibit("It was a kayak."))

    again = await judge(model, VerdictCache(tmp_path)).judge(exhibit("It was a kayak."))

    assert again == first
    assert len(model.asked) == 1


async def test_without_a_cache_every_verdict_is_asked_for() -> None:
    model = ScriptedModel("yes", "no")
    held = judge(model)

    verdicts = [await held.judge(exhibit("It was a kayak.")) for _ in range(2)]

    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]


class Renamed(ScriptedModel):
    name = "another"


@pytest.mark.parametrize(
    ("answer", "asked", "kind"),
    [
        pytest.param("A canoe.", item(), ScriptedModel, id="another answer"),
        pytest.param("It was a kayak.", item("multi-session"), ScriptedModel, id="another type"),
        pytest.param(
            "It was a kayak.", item(expects=Expects.ABSTAIN), ScriptedModel, id="no answer"
        ),
        pytest.param("It was a kayak.", item(), Renamed, id="another model"),
    ],
)
async def test_what_a_score_depends_on_is_asked_for_anew(
    tmp_path: Path, answer: str, asked: Item, kind: type[ScriptedModel]
) -> None:
    cache = VerdictCache(tmp_path)
    await judge(ScriptedModel("yes"), cache).judge(exhibit("It was a kayak."))
    model = kind("no")

    verdict = await judge(model, cache).judge(exhibit(answer, asked))

    assert verdict.score == 0.0
    assert len(model.asked) == 1


async def test_an_unreadable_reply_is_a_fault_and_never_kept(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    model = ScriptedModel("perhaps", "maybe", cut_off("yes"), "yes")

    with pytest.raises(UnreadableVerdict):
        await judge(model, cache).judge(exhibit("It was a kayak."))

    assert (await judge(model, cache).judge(exhibit("It was a kayak."))).score == 1.0
    assert len(model.asked) == 4


async def test_every_call_is_billed_the_unreadable_ones_too() -> None:
    paid: list[Usage] = []
    model = ScriptedModel("perhaps", "yes")

    await judge(model).judge(exhibit("It was a kayak.", bill=paid.append))

    assert paid == [CALL, CALL]


async def test_a_blank_answer_is_wrong_and_costs_nothing() -> None:
    model = ScriptedModel()

    verdict = await judge(model).judge(exhibit("  "))

    assert verdict.score == 0.0
    assert model.asked == []


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (ModelBusy("later"), JudgeBusy),
        (ModelGone("no key"), JudgeGone),
        (ModelFault("?"), JudgeFault),
    ],
)
async def test_a_failing_model_is_a_fault_of_the_judge(
    fault: ModelFault, expected: type[JudgeFault]
) -> None:
    with pytest.raises(expected):
        await judge(ScriptedModel(fault)).judge(exhibit("It was a kayak."))


async def test_the_card_names_the_rules_and_the_model() -> None:
    card = judge(ScriptedModel()).card

    assert (card.name, card.model) == ("longmemeval/official-rules", "scripted")
    assert card.rules_digest == LONGMEMEVAL_RULES.card.digest
    assert not card.computes, "it costs money"


async def test_a_run_without_a_judge_gets_no_verdict() -> None:
    assert NoJudge.card.computes
    with pytest.raises(JudgeFault, match="this run has no judge"):
        await NoJudge().judge(exhibit("It was a kayak."))
