"""Systems that are Python code of the user, each memory in a process of its own.

Days, questions and settings go to the process, answers and snapshots come back, by the messages and
the runner of `command:` programs. The process has a private home and temporary folder and only the
environment that it was given. Where the kernel allows it, it can open no other files than its own
and those of the installed software, and has no network (`core/sandbox.py`).
"""

import asyncio
import codecs
import os
import re
import shutil
import sys
import weakref
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec

from recall_bench.core.child_process import (
    ChildProcess,
    ProcessOptions,
    StderrTail,
    start_process,
)
from recall_bench.core.errors import (
    BenchError,
    DataError,
    NotAnAnswer,
    NotOffered,
    SystemBusy,
    SystemDied,
    SystemFault,
    SystemGone,
    SystemStuck,
    SystemTimeout,
    UsageError,
    find_full_disk,
)
from recall_bench.core.folders import (
    TemporaryFolders,
    copy_folder,
    open_folder,
    refuse_other_folder,
    refuse_special_files,
    remove_folder,
)
from recall_bench.core.memory import Answer, Memory, Offer, RetrievalReply
from recall_bench.core.process_copies import CopyChannel, can_copy
from recall_bench.core.scenario import Question
from recall_bench.core.settings import Settings
from recall_bench.systems.folder_snapshots import FolderSnapshots
from recall_bench.systems.python.adapter_launch import AdapterLaunch
from recall_bench.systems.python.adapter_process import EXCHANGE, AdapterHealth, RecordReply
from recall_bench.systems.python.main_thread import CANCEL_SIGNAL
from recall_bench.systems.python.system import serialise_config
from recall_bench.systems.python.worker_thread import GRACE_S
from recall_bench.systems.servers.stdio_server import CANCEL, CancelRequest
from recall_bench.systems.snapshots import CopiedSnapshots
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.child_sandbox import PACKAGES, list_hidden, list_opened
from recall_bench.systems.transports.command_system import RETRY_HINT, CommandSession, decode_body
from recall_bench.systems.transports.remote_system import DeclaredSystem, RemoteMemory, Transport

R = TypeVar("R", bound=wire.Reply)

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from recall_bench.systems.python.adapter_process import main; main()"
)
_BOOT_COMMAND = (sys.executable, "-P", "-c", _BOOT, str(PACKAGES))
"""Starts a process of ours; the environment need not say where we are installed."""
_SNAPSHOT_NAME = re.compile(r"[0-9a-f]{32}")
_ERRORS: dict[str, type[BenchError]] = {
    kind.__name__: kind
    for kind in (
        *(DataError, NotAnAnswer, NotOffered, SystemFault, SystemGone, SystemStuck),
        *(SystemTimeout, UsageError),
    )
}
"""The errors that are raised here as they were in the process; any other is a SystemFault."""
_LAST_OUTPUT_TIMEOUT_S = 1.0
"""How long its last output may take, if a program that it started still holds the pipe."""
_CANCEL_PAUSE_S = 0.05
_CANCEL_GRACE_S = 2 * GRACE_S
"""How long a process may take to reply to a request that was cancelled."""


class _ForwardedStderr(StderrTail):
    """Keeps the last output of an adapter, and prints all of it to our standard error."""

    def __init__(self) -> None:
        super().__init__()
        # A piece may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> None:
        super().feed(piece)
        sys.stderr.write(self._decoder.decode(piece))

    def finish(self) -> None:
        sys.stderr.write(self._decoder.decode(b"", final=True))


class _AdapterSession(CommandSession):
    """A session whose requests really end when they are cancelled."""

    async def _abandon(self, number: int, reply: "asyncio.Future[wire.Envelope]") -> None:
        with anyio.move_on_after(_CANCEL_GRACE_S):
            await self._send(next(self._ids), CANCEL, CancelRequest(id=number))
            # The message may come after the signal.
            while not reply.done():
                if CANCEL_SIGNAL is not None:
                    with suppress(ProcessLookupError):
                        self._child.process.send_signal(CANCEL_SIGNAL)
                await asyncio.wait([reply], timeout=_CANCEL_PAUSE_S)
            return
        self._end(
            lambda: SystemStuck(
                "the adapter did not stop when its time was up, so this memory can no longer be "
                "used"
            )
        )
        await self._child.end(grace_s=0)

    async def _finish(self) -> None:
        # What it printed last is printed here too.
        await asyncio.wait(self._readers, timeout=_LAST_OUTPUT_TIMEOUT_S)
        await super()._finish()


