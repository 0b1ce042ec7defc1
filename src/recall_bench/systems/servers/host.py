"""Serves any system: answers the messages of `wire` for every server."""

import re
from collections.abc import Awaitable, Callable
from datetime import date, datetime, time
from pathlib import Path
from uuid import uuid4

from recall_bench.core.errors import (
    BenchError,
    NotOffered,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.core.memory import (
    Answer,
    AttestingMemory,
    ConsolidatingMemory,
    EraseScope,
    ErasingMemory,
    ListingMemory,
    Memory,
    MemorySystem,
    MemoryWithFolder,
    MemoryWithHoldings,
    Offer,
    RetrievalReply,
    get_worker_limit,
    list_offers,
    reopen_memory,
    reopen_state,
)
from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.wire import Reply, Request, WireFault

_MAX_CLOSED = 64
"""How many closed memories can be reopened: their state stays on the disk."""
_STATE_SUFFIX = ".memory"
_MEMORY_NAME = re.compile(r"[0-9a-f]{32}")


class SystemHost:
    """Holds the memories and snapshots of one system by name.

    It reports `max_shards`, or what its system declares. If neither is given it reports none: that
    every worker may build the system does not mean that one instance serves them all.

    With `states`, a folder, it notes there where the state of each memory is, so that another
    process with the same folder can reopen them.
    """

    def __init__(
        self, system: MemorySystem, *, max_shards: int | None = None, states: Path | None = None
    ) -> None:
        self.system = system
        self._states = states
        self._closed: dict[str, tuple[Memory, str]] = {}
        """Closed memories that can be reopened."""
        self._max_shards = get_worker_limit(system) if max_shards is None else max_shards
        self._memories: dict[str, tuple[Memory, str]] = {}
        self._saved: dict[str, tuple[str, str]] = {}

    @property
    def _can_reopen(self) -> bool:
        return Offer.REOPEN in list_offers(self.system)

    async def handle(self, request: Request) -> Reply:
        """The reply to a request; servers send errors as `encode_fault` translates them."""
        handler: Callable[[Request], Awaitable[Reply]] = getattr(
            self, f"_{wire.VERB_OF[type(request)]}"
        )
        return await handler(request)

    async def close(self) -> None:
        """Close every open memory, and the system."""
        memories, self._memories = self._memories, {}
        try:
            for memory, _ in memories.values():
                await memory.close()
        finally:
            await self.system.close()

    async def _health(self, request: wire.HealthRequest) -> wire.HealthReply:  # noqa: ARG002
        card = self.system.card
        return wire.HealthReply(
            name=card.name,
            version=card.version,
            max_concurrency=card.max_concurrency,
            clock=card.clock.value if card.clock else "",
            asker=card.asker.value,
            answers=card.answers,
            snapshots=self.system.snapshots is not None,
            attests=True,
            inspects=True,
            max_shards=self._max_shards or 0,
            offers=tuple(sorted(list_offers(self.system))),
        )

    async def _open(self, request: wire.OpenRequest) -> wire.OpenReply:
        system, name, scenario = self.system, request.memory, request.scenario
        if not request.reopen:
            return self._keep(await system.open(scenario), scenario)
        if not self._can_reopen:
            raise NotOffered(f"{system.card.name} does not reopen memories")
        entry = self._memories.pop(name, None) or self._closed.pop(name, None)
        if entry is not None:
            return self._keep(await reopen_memory(system, entry[0]), scenario)
        # An earlier process may have left the folder with its state.
        note = None
        if self._states is not None and _MEMORY_NAME.fullmatch(name):
            note = self._states / f"{name}{_STATE_SUFFIX}"
        if note is None or not note.is_file():
            raise SystemGone("this memory is not held here, and left no state")
        folder = Path(note.read_text(encoding="utf-8"))
        return self._keep(await reopen_state(system, folder, scenario), scenario)

    async def _ingest(self, request: wire.IngestRequest) -> wire.DoneReply:
        memory, _ = self._get_memory(request.memory)
        await memory.ingest(decode_episode(request))
        return wire.DoneReply()

    async def _settle(self, request: wire.SettleRequest) -> wire.DoneReply:
        await self._get_memory(request.memory)[0].settle()
        return wire.DoneReply()

    async def _ask(self, request: wire.AskRequest) -> wire.AnswerReply:
        memory, scenario = self._get_memory(request.memory)
        return encode_answer(await memory.answer(decode_question(request, scenario)))

    async def _attest(self, request: wire.AttestRequest) -> wire.AttestReply:
        memory, _ = self._get_memory(request.memory)
        return wire.AttestReply(
            days=await memory.attest() if isinstance(memory, AttestingMemory) else None
        )

    async def _inspect(self, request: wire.InspectRequest) -> wire.InspectReply:
        memory, _ = self._get_memory(request.memory)
        if not isinstance(memory, MemoryWithHoldings):
            return wire.InspectReply()
        holdings = await memory.holdings()
        return wire.InspectReply(days=holdings.days, bytes=holdings.bytes)

    async def _erase(self, request: wire.EraseRequest) -> wire.ErasedReply:
        memory, _ = self._get_memory(request.memory)
        if request.scope not in set(EraseScope) or not isinstance(memory, ErasingMemory):
            raise NotOffered(f"{self.system.card.name} does not erase by {request.scope!r}")
        reply = await memory.erase(EraseScope(request.scope), request.value)
        return wire.ErasedReply(confirmed=reply.confirmed, count=reply.count)

    async def _stored(self, request: wire.StoredRequest) -> wire.StoredReply:
        memory, _ = self._get_memory(request.memory)
        if not isinstance(memory, ListingMemory):
            raise NotOffered(f"{self.system.card.name} does not list what it holds")
        return wire.StoredReply(
            entries=tuple(
                wire.WireEntry(text=entry.text, id=entry.id, day=entry.day)
                for entry in await memory.list_stored()
            )
        )

    async def _consolidate(self, request: wire.ConsolidateRequest) -> wire.DoneReply:
        memory, _ = self._get_memory(request.memory)
        if not isinstance(memory, ConsolidatingMemory):
            raise NotOffered(f"{self.system.card.name} cannot consolidate on request")
        await memory.consolidate()
        return wire.DoneReply()

    async def _save(self, request: wire.SaveRequest) -> wire.SaveReply:
        memory, scenario = self._get_memory(request.memory)
        if self.system.snapshots is None:
            raise SystemFault(f"{self.system.card.name} has no snapshots")
        token = await self.system.snapshots.save(memory)
        name = uuid4().hex
        self._saved[name] = (token, scenario)
        return wire.SaveReply(snapshot=name)

    async def _restore(self, request: wire.RestoreRequest) -> wire.OpenReply:
        if self.system.snapshots is None or request.snapshot not in self._saved:
            raise SystemGone(f"there is no snapshot {request.snapshot!r}")
        token, scenario = self._saved[request.snapshot]
        return self._keep(await self.system.snapshots.open(token), scenario)

    async def _drop(self, request: wire.DropRequest) -> wire.DoneReply:
        if self.system.snapshots is not None and request.snapshot in self._saved:
            token, _ = self._saved.pop(request.snapshot)
            await self.system.snapshots.drop(token)
        return wire.DoneReply()

    async def _close(self, request: wire.CloseRequest) -> wire.DoneReply:
        entry = self._memories.pop(request.memory, None)
        if entry is not None:
            await entry[0].close()
            if self._can_reopen:
                self._closed[request.memory] = entry
                while len(self._closed) > _MAX_CLOSED:
                    del self._closed[next(iter(self._closed))]
        return wire.DoneReply()

    def _keep(self, memory: Memory, scenario: str) -> wire.OpenReply:
        name = uuid4().hex
        self._memories[name] = (memory, scenario)
        folder = memory.state_folder if isinstance(memory, MemoryWithFolder) else None
        if self._states is not None and folder is not None and self._can_reopen:
            (self._states / f"{name}{_STATE_SUFFIX}").write_text(str(folder), encoding="utf-8")
        return wire.OpenReply(memory=name)

    def _get_memory(self, name: str) -> tuple[Memory, str]:
        if name not in self._memories:
            raise SystemGone(
                "this memory is not held here: it was closed, or the server was restarted"
            )
        return self._memories[name]


class InvalidDate(SystemFault):
    """The date in a request is none: the client's fault."""


def decode_episode(request: wire.IngestRequest) -> Episode:
    """The episode in a request; InvalidDate if it has none that is valid."""
    try:
        moment = time.fromisoformat(request.time) if request.time else time()
        at = datetime.combine(date.fromisoformat(request.date), moment)
    except ValueError as error:
        raise InvalidDate(f"day {request.day} has no valid date: {error}") from error
    return Episode(
        id=request.id,
        day=request.day,
        at=at,
        text=request.content,
        turns=tuple(Turn(speaker=turn.speaker, text=turn.text) for turn in request.turns),
        arcs=request.arcs,
        session=request.session or None,
    )


def decode_question(request: wire.AskRequest, scenario: str) -> Question:
    """The question in a request; InvalidDate if it has none that is valid."""
    try:
        at = datetime.combine(date.fromisoformat(request.date), time())
    except ValueError as error:
        raise InvalidDate(f"the question has no valid date: {error}") from error
    return Question(
        id=request.id,
        text=request.question,
        asked_at=at,
        scenario=scenario,
        session=request.session,
        choices=request.choices,
        top_k=request.top_k or None,
    )


def encode_answer(reply: Answer | RetrievalReply) -> wire.AnswerReply:
    """An answer, or found passages, as a reply."""
    spent = reply.usage
    usage = None
    if spent is not None:
        usage = wire.WireUsage(
            calls=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=None if spent.unpriced else spent.cost_usd,
        )
    return wire.AnswerReply(
        answer=reply.text if isinstance(reply, Answer) else None,
        passages=tuple(
            wire.WirePassage(
                **{name: getattr(passage, name) for name in wire.WirePassage.__struct_fields__}
            )
            for passage in reply.passages
        ),
        tool_calls=reply.tool_calls,
        usage=usage,
    )


def encode_fault(error: BenchError) -> WireFault:
    """An error as it is sent."""
    kinds: dict[str, tuple[type[BenchError], ...]] = {
        "busy": (SystemBusy,),
        "timeout": (SystemTimeout,),
        "gone": (SystemGone,),
        "unsupported": (UsageError, NotOffered),
    }
    kind = next((name for name, errors in kinds.items() if isinstance(error, errors)), "fault")
    pause_s = error.retry_after_s if isinstance(error, SystemBusy) else 0.0
    return WireFault(kind=kind, message=str(error), retry_after_s=pause_s)
