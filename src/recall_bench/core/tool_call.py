"""An agent's calls to the tools of a memory, as they are offered, made and recorded."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import field

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage

LOOP_PREFIX = "loop:"
"""What the name of a system under the loop agent begins with."""


class ToolRole(StrEnum):
    """What a tool does to a memory."""

    SAVE = "save"
    SEARCH = "search"
    """It reads and changes nothing."""
    UPDATE = "update"
    DELETE = "delete"


class MemoryTool(Record, frozen=True, kw_only=True):
    """A tool as an agent is offered it."""

    name: str
    role: ToolRole
    description: str
    schema: dict[str, object]
    """The JSON schema of its arguments."""


class FoundNote(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One result of a search."""

    text: str
    note: str | None = None
    """The id of the note, if the memory names it."""


class NoteWrite(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a call did to one note."""

    note: str | None = None
    """The id of the note; None if the call names none."""
    text: str | None = None
    """Its text from then on; None for a note that was deleted."""


class ToolResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call that the memory accepted."""

    text: str
    """What the agent is shown."""
    found: tuple[FoundNote, ...] = ()
    writes: tuple[NoteWrite, ...] = ()


class CallProblem(StrEnum):
    """Why a call did not do what it was meant to."""

    MALFORMED = "malformed"
    """It names no tool that is offered, or its arguments do not fit."""
    FAILED = "failed"
    """The memory reported an error."""
    REFUSED = "refused"
    """It came when no more calls were allowed."""


class AgentCall(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One call that an agent made."""

    number: int
    """Its place in the session, from 1."""
    tool: str
    role: ToolRole | None = None
    """None for a tool that does not exist."""
    arguments: dict[str, object] = field(default_factory=dict)
    found: tuple[FoundNote, ...] = ()
    writes: tuple[NoteWrite, ...] = ()
    problem: CallProblem | None = None
    message: str | None = None
    """The message that the agent received."""


class SessionEnd(StrEnum):
    """Why an agent stopped working on a day or a question."""

    DONE = "done"
    STEPS = "steps"
    """It had made as many requests as it may."""
    TOKENS = "tokens"
    """It had taken as many tokens as it may."""
    BROKEN = "broken"
    """It was cut off: by the timeout, or because its model or the memory failed."""


class AgentSession(Record, frozen=True, kw_only=True):
    """An agent's work on one day or one question."""

    memory: str
    """The memory that was fed; copies of it have the same name."""
    calls: tuple[AgentCall, ...]
    steps: int
    """Requests to the model."""
    unreadable: int
    """Replies that were neither calls nor an answer."""
    end: SessionEnd
    usage: Usage
    """What the model cost."""


@runtime_checkable
class MemoryWithTools(Protocol):
    """A memory with tools of its own for an agent."""

    async def list_tools(self) -> tuple[MemoryTool, ...]:
        """List the tools; the same for all memories of a system."""

    async def call_tool(self, tool: MemoryTool, arguments: Mapping[str, object]) -> ToolResult:
        """Call one of them; SystemFault if the memory reports an error."""


@runtime_checkable
class ToolUsingMemory(Protocol):
    """A memory that an agent works with."""

    def take_sessions(self, about: str) -> tuple[AgentSession, ...]:
        """Return, once, the sessions about the day or question with this id, in order."""
