"""How many calls a process may have under way to a system, and to any one provider of models."""

from contextlib import AbstractAsyncContextManager, nullcontext

import anyio

SYSTEM = "system"


def name_provider(model: str) -> str:
    """Who is called for a model, as in `openai:gpt-5-mini`."""
    return f"provider {model.partition(':')[0]}"


class CallLimiter:
    """At most so many at a time to each; None is no limit."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._under_way: dict[str, anyio.Semaphore] = {}

    def limit(self, whom: str) -> AbstractAsyncContextManager[object]:
        """Wait for a turn, and have it while the block lasts."""
        if self._most is None:
            return nullcontext()
        return self._under_way.setdefault(whom, anyio.Semaphore(self._most))
