"""Signals that follow the one that stops a command."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator

import anyio
import pytest

from recall_bench.core import runtime as signals
from recall_bench.core.runtime import cancel_on_signals

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]


@pytest.fixture
def _command() -> Iterator[None]:
    """A process that is a command of ours, with its signals as they were in the end."""
    before = {number: signal.getsignal(number) for number in signals.STOP_SIGNALS}
    signals._COMMAND.set()
    yield
    signals._COMMAND.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_command")
async def test_while_its_loop_is_closed_they_are_the_same_request() -> None:
    """A loop closes what a signal wakes it by before it lets go of signals."""
    with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()
    woken = signal.set_wakeup_fd(-1)
    for number in signals.STOP_SIGNALS:
        os.kill(os.getpid(), number)

    assert received == [signal.SIGINT]
    assert woken == -1


@pytest.mark.usefixtures("_command")
async def test_later_ones_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    with anyio.CancelScope() as scope, cancel_on_signals(scope):
        os.kill(os.getpid(), signal.SIGTERM)
        await anyio.sleep_forever()
    monkeypatch.setattr(signals, "REPEAT_S", -1.0)
    os.kill(os.getpid(), signal.SIGINT)

    assert ended == [128 + signal.SIGINT]


async def test_without_any_the_signals_are_as_they_were() -> None:
    before = [signal.getsignal(number) for number in signals.STOP_SIGNALS]
    with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
        await asyncio.sleep(0)

    assert received == []
    assert [signal.getsignal(number) for number in signals.STOP_SIGNALS] == before
