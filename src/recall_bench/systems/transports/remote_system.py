"""A system in another process, behind any transport of our messages."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from recall_bench.core.errors import (
    BenchError,
    DataError,
    NotOffered,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.core.memory import (
    UNDECLARED,
    Answer,
    Asker,
    Clock,
    EraseReply,
    EraseScope,
    Holdings,
    Memory,
    Offer,
    Passage,
    RetrievalReply,
    StoredEntry,
    SystemCard,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.systems.reply_limits import check_entries
from recall_bench.systems.transports import wire

R = TypeVar("R", bound=wire.Reply)


class Transport:
    """Sends requests to a server and returns its replies.

    It connects at the first call, and again at the first call after `close`; in between it never
    reconnects. It raises SystemGone if the server cannot be reached or is not the same as before,
    and the faults that the server reports. Many requests may be under way at once.
    """

    @property
    def state_folder(self) -> Path | None:
        """The folder that the server's process may write to, if we started it."""
        return None

    async def call(self, request: wire.Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        raise NotImplementedError

    async def kill(self) -> None:
        """Kill the server's process at once, and wait for its end; NotOffered if it is not ours."""
        raise NotOffered("the system runs in no process of ours")

    async def close(self) -> None:
        """Disconnect, and stop the server if it was started for us. May be called twice."""


class StreamTransport(Transport):
    """A transport that sends many episodes without waiting for each."""

    async def stream(
        self,
        requests: Sequence[wire.IngestRequest],
        on_ingested: Callable[[wire.IngestRequest], None],
    ) -> None:
        """Send them in order; `on_ingested` is called for each that the server acknowledged."""
        raise NotImplementedError


class RequestNotServed(SystemFault):
    """The server does not understand the request."""


READY_TIMEOUT_S = 30.0
"""How long a server may take to become ready."""


async def connect_remote_system(
    transport: Transport,
    *,
    where: str,
    config: dict[str, object],
    ready_timeout_s: float = READY_TIMEOUT_S,
    is_shared: bool = False,
) -> "RemoteSystem":
    """The system behind a transport, which is closed until the first memory is opened.

    SystemGone if it cannot be reached, or is not ready in time.
    """
    pause_s = 0.05
    try:
        with anyio.move_on_after(ready_timeout_s):
            while True:
                health = await transport.call(wire.HealthRequest(), wire.HealthReply)
                if health.ready:
                    return RemoteSystem(
                        transport, health, where=where, config=config, is_shared=is_shared
                    )
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)
    finally:
        await transport.close()
    raise SystemGone(
        f"{where} is not ready after {ready_timeout_s:g} s; run the same command again when it is"
    )


class DeclaredSystem:
    """What a server says of itself, as the harness needs it; UsageError if it cannot be read."""

    def __init__(
        self,
        health: wire.HealthReply,
        *,
        where: str,
        config: dict[str, object],
        is_shared: bool = False,
    ) -> None:
        if health.max_shards < 0:
            raise UsageError(
                f"{where} says max_shards = {health.max_shards}, which is not a number of workers"
            )
        self.health = health
        self.max_shards = health.max_shards or (1 if is_shared else None)
        self.offers = read_offers(health)
        try:
            self.card = SystemCard(
                name=health.name or where,
                version=health.version or UNDECLARED,
                config=config,
                max_concurrency=max(1, health.max_concurrency),
                clock=Clock(health.clock) if health.clock else None,
                asker=Asker(health.asker) if health.asker else Asker.TOLD,
                answers=health.answers,
            )
        except ValueError as error:
            raise UsageError(
                f"{where} describes itself in a way that cannot be read: {error}"
            ) from error

    def build_reopen_request(self, memory: Memory) -> wire.OpenRequest:
        """The request to go on with a memory; NotOffered if the system cannot."""
        if not isinstance(memory, RemoteMemory):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        if Offer.REOPEN not in self.offers:
            raise NotOffered("the system does not reopen memories")
        return wire.OpenRequest(scenario=memory.scenario, reopen=True, memory=memory.name)


def read_offers(health: wire.HealthReply) -> frozenset[Offer]:
    """The optional parts that a server has; those that are unknown here are left out."""
    return frozenset(offer for offer in Offer if offer.value in health.offers)


