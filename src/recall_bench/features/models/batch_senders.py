"""The models of this process that send batches; every command imports this."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_bench.features.models.batch_model import BatchModel


class SenderList:
    """The models that were opened since `begin`."""

    def __init__(self) -> None:
        self.models: list[BatchModel] = []
        self._on_first: Callable[[], None] = lambda: None

    def begin(self, on_first: Callable[[], None]) -> None:
        """Forget all models; `on_first` is called when the next one is added."""
        self.models.clear()
        self._on_first = on_first

    def add(self, model: "BatchModel") -> None:
        """Add a model that was opened."""
        if not self.models:
            self._on_first()
        self.models.append(model)


SENDERS = SenderList()
