"""A system together with the model endpoint that was started for it."""

import os
from collections.abc import Callable

import anyio

from recall_bench.core.memory import Memory, MemorySystem, Snapshots, SystemCard, get_worker_limit
from recall_bench.core.usage import Usage
from recall_bench.endpoint.endpoint import ENDPOINT_VARIABLE, ModelEndpoint, ParentEndpoint


def open_metered_system(
    endpoint: ModelEndpoint | ParentEndpoint, made: Callable[[str], MemorySystem]
) -> "EndpointSystem":
    """Start the endpoint, make the system with its address, and keep the two together.

    Until the system is closed, child processes find the endpoint in their environment. If the
    system cannot be made, the endpoint is stopped again.
    """
    endpoint.start()
    before = os.environ.get(ENDPOINT_VARIABLE)
    os.environ[ENDPOINT_VARIABLE] = endpoint.url
    try:
        return EndpointSystem(made(endpoint.url), endpoint, before)
    except BaseException:
        _restore_variable(before)
        endpoint.stop()
        raise


def _restore_variable(before: str | None) -> None:
    if before is None:
        os.environ.pop(ENDPOINT_VARIABLE, None)
    else:
        os.environ[ENDPOINT_VARIABLE] = before


class EndpointSystem:
    """The system, with every token it spends at its endpoint counted."""

    def __init__(
        self, system: MemorySystem, endpoint: ModelEndpoint | ParentEndpoint, before: str | None
    ) -> None:
        self._system = system
        self._endpoint = endpoint
        self._before = before

    @property
    def card(self) -> SystemCard:
        """The system's, and what it embeds and chats with."""
        card = self._system.card
        models: dict[str, object] = {"embedder": self._endpoint.embedder}
        if self._endpoint.model is not None:
            models["model"] = self._endpoint.model
        return card.replace(config={**card.config, "endpoint": models})

    @property
    def snapshots(self) -> Snapshots | None:
        """The system's."""
        return self._system.snapshots

    @property
    def max_shards(self) -> int | None:
        """The system's: every worker starts an endpoint of its own."""
        return get_worker_limit(self._system)

    async def open(self, scenario: str) -> Memory:
        """A memory of the system."""
        return await self._system.open(scenario)

    async def close(self) -> None:
        """Close the system, then stop the endpoint."""
        try:
            await self._system.close()
        finally:
            _restore_variable(self._before)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._endpoint.stop)

    def drain(self) -> Usage:
        """What was spent at the endpoint since the last time."""
        return self._endpoint.meter.drain()
