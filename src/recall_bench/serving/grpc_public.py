"""A host as the public service sees it: one memory at a time, and nothing but text."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from recall_bench.core.memory import Answer
from recall_bench.core.question import PRINCIPAL, hash_question_id
from recall_bench.core.reader import Reader
from recall_bench.errors import SystemFault, UsageError
from recall_bench.serving.host import SystemHost, decode_question
from recall_bench.systems.grpc.messages import Protobuf, load_messages
from recall_bench.systems.remote import wire
from recall_bench.systems.remote.system import decode_answer

R = TypeVar("R", bound=wire.Reply)


class GrpcV1Service:
    """Setup opens a memory in place of the one before.

    A question carries no date and no session, so it is asked on the last day taken in, by the
    principal.
    """

    def __init__(self, host: SystemHost, reader: Reader | None) -> None:
        self._host = host
        self._reader = reader
        self._memory: str | None = None
        self._today: str | None = None
        self._setups = 0
        self._changing = anyio.Lock()
        self._handlers: dict[str, Callable[[Protobuf], Awaitable[dict[str, object]]]] = {
            "Setup": self._setup,
            "IngestDay": self._ingest,
            "FinalizeIngestion": self._settle,
            "Query": self._query,
            "Teardown": self._teardown,
            "Healthcheck": self._report_health,
        }

    async def handle(self, method: str, received: Protobuf) -> Protobuf:
        """The response of a method."""
        return load_messages()[f"{method}Response"](**await self._handlers[method](received))

    async def _setup(self, received: Protobuf) -> dict[str, object]:  # noqa: ARG002
        async with self._changing:
            await self._release()
            self._setups += 1
            asked = wire.OpenRequest(scenario=f"setup-{self._setups}")
            self._memory = _expect_reply(wire.Opened, await self._host.handle(asked)).memory
        return {}

    async def _ingest(self, received: Protobuf) -> dict[str, object]:
        day, told = received.day_number, received.metadata
        await self._host.handle(
            wire.IngestRequest(
                memory=self._require_memory(),
                day=day,
                id=f"day-{day:04}",
                date=told.date,
                content=received.content,
                arcs=tuple(told.active_arcs),
            )
        )
        self._today = told.date
        return {}

    async def _settle(self, received: Protobuf) -> dict[str, object]:  # noqa: ARG002
        await self._host.handle(wire.SettleRequest(memory=self._require_memory()))
        return {}

    async def _query(self, received: Protobuf) -> dict[str, object]:
        memory = self._require_memory()
        if self._today is None:
            raise UsageError("nobody knows what day it is: call IngestDay before the first Query")
        asked = wire.AskRequest(
            memory=memory,
            question=received.question,
            id=hash_question_id("", received.question),
            date=self._today,
            session=PRINCIPAL,
        )
        told = _expect_reply(wire.Told, await self._host.handle(asked))
        return {"answer": await self._extract_text(asked, told)}

    async def _extract_text(self, asked: wire.AskRequest, told: wire.Told) -> str:
        reply = decode_answer(told)
        if isinstance(reply, Answer):
            return reply.text
        if self._reader is None:
            raise SystemFault(
                f"{self._host.system.card.name} finds and does not answer, and the first version "
                "of the service carries nothing but answers"
            )
        return (await self._reader.read(decode_question(asked, ""), reply.passages)).text

    async def _teardown(self, received: Protobuf) -> dict[str, object]:  # noqa: ARG002
        async with self._changing:
            await self._release()
        return {}

    async def _report_health(self, received: Protobuf) -> dict[str, object]:  # noqa: ARG002
        return {"name": self._host.system.card.name, "ready": True}

    async def _release(self) -> None:
        memory, self._memory, self._today = self._memory, None, None
        if memory is not None:
            await self._host.handle(wire.CloseRequest(memory=memory))

    def _require_memory(self) -> str:
        if self._memory is None:
            raise UsageError("no memory is open: call Setup first")
        return self._memory


def _expect_reply(kind: type[R], reply: wire.Reply) -> R:
    if not isinstance(reply, kind):
        raise TypeError(f"a host replied with a {type(reply).__name__} for {kind.__name__}")
    return reply