class AdapterProcess(Transport):
    """The process of one memory, or of none: the transport of its messages."""

    def __init__(
        self,
        launch: AdapterLaunch,
        private: Path,
        *,
        can_reopen: bool = False,
        copy: "tuple[ChildProcess, CopyChannel] | None" = None,
    ) -> None:
        self._launch = launch
        self._private = private
        self._is_copy = copy is not None
        self._has_leaked = False
        self.can_reopen = can_reopen
        """Whether another process can go on with its folder."""
        self._session: CommandSession | None = None
        self.is_closed = False
        """Whether it was ended, or will not be started any more."""
        self._remover: weakref.finalize[..., AdapterProcess] | None = None
        self._exchange = private / EXCHANGE
        self._channel: CopyChannel | None = None
        """Over which it is copied, if it may be."""
        self._exchange_descriptor: int | None = None
        if copy is None:
            self._exchange.mkdir()
            # The adapter may put something else in the folder's place.
            self._exchange_descriptor = open_folder(self._exchange)
        else:
            self._open_session(copy[0])
            self._channel = copy[1]

    @property
    def state_folder(self) -> Path:
        """Its folder, home and temporary folder included."""
        return self._private

    def give_snapshot(self, snapshot: Path) -> None:
        """Copy a snapshot to where the process opens it, before `start`; SystemGone if it fails."""
        try:
            copy_folder(snapshot, self._exchange / snapshot.name)
        except OSError as error:
            raise SystemGone(
                f"{self._launch.name} cannot be given its snapshot ({error}); {RETRY_HINT}"
            ) from error

    def take_snapshot(self, name: str, place: Path) -> None:
        """Move a snapshot that the process left to another place; OSError if there is none."""
        if self.is_closed:
            raise SystemGone(f"{self._launch.name} was ended; run the same command again")
        source = name if self._exchange_descriptor is not None else self._exchange / name
        os.rename(source, place, src_dir_fd=self._exchange_descriptor)

    async def start(self) -> None:
        """Start it; SystemGone if that fails, and OSError if our disk is full."""
        place, name = self._private / "spec.json", self._launch.name
        if self.is_closed:
            raise SystemGone(f"{name} was ended before it was started")
        try:
            spec = self._launch.build_spec(self._private)
            passed: tuple[int, ...] = ()
            if not self._launch.copy_obstacle and can_copy():
                self._channel = CopyChannel()
                passed = (self._channel.theirs.fileno(),)
                spec = spec.replace(channel=passed[0])
            # A process before this one may have left a link there.
            place.unlink(missing_ok=True)
            with place.open("xb") as file:
                file.write(msgspec.json.encode(spec))
            command = (*_BOOT_COMMAND, str(place))
            options = ProcessOptions(folder=self._private, environ=spec.environ, pass_fds=passed)
            child = await start_process(command, **options)
        except OSError as error:
            if find_full_disk(error) is not None:
                raise
            raise SystemGone(
                f"{name} cannot be started ({error.strerror}); {RETRY_HINT}"
            ) from error
        finally:
            if self._channel is not None:
                self._channel.theirs.close()
        if self.is_closed:
            await child.end(grace_s=0)
            raise SystemGone(f"{name} was ended while it was started")
        self._open_session(child)

    def _open_session(self, child: ChildProcess) -> None:
        self._session = _AdapterSession(child, self._launch.name, stderr=_ForwardedStderr())

    def find_copy_obstacle(self) -> str | None:
        """Why a copy of it would share something with it, or lack something; None if it is safe."""
        if self._channel is None:
            return "this system cannot copy a process that is confined without a network"
        if self._has_leaked:
            return "a copy of it has written files"
        return self.find_files() or self._channel.find_obstacle()

    def note_files(self) -> None:
        """Never copy it again if there are files now: it may read them from now on."""
        self._has_leaked = self._has_leaked or self.find_files() is not None

    def find_files(self) -> str | None:
        """Whether its folder, which its copies have too, holds files; None if it does not."""
        has_files = any(not path.is_dir() for path in self._private.rglob("*"))
        return "it has written files" if has_files else None

    def refuse_copy(self, obstacle: str | None) -> None:
        """NotOffered if there is something that a copy would share with it."""
        if obstacle is not None:
            raise NotOffered(
                f"{self._launch.name} cannot be copied ({obstacle}); checkpoints from here on are "
                "asked of new memories"
            )

    async def copy(self) -> "AdapterProcess":
        """A process in its present state; NotOffered if that is not safe."""
        self.refuse_copy(self.find_copy_obstacle())
        if self._channel is None:
            raise AssertionError("a process without a channel has an obstacle")
        copy = await self._channel.copy()
        return AdapterProcess(self._launch, self._private, copy=copy)

    async def call(self, request: wire.Request, reply: type[R]) -> R:
        """Its reply to one request; it is ended after `close`."""
        is_last = isinstance(request, wire.CloseRequest)
        try:
            if self._session is None:
                raise SystemGone(f"{self._launch.name} was ended; run the same command again")
            if is_last and self._session.ended is not None:
                # What is lost need not be closed.
                raise SystemGone(f"{self._launch.name} was ended")
            verb = wire.VERB_OF[type(request)]
            envelope = await self._session.ask(verb, request)
        finally:
            if is_last:
                await self.close()
        if envelope.error is not None:
            fault = envelope.error
            if fault.kind == SystemBusy.__name__:
                raise SystemBusy(fault.message, fault.retry_after_s)
            raise _ERRORS.get(fault.kind, SystemFault)(fault.message)
        return decode_body(envelope.body, reply, f"the adapter replied to {verb!r}")

    @property
    def has_died(self) -> bool:
        """Whether it ended while its memory was open."""
        return self._session is not None and self._session.has_exited

    async def kill(self) -> None:
        """Kill it at once; its folder stays."""
        if self._session is not None:
            await self._session.kill()

    async def close(self) -> None:
        """End it, and remove its folder once no process can continue with it.

        If it is just being started, it is ended after that.
        """
        try:
            await self.end()
        finally:
            if self._is_copy:
                pass  # the folder is the original's
            elif not self.can_reopen:
                shutil.rmtree(self._private, ignore_errors=True)
            elif self._remover is None:
                self._remover = weakref.finalize(
                    self, shutil.rmtree, self._private, ignore_errors=True
                )

    async def end(self) -> None:
        """End it; its folder stays."""
        self.is_closed = True
        session, self._session = self._session, None
        descriptor, self._exchange_descriptor = self._exchange_descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        try:
            if session is not None:
                await session.close()
        finally:
            if self._channel is not None:
                self._channel.close()

    def create_successor(self) -> "AdapterProcess":
        """A process that is not started, with the folder of this one; SystemGone if it is gone."""
        if self._remover is not None:
            self._remover.detach()
        if not self._private.is_dir():
            raise SystemGone(f"{self._launch.name} left no state of this memory")
        remove_folder(self._exchange)
        try:
            return AdapterProcess(self._launch, self._private, can_reopen=self.can_reopen)
        except OSError as error:
            raise SystemGone(f"{self._launch.name} left a folder that cannot be used") from error


