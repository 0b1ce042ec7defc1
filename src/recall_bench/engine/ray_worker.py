"""Workers that are actors on a Ray cluster, an existing one or one started for the run."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import anyio

from recall_bench.core.distribution import format_install
from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.core.runtime import STOP_SIGNALS
from recall_bench.engine.worker import Worker
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunUnit,
    UnitEvents,
    UnitFailure,
    WorkerLost,
)
from recall_bench.engine.worker_pool import StartWorker

if TYPE_CHECKING:
    from types import ModuleType

_GATHER_S = 0.1
"""How long a worker gathers what it tells: each message costs Ray about a millisecond.

What was gathered is lost with the worker, and asked again.
"""
_CONNECT_TIMEOUT_S = 10.0
"""How long the machine at an address may take to accept a connection."""
_START_TIMEOUT_S = 300.0
"""How long a worker may take to come up: a cluster may have to find a machine for it first."""
_STOP_TIMEOUT_S = 20.0
_AT_ONCE = 8
"""Calls to an actor at a time: a unit, and what may stop or close it."""
_RAY_ENV_DEFAULTS = {
    # Send no usage statistics.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Workers need no accelerator.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Set to 0, Ray takes the loopback address for this machine's own on every platform."""


def load_ray() -> "ModuleType":
    """Ray; UsageError if it is not installed."""
    for name, value in _RAY_ENV_DEFAULTS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as missing:
        raise UsageError(f"--executor ray: needs Ray; {format_install('ray')}") from missing
    module: ModuleType = ray
    return module


def refuse_client(address: str | None) -> None:
    """Raise UsageError if the address is one through which a cluster is only called from afar."""
    if address is not None and "://" in address:
        raise UsageError(
            f"--ray-address: {address} is the address of a client; run this on a machine of the "
            "cluster and say HOST:PORT or auto, or submit it as a job"
        )


@contextmanager
def connect_cluster(address: str | None) -> Iterator[int]:
    """Connected to the cluster at an address, or to one started here; yields its CPUs.

    One that was started here ends with the block, and listens on the loopback address alone.
    """
    is_own = address is None
    if is_own:
        os.environ.setdefault(_LOOPBACK, "0")
    ray = load_ray()
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if is_own:
        settings |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        if address is not None:
            _check_port(address)
        with _keep_signals():
            # Without an address Ray would take any cluster that was started on this machine.
            ray.init(address=address or "local", ignore_reinit_error=False, **settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "cannot be started here" if is_own else f"is not reached at {address}"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SystemGone(f"a Ray cluster {where} ({reason}); see `ray status`") from error
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()


def _check_port(address: str) -> None:
    """Raise OSError if nothing listens there: Ray itself would retry for minutes."""
    # Ray writes the address down; the file outlives the cluster.
    place = Path(gettempdir(), "ray", "ray_current_cluster")
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", address)
        if address == "auto" and place.is_file():
            address = place.read_text(encoding="utf-8").strip()
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_S).close()


@contextmanager
def _keep_signals() -> Iterator[None]:
    """Restore our signal handlers: those of Ray would end the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_starter(*, cpus: float, environ: Mapping[str, str]) -> StartWorker:
    """How a worker with this share of a machine is started, wherever the cluster has room.

    `environ` is set in it before anything else.
    """
    ray = load_ray()
    kind = ray.remote(_WorkerActor).options(
        num_cpus=cpus,
        max_concurrency=_AT_ONCE,
        max_restarts=0,
        scheduling_strategy="SPREAD",
    )

    async def start_actor(number: int) -> RayWorker:
        actor = kind.remote(dict(environ), list(sys.path), str(Path.cwd()))
        worker = RayWorker(actor, number)
        try:
            with anyio.fail_after(_START_TIMEOUT_S):
                await worker.wait_ready()
        except TimeoutError as error:
            ray.kill(actor)
            raise UsageError(
                f"worker {number} found no place on the cluster in {_START_TIMEOUT_S:g} s; "
                "use fewer --workers or less --worker-cpus"
            ) from error
        return worker

    return start_actor


class RayWorker:
    """The driver's side of a worker that is a Ray actor."""

    def __init__(self, actor: Any, number: int) -> None:  # noqa: ANN401 - Ray's own
        self._actor = actor
        self._name = f"worker {number}"

    async def wait_ready(self) -> None:
        """Wait until it has started."""
        await self._call(self._actor.confirm_start)

    async def perform(self, message: RunUnit, on_events: OnEvents) -> None:
        """Have a unit done, and pass on the events that it sends."""
        failure: UnitFailure | None = None
        has_begun = False
        method = self._actor.perform.options(num_returns="streaming")
        try:
            async for reference in method.remote(message):
                for events in await reference:
                    has_begun = True
                    on_events(events)
                    failure = failure or events.failure
        except load_ray().exceptions.RayError as death:
            raise WorkerLost(
                f"{self._name} died or its machine left", has_begun=has_begun
            ) from death
        if failure is not None:
            raise failure.to_error()

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Let it begin nothing new."""
        with suppress(WorkerLost):
            await self._call(self._actor.stop, run, reason)

    async def close(self) -> None:
        """Let it close its memories, and end it."""
        with anyio.CancelScope(shield=True):
            ray = load_ray()
            with suppress(WorkerLost), anyio.move_on_after(_STOP_TIMEOUT_S):
                await self._call(self._actor.close)
            ray.kill(self._actor)

    async def _call(self, method: Any, *what: object) -> None:  # noqa: ANN401 - Ray's own
        try:
            await method.remote(*what)
        except load_ray().exceptions.RayError as death:
            raise WorkerLost(f"{self._name} died or its machine left") from death


class _WorkerActor:
    """A worker on the cluster."""

    def __init__(self, environ: Mapping[str, str], path: list[str], folder: str) -> None:
        os.environ.update(environ)
        if Path(folder).is_dir():
            # Paths in settings may be relative to the folder of the command.
            os.chdir(folder)
        sys.path += [folder_name for folder_name in path if folder_name not in sys.path]
        self._worker = Worker()
        self._under_way: set[asyncio.Task[None]] = set()

    async def confirm_start(self) -> None:
        """Return once the actor has started."""

    async def perform(self, message: RunUnit) -> AsyncIterator[list[UnitEvents]]:
        """Do a unit, and yield its events in batches."""
        waiting: list[UnitEvents] = []
        changed = asyncio.Event()

        def send(events: UnitEvents) -> None:
            waiting.append(events)
            changed.set()

        # At once: the unit may kill the worker before anything else is sent.
        yield [UnitEvents()]
        # In a task of its own: cancel scopes must not span the turns of a generator.
        work = asyncio.create_task(self._worker.perform(message, send))
        self._under_way.add(work)
        # Not when this generator ends: Ray may end it first, and `close` has to wait for the work.
        work.add_done_callback(self._under_way.discard)
        work.add_done_callback(lambda _: changed.set())
        try:
            while not work.done() or waiting:
                await changed.wait()
                await asyncio.wait((work,), timeout=_GATHER_S)
                changed.clear()
                if waiting:
                    batch, waiting = waiting, []
                    yield batch
                if work.done():
                    changed.set()
            await work
        finally:
            work.cancel()

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Begin nothing new for a run."""
        self._worker.stop(run, reason)

    async def close(self) -> None:
        """Cancel what is under way, and close the components."""
        for work in list(self._under_way):
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
        await self._worker.close()
