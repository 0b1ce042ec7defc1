"""Systems under test that are Python code in this process.

`adapter` defines adapters and their replies, `python_memory` finds and builds them, `worker_thread`
runs and stops their calls, `python_snapshots` saves and opens their states.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from weakref import WeakKeyDictionary, finalize

import msgspec

from recall_bench.core.errors import NotOffered, SystemGone, UsageError
from recall_bench.core.memory import Isolation, IsolationCard, Memory, Offer, SystemCard
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.python.main_thread import MainThread
from recall_bench.systems.python.python_memory import (
    AdapterSource,
    MemoryBuilder,
    PythonMemory,
    find_source,
    wrap_source,
)
from recall_bench.systems.python.python_snapshots import (
    ProcessKind,
    PythonSnapshots,
    choose_snapshot_method,
)
from recall_bench.systems.python.worker_thread import WorkerThread, make_stuck_error


def load_python_system(
    target: str,
    config: Mapping[str, object],
    *,
    factory: str | None = None,
    state_dir: Path | None = None,
    main: MainThread | None = None,
    keeps_states: bool = False,
) -> "PythonSystem":
    """The system of the adapter at `file.py`, `file.py:factory` or `package.module:factory`.

    The factory is called with the config as keyword arguments, once for every memory. Files of
    memories and snapshots are below `state_dir` until the system is closed; with `keeps_states` the
    files of memories that can be reopened stay, and the caller removes that folder. With
    `main` this process is the adapter's own, and the adapter is called in that thread.
    """
    source = find_source(target, factory)
    system = PythonSystem(source, config, state_dir, main=main, keeps_states=keeps_states)
    return _mark_in_process(system)


def build_python_system(
    subject: object,
    config: Mapping[str, object] | None = None,
    *,
    state_dir: Path | None = None,
    given: Mapping[str, object] | None = None,
    is_ours: bool = False,
    keeps_states: bool = False,
) -> "PythonSystem":
    """The system of an adapter class, a factory of adapters, or a single adapter.

    A single adapter holds one memory at a time. `given` is passed to the factory like the config,
    but is not on the card: for example an address that differs in every run. An adapter that is not
    ours is marked on the card: it runs in the process of the harness. Folders are kept as in
    `load_python_system`.
    """
    system = PythonSystem(
        wrap_source(subject), config or {}, state_dir, given or {}, keeps_states=keeps_states
    )
    return system if is_ours else _mark_in_process(system)


def _mark_in_process(system: "PythonSystem") -> "PythonSystem":
    system.card = system.card.replace(isolation=IsolationCard(kind=Isolation.IN_PROCESS))
    return system


class PythonSystem:
    """An in-process system: every memory has its own adapter in its own thread."""

    def __init__(
        self,
        source: AdapterSource,
        config: Mapping[str, object],
        state_dir: Path | None,
        given: Mapping[str, object] | None = None,
        *,
        main: MainThread | None = None,
        keeps_states: bool = False,
    ) -> None:
        self._source = source
        self._kind = ProcessKind.IN_PROCESS if main is None else ProcessKind.CHILD
        self._keeps_states = keeps_states
        self._builder = MemoryBuilder(
            source,
            config,
            state_dir,
            given or {},
            keeps_states=keeps_states,
            make_worker=WorkerThread if main is None else lambda _: main,
        )
        adapter = self._builder.build_first_adapter()
        try:
            self.card = SystemCard(
                name=str(getattr(adapter.subject, "name", None) or source.name),
                version=str(getattr(adapter.subject, "version", None) or source.version),
                config=serialise_config(config),
                max_concurrency=adapter.max_concurrency,
                clock=adapter.clock,
                asker=adapter.asker,
                answers=adapter.answers,
            )
            self.max_shards = adapter.max_shards
            can_reopen = self._builder.keeps_files and not source.is_built
            self.offers = adapter.offers - (frozenset() if can_reopen else {Offer.REOPEN})
            self.snapshots = self._build_snapshots(adapter)
            self.copy_obstacle = _find_copy_obstacle(adapter)
            """Why a process with this adapter must not be copied; empty if it may be."""
        except BaseException:
            self._builder.release()
            raise
        self._last_memory: PythonMemory | None = None
        self._removers: WeakKeyDictionary[PythonMemory, finalize[..., PythonMemory]] = (
            WeakKeyDictionary()
        )
        """What removes the folder of a memory once it cannot be reopened."""
        self._is_opening = False

    async def open(self, scenario: str) -> PythonMemory:
        """A memory with an adapter of its own, after `setup`."""
        if self._source.is_built:
            # UsageError if the single adapter cannot serve another memory.
            where, last = self._source.where, self._last_memory
            if last is not None and last.is_stuck:
                raise make_stuck_error()
            if self._is_opening or (last is not None and not last.is_closed):
                raise UsageError(
                    f"{where} is a single object and holds one memory at a time; "
                    "give its class or a factory instead"
                )
            if last is not None and not last.adapter.defines("setup"):
                raise UsageError(
                    f"{where} has no setup() to empty it for a second memory; "
                    "give its class or a factory instead"
                )
        self._is_opening = True
        try:
            memory = await self._builder.build()
        finally:
            self._is_opening = False
        self._last_memory = memory if self._source.is_built else None
        return self._prepare(memory, scenario)

    async def reopen(self, memory: Memory) -> PythonMemory:
        """A memory with a new adapter, after `reopen`, on the state directory of a closed one."""
        if not isinstance(memory, PythonMemory):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        if Offer.REOPEN not in self.offers or memory.folder is None:
            raise NotOffered(f"{self._source.where} has no reopen(), or no state_dir")
        await memory.close()
        remover = self._removers.pop(memory, None)
        if remover is not None:
            remover.detach()
        return await self.reopen_folder(memory.folder, memory.scenario)

    async def reopen_folder(self, folder: Path, scenario: str) -> PythonMemory:
        """The same, on a state directory that another process may have left."""
        if not folder.is_dir():
            raise SystemGone(f"{self._source.where} has no state of this memory any more")
        return self._prepare(await self._builder.rebuild(folder), scenario)

    async def close(self) -> None:
        """Remove the system's files, but not the states that are kept."""
        await self._builder.close()

    def _prepare(self, memory: PythonMemory, scenario: str) -> PythonMemory:
        memory.scenario = scenario
        if Offer.REOPEN in self.offers and memory.folder is not None:
            memory.keeps_folder = True
        if memory.keeps_folder and not self._keeps_states:
            self._removers[memory] = finalize(
                memory, shutil.rmtree, memory.folder, ignore_errors=True
            )
        return memory

    def _build_snapshots(self, adapter: Adapter) -> PythonSnapshots | None:
        if self._source.is_built:
            return None
        method = choose_snapshot_method(adapter, keeps_files=self._builder.keeps_files)
        return None if method is None else PythonSnapshots(method, self._builder, self._kind)


def _find_copy_obstacle(adapter: Adapter) -> str:
    if getattr(adapter.subject, "can_snapshot", None) is False:
        return "it says can_snapshot = False"
    if adapter.is_async:
        return "its query method is a coroutine"
    if adapter.max_concurrency > 1:
        return "it answers several questions at once"
    return ""


def serialise_config(config: Mapping[str, object]) -> dict[str, object]:
    """The settings as JSON; other objects are named by their type."""
    written = msgspec.json.encode(
        dict(config), enc_hook=lambda value: f"{type(value).__module__}.{type(value).__qualname__}"
    )
    return msgspec.json.decode(written, type=dict[str, object])
