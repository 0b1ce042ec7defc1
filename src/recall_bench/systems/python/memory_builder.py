"""Builds the memories of an in-process system: for each a thread, an adapter and its folder."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from recall_bench.errors import SystemFault, UsageError
from recall_bench.systems.python.adapter import Adapter
from recall_bench.systems.python.adapter_source import AdapterSource, check_settings
from recall_bench.systems.python.memory import PythonMemory, build_memory, unwrap_outcome
from recall_bench.systems.python.worker_thread import WorkerThread


class MemoryBuilder:
    """Makes memories that share nothing."""

    def __init__(
        self,
        source: AdapterSource,
        config: Mapping[str, object],
        home: Path | None,
        given: Mapping[str, object],
    ) -> None:
        self._source = source
        self._passes_folder = check_settings(source, config, given)
        self._arguments = {**config, **given}
        self._home = home
        self._root: TemporaryDirectory[str] | None = None
        self._sets_folder = False
        self._spare: PythonMemory | None = None

    def build_first_adapter(self) -> Adapter:
        """The adapter of the first memory, to see what it declares, or UsageError if it is none.

        It is built in the thread it will live in, and set up when that memory is opened.
        """
        first = self._build_first_memory()
        self._sets_folder = not self._passes_folder and first.adapter.declares_folder
        if self._sets_folder:
            first.folder = self.make_folder()
        self._spare = first
        return first.adapter

    @property
    def keeps_files(self) -> bool:
        """Whether each adapter is given a state directory of its own."""
        return self._passes_folder or self._sets_folder

    async def build(self, fill: Callable[[Path], object] | None = None) -> PythonMemory:
        """A memory that was set up, on a folder that was filled beforehand."""
        memory = None
        if fill is None:
            # The first adapter was built on an empty folder.
            memory, self._spare = self._spare, None
        if memory is None:
            folder = self.make_folder() if self.keeps_files else None
            memory = await self.wrap_adapter(partial(self._build_adapter, folder, fill), folder)
        try:
            await memory.begin(gives_folder=self._sets_folder)
        except BaseException:
            await memory.discard()
            raise
        return memory

    async def wrap_adapter(
        self, make: Callable[[], object], folder: Path | None = None
    ) -> PythonMemory:
        """A memory around the adapter a call makes, as it is."""
        worker = WorkerThread(f"adapter {self._source.name}")
        try:
            subject = unwrap_outcome(await worker.run(make))
            return build_memory(Adapter(subject, self._source.where), worker, folder)
        except BaseException:
            await worker.stop()
            raise

    def make_folder(self) -> Path:
        """An empty folder that lasts until `clean`, unless it is removed before."""
        if self._root is None:
            if self._home is not None:
                self._home.mkdir(parents=True, exist_ok=True)
            self._root = TemporaryDirectory(
                prefix="recall-bench-", dir=self._home, ignore_cleanup_errors=True
            )
        return Path(mkdtemp(dir=self._root.name))

    async def close(self) -> None:
        """Discard the adapter nobody used and remove every folder."""
        if self._spare is not None:
            await self._spare.discard()
            self._spare = None
        if self._root is not None:
            self._root.cleanup()
            self._root = None

    def release(self) -> None:
        """The same, without waiting for the adapter's thread to end."""
        if self._spare is not None:
            self._spare.release_threads()
        if self._root is not None:
            self._root.cleanup()

    def _build_first_memory(self) -> PythonMemory:
        folder = self.make_folder() if self._passes_folder else None
        worker = WorkerThread(f"adapter {self._source.name}")
        try:
            subject = unwrap_outcome(
                worker.run_blocking(partial(self._build_adapter, folder, None))
            )
            return build_memory(Adapter(subject, self._source.where), worker, folder)
        except BaseException as error:
            worker.release()
            self.release()
            if isinstance(error, SystemFault):
                raise UsageError(
                    f"building the adapter {self._source.where} failed: {error}"
                ) from error
            raise

    def _build_adapter(self, folder: Path | None, fill: Callable[[Path], object] | None) -> object:
        if fill is not None and folder is not None:
            fill(folder)
        subject = self._source.subject
        if self._source.is_built or not callable(subject):
            return subject
        return subject(**self._arguments, **({"state_dir": folder} if self._passes_folder else {}))
