"""What commands need of Python and the operating system: signals, event loops, threads, imports.

Every command imports this first, so that it imports no event loop itself.

In what operating systems differ, code outside of `core` asks here. Within `core` each module that
starts processes, handles signals, locks or confines asks for itself, because type checkers
understand only `sys.platform`; docs/reference/platforms.md lists them all.
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

    import anyio

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM) + (
    () if sys.platform == "win32" else (signal.SIGHUP,)
)
"""The signals that ask a command to end."""

REPEAT_S = 0.5
"""Signals that follow the first one within this time are the same request."""

_COMMAND = threading.Event()
"""Set if this process is a command of ours, which may be ended."""


def mark_as_command() -> None:
    """Say that this process is a command of ours: a signal while it stops ends it at once.

    KeyboardInterrupt would be raised anywhere, and can leave an event loop that waits forever.
    What a process writes survives its end, and programs it started end with it.
    """
    _COMMAND.set()


@contextmanager
def cancel_on_signals(
    scope: "anyio.CancelScope", wanted: tuple[signal.Signals, ...] = STOP_SIGNALS
) -> Iterator[list[int]]:
    """Cancel the scope at the first signal; a later one ends a command, or has its default effect.

    Yields a list to which the signal is added. Only the main thread of a POSIX process can receive
    signals in an event loop; elsewhere this does nothing.
    """
    received: list[int] = []
    begun_at: list[float] = []
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield received
        return
    import asyncio

    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in wanted:
            loop.remove_signal_handler(number)

    def stop(number: int) -> None:
        if not received:
            begun_at.append(time.monotonic())
            received.append(number)
            scope.cancel()
            if not _COMMAND.is_set():
                release()
        elif time.monotonic() - begun_at[0] > REPEAT_S:
            with suppress(OSError):
                os.write(2, b"interrupted; run the same command again to continue\n")
            os._exit(128 + number)

    for number in wanted:
        loop.add_signal_handler(number, stop, number)
    try:
        yield received
    finally:
        if received and _COMMAND.is_set():
            # While a command stops, signals are counted to the end, by the process itself: a loop
            # that closes is no longer there to be woken.
            signal.set_wakeup_fd(-1)
            for number in wanted:
                signal.signal(number, lambda number, _: stop(number))
        else:
            release()


T = TypeVar("T")


def run_to_end(call: Callable[..., Awaitable[T]], *parameters: object) -> T:
    """Run an async call to its end, and return what it returns.

    It has an event loop of its own, so nothing it leaves open may depend on that loop. If a loop is
    running in this thread, the call runs in another thread, and an interruption cancels it.
    """
    import asyncio

    import anyio
    from anyio.from_thread import start_blocking_portal

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(call, *parameters)
    with start_blocking_portal() as portal:
        return portal.call(call, *parameters)


async def run_in_thread(call: Callable[..., Awaitable[T]], *parameters: object) -> T:
    """Run an async call in a thread with an event loop of its own, while this loop goes on.

    Cancelling this cancels the call, and waits until it has ended.
    """
    import asyncio

    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal:
        return await asyncio.wrap_future(portal.start_task_soon(call, *parameters))


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect nothing meanwhile.

    Where millions of objects are made that all stay, it looks through them again and again: a
    megabyte of YAML took ten times as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


IS_WINDOWS: Final = sys.platform == "win32"

CAN_REUSE_ADDRESS: Final = os.name == "posix"
"""Whether SO_REUSEADDR means an address whose last connections linger; on Windows, one in use."""


def make_lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__` and `__dir__` of a package.

    `homes` holds for each module the names that the package offers from it. Modules are named as
    seen from the package: `honest` is one of its own, `.features.honest` stands beside it.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    offered = sorted(home_of)

    def find_name(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{home_of[name]}", package), name)

    return offered, find_name, lambda: offered


async def run_in_daemon_thread(call: Callable[[], object]) -> object:
    """Return what the call returns, or raise what it raises.

    A cancelled caller leaves the thread running: Python cannot stop it, but the process can end
    without it.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[object] = loop.create_future()

    def run_call() -> None:
        try:
            returned = call()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            _deliver_outcome(loop, outcome, partial(outcome.set_exception, _wrap_error(error)))
        else:
            _deliver_outcome(loop, outcome, partial(outcome.set_result, returned))

    threading.Thread(target=run_call, name="foreign call", daemon=True).start()
    return await outcome


def _deliver_outcome(
    loop: "asyncio.AbstractEventLoop", outcome: "asyncio.Future[object]", give: Callable[[], None]
) -> None:
    with suppress(RuntimeError):  # the loop may be gone by the time a late call is done
        loop.call_soon_threadsafe(lambda: None if outcome.done() else give())


def _wrap_error(error: BaseException) -> Exception:
    """Return an error that a future accepts: not a StopIteration or a SystemExit."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