class RemoteSystem(DeclaredSystem):
    """A server that holds any number of memories, and perhaps snapshots.

    A shared one is the same for every worker; otherwise each worker starts its own.
    """

    def __init__(
        self,
        transport: Transport,
        health: wire.HealthReply,
        *,
        where: str,
        config: dict[str, object],
        is_shared: bool = False,
    ) -> None:
        super().__init__(health, where=where, config=config, is_shared=is_shared)
        self.transport = transport
        """What carries its messages."""
        self.snapshots: _RemoteSnapshots | None = None
        if health.snapshots:
            is_reached = is_shared and health.max_shards > 1
            self.snapshots = (_SharedSnapshots if is_reached else _RemoteSnapshots)(self)

    async def open(self, scenario: str) -> "RemoteMemory":
        """An empty memory on the server."""
        return await self.open_by(wire.OpenRequest(scenario=scenario), scenario)

    async def reopen(self, memory: Memory) -> "RemoteMemory":
        """A memory on the server that goes on with one that was closed, or lost with its process.

        A process of ours that was killed is started again.
        """
        request = self.build_reopen_request(memory)
        return await self.open_by(request, request.scenario)

    async def open_by(
        self, request: wire.OpenRequest | wire.RestoreRequest, scenario: str = ""
    ) -> "RemoteMemory":
        """The memory that a request opens."""
        opened = await self.transport.call(request, wire.OpenReply)
        if isinstance(self.transport, StreamTransport):
            return StreamingMemory(self.transport, opened.memory, self.health, scenario)
        return RemoteMemory(self.transport, opened.memory, self.health, scenario)

    async def close(self) -> None:
        """Disconnect from the server."""
        await self.transport.close()


