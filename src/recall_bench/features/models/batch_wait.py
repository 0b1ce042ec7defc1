"""The batches that a command has to wait for: sent, looked at again and again, and fetched.

A command whose model sends batches collects its requests, ends with ModelPending and closes its
models. Then everything that waits is sent here, and when all of it is there the same command is
run again: it finds the replies as if it had been killed in between.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from recall_bench.core.errors import Interrupted, ModelBusy, ModelPending
from recall_bench.core.event_loop import run_to_end
from recall_bench.core.plain_text import join_words
from recall_bench.core.signals import cancel_on_signals
from recall_bench.features.models.batch_delivery import BatchDelivery, DeliveryResult
from recall_bench.features.models.batch_senders import SENDERS, BatchSender
from recall_bench.features.models.batch_service import BatchStatus

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""Between two looks at the batches; each pause is twice as long as the one before."""
MAX_FAILURES = 10
"""Looks in a row that may fail before the command ends and leaves the batches for later."""


Say = Callable[[str], None]


def deliver_batches(say: Say, show: Say) -> bool:
    """Send the batches of this process's models and wait for them; whether all have come.

    False if there was nothing to wait for. `say` receives what happened, `show` what goes on.
    ModelPending if they take longer than the user wants to wait, ModelGone if one cannot succeed,
    Interrupted at a signal.
    """
    senders = [sender for sender in SENDERS.get_all() if sender.list_open_files()]
    return bool(senders) and run_to_end(_deliver_until_signal, senders, say, show)


async def _deliver_until_signal(senders: Sequence[BatchSender], say: Say, show: Say) -> bool:
    delivery = _DeliveryRound(senders, say, show)
    with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
        async with _connect(senders):
            await delivery.run()
    if received:
        say(delivery.describe_open())
        raise Interrupted(received[0])
    return True


@asynccontextmanager
async def _connect(senders: Sequence[BatchSender]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for sender in senders:
            await stack.enter_async_context(sender.delivery.service)
        yield


class _DeliveryRound:
    """Looks at all open batches until there is none."""

    def __init__(self, senders: Sequence[BatchSender], say: Say, show: Say) -> None:
        self._senders = senders
        self._say = say
        self._show = show
        self._failures = 0
        self._retry_after_s = 0.0
        self._last = ""
        self._progress: dict[str, BatchStatus] = {}

    async def run(self) -> None:
        """Return when every batch has its results on disk."""
        until = anyio.current_time() + min(sender.wait_limit_s for sender in self._senders)
        pause_s = FIRST_PAUSE_S
        while True:
            self._retry_after_s, busy = 0.0, None
            for sender, name in self._list_open():
                busy = await self._advance(sender.delivery, name) or busy
            self._failures = self._failures + 1 if busy else 0
            if not self._list_open():
                return
            left_s = until - anyio.current_time()
            if left_s <= 0 or self._failures >= MAX_FAILURES:
                why = f"{busy}; " if busy else ""
                raise ModelPending(why + self.describe_open())
            self._show_progress(busy)
            await anyio.sleep(min(max(pause_s, self._retry_after_s), left_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def describe_open(self) -> str:
        """What is with the services, and how to go on."""
        batches = [
            sender.delivery.name_batch(name) or f"{name}, which was not sent"
            for sender, name in self._list_open()
        ]
        named = join_words(batches[:5]) + (f" and {len(batches) - 5} more" if batches[5:] else "")
        verb = "has" if len(batches) == 1 else "have"
        return (
            f"{named} {verb} not ended; run the same command again to continue; nothing is paid "
            "for twice"
        )

    def _list_open(self) -> list[tuple[BatchSender, str]]:
        return [(sender, name) for sender in self._senders for name in sender.list_open_files()]

    async def _advance(self, delivery: BatchDelivery, name: str) -> ModelBusy | None:
        """Send or look at one file; why that has to be tried again, if it has."""
        try:
            if (message := await delivery.send(name)) is not None:
                self._say(message)
            found = await delivery.fetch(name)
        except ModelBusy as busy:
            self._retry_after_s = max(self._retry_after_s, busy.retry_after_s)
            return busy
        if isinstance(found, DeliveryResult):
            self._progress.pop(name, None)
            self._say(str(found))
        else:
            self._progress[name] = found
        return None

    def _show_progress(self, busy: ModelBusy | None) -> None:
        done = sum(each.done for each in self._progress.values())
        total = sum(each.total for each in self._progress.values())
        words = f"{busy}; it is asked again" if busy else f"{done:,} of {total:,} requests are done"
        if words != self._last:
            self._show(words)
            self._last = words
