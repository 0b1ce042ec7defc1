"""One server with all test agents for the whole test process, and one small story."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faulty.agent_server import AgentServer
from tests.gardener import write_persona

pytest.importorskip("httpx")


@pytest.fixture(scope="session")
def agents() -> Iterator[AgentServer]:
    with AgentServer(pause_s=0.03) as server:
        yield server


@pytest.fixture(scope="session")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six days, and a question about each."""
    folder = tmp_path_factory.mktemp("garden")
    write_persona(folder, days=6)
    return folder