class RemoteMemory:
    """A memory on a server, with the abilities that the server declares."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        health: wire.HealthReply = wire.HealthReply(),  # noqa: B008 - it is immutable
        scenario: str = "",
    ) -> None:
        self.transport = transport
        """What carries its messages."""
        self.name = name
        """Its name on the server."""
        self.scenario = scenario
        """Empty for a memory that was restored."""
        self._health = health

    @property
    def state_folder(self) -> Path | None:
        """The folder that the process may write to, if we started it."""
        return self.transport.state_folder

    async def ingest(self, episode: Episode) -> None:
        """Send one episode."""
        await self.transport.call(encode_episode(self.name, episode), wire.DoneReply)

    async def settle(self) -> None:
        """Return once the server says that everything can be asked about."""
        await self.transport.call(wire.SettleRequest(memory=self.name), wire.DoneReply)

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """The server's answer, or the passages it found."""
        request = self.build_question(question)
        return decode_answer(await self.transport.call(request, wire.AnswerReply))

    def build_question(self, question: Question) -> wire.AskRequest:
        """A question as a request."""
        return wire.AskRequest(
            memory=self.name,
            question=question.text,
            id=question.id,
            date=question.asked_at.date().isoformat(),
            session=question.session,
            choices=question.choices,
            top_k=question.top_k or 0,
        )

    async def attest(self) -> int | None:
        """How many days the server says it has ingested."""
        if not self._health.attests:
            return None
        request = wire.AttestRequest(memory=self.name)
        return (await self.transport.call(request, wire.AttestReply)).days

    async def holdings(self) -> Holdings:
        """What the server says it holds."""
        if not self._health.inspects:
            return Holdings()
        reply = await self.transport.call(wire.InspectRequest(memory=self.name), wire.InspectReply)
        return Holdings(days=reply.days, bytes=reply.bytes)

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Tell the server to erase."""
        request = wire.EraseRequest(memory=self.name, scope=scope.value, value=value)
        reply = await self._call_optional(scope.offer, request, wire.ErasedReply)
        return EraseReply(confirmed=reply.confirmed, count=reply.count)

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """What the server lists."""
        request = wire.StoredRequest(memory=self.name)
        reply = await self._call_optional(Offer.STORED, request, wire.StoredReply)
        return check_entries(
            StoredEntry(text=entry.text, id=entry.id, day=entry.day) for entry in reply.entries
        )

    async def consolidate(self) -> None:
        """Return once the server says that it has consolidated."""
        request = wire.ConsolidateRequest(memory=self.name)
        await self._call_optional(Offer.CONSOLIDATE, request, wire.DoneReply)

    async def _call_optional(self, offer: Offer, request: wire.Request, reply: type[R]) -> R:
        """The reply to a request that not every server understands; NotOffered if it does not."""
        if offer not in read_offers(self._health):
            raise NotOffered(f"the system does not offer {offer.value!r}")
        try:
            return await self.transport.call(request, reply)
        except RequestNotServed as error:
            raise NotOffered(str(error)) from error

    async def kill(self) -> None:
        """Kill the process, which may hold other memories too; NotOffered if it is not ours."""
        await self.transport.kill()

    async def close(self) -> None:
        """Close it on the server; a server that is gone holds nothing."""
        try:
            await self.transport.call(wire.CloseRequest(memory=self.name), wire.DoneReply)
        except SystemGone:
            return


class StreamingMemory(RemoteMemory):
    """A memory that is sent many episodes without waiting for each."""

    transport: StreamTransport

    async def ingest_all(
        self, episodes: Sequence[Episode], on_ingested: Callable[[Episode], None]
    ) -> None:
        """Send many episodes in order."""
        by_day = {episode.day: episode for episode in episodes}
        requests = [encode_episode(self.name, episode) for episode in episodes]
        await self.transport.stream(requests, lambda request: on_ingested(by_day[request.day]))


class _RemoteSnapshots:
    def __init__(self, system: RemoteSystem) -> None:
        self._system = system

    async def save(self, memory: Memory) -> str:
        if not isinstance(memory, RemoteMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        request = wire.SaveRequest(memory=memory.name)
        return (await self._system.transport.call(request, wire.SaveReply)).snapshot

    async def open(self, token: str) -> Memory:
        return await self._system.open_by(wire.RestoreRequest(snapshot=token))

    async def drop(self, token: str) -> None:
        await self._system.transport.call(wire.DropRequest(snapshot=token), wire.DoneReply)


_TOKEN_FILE = "snapshot.txt"  # noqa: S105 - the name of a file


class _SharedSnapshots(_RemoteSnapshots):
    """Snapshots on a server that other workers reach: only their names are packed."""

    def __init__(self, system: RemoteSystem) -> None:
        super().__init__(system)
        self._packed: set[str] = set()
        """Snapshots that others may open: only `discard` drops them on the server."""

    async def drop(self, token: str) -> None:
        if token not in self._packed:
            await super().drop(token)

    async def pack(self, token: str, place: Path) -> None:
        self._packed.add(token)
        (place / _TOKEN_FILE).write_text(token, encoding="utf-8")

    async def unpack(self, place: Path) -> str:
        try:
            token = (place / _TOKEN_FILE).read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(
                f"{place / _TOKEN_FILE} cannot be read ({error.strerror}); pack the state again"
            ) from error
        self._packed.add(token)
        return token

    async def discard(self, place: Path) -> None:
        token = await self.unpack(place)
        self._packed.discard(token)
        await super().drop(token)


def encode_episode(memory: str, episode: Episode) -> wire.IngestRequest:
    """One episode as a request."""
    moment = episode.at.time()
    return wire.IngestRequest(
        memory=memory,
        day=episode.day,
        id=episode.id,
        date=episode.at.date().isoformat(),
        time=moment.isoformat() if moment.hour or moment.minute or moment.second else "",
        content=episode.text,
        arcs=episode.arcs,
        turns=tuple(wire.WireTurn(speaker=turn.speaker, text=turn.text) for turn in episode.turns),
        session=episode.session or "",
    )


def decode_answer(reply: wire.AnswerReply) -> Answer | RetrievalReply:
    """A server's reply as the harness records it."""
    passages = tuple(Passage(**msgspec.structs.asdict(passage)) for passage in reply.passages)
    usage = None
    if reply.usage is not None:
        spent = reply.usage
        usage = Usage(
            calls=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd or 0.0,
            unpriced=spent.calls if spent.cost_usd is None else 0,
        )
    if reply.answer is None:
        return RetrievalReply(passages=passages, tool_calls=reply.tool_calls, usage=usage)
    return Answer(text=reply.answer, passages=passages, tool_calls=reply.tool_calls, usage=usage)


def decode_fault(fault: wire.WireFault, where: str) -> BenchError:
    """A fault that a server reports, as an error of ours."""
    message = f"{where}: {fault.message or 'it failed without a message'}"
    match fault.kind:
        case "busy":
            return SystemBusy(message, fault.retry_after_s)
        case "timeout":
            return SystemTimeout(message)
        case "gone":
            return SystemGone(f"{message}; see that it runs, then run the same command again")
        case "unsupported":
            return RequestNotServed(message)
        case _:
            return SystemFault(message)
