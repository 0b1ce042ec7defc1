"""A system in another process, behind any transport of our messages."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import anyio

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


class Transport(Protocol):
    """Sends requests to a server and returns its replies.

    It connects at the first call, and again at the first call after `close`; in between it never
    reconnects. It raises SystemGone if the server cannot be reached or is not the same as before,
    and the faults that the server reports. Many requests may be under way at once.
    """

    async def call(self, request: wire.Request, reply: type[R]) -> R:
        """The server's reply to one request."""

    async def close(self) -> None:
        """Disconnect, and stop the server if it was started for us. May be called twice."""


@runtime_checkable
class StreamTransport(Transport, Protocol):
    """A transport that sends many episodes without waiting for each."""

    async def stream(
        self,
        requests: Sequence[wire.IngestRequest],
        on_ingested: Callable[[wire.IngestRequest], None],
    ) -> None:
        """Send them in order; `on_ingested` is called for each that the server acknowledged."""


@runtime_checkable
class ProcessTransport(Transport, Protocol):
    """A transport to a process that it started, which it may kill."""

    @property
    def state_folder(self) -> Path | None:
        """The folder that the process may write to."""

    async def kill(self) -> None:
        """Kill the process at once, and wait for its end."""


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
    try:
        health = await _wait_until_ready(transport, where, ready_timeout_s)
    finally:
        await transport.close()
    return RemoteSystem(transport, health, where=where, config=config, is_shared=is_shared)


async def _wait_until_ready(transport: Transport, where: str, timeout_s: float) -> wire.HealthReply:
    pause_s = 0.05
    with anyio.move_on_after(timeout_s):
        while True:
            health = await transport.call(wire.HealthRequest(), wire.HealthReply)
            if health.ready:
                return health
            await anyio.sleep(pause_s)
            pause_s = min(2 * pause_s, 1.0)
    raise SystemGone(
        f"{where} is not ready after {timeout_s:g} s; run the same command again when it is"
    )


class RemoteSystem:
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
        self._transport = transport
        self.card = build_remote_card(health, where, config)
        self.max_shards = read_max_shards(health, where, is_shared=is_shared)
        self.snapshots = _build_snapshots(transport, health, is_shared=is_shared)
        self.offers = read_offers(health)
        self._health = health

    async def open(self, scenario: str) -> "RemoteMemory":
        """An empty memory on the server."""
        opened = await self._transport.call(wire.OpenRequest(scenario=scenario), wire.OpenReply)
        return build_remote_memory(self._transport, opened, self._health, scenario)

    async def reopen(self, memory: Memory) -> "RemoteMemory":
        """A memory on the server that goes on with one that was closed, or lost with its process.

        A process of ours that was killed is started again.
        """
        request = build_reopen_request(memory, self.offers)
        opened = await self._transport.call(request, wire.OpenReply)
        return build_remote_memory(self._transport, opened, self._health, request.scenario)

    async def close(self) -> None:
        """Disconnect from the server."""
        await self._transport.close()


