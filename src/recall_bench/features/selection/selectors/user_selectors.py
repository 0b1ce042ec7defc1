"""Selectors that are user code: Python functions and programs.

Python is `select(prompt, memories)`, plain or `async`. Whatever it raises becomes a SystemFault,
and so does a result that is no collection of names. It runs in its own threads, so that code that
hangs costs one prompt and not the run.

A program gets the prompt on standard input and prints one name per line. It is started for every
prompt, in the folder that holds `memory/`, with the environment of `command:` systems.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Annotated

from msgspec import Meta

from recall_bench.core.child_process import quote_bytes
from recall_bench.core.errors import NotAnAnswer, UsageError
from recall_bench.core.folders import TemporaryFolders
from recall_bench.core.memory import UNDECLARED, Isolation, IsolationCard, SystemCard
from recall_bench.core.record import Record
from recall_bench.core.settings import Settings
from recall_bench.core.user_code import (
    describe_error,
    digest_source,
    import_target,
    is_async_call,
    split_target,
)
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import MemorySelection, WithoutResources
from recall_bench.systems.builtin.options import read_options
from recall_bench.systems.python.adapter import ASYNC_CONCURRENCY
from recall_bench.systems.python.python_memory import unwrap_outcome
from recall_bench.systems.python.worker_thread import WorkerThread
from recall_bench.systems.transports.child_environment import build_environment
from recall_bench.systems.transports.child_sandbox import ProgramSandbox, build_program_sandbox
from recall_bench.systems.transports.command_program import (
    CommandProgram,
    find_program,
    run_program,
)

_NAME = re.compile(r"memory/[^\x00-\x1f]*[^\x00-\x1f/]\.md")
_SEVERAL = re.compile(r"\.md[\s,;|]")


def check_names(given: Iterable[str], known: Collection[str], giver: str) -> tuple[str, ...]:
    """The names, each once; NotAnAnswer for a text that is no name of a memory.

    An unknown memory may be named if its name has the right form.
    """
    names: dict[str, None] = {}
    for text in given:
        if text not in known and not (
            _NAME.fullmatch(text) is not None and _SEVERAL.search(text) is None
        ):
            raise NotAnAnswer(
                f"{giver} gave {_quote_short(text)}, which is no name of a memory; let it give "
                "'memory/NAME.md' for each one, and nothing else"
            )
        names[text] = None
    return tuple(names)


def _quote_short(text: str) -> str:
    return repr(text if len(text) <= 120 else f"{text[:120]}…")


_USUAL_NAME = "select"
_NEEDS = "a selector is a function select(prompt, memories), or a class with such a method"

Select = Callable[[str, Sequence[MemoryFile]], object]
"""A user's function: returns an iterable of names, or an awaitable of one."""


def load_selector(target: str, config: Mapping[str, object]) -> "PythonSelector":
    """The selector of `file.py`, `file.py:name` or `package.module:name`.

    The name is a function, or an object or class with a method `select`; a class gets the settings
    as keywords. A file alone means its `select`. The attribute `max_concurrency` says how many
    prompts may run at once; the default is 64 for `async` code and 1 otherwise.
    """
    place, name = split_target(target)
    name = name or _USUAL_NAME
    owner = f"selector {target}"
    module = import_target(place, owner)
    found = getattr(module, name, None)
    if found is None:
        raise UsageError(f"{owner}: {place} has no {name!r}; {_NEEDS}")
    if inspect.isclass(found):
        found = _build_object(found, config, owner)
    elif config:
        raise UsageError(
            f"{owner}: {name!r} takes no settings, so {min(config)!r} has no effect; remove it, or "
            "name a class that takes it"
        )
    select = getattr(found, "select", found)
    if not callable(select) or not _is_selector(select):
        raise UsageError(f"{owner}: {name!r} is a {type(found).__name__}, but {_NEEDS}")
    spelled = f"{Path(place).name}:{name}" if place.endswith(".py") else target
    card = _build_card(found, select, module, spelled, config)
    isolation = IsolationCard(kind=Isolation.IN_PROCESS)
    return PythonSelector(select, card.replace(isolation=isolation))


class PythonSelector(WithoutResources):
    """A user's function as a selector."""

    def __init__(self, select: Select, card: SystemCard) -> None:
        self.card = card
        self._select = select

    async def open(self, memories: Sequence[MemoryFile]) -> "PythonChooser":
        """The function with these memories, which it gets with every prompt."""
        return PythonChooser(self._select, self.card.name, tuple(memories))


