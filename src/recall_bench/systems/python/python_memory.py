"""Memories of in-process adapters: finding an adapter, and building memories with it."""

import inspect
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import cast

import anyio

from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.folders import KeptFolders, TemporaryFolders
from recall_bench.core.memory import UNDECLARED, EraseReply, EraseScope, Holdings, StoredEntry
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.user_code import digest_source, import_target, split_target
from recall_bench.systems.python.adapter import (
    NEEDS,
    Adapter,
    AdapterReply,
    is_adapter,
    translate_adapter_error,
)
from recall_bench.systems.python.worker_thread import (
    CallOutcome,
    CallWorker,
    WorkerThread,
    make_stuck_error,
)

_USUAL_NAMES = ("factory", "create", "Adapter", "adapter")
_CLOSE_TIMEOUT_S = 10.0
_FORMS = "write path/to/file.py, path/to/file.py:factory or package.module:factory"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSource:
    """A factory of adapters, or a single adapter that exists already."""

    subject: object
    where: str
    """Its name in messages."""
    name: str
    version: str

    @property
    def is_built(self) -> bool:
        """Whether this is an adapter itself, not a factory."""
        return not inspect.isclass(self.subject) and is_adapter(self.subject)


def find_source(target: str, factory: str | None = None) -> AdapterSource:
    """The factory or adapter that a target names, or UsageError."""
    place, named = split_target(target)
    if factory and named and factory != named:
        raise UsageError(f"{target!r} names {named!r} and the settings name {factory!r}; drop one")
    attribute = named or factory
    subject: object
    if place.endswith(".py"):
        module, name = import_target(place, f"adapter {target}"), Path(place).stem
    elif attribute and all(part.isidentifier() for part in place.split(".")):
        module, name = import_target(place, f"adapter {target}"), place.rpartition(".")[2]
    else:
        raise UsageError(f"{target!r} names no adapter; {_FORMS}")
    version = digest_source(module) or UNDECLARED
    if not attribute:
        subject = _find_only_adapter(module, place)
        return AdapterSource(subject=subject, where=place, name=name, version=version)
    subject = module
    for part in attribute.split("."):
        if not hasattr(subject, part):
            raise UsageError(f"{place} has no {attribute!r}; {NEEDS}")
        subject = getattr(subject, part)
    return AdapterSource(subject=subject, where=f"{place}:{attribute}", name=name, version=version)


def wrap_source(subject: object) -> AdapterSource:
    """The source of an adapter or factory that the caller already has."""
    is_factory = inspect.isclass(subject) or not is_adapter(subject)
    kind = subject if is_factory else type(subject)
    name = str(getattr(kind, "__name__", type(subject).__name__))
    if is_factory and not callable(subject):
        raise UsageError(f"{name} is neither an adapter nor a factory of adapters; {NEEDS}")
    module = sys.modules.get(getattr(kind, "__module__", ""))
    return AdapterSource(
        subject=subject, where=name, name=name, version=digest_source(module) or UNDECLARED
    )


def check_settings(
    source: AdapterSource, config: Mapping[str, object], given: Mapping[str, object]
) -> bool:
    """Whether the factory takes a `state_dir`; UsageError unless it takes exactly these settings.

    `given` is passed with the settings, but is not one of them.
    """
    if source.is_built:
        if config or given:
            raise UsageError(
                f"{source.where} is built already and takes no settings: "
                f"{_join_names([*config, *given])}"
            )
        return False
    if not callable(source.subject):
        raise UsageError(f"{source.where} is a {type(source.subject).__name__}, but {NEEDS}")
    try:
        signature = inspect.signature(source.subject)
    except (TypeError, ValueError):
        return False
    takes_folder = "state_dir" in signature.parameters
    if takes_folder and "state_dir" in config:
        raise UsageError(
            f"{source.where}: state_dir is not a setting, every memory is given its own"
        )
    if taken := set(config) & set(given):
        raise UsageError(f"{source.where}: {min(taken)} is not a setting, every run brings its own")
    try:
        signature.bind(**config, **given, **({"state_dir": Path()} if takes_folder else {}))
    except TypeError as error:
        parameters = [name for name in signature.parameters if name not in {"state_dir", *given}]
        raise UsageError(
            f"{source.where} does not take these settings ({error}); it takes "
            f"{_join_names(parameters)}"
        ) from error
    return takes_folder


def _find_only_adapter(module: ModuleType, place: str) -> object:
    for name in _USUAL_NAMES:
        if hasattr(module, name):
            return getattr(module, name)
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and is_adapter(value)
    }
    if len(own) == 1:
        return next(iter(own.values()))
    if own:
        raise UsageError(
            f"{place} has several adapters ({_join_names(own)}); write {place}:{min(own)}"
        )
    raise UsageError(
        f"{place} has nothing called {_join_names(_USUAL_NAMES)} and no class that is one; {NEEDS}"
    )


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