class RemoteMemory:
    """A memory on a server."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        scenario: str = "",
        offers: frozenset[Offer] = frozenset(),
    ) -> None:
        self.transport = transport
        """What carries its messages."""
        self.name = name
        """Its name on the server."""
        self.scenario = scenario
        """Empty for a memory that was restored."""
        self._offers = offers

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
        if offer not in self._offers:
            raise NotOffered(f"the system does not offer {offer.value!r}")
        try:
            return await self.transport.call(request, reply)
        except RequestNotServed as error:
            raise NotOffered(str(error)) from error

    async def close(self) -> None:
        """Close it on the server; a server that is gone holds nothing."""
        try:
            await self.transport.call(wire.CloseRequest(memory=self.name), wire.DoneReply)
        except SystemGone:
            return


class StreamingMemory(RemoteMemory):
    """A memory that is sent many episodes without waiting for each."""

    def __init__(
        self,
        transport: StreamTransport,
        name: str,
        scenario: str = "",
        offers: frozenset[Offer] = frozenset(),
    ) -> None:
        super().__init__(transport, name, scenario, offers)
        self._stream = transport

    async def ingest_all(
        self, episodes: Sequence[Episode], on_ingested: Callable[[Episode], None]
    ) -> None:
        """Send many episodes in order."""
        by_day = {episode.day: episode for episode in episodes}
        requests = [encode_episode(self.name, episode) for episode in episodes]
        await self._stream.stream(requests, lambda request: on_ingested(by_day[request.day]))


class _AttestingMixin:
    """For servers that count days."""

    transport: Transport
    name: str

    async def attest(self) -> int | None:
        """How many days the server says it has ingested."""
        return (
            await self.transport.call(wire.AttestRequest(memory=self.name), wire.AttestReply)
        ).days


class _InspectingMixin:
    """For servers that say what they hold."""

    transport: Transport
    name: str

    async def holdings(self) -> Holdings:
        """What the server says it holds."""
        reply = await self.transport.call(wire.InspectRequest(memory=self.name), wire.InspectReply)
        return Holdings(days=reply.days, bytes=reply.bytes)


class _ProcessMixin:
    """For memories in a process that we started."""

    transport: ProcessTransport

    @property
    def state_folder(self) -> Path | None:
        """The folder that the process may write to."""
        return self.transport.state_folder

    async def kill(self) -> None:
        """Kill the process, which may hold other memories too."""
        await self.transport.kill()


class _RemoteSnapshots:
    def __init__(self, transport: Transport, health: wire.HealthReply) -> None:
        self._transport = transport
        self._health = health

    async def save(self, memory: Memory) -> str:
        if not isinstance(memory, RemoteMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        return (
            await self._transport.call(wire.SaveRequest(memory=memory.name), wire.SaveReply)
        ).snapshot

    async def open(self, token: str) -> Memory:
        opened = await self._transport.call(wire.RestoreRequest(snapshot=token), wire.OpenReply)
        return build_remote_memory(self._transport, opened, self._health)

    async def drop(self, token: str) -> None:
        await self._transport.call(wire.DropRequest(snapshot=token), wire.DoneReply)


class _SharedSnapshots(_RemoteSnapshots):
    """Snapshots on a server that other workers reach: only their names are packed."""

    def __init__(self, transport: Transport, health: wire.HealthReply) -> None:
        super().__init__(transport, health)
        self._packed: set[str] = set()
        """Snapshots that others may open: only `discard` drops them on the server."""

    async def drop(self, token: str) -> None:
        if token not in self._packed:
            await super().drop(token)

    async def pack(self, token: str, place: Path) -> None:
        self._packed.add(token)
        (place / _TOKEN_FILE).write_text(token, encoding="utf-8")

    async def unpack(self, place: Path) -> str:
        token = _read_packed_token(place)
        self._packed.add(token)
        return token

    async def discard(self, place: Path) -> None:
        token = _read_packed_token(place)
        self._packed.discard(token)
        await super().drop(token)


_TOKEN_FILE = "snapshot.txt"  # noqa: S105 - the name of a file


def _read_packed_token(place: Path) -> str:
    try:
        return (place / _TOKEN_FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{place / _TOKEN_FILE} cannot be read ({error.strerror}); pack the state again"
        ) from error


def _build_snapshots(
    transport: Transport, health: wire.HealthReply, *, is_shared: bool
) -> _RemoteSnapshots | None:
    if not health.snapshots:
        return None
    kind = _SharedSnapshots if is_shared and health.max_shards > 1 else _RemoteSnapshots
    return kind(transport, health)


def read_max_shards(health: wire.HealthReply, where: str, *, is_shared: bool = False) -> int | None:
    """As the server says; by default 1 for a shared server, else any number."""
    if health.max_shards < 0:
        raise UsageError(
            f"{where} says max_shards = {health.max_shards}, which is not a number of workers"
        )
    return health.max_shards or (1 if is_shared else None)


def read_offers(health: wire.HealthReply) -> frozenset[Offer]:
    """The optional parts that a server has; those that are unknown here are left out."""
    return frozenset(offer for offer in Offer if offer.value in health.offers)


def build_reopen_request(memory: Memory, offers: frozenset[Offer]) -> wire.OpenRequest:
    """The request to go on with a memory; NotOffered if the system cannot."""
    if not isinstance(memory, RemoteMemory):
        raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
    if Offer.REOPEN not in offers:
        raise NotOffered("the system does not reopen memories")
    return wire.OpenRequest(scenario=memory.scenario, reopen=True, memory=memory.name)


def build_remote_memory(
    transport: Transport,
    opened: wire.OpenReply,
    health: wire.HealthReply,
    scenario: str = "",
    kind: type[RemoteMemory] = RemoteMemory,
) -> RemoteMemory:
    """The memory that a server opened, with the abilities that it declares."""
    base: type = StreamingMemory if isinstance(transport, StreamTransport) else kind
    able: tuple[tuple[type, bool], ...] = (
        (_AttestingMixin, health.attests),
        (_InspectingMixin, health.inspects),
        (_ProcessMixin, isinstance(transport, ProcessTransport)),
    )
    build = _combine_abilities(base, *(each for each, can in able if can))
    return build(transport, opened.memory, scenario, read_offers(health))


@cache
def _combine_abilities(kind: type[RemoteMemory], *abilities: type) -> Callable[..., RemoteMemory]:
    """A memory class with these abilities: the harness recognises them by type."""
    return type(kind.__name__, (*abilities, kind), {}) if abilities else kind


def build_remote_card(
    health: wire.HealthReply, where: str, config: dict[str, object]
) -> SystemCard:
    """The card of a server, from what it declares."""
    try:
        return SystemCard(
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
    passages = tuple(
        Passage(
            text=passage.text,
            id=passage.id,
            day=passage.day,
            source=passage.source,
            score=passage.score,
        )
        for passage in reply.passages
    )
    usage = None if reply.usage is None else _decode_usage(reply.usage)
    if reply.answer is None:
        return RetrievalReply(passages=passages, tool_calls=reply.tool_calls, usage=usage)
    return Answer(text=reply.answer, passages=passages, tool_calls=reply.tool_calls, usage=usage)


def _decode_usage(usage: wire.WireUsage) -> Usage:
    return Usage(
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd or 0.0,
        unpriced=usage.calls if usage.cost_usd is None else 0,
    )


def decode_fault(fault: wire.WireFault, where: str) -> BenchError:
    """A fault that a server reports, as an error of ours."""
    said = f"{where}: {fault.message or 'it failed without a message'}"
    match fault.kind:
        case "busy":
            return SystemBusy(said, fault.retry_after_s)
        case "timeout":
            return SystemTimeout(said)
        case "gone":
            return SystemGone(f"{said}; see that it runs, then run the same command again")
        case "unsupported":
            return RequestNotServed(said)
        case _:
            return SystemFault(said)
