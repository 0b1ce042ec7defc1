"""A model that follows a script, and a memory of notes with one fault at a time."""

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Memory, RetrievalReply, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.tool_call import FoundNote, MemoryTool, NoteWrite, ToolResult, ToolRole
from recall_bench.core.usage import Usage
from recall_bench.features.agents.loop.loop_agent import AgentLimits, LoopAgent
from recall_bench.features.agents.loop.loop_system import LoopSystem
from recall_bench.features.agents.loop.reference_tools import DELETE, SAVE, SEARCH, UPDATE
from recall_bench.systems.models.model import Prompt, Reply

Script = Callable[[Prompt], str]


@dataclass(slots=True)
class ScriptedModel:
    """Replies by script, and keeps what it was asked."""

    script: Script
    name: str = "scripted"
    is_priced: bool = False
    asked: list[Prompt] = field(default_factory=list)

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        return Reply(text=self.script(prompt), usage=Usage(calls=1, unpriced=1))

    async def close(self) -> None:
        """Nothing to release."""


def calls(*wanted: tuple[str, dict[str, Any]]) -> str:
    """A reply that calls tools."""
    return json.dumps({"calls": [{"tool": tool, "arguments": given} for tool, given in wanted]})


def answer(text: str) -> str:
    """A reply that answers."""
    return json.dumps({"answer": text})


def is_day(prompt: Prompt) -> bool:
    return "<<the day" in prompt.user


def has_begun(prompt: Prompt) -> bool:
    """Whether something was said before in this conversation."""
    return "<<so far" in prompt.user


def read_question(prompt: Prompt) -> str:
    found = re.search(r"<<the question \w+>>\n(.*)", prompt.user)
    assert found is not None
    return found[1]


def read_results(prompt: Prompt) -> list[str]:
    """What the tools returned so far."""
    lines = [line for line in prompt.user.splitlines() if line.startswith('{"result of"')]
    return [str(json.loads(line)["is"]) for line in lines]


def keep_garden(prompt: Prompt) -> str:
    """The gardener's agent: it saves each planting, moves the leeks on day 6, and forgets the chard
    on day 7. It searches for each question, and answers with the line that names the plant."""
    if is_day(prompt):
        if has_begun(prompt):
            return answer("done")
        planted = re.search(r"I planted (\w+) in bed number (\d+)\.", prompt.user)
        assert planted is not None
        wanted: list[tuple[str, dict[str, Any]]] = [("save", {"text": planted[0]})]
        if planted[1] == "fennel":
            wanted.append(("update", {"id": "n1", "text": "The leeks stand in bed number 90."}))
        if planted[1] == "squash":
            wanted.append(("delete", {"id": "n2"}))
        return calls(*wanted)
    question = read_question(prompt)
    if not has_begun(prompt):
        return calls(("search", {"query": question}))
    plant = question.rstrip("?").split()[-1]
    lines = [line for result in read_results(prompt) for line in result.splitlines()]
    line = next((line for line in lines if plant in line), "There is no record of that.")
    return answer(re.sub(r"^\[n\d+, [\d-]+\] ", "", line))


@dataclass(slots=True, eq=False)
class NoteMemory:
    """Notes that are found by shared words; `fault` is what it does wrong."""

    fault: str = ""
    notes: list[tuple[str, str]] = field(default_factory=list)
    saved: int = 0

    async def list_tools(self) -> tuple[MemoryTool, ...]:
        return SAVE, SEARCH, UPDATE, DELETE

    async def call_tool(self, tool: MemoryTool, arguments: Mapping[str, object]) -> ToolResult:
        text, name = str(arguments.get("text", "")), str(arguments.get("id", ""))
        match tool.role:
            case ToolRole.SAVE:
                self.saved += 1
                name = f"n{self.saved}"
                self.notes.append((name, text[:16] if self.fault == "truncates" else text))
                write = NoteWrite(note=None if self.fault == "unnamed" else name, text=text)
                return ToolResult(text=f"saved as {name}", writes=(write,))
            case ToolRole.SEARCH:
                found = tuple(FoundNote(note=n, text=t) for n, t in self.search(arguments))
                return ToolResult(text="\n".join(each.text for each in found), found=found)
            case ToolRole.UPDATE:
                self.require(name)
                if self.fault != "appends":
                    self.notes = [note for note in self.notes if note[0] != name]
                self.notes.append((name, text))
                return ToolResult(text="updated", writes=(NoteWrite(note=name, text=text),))
            case ToolRole.DELETE:
                self.require(name)
                if self.fault != "keeps":
                    self.notes = [note for note in self.notes if note[0] != name]
                return ToolResult(text="deleted", writes=(NoteWrite(note=name),))

    def require(self, name: str) -> None:
        if all(note != name for note, _ in self.notes):
            raise SystemFault(f"there is no note {name!r}")

    def search(self, arguments: Mapping[str, object]) -> list[tuple[str, str]]:
        if self.fault == "fails":
            raise SystemFault("500 Internal Server Error")
        if self.fault == "oldest":
            return self.notes[:3]
        words = set(re.findall(r"\w+", str(arguments["query"]).lower()))
        return sorted(
            self.notes, key=lambda note: -len(words & set(re.findall(r"\w+", note[1].lower())))
        )[:3]

    async def ingest(self, episode: Episode) -> None:
        raise AssertionError("an agent writes by tools alone")

    async def answer(self, question: Question) -> RetrievalReply:
        raise AssertionError("an agent searches by tools alone")

    async def settle(self) -> None:
        """Everything can be found at once."""

    async def close(self) -> None:
        """Nothing to release."""


class NoteSnapshots:
    """Copies of the notes."""

    def __init__(self) -> None:
        self.held: dict[str, NoteMemory] = {}

    async def save(self, memory: Memory) -> str:
        assert isinstance(memory, NoteMemory)
        token = str(len(self.held))
        self.held[token] = deepcopy(memory)
        return token

    async def open(self, token: str) -> Memory:
        return deepcopy(self.held[token])

    async def drop(self, token: str) -> None:
        """Kept: a test may look at it."""


class NoteSystem:
    """Opens memories of notes with one fault."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.card = SystemCard(name="notes", version="1")
        self.snapshots = NoteSnapshots()
        self.opened: list[NoteMemory] = []

    async def open(self, scenario: str) -> NoteMemory:
        self.opened.append(NoteMemory(self.fault))
        return self.opened[-1]

    async def close(self) -> None:
        """Nothing to release."""


def put_in_loop(
    inner: Any, script: Script = keep_garden, *, max_steps: int = 6, max_tokens: int | None = None
) -> tuple[LoopSystem, ScriptedModel]:
    """A system under the agent, and the model of the agent."""
    model = ScriptedModel(script)
    limits = AgentLimits(max_steps=max_steps, max_tokens=max_tokens)
    return LoopSystem(inner, LoopAgent(model=model, limits=limits)), model
