"""The processor time of each test file, with that of the processes its tests start.

Run `python -m pytest -n0 -p benchmarks.test_costs tests/cli`. The durations of pytest are of the
clock, and say little on a machine with other work to do. On Linux, processes that still run count
too: copies of a process belong to it and not to the test. What a browser leaves behind when it is
closed is not counted.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SHOWN = 40

_seconds: defaultdict[str, float] = defaultdict(float)


def read_processor_s() -> float:
    """The time of this process, and of all that it started, but for what others waited for."""
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    return own + sum(_list_running_s())


def _list_running_s() -> Iterator[float]:
    """The time of each running descendant, with that of its own children that have ended."""
    parents, times = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            times[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for number, seconds in times.items():
        above = parents[number]
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and number != above:
            yield seconds


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
