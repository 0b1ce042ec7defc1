"""The models of this process that send batches."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recall_bench.features.models.batch_delivery import BatchDelivery


class BatchSender(Protocol):
    """A model that sends batches."""

    @property
    def wait_limit_s(self) -> float:
        """How long a command may wait for the batches; infinite if the user set no limit."""

    @property
    def delivery(self) -> "BatchDelivery":
        """Sends and fetches its files."""

    def list_open_files(self) -> list[str]:
        """The request files that this command needs and that have no results yet."""


class SenderList:
    """The models of this process that send batches."""

    def __init__(self) -> None:
        self._senders: list[BatchSender] = []
        self._on_first: Callable[[], None] = lambda: None

    def begin(self, on_first: Callable[[], None]) -> None:
        """Forget all models; `on_first` is called when the next one is added."""
        self._senders.clear()
        self._on_first = on_first

    def add(self, sender: BatchSender) -> None:
        """Add a model that was opened."""
        if not self._senders:
            self._on_first()
        self._senders.append(sender)

    def get_all(self) -> Sequence[BatchSender]:
        """The models that were opened since `begin`."""
        return tuple(self._senders)


SENDERS = SenderList()