class PythonChooser:
    """The function, the memories, and the threads it runs in."""

    def __init__(self, select: Select, name: str, memories: tuple[MemoryFile, ...]) -> None:
        self._select = select
        self._name = name
        self._memories = memories
        self._known = frozenset(memory.name for memory in memories)
        self._is_async = is_async_call(select)
        self._workers: list[WorkerThread] = []
        self._idle: list[WorkerThread] = []

    async def select(self, prompt: str) -> MemorySelection:
        """Call the function; cancelling ends the call, or leaves its thread behind."""
        # A thread for this call: a separate one for plain code, a shared one for coroutines.
        if self._is_async:
            ready = next((worker for worker in self._workers if not worker.is_stuck), None)
        else:
            ready = self._idle.pop() if self._idle else None
        worker = ready or self._start_worker()
        try:
            names = unwrap_outcome(await worker.run(partial(self._call, prompt)))
        finally:
            # A thread that could not be stopped is never reused.
            if not self._is_async and not worker.is_stuck:
                self._idle.append(worker)
        if not isinstance(names, tuple):
            raise TypeError(f"a selection was read as {type(names).__name__}")
        return MemorySelection(names=names)

    async def close(self) -> None:
        """Stop the threads; a stuck one stays until the process ends."""
        workers, self._workers, self._idle = self._workers, [], []
        for worker in workers:
            await worker.stop()

    def _start_worker(self) -> WorkerThread:
        worker = WorkerThread("selector")
        self._workers.append(worker)
        return worker

    def _call(self, prompt: str) -> object:
        """Call the function and read its result in the thread."""
        returned = self._select(prompt, self._memories)
        return (
            self._await_names(returned)
            if isinstance(returned, Awaitable)
            else self._read_result(returned)
        )

    async def _await_names(self, returned: Awaitable[object]) -> tuple[str, ...]:
        return self._read_result(await returned)

    def _read_result(self, returned: object) -> tuple[str, ...]:
        if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
            raise NotAnAnswer(
                f"{self._name} returned {repr(returned)[:120]} ({type(returned).__name__}); let it "
                "return the names of memories in a list, which may be empty"
            )
        return check_names(map(self._check_name, returned), self._known, self._name)

    def _check_name(self, name: object) -> str:
        if not isinstance(name, str):
            raise NotAnAnswer(
                f"{self._name} gave {repr(name)[:120]} ({type(name).__name__}) for a name; let it "
                "give the memory's name, such as memory.name"
            )
        return name


def _build_object(kind: type, config: Mapping[str, object], owner: str) -> object:
    try:
        return kind(**config)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{owner} cannot be made: {describe_error(error)}") from error


def _build_card(
    found: object, select: Select, module: ModuleType, name: str, config: Mapping[str, object]
) -> SystemCard:
    at_once = getattr(found, "max_concurrency", ASYNC_CONCURRENCY if is_async_call(select) else 1)
    if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:
        raise UsageError(
            f"selector {name} declares max_concurrency = {at_once!r}, which is not a number above 0"
        )
    return SystemCard(
        name=name,
        version=digest_source(module) or UNDECLARED,
        config=dict(config),
        max_concurrency=at_once,
    )


def _is_selector(select: Select) -> bool:
    try:
        inspect.signature(select).bind("", ())
    except TypeError:
        return False
    except ValueError:
        # Code in C may have no signature; the call will show.
        return True
    return True


_OUTPUT_LIMIT = 4 * 1024 * 1024


class CommandOptions(Record, frozen=True, kw_only=True):
    """Options of a program."""

    max_concurrency: Annotated[int, Meta(ge=1)] = 8
    """How many processes may run at once; 1 for a program that writes shared files."""


def build_command_selector(
    target: str, settings: Settings, *, folder: Path, hidden: Sequence[Path] = ()
) -> "CommandSelector":
    """The selector `command:PROGRAM ARGS…`; UsageError if there is no such program.

    It gets 0.05 s less than the limit of a selection, so that the fault can report its last output.
    With `--sandbox` it cannot open what is hidden.
    """
    program = find_program(target)
    options = read_options(program.name, settings.config, CommandOptions)
    timeout_s = settings.answer_timeout_s
    if not folder.is_dir():
        raise UsageError(f"{program.name}: there is no folder {folder} to run it in")
    places = [folder, *(path.resolve() for path in folder.glob("memory"))]
    return CommandSelector(
        program,
        options,
        build_program_sandbox(program, settings, folders=places, hidden=hidden),
        folder=folder,
        timeout_s=timeout_s - min(0.05, timeout_s / 10),
    )


class CommandSelector(WithoutResources):
    """A program that selects memories."""

    def __init__(
        self,
        program: CommandProgram,
        options: CommandOptions,
        confined: ProgramSandbox,
        *,
        folder: Path,
        timeout_s: float,
    ) -> None:
        self.program = program
        self.confined = confined
        """What it may open."""
        self.folder = folder
        """Its working directory."""
        self.timeout_s = timeout_s
        self.card = SystemCard(
            name=program.name,
            version=program.version,
            config={"command": list(program.spelled)},
            max_concurrency=options.max_concurrency,
            isolation=confined.card,
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "CommandChooser":
        """A chooser that knows the names; the program reads the folder itself."""
        return CommandChooser(self, frozenset(memory.name for memory in memories))


class CommandChooser:
    """A program, the known names, and the program's private folder."""

    def __init__(self, selector: CommandSelector, known: frozenset[str]) -> None:
        self._selector = selector
        self._known = known
        self._folders = TemporaryFolders()
        self._private = self._folders.make()
        self._environ = build_environment(self._private, selector.confined.card.env)

    async def close(self) -> None:
        """Remove the private folder."""
        self._folders.remove_all()

    async def select(self, prompt: str) -> MemorySelection:
        """Run the program once.

        SystemFault if it fails, SystemTimeout if it takes too long, NotAnAnswer if it prints
        anything but names, SystemGone if it cannot be started at all.
        """
        program = self._selector.program
        ended = await run_program(
            program,
            self._selector.confined.wrap_command(program.command, (self._private,)),
            folder=self._selector.folder,
            environ=self._environ,
            output_limit=_OUTPUT_LIMIT,
            stdin=prompt.encode(),
            timeout_s=self._selector.timeout_s,
        )
        try:
            lines = ended.out.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise NotAnAnswer(
                f"{program.name} printed {quote_bytes(ended.out)}, which is not UTF-8 (byte "
                f"{error.start}); let it print names in UTF-8"
            ) from error
        names = filter(None, map(str.strip, lines))
        return MemorySelection(names=check_names(names, self._known, program.name))
