"""Systems under test that are Python code in this process.

The modules around this one: `adapter` says what an adapter is, `reply` what it may return,
`adapter_source` where it is found, `worker_thread` how it is run and stopped, `saved_memories`
how it can go back to an earlier state.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from recall_bench.core.memory import SystemCard
from recall_bench.errors import UsageError
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.python.adapter_source import Source, find_source, source_of
from recall_bench.systems.python.memory import PythonMemory
from recall_bench.systems.python.memory_builder import MemoryBuilder
from recall_bench.systems.python.saved_memories import SavedMemories, way_of
from recall_bench.systems.python.worker_thread import stuck


def load_system(
    target: str,
    config: Mapping[str, object],
    *,
    factory: str | None = None,
    state_dir: Path | None = None,
) -> "PythonSystem":
    """The system whose adapter is at `file.py`, `file.py:factory` or `package.module:factory`.

    The factory is called with the config as keyword arguments, anew for every memory. What its
    memories and snapshots keep on disk lies below `state_dir` until the system is closed.
    """
    return PythonSystem(find_source(target, factory), config, state_dir)


def system_from(
    subject: object,
    config: Mapping[str, object] | None = None,
    *,
    state_dir: Path | None = None,
    given: Mapping[str, object] | None = None,
) -> "PythonSystem":
    """The system of an adapter class, of a function that makes adapters, or of one adapter.

    A single adapter can hold one memory at a time. What is `given` goes to the factory like the
    config but is no setting, and is left off the card: an address that is another in every run.
    """
    return PythonSystem(source_of(subject), config or {}, state_dir, given or {})


class PythonSystem:
    """An in-process system: every memory has its own adapter in its own thread."""

    def __init__(
        self,
        source: Source,
        config: Mapping[str, object],
        state_dir: Path | None,
        given: Mapping[str, object] | None = None,
    ) -> None:
        self._source = source
        self._builder = MemoryBuilder(source, config, state_dir, given or {})
        adapter = self._builder.first_adapter()
        try:
            self.card = _card(source, adapter, config)
            self.max_shards = adapter.max_shards
            self.snapshots = self._saved_memories(adapter)
        except BaseException:
            self._builder.dismiss()
            raise
        self._held: PythonMemory | None = None
        self._is_opening = False

    async def open(self, scenario: str) -> PythonMemory:
        """A memory whose adapter was built and set up for it."""
        if self._source.is_built:
            self._claim()
        self._is_opening = True
        try:
            memory = await self._builder.build()
        finally:
            self._is_opening = False
        memory.scenario = scenario
        self._held = memory if self._source.is_built else None
        return memory

    async def close(self) -> None:
        """Remove what the system keeps on disk."""
        await self._builder.clean()

    def _saved_memories(self, adapter: Adapter) -> SavedMemories | None:
        if self._source.is_built:
            return None
        way = way_of(adapter, keeps_files=self._builder.keeps_files)
        return SavedMemories(way, self._builder) if way else None

    def _claim(self) -> None:
        """Make sure that the one adapter there is can be given to a new memory."""
        where, held = self._source.where, self._held
        if held is not None and held.is_stuck:
            raise stuck()
        if self._is_opening or (held is not None and not held.is_closed):
            raise UsageError(
                f"{where} is a single object and holds one memory at a time; "
                "give its class or a factory instead"
            )
        if held is not None and not held.adapter.has("setup"):
            raise UsageError(
                f"{where} has no setup() to empty it for a second memory; "
                "give its class or a factory instead"
            )


def _card(source: Source, adapter: Adapter, config: Mapping[str, object]) -> SystemCard:
    return SystemCard(
        name=str(getattr(adapter.subject, "name", None) or source.name),
        version=str(getattr(adapter.subject, "version", None) or source.version),
        config=_written_down(config),
        max_concurrency=adapter.max_concurrency,
        clock=adapter.clock,
        asker=adapter.asker,
        answers=adapter.answers,
    )


def _written_down(config: Mapping[str, object]) -> dict[str, object]:
    """The settings as JSON; an object that JSON does not know is named by its type."""
    written = msgspec.json.encode(
        dict(config), enc_hook=lambda value: f"{type(value).__module__}.{type(value).__qualname__}"
    )
    return msgspec.json.decode(written, type=dict[str, object])