def load_isolated_system(
    settings: Settings, *, code: str | None = None, hidden: Sequence[Path] = ()
) -> "IsolatedSystem":
    """The system of the adapter that the settings name, in processes of its own.

    `code` names the user's code if the adapter itself is ours, and `hidden` more that is closed.
    One is started to read the adapter's declarations, and ended. UsageError if there is no such
    adapter, or if it does not take the settings.
    """
    from recall_bench.core.runtime import run_to_end

    try:
        content = msgspec.json.encode(dict(settings.config))
        config = msgspec.json.decode(content, type=dict[str, object])
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a setting of the adapter cannot be sent to another process ({error}); use texts, "
            "numbers, lists and mappings, or --in-process"
        ) from error
    launch = AdapterLaunch(
        target=settings.adapter,
        factory=settings.factory,
        config=config,
        env=settings.env,
        code=code or settings.adapter,
        hidden=(*list_hidden(settings), *hidden),
        opened=list_opened(settings),
        allows_network=settings.allow_network,
    )
    return run_to_end(_inspect_adapter, launch)


async def _inspect_adapter(launch: AdapterLaunch) -> "IsolatedSystem":
    folders = TemporaryFolders()
    try:
        process = AdapterProcess(launch, folders.make().resolve())
        try:
            await process.start()
            health = await process.call(wire.HealthRequest(), AdapterHealth)
            obstacle = launch.copy_obstacle or health.obstacle or process.find_copy_obstacle()
        finally:
            await process.close()
        return IsolatedSystem(launch, health, folders, obstacle)
    except BaseException:
        folders.remove_all()
        raise


