"""A real model over real HTTP is held to the shape of a verdict.

With 135 million parameters it is far too weak to judge: only the shape is looked at. It reads
thirty tokens a second on one thread, so it is shown two sentences in the place of a rubric and a
case; test_prompt sees to it that those are sent whole.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from recall_bench.core.usage import Usage
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.judging.rubric.passages import RubricOptions
from recall_bench.judging.rubric.rubric_judge import RubricJudge
from recall_bench.systems.models.model import Model, Prompt, Reply
from tests.features.models.small_model import served
from tests.judging.harbour import item
from tests.judging.rubric.scripted import case

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

base_url = pytest.fixture(served, scope="module")

BRIEF = Prompt(
    system="Mark correctness from 0 to 3, completeness from 0 to 2 and grounded 0 or 1.",
    user="Reference: $465 a week. Answer: It costs $465. Give a reason of a few words.",
)


class Shortened:
    """A model that is asked the brief in the place of a prompt, for a reply of the same shape."""

    def __init__(self, model: Model) -> None:
        self.name, self.is_priced = model.name, model.is_priced
        self._model = model

    async def complete(self, prompt: Prompt) -> Reply:
        assert prompt.schema is not None
        return await self._model.complete(replace(BRIEF, schema=prompt.schema))

    async def close(self) -> None:
        await self._model.close()


async def test_a_real_model_gives_a_verdict_that_is_kept(base_url: str, tmp_path: Path) -> None:
    spec = parse_spec(f"openai:smollm2;{base_url};max-tokens=300", {})
    assert spec is not None
    model = Shortened(open_model(spec, {}))
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
    assert all(bill.input_tokens > 30 for bill in bills[:-1])
