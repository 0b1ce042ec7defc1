"""One endpoint for all tests that change nothing about it, and nobody's keys in the environment."""

import threading
from collections.abc import Iterator

import pytest

from recall_bench.systems.endpoint.model_endpoint import ModelEndpoint
from tests.models.conftest import nobodys_environment

__all__ = ["nobodys_environment"]

for needed in ("starlette", "uvicorn", "httpx", "openai"):
    pytest.importorskip(needed)


@pytest.fixture(scope="session")
def shared() -> Iterator[ModelEndpoint]:
    """The embedded word vectors, and no language model."""
    with ModelEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(shared: ModelEndpoint) -> ModelEndpoint:
    """The shared one, with nothing on its meter that was not counted."""
    shared.meter.drain()
    return shared


def left_over(before: set[threading.Thread]) -> set[threading.Thread]:
    """Threads that do not end by themselves; a pool's, told to end, may need a moment."""
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    return set(threading.enumerate()) - before


@pytest.fixture
def threads() -> Iterator[set[threading.Thread]]:
    """The threads that ran before the test; afterwards there are no others."""
    before = set(threading.enumerate())
    yield before
    assert not left_over(before)