class IsolatedMemory(RemoteMemory):
    """A memory in a process of its own, whose replies come back whole."""

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """The adapter's reply, every field of it."""
        try:
            reply = await self.transport.call(self.build_question(question), RecordReply)
        except SystemGone as gone:
            if isinstance(self.transport, AdapterProcess) and self.transport.has_died:
                raise SystemDied(str(gone)) from gone
            raise
        record = reply.found if reply.given is None else reply.given
        if record is None:
            raise NotAnAnswer("the adapter's reply holds neither an answer nor passages")
        return record


class IsolatedSystem(DeclaredSystem):
    """A Python adapter: every memory has a process of its own."""

    def __init__(
        self,
        launch: AdapterLaunch,
        health: wire.HealthReply,
        folders: TemporaryFolders,
        copy_obstacle: str | None,
    ) -> None:
        super().__init__(health, where=launch.name, config=serialise_config(launch.config))
        self.card = self.card.replace(isolation=launch.isolation)
        self._folders = folders
        self.snapshots: IsolatedSnapshots | ProcessCopies | None = None
        self.copy_obstacle = copy_obstacle
        """Why processes of this adapter are not copied; None if they can be."""
        self.feeds_freely = not health.snapshots and copy_obstacle is None
        if health.snapshots:
            self.snapshots = IsolatedSnapshots(self)
        elif self.feeds_freely:
            self.snapshots = ProcessCopies(self._copy_memory)
        self._launch = launch
        self._processes: set[AdapterProcess] = set()
        # For callers that only look at the card.
        weakref.finalize(self, folders.remove_all)

    async def open(self, scenario: str) -> RemoteMemory:
        """An empty memory in a new process."""
        can_reopen = Offer.REOPEN in self.offers
        process = AdapterProcess(self._launch, self.make_folder(), can_reopen=can_reopen)
        return await self._open_memory(process, wire.OpenRequest(scenario=scenario))

    def make_folder(self) -> Path:
        """A new folder that lasts until `close`, unless it is removed before."""
        return self._folders.make().resolve()

    async def open_snapshot(self, snapshot: Path) -> RemoteMemory:
        """A memory in a new process, in a saved state."""
        process = AdapterProcess(self._launch, self.make_folder())
        request = wire.RestoreRequest(snapshot=snapshot.name)
        return await self._open_memory(process, request, snapshot)

    async def _copy_memory(self, memory: IsolatedMemory) -> IsolatedMemory:
        process, name = find_process(memory)
        copy = await process.copy()
        self._processes.add(copy)
        return IsolatedMemory(copy, name, self.health, memory.scenario)

    async def reopen(self, memory: Memory) -> RemoteMemory:
        """A memory in a new process that goes on with the folder of another, which is ended."""
        request = self.build_reopen_request(memory)
        process, _ = find_process(memory)
        await process.end()
        return await self._open_memory(process.create_successor(), request)

    async def _open_memory(
        self,
        process: AdapterProcess,
        request: wire.OpenRequest | wire.RestoreRequest,
        snapshot: Path | None = None,
    ) -> RemoteMemory:
        self._processes = {other for other in self._processes if not other.is_closed}
        self._processes.add(process)
        try:
            if snapshot is not None:
                await anyio.to_thread.run_sync(process.give_snapshot, snapshot)
            await process.start()
            opened = await process.call(request, wire.OpenReply)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await process.close()
            raise
        scenario = request.scenario if isinstance(request, wire.OpenRequest) else ""
        return IsolatedMemory(process, opened.memory, self.health, scenario)

    async def close(self) -> None:
        """End every process, and remove their folders."""
        processes, self._processes = self._processes, set()
        try:
            for process in processes:
                await process.close()
        finally:
            self._folders.remove_all()


