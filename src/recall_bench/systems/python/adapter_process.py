"""The process of an isolated adapter: it confines itself, loads the adapter, and serves the parent.

It holds one memory, so that nothing passes from one memory to another but what a snapshot holds.
"""

import asyncio
import os
import socket
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import msgspec

from recall_bench.core.errors import BenchError, SystemGone
from recall_bench.core.memory import Answer, RetrievalReply
from recall_bench.core.record import Record
from recall_bench.core.sandbox import SandboxPolicy
from recall_bench.systems.python.main_thread import MainThread
from recall_bench.systems.python.python_snapshots import PythonSnapshots
from recall_bench.systems.python.system import PythonSystem, load_python_system
from recall_bench.systems.servers.host import SystemHost, decode_question
from recall_bench.systems.servers.stdio_server import DirectWriter, Pipes, claim_pipes, serve_stdio
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.wire import WireFault


class RecordReply(wire.AnswerReply, frozen=True, kw_only=True):
    """The reply to `ask`: the whole record, where programs send only the fields of the protocol."""

    given: Answer | None = None
    found: RetrievalReply | None = None


STATE, EXCHANGE = "state", "exchange"
"""The folders of memories and of snapshots in the folder of the process."""


class AdapterSpec(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the process receives: the adapter, its settings and its limits."""

    target: str
    factory: str | None = None
    config: dict[str, object]
    path: tuple[str, ...]
    """The module search path."""
    folder: str
    """The working directory."""
    environ: dict[str, str]
    """The whole environment."""
    private: str
    """The folder of this process."""
    policy: SandboxPolicy | None = None
    """None where the kernel cannot confine a process."""
    channel: int | None = None
    """The descriptor over which copies of the process are asked for; None if there are none."""


class AdapterHealth(wire.HealthReply, frozen=True, kw_only=True):
    """The reply to `health`."""

    obstacle: str = ""
    """Why the process must not be copied, by what the adapter declares."""


def main() -> None:
    """Serve the adapter of the spec whose path is on the command line."""
    place = Path(sys.argv.pop(1))
    spec = msgspec.json.decode(place.read_bytes(), type=AdapterSpec)
    place.unlink()
    sys.path[:] = spec.path
    sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(spec.environ)
    os.chdir(spec.folder)
    pipes = claim_pipes()
    main_thread = MainThread()
    channel = None
    if spec.channel is not None:
        from recall_bench.core.process_copies import say_hello

        channel = socket.socket(fileno=spec.channel)
        channel.set_inheritable(False)
        say_hello(channel)
    if spec.policy is not None:
        from recall_bench.core.sandbox import confine_process

        confine_process(spec.policy)
    _serve_to_end(AdapterHost(spec, main_thread), pipes, channel)


def _serve_to_end(host: "AdapterHost", pipes: Pipes, channel: socket.socket | None) -> NoReturn:
    """Serve until the input ends; copies of this process do the same from where they begin."""
    try:
        host.main_thread.serve(_serve(host, pipes, channel))
    except BaseException:  # noqa: BLE001 - the adapter may raise anything
        traceback.print_exc()
        _end_process(1)
    if channel is not None:
        from recall_bench.core.process_copies import reap_copies

        reap_copies()
    _end_process(0)


def _end_process(code: int) -> NoReturn:
    """End at once: taking an interpreter apart takes longer than most calls."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


async def _serve(host: "AdapterHost", pipes: Pipes, channel: socket.socket | None) -> None:
    main_thread = host.main_thread
    if channel is not None:
        _watch_copies(host, channel)
    try:
        await serve_stdio(
            host.handle, pipes, encode_error, DirectWriter, main_thread.watch_messages
        )
    finally:
        await host.close()


def _watch_copies(host: "AdapterHost", channel: socket.socket) -> None:
    """Fork when the parent asks, between two calls: neither the loop nor the adapter runs then."""
    from recall_bench.core.process_copies import CopyRequest, say_hello

    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[object]]()

    def fork(request: CopyRequest) -> None:
        refusal = "it has used asyncio" if host.main_thread.has_awaited else None
        copy = request.fork(refusal)
        if copy is not None:
            requests, replies, own = copy
            host.main_thread.begin_again()
            say_hello(own)
            _serve_to_end(host, Pipes(requests=requests, replies=replies), own)

    def take_request() -> None:
        request = CopyRequest.take(channel)
        if request is None:
            loop.remove_reader(channel)
        else:
            tasks.add(loop.create_task(host.main_thread.run(partial(fork, request))))

    loop.add_reader(channel, take_request)


class AdapterHost:
    """Loads the adapter at the first request, so that what goes wrong there is a reply."""

    def __init__(self, spec: AdapterSpec, main_thread: MainThread) -> None:
        self._spec = spec
        self.main_thread = main_thread
        self._loading = asyncio.Lock()
        self._host: _LoadedHost | None = None

    async def handle(self, request: wire.Request) -> wire.Reply:
        """The reply to a request."""
        if self._host is None:
            async with self._loading:
                self._host = self._host or await self._load()
        return await self._host.handle(request)

    async def _load(self) -> "_LoadedHost":
        spec, private = self._spec, Path(self._spec.private)
        system = None

        def load() -> None:
            nonlocal system
            system = load_python_system(
                spec.target,
                spec.config,
                factory=spec.factory,
                state_dir=private / STATE,
                main=self.main_thread,
                keeps_states=True,
            )

        outcome = await self.main_thread.run(load)
        if outcome.error is not None:
            raise outcome.error
        if system is None:
            raise AssertionError("a call that raised nothing returned")
        return _LoadedHost(system, private)

    async def close(self) -> None:
        """Close the memory and the adapter."""
        if self._host is not None:
            await self._host.close()


class _LoadedHost(SystemHost):
    """A host whose snapshots are folders that the parent takes away and brings back."""

    def __init__(self, system: PythonSystem, private: Path) -> None:
        super().__init__(system, states=private / STATE)
        self._system = system
        self._exchange = private / EXCHANGE

    async def _health(self, request: wire.HealthRequest) -> AdapterHealth:
        reply = msgspec.structs.asdict(await super()._health(request))
        return AdapterHealth(**reply, obstacle=self._system.copy_obstacle)

    async def _ask(self, request: wire.AskRequest) -> RecordReply:
        memory, scenario = self._get_memory(request.memory)
        reply = await memory.answer(decode_question(request, scenario))
        return RecordReply(given=reply) if isinstance(reply, Answer) else RecordReply(found=reply)

    async def _save(self, request: wire.SaveRequest) -> wire.SaveReply:
        memory, _ = self._get_memory(request.memory)
        name = uuid4().hex
        (self._exchange / name).mkdir()
        await self._require_snapshots().write(memory, self._exchange / name)
        return wire.SaveReply(snapshot=name)

    async def _restore(self, request: wire.RestoreRequest) -> wire.OpenReply:
        snapshots = self._require_snapshots()
        memory = await snapshots.open_folder(self._exchange / request.snapshot)
        return self._keep(memory, memory.scenario)

    def _require_snapshots(self) -> PythonSnapshots:
        if self._system.snapshots is None:
            raise SystemGone(f"{self._system.card.name} has no snapshots any more")
        return self._system.snapshots


def encode_error(error: BenchError) -> WireFault:
    """An error by the name of its class, so that the parent raises the same one."""
    pause_s = getattr(error, "retry_after_s", 0.0)
    return WireFault(kind=type(error).__name__, message=str(error), retry_after_s=pause_s)
