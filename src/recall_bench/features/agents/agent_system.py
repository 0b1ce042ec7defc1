"""Agents as black boxes: days and questions are sent as messages, nothing else is known.

A channel sends a message and returns the reply. Everything that is the same for every channel is
here: which conversation a message belongs to, the transcript, what was spent, copies.
"""

import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import anyio

from recall_bench.core.errors import BenchError, ContextExceeded, NotAnAnswer
from recall_bench.core.memory import Answer, Exchange, Snapshots, SystemCard
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.agents.talk_settings import (
    WORDING_VERSION,
    Talk,
    TalkSettings,
    Telling,
    ask_question,
    tell_episode,
)
from recall_bench.systems.snapshots import CopiedSnapshots

MAX_TEXT = 2000
"""The most characters of a message, and of a reply, in the transcript."""

MAX_WAITING = 10_000
"""The most exchanges that are kept for a journal."""

_UNSENT = "what others than the user say in a dialogue is not sent"


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """What separates one memory of an agent from another."""

    id: str
    """Unique: a user id for servers."""
    folder: Path | None = None
    """The folder with its home and its project, for programs."""
    slot: "FolderSlot | None" = None


class FolderSlot:
    """The path at which a program finds a memory's folder, the same for all copies of it.

    Agents file what they remember under the path of the project, so a copy is moved there for as
    long as a call takes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def occupy(self, folder: Path) -> AsyncIterator[Path]:
        """Move the folder here, and back at the end."""
        async with self._lock:
            folder.rename(self.path)
            try:
                yield self.path
            finally:
                self.path.rename(folder)


@dataclass(slots=True)
class Conversation:
    """What was said between a user and an agent, as far as it is one conversation."""

    place: MemoryPlace
    id: str = field(default_factory=lambda: str(uuid4()))
    said: list[tuple[str, str]] = field(default_factory=list)
    """The role and the text of every message: `user` or `assistant`."""
    context: str | None = None
    """The server's own id of it."""
    task: str | None = None
    """The server's id of a task that waits for our next message."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was said in it."""
        return not self.said

    def branch(self, place: MemoryPlace, *, under_new_id: bool) -> "Conversation":
        """A copy that can go on without changing what was said in this one."""
        name = str(uuid4()) if under_new_id else self.id
        return replace(self, place=place, id=name, said=list(self.said))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReply:
    """What came back."""

    text: str
    usage: Usage = field(default_factory=lambda: Usage(calls=1, unpriced=1))
    tool_calls: tuple[dict[str, object], ...] = ()


class AgentChannel:
    """One way to send a message to an agent. Unless it says otherwise, a memory is only a name."""

    @property
    def sends_history(self) -> bool:
        """Whether all of a conversation is sent with each message, so that it can be branched."""
        return False

    async def open_place(self) -> MemoryPlace:
        """What a new memory of the agent needs."""
        return MemoryPlace(f"recall-bench-{uuid4().hex}")

    async def copy_place(self, place: MemoryPlace) -> MemoryPlace:  # noqa: ARG002
        """The same in the present state; it belongs to the caller."""
        return await self.open_place()

    def open_question_place(self, place: MemoryPlace) -> AbstractAsyncContextManager[MemoryPlace]:
        """What one question is asked of."""
        return nullcontext(place)

    async def close_place(self, place: MemoryPlace) -> None:
        """Remove what the memory needed."""

    async def send(self, conversation: Conversation, text: str) -> AgentReply:
        """Send the next message of the conversation; SystemFault if there is no reply."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release everything."""


class Transcript:
    """What was said to agents and what they spent, until a run takes it over."""

    def __init__(self) -> None:
        self.meter = UsageMeter()
        self.exchanges: deque[Exchange] = deque(maxlen=MAX_WAITING)

    def drain_exchanges(self, scenario: str) -> tuple[Exchange, ...]:
        """What was said about this scenario since the last call."""
        exchanges = tuple(self.exchanges)
        self.exchanges.clear()
        self.exchanges.extend(one for one in exchanges if one.scenario != scenario)
        return tuple(one for one in exchanges if one.scenario == scenario)