def find_process(memory: Memory) -> tuple[AdapterProcess, str]:
    """The process of a memory, and the memory's name there; UsageError if it is none of ours."""
    if isinstance(memory, RemoteMemory) and isinstance(memory.transport, AdapterProcess):
        return memory.transport, memory.name
    raise UsageError(f"a {type(memory).__name__} is not a memory of this system")


class ProcessCopies(CopiedSnapshots[IsolatedMemory]):
    """Copies of a memory's process, which have the same private folder.

    So nothing is fed while a copy is asked, and what was asked is closed before the token is
    dropped: a file that it left is seen before the original can read it.
    """

    shares_files = True

    def __init__(self, copy: Callable[[IsolatedMemory], Awaitable[IsolatedMemory]]) -> None:
        super().__init__(IsolatedMemory, copy)
        self._originals: dict[str, AdapterProcess] = {}

    async def save(self, memory: Memory) -> str:
        """A token for an idle copy; NotOffered if the memory cannot be copied safely."""
        original, _ = find_process(memory)
        token = await super().save(memory)
        self._originals[token] = original
        return token

    async def drop(self, token: str) -> None:
        """Forget a copy; if copies left files, their original is not copied any more."""
        self._originals.pop(token).note_files()
        await super().drop(token)

    async def open_last(self, token: str) -> IsolatedMemory:
        """The saved process itself; NotOffered if other copies left files for it."""
        process, _ = find_process(self.get_saved(token))
        process.refuse_copy(process.find_files())
        return await super().open_last(token)


class IsolatedSnapshots(FolderSnapshots):
    """Snapshots that the processes of an adapter write and open, kept where they cannot reach.

    A process leaves one in its own folder. It is moved out of the process's reach before we look at
    it, so that it cannot be exchanged for links, and copied, so that no file of it is open there.
    """

    def __init__(self, system: IsolatedSystem) -> None:
        super().__init__(system.make_folder)
        self._system = system

    async def save(self, memory: Memory) -> str:
        """A token for the memory's present state."""
        process, name = find_process(memory)
        reply = await process.call(wire.SaveRequest(memory=name), wire.SaveReply)
        if not _SNAPSHOT_NAME.fullmatch(reply.snapshot):
            raise SystemFault("the adapter named its snapshot in a way that cannot be read")
        folder = self._system.make_folder()
        moved = folder / reply.snapshot
        try:
            process.take_snapshot(reply.snapshot, moved)
            return await self._keep_copy(moved, _copy_plain_files)
        except OSError as error:
            if find_full_disk(error) is not None:
                # Not the adapter's fault: the disk is ours.
                raise
            raise SystemFault(f"its snapshot cannot be kept: {error.strerror}") from error
        finally:
            remove_folder(moved)
            remove_folder(folder)

    async def open(self, token: str) -> RemoteMemory:
        """A new memory in the saved state, in a process of its own."""
        return await self._system.open_snapshot(self._saved[token])

    async def unpack(self, place: Path) -> str:
        """A token for a copy of a packed snapshot."""
        refuse_other_folder(place)
        return await self._keep_copy(place, _copy_plain_files)


def _copy_plain_files(source: Path, target: Path) -> None:
    try:
        refuse_special_files(source)
        copy_folder(source, target)
    except (DataError, shutil.Error) as error:
        raise SystemFault(f"its snapshot cannot be kept: {error}") from error
