"""A system in another process, behind whatever carries our messages to it."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import anyio

from recall_bench.core.errors import (
    BenchError,
    DataError,
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
    Holdings,
    Memory,
    Passage,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.systems.transports.wire import (
    AnswerReply,
    AskRequest,
    AttestReply,
    AttestRequest,
    CloseRequest,
    DoneReply,
    DropRequest,
    HealthReply,
    HealthRequest,
    IngestRequest,
    InspectReply,
    InspectRequest,
    OpenReply,
    OpenRequest,
    Reply,
    Request,
    RestoreRequest,
    SaveReply,
    SaveRequest,
    SettleRequest,
    WireFault,
    WirePassage,
    WireTurn,
    WireUsage,
)

R = TypeVar("R", bound=Reply)


class Transport(Protocol):
    """Takes requests to a server and brings back its replies.

    It connects at the first call, and again at the first call after `close`; in between it never
    reconnects. It raises SystemGone once the server cannot be reached or is not the one it began
    with, and `fault_of` what the server says went wrong. Many requests may be under way at once.
    """

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        ...

    async def close(self) -> None:
        """Let go of the server, and stop it if it was started for us. Can be called twice."""
        ...


@runtime_checkable
class StreamTransport(Transport, Protocol):
    """A carrier that takes many episodes over without waiting for each."""

    async def stream(
        self, requests: Sequence[IngestRequest], took: Callable[[IngestRequest], None]
    ) -> None:
        """Take them over in order; `took` is called for each that the server has acknowledged."""
        ...


READY_TIMEOUT_S = 30.0
"""How long a server that says it is not ready may take to become so."""


async def connect_remote_system(
    carrier: Transport,
    *,
    where: str,
    config: dict[str, object],
    ready_timeout_s: float = READY_TIMEOUT_S,
    is_shared: bool = False,
) -> "RemoteSystem":
    """The system behind a carrier, which is let go again until the first memory is opened.

    SystemGone if it is not there, or not ready in time.
    """
    try:
        health = await _wait_until_ready(carrier, where, ready_timeout_s)
    finally:
        await carrier.close()
    return RemoteSystem(carrier, health, where=where, config=config, is_shared=is_shared)


async def _wait_until_ready(carrier: Transport, where: str, timeout_s: float) -> HealthReply:
    pause_s = 0.05
    with anyio.move_on_after(timeout_s):
        while True:
            health = await carrier.call(HealthRequest(), HealthReply)
            if health.ready:
                return health
            await anyio.sleep(pause_s)
            pause_s = min(2 * pause_s, 1.0)
    raise SystemGone(
        f"{where} is not ready after {timeout_s:g} s; run the same command again when it is"
    )


class RemoteSystem:
    """A server that holds any number of memories, and perhaps copies of them.

    One that is shared is the same for every worker; else each starts its own.
    """

    def __init__(
        self,
        carrier: Transport,
        health: HealthReply,
        *,
        where: str,
        config: dict[str, object],
        is_shared: bool = False,
    ) -> None:
        self._transport = carrier
        self.card = _build_card(health, where, config)
        self.max_shards = _read_max_shards(health, where, is_shared=is_shared)
        self.snapshots = _build_snapshots(carrier, health, is_shared=is_shared)
        self._health = health

    async def open(self, scenario: str) -> "RemoteMemory":
        """An empty memory on the server."""
        opened = await self._transport.call(OpenRequest(scenario=scenario), OpenReply)
        return _build_memory(self._transport, opened, self._health)

    async def close(self) -> None:
        """Let go of the server."""
        await self._transport.close()


class RemoteMemory:
    """A memory that a server holds for us."""

    def __init__(self, carrier: Transport, name: str) -> None:
        self._transport = carrier
        self.name = name
        """What the server calls it."""

    async def ingest(self, episode: Episode) -> None:
        """Hand over one episode."""
        await self._transport.call(encode_episode(self.name, episode), DoneReply)

    async def settle(self) -> None:
        """Return once the server says that all of it can be asked about."""
        await self._transport.call(SettleRequest(memory=self.name), DoneReply)

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """What the server says, or finds."""
        request = AskRequest(
            memory=self.name,
            question=question.text,
            id=question.id,
            date=question.asked_at.date().isoformat(),
            session=question.session,
            choices=question.choices,
            top_k=question.top_k or 0,
        )
        return decode_answer(await self._transport.call(request, AnswerReply))

    async def close(self) -> None:
        """Tell the server to release it; a server that is gone holds nothing any more."""
        try:
            await self._transport.call(CloseRequest(memory=self.name), DoneReply)
        except SystemGone:
            return


class StreamingMemory(RemoteMemory):
    """One that is handed many episodes without waiting for each."""

    def __init__(self, carrier: StreamTransport, name: str) -> None:
        super().__init__(carrier, name)
        self._stream = carrier

    async def ingest_all(
        self, episodes: Sequence[Episode], took: Callable[[Episode], None]
    ) -> None:
        """Hand over many episodes in order."""
        by_day = {episode.day: episode for episode in episodes}
        requests = [encode_episode(self.name, episode) for episode in episodes]
        await self._stream.stream(requests, lambda request: took(by_day[request.day]))


class _AttestingMixin:
    """What a memory on a server that keeps count can do besides."""

    _transport: Transport
    name: str

    async def attest(self) -> int | None:
        """How many days the server says it has taken in."""
        return (await self._transport.call(AttestRequest(memory=self.name), AttestReply)).days


class _InspectingMixin:
    """What a memory on a server that lets one look into it can do besides."""

    _transport: Transport
    name: str

    async def holdings(self) -> Holdings:
        """What the server says that it holds."""
        told = await self._transport.call(InspectRequest(memory=self.name), InspectReply)
        return Holdings(days=told.days, bytes=told.bytes)


class _RemoteSnapshots:
    def __init__(self, carrier: Transport, health: HealthReply) -> None:
        self._transport = carrier
        self._health = health

    async def save(self, memory: Memory) -> str:
        if not isinstance(memory, RemoteMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        return (await self._transport.call(SaveRequest(memory=memory.name), SaveReply)).snapshot

    async def open(self, token: str) -> Memory:
        opened = await self._transport.call(RestoreRequest(snapshot=token), OpenReply)
        return _build_memory(self._transport, opened, self._health)

    async def drop(self, token: str) -> None:
        await self._transport.call(DropRequest(snapshot=token), DoneReply)


class _SharedSnapshots(_RemoteSnapshots):
    """Saved states that stay on a server which other workers reach: only their names travel."""

    def __init__(self, carrier: Transport, health: HealthReply) -> None:
        super().__init__(carrier, health)
        self._packed: set[str] = set()
        """States that others may open: only `discard` has the server forget one."""

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
    carrier: Transport, health: HealthReply, *, is_shared: bool
) -> _RemoteSnapshots | None:
    if not health.snapshots:
        return None
    kind = _SharedSnapshots if is_shared and health.max_shards > 1 else _RemoteSnapshots
    return kind(carrier, health)


def _read_max_shards(health: HealthReply, where: str, *, is_shared: bool) -> int | None:
    """As the server says; unsaid, one that every worker would reach stands a single one."""
    if health.max_shards < 0:
        raise UsageError(
            f"{where} says max_shards = {health.max_shards}, which is no number of workers"
        )
    return health.max_shards or (1 if is_shared else None)


def _build_memory(carrier: Transport, opened: OpenReply, health: HealthReply) -> RemoteMemory:
    kind = StreamingMemory if isinstance(carrier, StreamTransport) else RemoteMemory
    able = ((_AttestingMixin, health.attests), (_InspectingMixin, health.inspects))
    return _combine_abilities(kind, *(each for each, can in able if can))(carrier, opened.memory)


@cache
def _combine_abilities(kind: type[RemoteMemory], *abilities: type) -> Callable[..., RemoteMemory]:
    """The kind of memory that can do these things besides: what it can do, its type says."""
    return type(kind.__name__, (*abilities, kind), {}) if abilities else kind


def _build_card(health: HealthReply, where: str, config: dict[str, object]) -> SystemCard:
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
        raise UsageError(f"{where} says of itself what cannot be understood: {error}") from error


def encode_episode(memory: str, episode: Episode) -> IngestRequest:
    """One episode as it is handed over."""
    moment = episode.at.time()
    return IngestRequest(
        memory=memory,
        day=episode.day,
        id=episode.id,
        date=episode.at.date().isoformat(),
        time=moment.isoformat() if moment.hour or moment.minute or moment.second else "",
        content=episode.text,
        arcs=episode.arcs,
        turns=tuple(WireTurn(speaker=turn.speaker, text=turn.text) for turn in episode.turns),
    )


def decode_answer(told: AnswerReply) -> Answer | RetrievalReply:
    """A server's reply as the harness records it."""
    passages = tuple(_decode_passage(each) for each in told.passages)
    usage = None if told.usage is None else _decode_usage(told.usage)
    if told.answer is None:
        return RetrievalReply(passages=passages, tool_calls=told.tool_calls, usage=usage)
    return Answer(text=told.answer, passages=passages, tool_calls=told.tool_calls, usage=usage)


def _decode_passage(each: WirePassage) -> Passage:
    return Passage(text=each.text, id=each.id, day=each.day, source=each.source, score=each.score)


def _decode_usage(spent: WireUsage) -> Usage:
    return Usage(
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd=spent.cost_usd or 0.0,
        unpriced=spent.calls if spent.cost_usd is None else 0,
    )


def decode_fault(fault: WireFault, where: str) -> BenchError:
    """What a server says went wrong, as an error of ours."""
    said = f"{where}: {fault.message or 'it failed without saying why'}"
    match fault.kind:
        case "busy":
            busy = SystemBusy(said)
            busy.retry_after_s = fault.retry_after_s
            return busy
        case "timeout":
            return SystemTimeout(said)
        case "gone":
            return SystemGone(f"{said}; see that it runs, then run the same command again")
        case _:
            return SystemFault(said)
