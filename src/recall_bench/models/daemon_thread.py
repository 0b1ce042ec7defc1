"""Somebody else's blocking call, in a thread that cannot keep the process alive."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial


async def in_daemon_thread(call: Callable[[], object]) -> object:
    """What the call returns, or raises what it raises.

    A caller that is cancelled leaves the thread behind: Python cannot stop it, but the process may
    end without it.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[object] = loop.create_future()

    def work() -> None:
        try:
            returned = call()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            _hand_over(loop, outcome, partial(outcome.set_exception, _portable(error)))
        else:
            _hand_over(loop, outcome, partial(outcome.set_result, returned))

    threading.Thread(target=work, name="foreign call", daemon=True).start()
    return await outcome


def _hand_over(
    loop: asyncio.AbstractEventLoop, outcome: asyncio.Future[object], give: Callable[[], None]
) -> None:
    with suppress(RuntimeError):  # the loop may be gone by the time a late call is done
        loop.call_soon_threadsafe(lambda: None if outcome.done() else give())


def _portable(error: BaseException) -> Exception:
    """What a future accepts: a StopIteration or a SystemExit would upset its loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
