"""Async code runs to its end from sync code, whether or not an event loop is running."""

import asyncio
import signal
import threading

import anyio
import anyio.lowlevel
import pytest

from recall_bench.core.runtime import run_in_thread, run_to_end


async def add(first: int, second: int) -> tuple[int, str]:
    await anyio.lowlevel.checkpoint()
    return first + second, threading.current_thread().name


def test_without_a_loop_it_runs_in_this_thread() -> None:
    assert run_to_end(add, 1, 2) == (3, threading.current_thread().name)


@pytest.mark.anyio
async def test_inside_a_loop_it_runs_in_a_thread_of_its_own() -> None:
    total, thread = run_to_end(add, 1, 2)

    assert total == 3
    assert thread != threading.current_thread().name


@pytest.mark.anyio
async def test_what_it_raises_is_raised() -> None:
    async def fail() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        run_to_end(fail)


@pytest.mark.anyio
async def test_a_loop_goes_on_while_it_awaits_another_thread() -> None:
    ticked = threading.Event()

    async def tick() -> None:
        while True:
            await anyio.sleep(0.001)
            ticked.set()

    async def block() -> str:
        return f"ticked: {ticked.wait(30)}"

    ticker = asyncio.create_task(tick())
    try:
        assert await run_in_thread(block) == "ticked: True"
    finally:
        ticker.cancel()


@pytest.mark.anyio
async def test_cancelling_ends_what_runs_in_the_other_thread() -> None:
    loop, begun, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    async def wait_forever() -> None:
        loop.call_soon_threadsafe(begun.set)
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    task = asyncio.create_task(run_in_thread(wait_forever))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_an_interruption_cancels_what_runs_in_the_other_thread() -> None:
    """As in a notebook, whose loop does not handle the signal itself."""
    ended: list[str] = []

    async def wait_forever() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    async def use_a_cell() -> None:
        with pytest.raises(KeyboardInterrupt):
            run_to_end(wait_forever)

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(use_a_cell())
    finally:
        loop.close()
    assert ended == ["cancelled"]
