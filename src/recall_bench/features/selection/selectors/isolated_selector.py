"""A user's Python selector in a process of its own, confined as an adapter is.

It is served there as an adapter that ingests memory files and finds names.
"""

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import msgspec

from recall_bench.core.errors import SystemFault, SystemStuck
from recall_bench.core.memory import Memory, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import MemorySelection
from recall_bench.features.selection.selectors.user_selectors import (
    PythonChooser,
    check_names,
    load_selector,
)
from recall_bench.systems.python.isolated_system import IsolatedSystem, load_isolated_system

_SCENARIO = "selection"
_DATE = datetime.datetime.fromisoformat("2000-01-01")


class SelectorAdapter:
    """The process's side: the selector with the methods of an adapter."""

    can_snapshot = False
    answers = False

    def __init__(self, target: str, settings: dict[str, object]) -> None:
        self._selector = load_selector(target, settings)
        self.name = self._selector.card.name
        self.version = self._selector.card.version
        self.max_concurrency = self._selector.card.max_concurrency
        self._memories: list[MemoryFile] = []
        self._chooser: PythonChooser | None = None

    def ingest_day(self, day: int, content: str, metadata: object) -> None:  # noqa: ARG002
        """Keep one memory file."""
        self._memories.append(msgspec.json.decode(content, type=MemoryFile))

    async def finalize_ingestion(self) -> None:
        """Give the selector all files."""
        self._chooser = await self._selector.open(self._memories)

    async def query(self, question: str) -> dict[str, object]:
        """The names that the selector gives for a prompt."""
        if self._chooser is None:
            raise SystemFault("the memories are not settled yet")
        selection = await self._chooser.select(question)
        return {"passages": [{"text": "", "id": name} for name in selection.names]}

    async def teardown(self) -> None:
        """Stop the threads."""
        if self._chooser is not None:
            await self._chooser.close()


def load_isolated_selector(
    target: str, settings: Settings, hidden: Sequence[Path] = ()
) -> "IsolatedSelector":
    """The selector of `file.py`, `file.py:name` or `package.module:name`, in its own process.

    It cannot open what is hidden. UsageError as of `load_selector`.
    """
    config: dict[str, object] = {"target": target, "settings": dict(settings.config)}
    served = replace(
        settings, adapter=f"{__name__}:{SelectorAdapter.__name__}", config=config, factory=None
    )
    return IsolatedSelector(load_isolated_system(served, code=target, hidden=hidden), settings)


class IsolatedSelector:
    """A Python selector: what it chooses from is sent to a process of its own."""

    def __init__(self, system: IsolatedSystem, settings: Settings) -> None:
        self._system = system
        served = system.card
        self.card = SystemCard(
            name=served.name,
            version=served.version,
            config=dict(settings.config),
            max_concurrency=served.max_concurrency,
            isolation=served.isolation,
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "IsolatedChooser":
        """A process that has these memories."""
        chooser = IsolatedChooser(self._system, self.card.name, tuple(memories))
        await chooser.start()
        return chooser

    async def close(self) -> None:
        """End every process."""
        await self._system.close()


class IsolatedChooser:
    """A process with memories, and another one after it could not be stopped."""

    def __init__(self, system: IsolatedSystem, name: str, memories: tuple[MemoryFile, ...]) -> None:
        self._system = system
        self._name = name
        self._memories = memories
        self._known = frozenset(memory.name for memory in memories)
        self._starting = anyio.Lock()
        self._process: Memory | None = None

    async def start(self) -> Memory:
        """The process with all memories, which is started if there is none."""
        async with self._starting:
            if self._process is None:
                self._process = await self._open_process()
            return self._process

    async def select(self, prompt: str) -> MemorySelection:
        """Ask the process; cancelling ends the call, or the process."""
        process = await self.start()
        question = Question(id="prompt", text=prompt, asked_at=_DATE, scenario=_SCENARIO)
        try:
            reply = await process.answer(question)
        except SystemStuck:
            if self._process is process:
                self._process = None
            await process.close()
            raise
        names = [passage.id or "" for passage in reply.passages]
        return MemorySelection(names=check_names(names, self._known, self._name))

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def _open_process(self) -> Memory:
        process = await self._system.open(_SCENARIO)
        try:
            for day, memory in enumerate(self._memories, start=1):
                text = msgspec.json.encode(memory).decode()
                await process.ingest(Episode(id=memory.name, day=day, at=_DATE, text=text))
            await process.settle()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await process.close()
            raise
        return process