class AgentSystem:
    """An agent behind a channel."""

    def __init__(
        self,
        channel: AgentChannel,
        settings: TalkSettings,
        card: SystemCard,
        *,
        copies: bool,
        max_shards: int | None,
    ) -> None:
        self.channel = channel
        self.settings = settings
        self.card = card.replace(
            config={**card.config, "wording": WORDING_VERSION},
            max_concurrency=settings.max_concurrency,
            caveats=(*card.caveats, *(_UNSENT,) * (settings.tell is Telling.USER_TURNS)),
        )
        self.max_shards = settings.max_shards or max_shards
        self.snapshots: Snapshots | None = (
            CopiedSnapshots[AgentMemory](AgentMemory, AgentMemory.copy) if copies else None
        )
        self.transcript = Transcript()

    async def open(self, scenario: str) -> "AgentMemory":
        """A memory of which the agent knows nothing."""
        return AgentMemory(self, scenario, Conversation(await self.channel.open_place()))

    async def close(self) -> None:
        """Release everything."""
        await self.channel.close()

    def drain(self) -> Usage:
        """What the agent reports to have spent since the last call."""
        return self.transcript.meter.drain()

    def drain_exchanges(self, scenario: str) -> tuple[Exchange, ...]:
        """What was said about this scenario since the last call."""
        return self.transcript.drain_exchanges(scenario)

    async def exchange(self, conversation: Conversation, text: str, record: Exchange) -> AgentReply:
        """Send a message, and note it in the transcript whatever comes of it."""
        started = time.perf_counter()
        reply: AgentReply | None = None
        # What is seen if the call is cancelled because its time is up.
        fault: str | None = "no reply in time"
        try:
            reply = await self.channel.send(conversation, text)
            fault = None
        except BenchError as error:
            fault = f"{type(error).__name__}: {error}"
            raise
        finally:
            answer = None if reply is None else reply.text
            self.transcript.exchanges.append(
                record.replace(
                    request=text[:MAX_TEXT],
                    reply=None if answer is None else answer[:MAX_TEXT],
                    cut=max(0, len(text) - MAX_TEXT) + max(0, len(answer or "") - MAX_TEXT),
                    seconds=time.perf_counter() - started,
                    tool_calls=0 if reply is None else len(reply.tool_calls),
                    usage=None if reply is None else reply.usage,
                    fault=fault,
                )
            )
        self.transcript.meter.add(reply.usage)
        conversation.said += [("user", text), ("assistant", reply.text)]
        return reply


class AgentMemory:
    """What an agent received about one scenario, wherever it keeps that."""

    def __init__(self, system: AgentSystem, scenario: str, conversation: Conversation) -> None:
        self._system = system
        self._scenario = scenario
        self.conversation = conversation
        """The one of all days, or that of the latest day."""
        self._progress = (-1, 0)
        """The day of the last message, and how many messages of it were sent: a retry sends the
        rest."""
        self._is_settled = True

    @property
    def state_folder(self) -> Path | None:
        """The folder with its home and its project, if it has one."""
        return self.conversation.place.folder

    async def ingest(self, episode: Episode) -> None:
        """Tell the agent an episode."""
        sent = self._progress[1] if self._progress[0] == episode.day else 0
        if sent == 0 and self._system.settings.conversation is Talk.NEW:
            self.conversation = Conversation(self.conversation.place)
        self._is_settled = False
        messages = tell_episode(episode, self._system.settings.tell)
        for number, text in enumerate(messages[sent:], start=sent + 1):
            await self._tell(text, episode.day)
            self._progress = (episode.day, number)

    async def settle(self) -> None:
        """Wait for the seconds of the setting `settle_s`."""
        if not self._is_settled:
            await anyio.sleep(self._system.settings.settle_s)
        self._is_settled = True

    async def answer(self, question: Question) -> Answer:
        """Ask in a new conversation, or in the one of all days."""
        async with self._system.channel.open_question_place(self.conversation.place) as place:
            if self._system.settings.conversation is Talk.ONE:
                conversation = self._branch(place)
            else:
                conversation = Conversation(place)
            record = self._make_record(conversation, question=question.id)
            reply = await self._system.exchange(conversation, ask_question(question), record)
        if not reply.text.strip():
            count = len(reply.tool_calls)
            called = f"; it called {format_quantity(count, 'tool')}" if count else ""
            raise NotAnAnswer(f"{self._system.card.name} replied without a text{called}")
        return Answer(text=reply.text.strip(), tool_calls=reply.tool_calls)

    async def close(self) -> None:
        """Remove what is ours; what a server keeps under the memory's id stays there."""
        await self._system.channel.close_place(self.conversation.place)

    async def copy(self) -> "AgentMemory":
        """A memory in the same state."""
        place = await self._system.channel.copy_place(self.conversation.place)
        copied = AgentMemory(self._system, self._scenario, self._branch(place))
        copied._progress, copied._is_settled = self._progress, self._is_settled
        return copied

    def _branch(self, place: MemoryPlace) -> Conversation:
        sends_history = self._system.channel.sends_history
        return self.conversation.branch(place, under_new_id=sends_history)

    async def _tell(self, text: str, day: int) -> None:
        conversation = self.conversation
        record = self._make_record(conversation, day=day)
        try:
            await self._system.exchange(conversation, text, record)
        except ContextExceeded:
            # Its user would not notice before a question; from here on every message is refused.
            if self._system.settings.conversation is Talk.NEW:
                raise
            conversation.said.append(("user", text))

    def _make_record(
        self, conversation: Conversation, day: int | None = None, question: str | None = None
    ) -> Exchange:
        return Exchange(
            scenario=self._scenario,
            conversation=conversation.id,
            request="",
            seconds=0.0,
            day=day,
            question=question,
        )
