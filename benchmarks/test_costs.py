"""The processor time of each test file, with that of the processes its tests start.

Run `python -m pytest -n0 -p benchmarks.test_costs tests/cli`. The durations of pytest are of the
clock, and say little on a machine with other work to do.
"""

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

SHOWN = 40

_seconds: defaultdict[str, float] = defaultdict(float)


def read_processor_s() -> float:
    """The time of this process and of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Add what a test took, fixtures included, to its file."""
    before = read_processor_s()
    found = yield
    _seconds[item.nodeid.partition("::")[0]] += read_processor_s() - before
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the files that took most, and the sum of all."""
    terminalreporter.section("processor seconds")
    for seconds, name in sorted(((each, name) for name, each in _seconds.items()), reverse=True)[
        :SHOWN
    ]:
        terminalreporter.line(f"{seconds:8.1f}  {name}")
    terminalreporter.line(f"{sum(_seconds.values()):8.1f}  all")
