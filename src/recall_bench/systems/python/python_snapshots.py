"""Snapshots of in-process memories, each of which can be opened any number of times.

There are three methods, and an adapter gets the first that fits:

* its own methods `snapshot(path)` and `restore(path)`, if it has both. The path does not exist
  yet and its folder does; `restore` follows `setup` on a new adapter.
* its files, if it takes a `state_dir`: the directory is copied, and a new adapter is built on
  the copy. Its `setup` must open what it finds there, and after `finalize_ingestion` everything
  that matters must be on disk.
* the object itself, pickled. Not every object that can be pickled may be: one that keeps its
  memory elsewhere, under a path or on a server, has copies that share it, and the first copy to
  tear down destroys it for all. So this is the default only for adapters without `setup` and
  `teardown`; others must say `can_snapshot = True`. Copies are not set up.

`can_snapshot = False` means none of these. With every method a snapshot is only files, so it can be
packed into a folder and opened by another process that has the same adapter.
"""

import pickle
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec

from recall_bench.core.errors import DataError, SystemFault, UsageError
from recall_bench.core.folders import copy_folder, refuse_other_folder, refuse_special_files
from recall_bench.core.memory import Memory
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.user_code import describe_error
from recall_bench.systems.folder_snapshots import FolderSnapshots
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.python.python_memory import MemoryBuilder, PythonMemory


def choose_snapshot_method(adapter: Adapter, *, keeps_files: bool) -> "SnapshotMethod | None":
    """The first method that fits this adapter, if any."""
    declared = getattr(adapter.subject, "can_snapshot", None)
    if declared is False:
        return None
    own = [name for name in ("snapshot", "restore") if adapter.defines(name)]
    if len(own) == 1:
        raise UsageError(
            f"{adapter.where} defines {own[0]}() alone; define both snapshot() and restore()"
        )
    if own:
        return AdapterSnapshots()
    if keeps_files:
        return FolderCopies()
    holds_more = adapter.defines("setup") or adapter.defines("teardown")
    if declared or (not holds_more and _can_pickle(adapter.subject)):
        return PickledAdapters(type(adapter.subject).__module__)
    return None


class AdapterSnapshots:
    """The adapter saves and restores itself."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Call the adapter's `snapshot`."""
        await memory.run_call(partial(memory.adapter.call, "snapshot", path))

    async def open(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Call `restore` on a new adapter."""
        memory = await builder.build()
        try:
            await memory.run_call(partial(memory.adapter.call, "restore", path))
        except BaseException:
            await memory.discard()
            raise
        return memory


class FolderCopies:
    """The state is the adapter's state directory."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Copy the directory in the adapter's thread, so that it is idle."""
        if memory.folder is not None:
            await memory.run_call(partial(copy_folder, memory.folder, path))

    async def open(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Build an adapter on a copy of the copy."""
        return await builder.build(fill=partial(copy_folder, path))


class PickledAdapters:
    """The state is the adapter object.

    A module loaded from a file has another name in every process, so a pickle records the name of
    its adapter's module, which is replaced by the present one when it is read.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Pickle it."""
        await memory.run_call(partial(_write_pickle, memory.adapter, self._module, path))

    async def open(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Unpickle it into a thread of its own."""
        return await builder.wrap_adapter(partial(_read_pickle, path, self._module))


SnapshotMethod = AdapterSnapshots | FolderCopies | PickledAdapters
"""How the state of a memory is written to a path that does not exist yet, and opened from it."""


class ProcessKind(StrEnum):
    """The kind of process that writes and opens snapshots.

    A pickle runs code when it is opened, so none is opened by a process that may do more than the
    one that wrote it.
    """

    IN_PROCESS = "in-process"
    """The process of the harness."""
    CHILD = "child"
    """A process of the adapter's own."""


class _SnapshotLabel(Record, frozen=True, kw_only=True):
    scenario: str
    days: int | None
    """How many days the memory said it had ingested."""
    process: ProcessKind


_LABEL_FILE, _STATE_FOLDER = "saved.json", "state"
"""The contents of a snapshot's folder: the label, and what the method wrote, if anything."""


class PythonSnapshots(FolderSnapshots):
    """The snapshots of one system."""

    def __init__(self, method: SnapshotMethod, builder: MemoryBuilder, kind: ProcessKind) -> None:
        super().__init__(builder.make_folder)
        self._method = method
        self._builder = builder
        self._kind = kind

    async def save(self, memory: Memory) -> str:
        """A token for the memory's present state."""
        return await self._keep(partial(self.write, memory))

    async def open(self, token: str) -> PythonMemory:
        """A new memory in the saved state."""
        return await self.open_folder(self._saved[token])

    async def unpack(self, place: Path) -> str:
        """A token for a copy of our own, so that adapters do not change what others read."""
        refuse_other_folder(place)
        refuse_special_files(place)
        self._read_label(place)
        return await self._keep_copy(place)

    async def write(self, memory: Memory, folder: Path) -> None:
        """Write the memory's present state into an empty folder."""
        if not isinstance(memory, PythonMemory):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        days = await memory.attest()
        await self._method.write(memory, folder / _STATE_FOLDER)
        label = _SnapshotLabel(scenario=memory.scenario, days=days, process=self._kind)
        # Last, so that a snapshot with a label is complete.
        (folder / _LABEL_FILE).write_bytes(msgspec.json.encode(label))

    async def open_folder(self, folder: Path) -> PythonMemory:
        """A new memory in the saved state; SystemFault if it reports another number of days."""
        label = self._read_label(folder)
        memory = await self._method.open(self._builder, folder / _STATE_FOLDER)
        memory.scenario = label.scenario
        is_same = False
        try:
            days = await memory.attest()
            is_same = days == label.days
        finally:
            if not is_same:
                await memory.discard()
        if not is_same:
            raise SystemFault(
                f"a copy of a memory of {label.days} days says it holds {days}: "
                "the adapter does not reopen what it saved"
            )
        return memory

    def _read_label(self, folder: Path) -> _SnapshotLabel:
        """The label of a state; DataError if it is none that this kind of process wrote."""
        path = folder / _LABEL_FILE
        try:
            label = decode_untrusted_json(path.read_bytes(), _SnapshotLabel)
        except (OSError, msgspec.DecodeError) as error:
            raise DataError(
                f"{path} is not the label of a state ({error}); pack the state again"
            ) from error
        if label.process is not self._kind:
            raise DataError(
                f"{folder} was saved by an adapter that ran as {label.process}, and this one runs "
                f"as {self._kind}; pack the state again"
            )
        return label


def _can_pickle(subject: object) -> bool:
    try:
        pickle.dumps(subject)
    except Exception:  # noqa: BLE001  an object's pickling is its own code
        return False
    return True


def _write_pickle(adapter: Adapter, module: str, path: Path) -> None:
    try:
        with path.open("wb") as file:
            pickle.dump(module, file, protocol=pickle.HIGHEST_PROTOCOL)
            pickle.dump(adapter.subject, file, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise SystemFault(
            f"{adapter.where} cannot be pickled any more ({describe_error(error)}); set "
            "can_snapshot = False on it, or give it snapshot() and restore() methods"
        ) from error


def _read_pickle(path: Path, module: str) -> object:
    with path.open("rb") as file:
        there = pickle.load(file)  # noqa: S301  we wrote it ourselves
        return _ModuleUnpickler(file, {there: module}).load()


class _ModuleUnpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, here: dict[str, str]) -> None:
        super().__init__(file)
        self._here = here
        """New names of modules by their old ones."""

    def find_class(self, module: str, name: str) -> object:
        return super().find_class(self._here.get(module, module), name)