class PythonMemory:
    """An adapter, and the thread in which all of its calls run.

    Only an adapter whose query method is plain code and which declares a `max_concurrency` above 1
    is also called from other threads, and only to answer.
    """

    def __init__(self, adapter: Adapter, worker: CallWorker, folder: Path | None = None) -> None:
        self.adapter = adapter
        self.folder = folder
        """The state directory of the adapter, if it has one."""
        self.scenario = ""
        self.is_closed = False
        self.keeps_folder = False
        """Whether the state directory outlasts `close`: another memory may go on with it."""
        self._worker = worker
        self._helpers: list[WorkerThread] = []
        self._idle: list[WorkerThread] = []
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def is_stuck(self) -> bool:
        """Whether a call could not be stopped, so that no more calls are possible."""
        return self._worker.is_stuck or any(helper.is_stuck for helper in self._helpers)

    @property
    def state_folder(self) -> Path | None:
        """The state directory of the adapter, if it has one."""
        return self.folder

    async def begin(self, *, gives_folder: bool, reopens: bool = False) -> None:
        """Call `setup` or `reopen`, after setting the state directory if that is expected.

        If that fails, the memory is closed or discarded.
        """
        has_begun = False

        async def wait_for_end(beginning: Awaitable[object]) -> None:
            nonlocal has_begun
            await beginning
            has_begun = True

        def call() -> object:
            nonlocal has_begun
            if gives_folder:
                setattr(self.adapter.subject, "state_dir", self.folder)  # noqa: B010  not ours
            begun = self.adapter.call_offered("reopen") if reopens else self.adapter.call("setup")
            if inspect.isawaitable(begun):
                return wait_for_end(begun)
            has_begun = True
            return None

        try:
            await self.run_call(call)
        except BaseException:
            # A call that is cancelled may have ended already: what it opened has to be closed.
            await (self._close_in_time() if has_begun else self.discard())
            raise

    async def ingest(self, episode: Episode) -> None:
        """Ingest one day."""
        await self.run_call(partial(self.adapter.ingest, episode, self.scenario))

    async def settle(self) -> None:
        """Call `finalize_ingestion`."""
        await self.run_call(partial(self.adapter.call, "finalize_ingestion"))

    async def answer(self, question: Question) -> AdapterReply:
        """The adapter's reply; NotAnAnswer if it cannot be graded."""
        ask = partial(self.adapter.answer, question)
        if self.adapter.is_async or self.adapter.max_concurrency == 1:
            return cast("AdapterReply", await self.run_call(ask))
        self._limiter = self._limiter or anyio.CapacityLimiter(self.adapter.max_concurrency)
        async with self._limiter:
            if not self._idle:
                self._idle.append(WorkerThread("adapter query"))
                self._helpers.append(self._idle[-1])
            helper = self._idle.pop()
            try:
                return cast("AdapterReply", await self.run_call(ask, helper))
            finally:
                self._idle.append(helper)

    async def attest(self) -> int | None:
        """How many days the adapter says it has ingested; None if it does not say."""
        if not self.adapter.defines("days_ingested"):
            return None
        count = await self.run_call(partial(self.adapter.call, "days_ingested"))
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise SystemFault(f"days_ingested() returned {count!r}, which is no number of days")
        return count

    async def holdings(self) -> Holdings:
        """What the adapter says it holds; None for a method it lacks."""
        adapter, holdings = self.adapter, Holdings()
        if adapter.defines("stored_days"):
            holdings = holdings.replace(days=await self.run_call(adapter.read_stored_days))
        if adapter.defines("stored_bytes"):
            holdings = holdings.replace(bytes=await self.run_call(adapter.read_stored_bytes))
        return holdings

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Call the adapter's method for this scope; NotOffered if there is none."""
        return cast("EraseReply", await self.run_call(partial(self.adapter.erase, scope, value)))

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """What the adapter lists; NotOffered if it has no `stored`."""
        return cast("tuple[StoredEntry, ...]", await self.run_call(self.adapter.list_stored))

    async def consolidate(self) -> None:
        """Call `consolidate`; NotOffered if there is none."""
        await self.run_call(partial(self.adapter.call_offered, "consolidate"))

    async def close(self) -> None:
        """Call `teardown`, and end the threads. A stuck memory is abandoned."""
        if self.is_closed:
            return
        try:
            if not self.is_stuck:
                await self.run_call(partial(self.adapter.call, "teardown"))
        finally:
            await self.discard()

    async def _close_in_time(self) -> None:
        """Close a memory that is not in use; errors are ignored."""
        with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True), suppress(SystemFault, SystemGone):
            await self.close()

    async def run_call(
        self, call: Callable[[], object], worker: CallWorker | None = None
    ) -> object:
        """Run a call in the memory's thread; what it raises becomes an error of ours."""
        if self.is_stuck:
            raise make_stuck_error()
        return unwrap_outcome(await (worker or self._worker).run(call))

    async def discard(self) -> None:
        """End the threads and remove the state directory, without calling the adapter."""
        self.is_closed = True
        workers = (self._worker, *self._helpers)
        # The main thread ends with its process, and to import a scope takes longer than that.
        if threads := [worker for worker in workers if isinstance(worker, WorkerThread)]:
            with anyio.CancelScope(shield=True):
                for thread in threads:
                    await thread.stop()
        if self.folder is not None and not (self.is_stuck or self.keeps_folder):
            shutil.rmtree(self.folder, ignore_errors=True)

    def release_threads(self) -> None:
        """Let the threads end, without waiting for them."""
        for worker in (self._worker, *self._helpers):
            worker.release()


