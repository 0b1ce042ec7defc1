"""The models of this process that send batches; every command imports this."""

from collections.abc import Callable


class SenderList:
    """The models that were opened since `begin`."""

    def __init__(self) -> None:
        self.models: list[object] = []
        self._on_first: Callable[[], None] = lambda: None

    def begin(self, on_first: Callable[[], None]) -> None:
        """Forget all models; `on_first` is called when the next one is added."""
        self.models.clear()
        self._on_first = on_first

    def add(self, model: object) -> None:
        """Add a model that was opened."""
        if not self.models:
            self._on_first()
        self.models.append(model)


SENDERS = SenderList()
