"""No test leaves a command behind, even one that fails."""

from collections.abc import Iterator

import pytest

from tests.running.pool.command_process import STARTED


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    """End what is still running."""
    yield
    while STARTED:
        command = STARTED.pop()
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()