def unwrap_outcome(outcome: CallOutcome) -> object:
    """What a call of user code returned; what it raised becomes an error of ours."""
    if outcome.error is None:
        return outcome.value
    fault = translate_adapter_error(outcome.error)
    raise fault from (None if fault is outcome.error else outcome.error)


class MemoryBuilder:
    """Builds memories that share nothing."""

    def __init__(
        self,
        source: AdapterSource,
        config: Mapping[str, object],
        home: Path | None,
        given: Mapping[str, object],
        *,
        keeps_states: bool = False,
        make_worker: Callable[[str], CallWorker] = WorkerThread,
    ) -> None:
        self._source = source
        self._make_worker = make_worker
        self._passes_folder = check_settings(source, config, given)
        self._arguments = {**config, **given}
        self._folders = KeptFolders(home) if keeps_states and home else TemporaryFolders(home)
        self._sets_folder = False
        self._spare: PythonMemory | None = None

    def build_first_adapter(self) -> Adapter:
        """The adapter of the first memory, to read its declarations; UsageError if it is none.

        It is built in the thread that it will use, and set up when that memory is opened.
        """
        folder = self.make_folder() if self._passes_folder else None
        worker = self._make_worker(f"adapter {self._source.name}")
        try:
            outcome = worker.run_blocking(partial(self._build_adapter, folder, None))
            adapter = Adapter(unwrap_outcome(outcome), self._source.where)
        except BaseException as error:
            worker.release()
            self.release()
            if isinstance(error, SystemFault):
                # The adapter may be ours and say that its settings are wrong.
                if isinstance(error.__cause__, UsageError):
                    raise error.__cause__ from None
                raise UsageError(
                    f"building the adapter {self._source.where} failed: {error}"
                ) from error
            raise
        self._spare = PythonMemory(adapter, worker, folder)
        self._sets_folder = not self._passes_folder and adapter.declares_folder
        if self._sets_folder:
            self._spare.folder = self.make_folder()
        return adapter

    @property
    def keeps_files(self) -> bool:
        """Whether each adapter gets a state directory of its own."""
        return self._passes_folder or self._sets_folder

    async def build(self, fill: Callable[[Path], object] | None = None) -> PythonMemory:
        """A memory after `setup`, on a folder that `fill` may have filled."""
        memory = None
        if fill is None:
            # The first adapter was built on an empty folder.
            memory, self._spare = self._spare, None
        if memory is None:
            folder = self.make_folder() if self.keeps_files else None
            memory = await self.wrap_adapter(partial(self._build_adapter, folder, fill), folder)
        await memory.begin(gives_folder=self._sets_folder)
        return memory

    async def rebuild(self, folder: Path) -> PythonMemory:
        """A memory after `reopen`, on a folder that an earlier one left."""
        memory = await self.wrap_adapter(partial(self._build_adapter, folder, None), folder)
        memory.keeps_folder = True
        await memory.begin(gives_folder=self._sets_folder, reopens=True)
        return memory

    async def wrap_adapter(
        self, make: Callable[[], object], folder: Path | None = None
    ) -> PythonMemory:
        """A memory around the adapter that a call returns, without `setup`."""
        worker = self._make_worker(f"adapter {self._source.name}")
        try:
            subject = unwrap_outcome(await worker.run(make))
            return PythonMemory(Adapter(subject, self._source.where), worker, folder)
        except BaseException:
            await worker.stop()
            raise

    def make_folder(self) -> Path:
        """An empty folder that lasts until `close`, unless it is removed before."""
        return self._folders.make()

    async def close(self) -> None:
        """Discard the unused first adapter and remove every folder."""
        if self._spare is not None:
            await self._spare.discard()
            self._spare = None
        self._folders.remove_all()

    def release(self) -> None:
        """The same, without waiting for the adapter's thread."""
        if self._spare is not None:
            self._spare.release_threads()
        self._folders.remove_all()

    def _build_adapter(self, folder: Path | None, fill: Callable[[Path], object] | None) -> object:
        if fill is not None and folder is not None:
            fill(folder)
        subject = self._source.subject
        if self._source.is_built or not callable(subject):
            return subject
        return subject(**self._arguments, **({"state_dir": folder} if self._passes_folder else {}))
