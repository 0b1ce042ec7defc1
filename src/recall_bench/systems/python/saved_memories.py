"""Saved states of in-process memories, each of which can be reopened any number of times.

There are three ways, and an adapter gets the first that suits it:

* its own methods `snapshot(path)` and `restore(path)`, where it has both. The path does not exist
  yet and its folder does; `restore` follows `setup` on a new adapter.
* its files, where it takes a `state_dir`: the directory is copied, and a new adapter is built on
  the copy. Its `setup` must open what it finds there, and after `finalize_ingestion` everything
  that matters must be on disk.
* the object itself, pickled. Not every object that can be pickled may be: one that keeps its
  memory elsewhere, under a path or on a server, has copies that share it, and the first copy to
  tear down destroys it for all. So this is done unasked only for adapters without `setup` and
  `teardown`, and for others where the class says `can_snapshot = True`. Copies are not set up.

`can_snapshot = False` means none of these.
"""

import itertools
import pickle
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from recall_bench.core.memory import Memory
from recall_bench.errors import SystemFault, UsageError
from recall_bench.foreign_code import described
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.python.memory import PythonMemory
from recall_bench.systems.python.memory_builder import MemoryBuilder

_FICLONE = 0x40049409
"""The request of Linux that lets two files share their blocks until one is changed."""


class Way(Protocol):
    """How the state of a memory is saved and reopened."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Leave the state at a path that does not exist yet."""
        ...

    async def reopen(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """A new memory in the state left there."""
        ...


def way_of(adapter: Adapter, *, keeps_files: bool) -> Way | None:
    """How this adapter's state can be saved, if it can."""
    declared = getattr(adapter.subject, "can_snapshot", None)
    if declared is False:
        return None
    own = [name for name in ("snapshot", "restore") if adapter.has(name)]
    if len(own) == 1:
        raise UsageError(
            f"{adapter.where} defines {own[0]}() alone; define both snapshot() and restore()"
        )
    if own:
        return OwnMethods()
    if keeps_files:
        return StateFiles()
    holds_more = adapter.has("setup") or adapter.has("teardown")
    if declared or not (holds_more or _refusal(adapter.subject)):
        return Pickles()
    return None


class OwnMethods:
    """The adapter saves and restores itself."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Have the adapter write its state."""
        await memory.perform(partial(memory.adapter.call, "snapshot", path))

    async def reopen(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Have a new adapter read it."""
        memory = await builder.build()
        try:
            await memory.perform(partial(memory.adapter.call, "restore", path))
        except BaseException:
            await memory.discard()
            raise
        return memory


class StateFiles:
    """The adapter's state is what lies in its state directory."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Copy the directory while the adapter is not at work."""
        if memory.folder is not None:
            await memory.perform(partial(copy_folder, memory.folder, path))

    async def reopen(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Build an adapter on a copy of the copy."""
        return await builder.build(fill=partial(copy_folder, path))


class Pickles:
    """The adapter's state is the object."""

    async def write(self, memory: PythonMemory, path: Path) -> None:
        """Pickle it."""
        await memory.perform(partial(_pickle, memory.adapter, path))

    async def reopen(self, builder: MemoryBuilder, path: Path) -> PythonMemory:
        """Unpickle it into a thread of its own."""
        return await builder.hold(partial(_unpickle, path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    scenario: str
    path: Path
    days: int | None
    """How many days the memory said it had taken in."""


class SavedMemories:
    """The saved states of one system."""

    def __init__(self, way: Way, builder: MemoryBuilder) -> None:
        self._way = way
        self._builder = builder
        self._saved: dict[str, _Saved] = {}
        self._tokens = itertools.count(1)

    async def save(self, memory: Memory) -> str:
        """A token for the memory's present state."""
        if not isinstance(memory, PythonMemory):
            raise UsageError(f"a {type(memory).__name__} is no memory of this system")
        path = self._builder.new_folder() / "state"
        try:
            days = await memory.attest()
            await self._way.write(memory, path)
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        token = str(next(self._tokens))
        self._saved[token] = _Saved(scenario=memory.scenario, path=path, days=days)
        return token

    async def open(self, token: str) -> PythonMemory:
        """A new memory in the saved state; SystemFault if it says that it is in another."""
        saved = self._saved[token]
        memory = await self._way.reopen(self._builder, saved.path)
        memory.scenario = saved.scenario
        try:
            days = await memory.attest()
        except BaseException:
            await memory.discard()
            raise
        if days != saved.days:
            await memory.discard()
            raise SystemFault(
                f"a copy of a memory of {saved.days} days says it holds {days}: "
                "the adapter does not reopen what it saved"
            )
        return memory

    async def drop(self, token: str) -> None:
        """Forget a saved state."""
        shutil.rmtree(self._saved.pop(token).path.parent, ignore_errors=True)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, sharing the blocks of its files where the file system can."""
    shutil.copytree(source, target, symlinks=True, copy_function=_clone, dirs_exist_ok=True)


def _clone(source: str, target: str) -> str:
    try:
        from fcntl import ioctl

        with Path(source).open("rb") as read, Path(target).open("wb") as write:
            ioctl(write, _FICLONE, read.fileno())
        shutil.copystat(source, target)
        return target
    except (ImportError, OSError):
        return str(shutil.copy2(source, target))


class _Nowhere:
    def write(self, data: object) -> int:
        return memoryview(data).nbytes if isinstance(data, bytes | bytearray) else 0


def _refusal(subject: object) -> str | None:
    try:
        pickle.Pickler(_Nowhere()).dump(subject)
    except Exception as error:  # noqa: BLE001  an object's pickling is its own code
        return described(error)
    return None


def _pickle(adapter: Adapter, path: Path) -> None:
    try:
        with path.open("wb") as file:
            pickle.dump(adapter.subject, file, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise SystemFault(
            f"{adapter.where} cannot be pickled any more ({described(error)}); set "
            "can_snapshot = False on it, or give it snapshot() and restore() methods"
        ) from error


def _unpickle(path: Path) -> object:
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301  we wrote it ourselves
