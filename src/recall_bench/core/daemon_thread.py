"""User code in a thread that does not keep the process alive."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial


async def run_in_daemon_thread(call: Callable[[], object]) -> object:
    """Return what the call returns, or raise what it raises.

    A cancelled caller leaves the thread running: Python cannot stop it, but the process can end
    without it.
    """
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
    loop: asyncio.AbstractEventLoop, outcome: asyncio.Future[object], give: Callable[[], None]
) -> None:
    with suppress(RuntimeError):  # the loop may be gone by the time a late call is done
        loop.call_soon_threadsafe(lambda: None if outcome.done() else give())


def _wrap_error(error: BaseException) -> Exception:
    """Return an error that a future accepts: not a StopIteration or a SystemExit."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
