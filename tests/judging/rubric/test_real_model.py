"""A real model over real HTTP is held to the shape of a verdict.

With 135 million parameters it is far too weak to judge: only the shape is looked at. It reads
thirty tokens a second on one thread, so it is given a rubric of two sentences in the place of a
written one; test_prompt sees to it that those are sent whole.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from recall_bench.core.usage import Usage
from recall_bench.judging.rubric.passages import RubricOptions
from recall_bench.judging.rubric.prompt import load_rubrics
from recall_bench.judging.rubric.rubric_judge import RubricJudge
from recall_bench.models.model_spec import parse_spec
from recall_bench.models.provider_model import open_model
from tests.judging.harbour import item
from tests.judging.rubric.scripted import case
from tests.models.small_model import served

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

base_url = pytest.fixture(served, scope="module")

BRIEF = (
    "Compare the answer with the reference and the evidence. Mark correctness from 0 to 3, "
    "completeness from 0 to 2 and grounded 0 or 1, and give a reason of a few words."
)


async def test_a_real_model_gives_a_verdict_that_is_kept(
    base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = {kind: replace(rubric, text=BRIEF) for kind, rubric in load_rubrics().items()}
    monkeypatch.setattr("recall_bench.judging.rubric.prompt.load_rubrics", lambda: brief)
    spec = parse_spec(f"openai:smollm2;{base_url};max-tokens=300", {})
    assert spec is not None
    model = open_model(spec, {})
    judge = RubricJudge(model, RubricOptions(cache=tmp_path))
    bills: list[Usage] = []
    asked = item("What does berth 7 cost?", "$465 a week")
    exhibit = replace(case(asked, "It costs $465.", shown=[1, 9]), bill=bills.append)

    first = await judge.judge(exhibit)
    second = await judge.judge(exhibit)
    await model.close()

    assert first == second
    assert first.rubric == "grounded"
    assert first.reason
    assert bills[-1] == Usage(cached=1)
    assert all(bill.input_tokens > 300 for bill in bills[:-1])
