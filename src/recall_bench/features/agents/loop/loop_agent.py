"""The loop agent: a model that reads days and answers questions through the tools of a memory.

It is the same for every memory. A call that is malformed or fails is answered with the reason and
counted; too many requests or tokens end the session. Neither ends a run.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from recall_bench.core.errors import (
    ModelBusy,
    ModelFault,
    ModelPending,
    NotAnAnswer,
    ReaderFault,
    ReaderPending,
    SystemFault,
)
from recall_bench.core.feature import require_part
from recall_bench.core.retry import retry
from recall_bench.core.scenario import PRINCIPAL, Episode, Question
from recall_bench.core.tool_call import (
    AgentCall,
    CallProblem,
    MemoryTool,
    SessionEnd,
    ToolResult,
    ToolRole,
)
from recall_bench.core.untrusted_json import is_too_deep
from recall_bench.core.usage import Usage
from recall_bench.systems.models.conversation import (
    CONVERSATION_VERSION,
    NO_TOOLS,
    TEXT_RULES,
    CallReturn,
    ModelTurn,
    RequestedCall,
    ToolConversation,
)
from recall_bench.systems.models.model import Model, fence_blocks
from recall_bench.systems.models.prompt_text import read_prompt

PROMPT_VERSION = "2"
"""Increase it when a prompt changes what a model is asked."""

_PROMPTS = Path(__file__).with_name("prompts")

CHOICE_RULE = (
    "- The question offers choices, each after its letter. Reply with the letter of the one that "
    "the notes support best, in parentheses, such as (B), and with nothing else."
)

LAST_NOTE = "No more calls are possible. Answer now from what you have found."
AGAIN_NOTE = "Your last reply could not be used: {why}. Call a tool, or give your answer."


def describe_day(episode: Episode) -> str:
    """The request to read a day."""
    text = fence_blocks({"the day": episode.text}).text
    return f"Date: {episode.at:%Y-%m-%d}\n\n{text}"


def describe_question(question: Question) -> str:
    """The request to answer a question."""
    by = "the principal" if question.session == PRINCIPAL else f"session {question.session}"
    blocks = {"the question": question.text}
    if question.choices:
        blocks["choices"] = "\n".join(question.choices)
    return f"Asked on: {question.asked_at:%Y-%m-%d}\nAsked by: {by}\n\n{fence_blocks(blocks).text}"


def describe_task(question: Question) -> str:
    """The request to do a task."""
    text = fence_blocks({"the task": question.text}).text
    return f"Today: {question.asked_at:%A, %Y-%m-%d}\n\n{text}"


def build_instruction(name: str, steps: int) -> str:
    """The instruction for a `day`, a `question` or a `task`, with the number of replies."""
    return read_prompt(_PROMPTS / f"{name}.md").format(steps=steps)


def build_question_instruction(question: Question, steps: int) -> str:
    """The instruction for a question, with a rule for choices if it offers some."""
    instruction = build_instruction("question", steps)
    return f"{instruction}\n{CHOICE_RULE}" if question.choices else instruction


def digest_prompts(*, for_tasks: bool = False) -> str:
    """The digest of all texts that a model gets, except days and questions."""
    day, question, task = (
        read_prompt(_PROMPTS / f"{name}.md") for name in ("day", "question", "task")
    )
    requests = (task,) if for_tasks else (question, CHOICE_RULE)
    texts = (day, *requests, LAST_NOTE, AGAIN_NOTE, CONVERSATION_VERSION, TEXT_RULES, NO_TOOLS)
    return sha256("\0".join(texts).encode()).hexdigest()


MAX_CALLS_A_TURN = 32
"""The most calls of one reply that are made; further ones are refused."""
MAX_RESULT_CHARACTERS = 40_000
"""The most characters of one result that the agent is shown."""

CallTool = Callable[[MemoryTool, Mapping[str, object]], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """What an agent may spend on one day or one question."""

    max_steps: int
    """Requests to the model."""
    max_tokens: int | None = None


@dataclass(slots=True)
class SessionLog:
    """What happened in a session so far; it can be read after a failure too."""

    calls: list[AgentCall] = field(default_factory=list)
    steps: int = 0
    unreadable: int = 0
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    end: SessionEnd = SessionEnd.BROKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopAgent:
    """A model with fixed prompts and limits."""

    model: Model
    limits: AgentLimits
    for_tasks: bool = False
    """Whether it is given tasks to do instead of questions to answer."""

    async def read_day(
        self, episode: Episode, tools: Sequence[MemoryTool], call: CallTool, log: SessionLog
    ) -> None:
        """Let the model put a day into the memory, with every tool."""
        conversation = _open_conversation(
            self.model,
            system=build_instruction("day", self.limits.max_steps),
            user=describe_day(episode),
            about=f"the agent's notes of day {episode.day}",
        )
        await _ToolLoop(conversation, tools, call, self.limits, log, owes_answer=False).run()

    async def answer(
        self, question: Question, tools: Sequence[MemoryTool], call: CallTool, log: SessionLog
    ) -> str:
        """Let the model answer, with the tools that change nothing; NotAnAnswer if it does not."""
        reading = [tool for tool in tools if tool.role is ToolRole.SEARCH]
        steps = self.limits.max_steps
        if self.for_tasks:
            system, user = build_instruction("task", steps), describe_task(question)
        else:
            system, user = build_question_instruction(question, steps), describe_question(question)
        about = f"the agent's answer to question {question.id}"
        conversation = _open_conversation(self.model, system=system, user=user, about=about)
        return await _ToolLoop(
            conversation, reading, call, self.limits, log, owes_answer=True
        ).run()


def _open_conversation(model: Model, *, system: str, user: str, about: str) -> ToolConversation:
    converse = require_part("models.converse", "an agent")
    conversation: ToolConversation = converse(model, system=system, user=user, about=about)
    return conversation


@dataclass(slots=True)
class _ToolLoop:
    """One conversation about a day or a question."""

    conversation: ToolConversation
    tools: Sequence[MemoryTool]
    call: CallTool
    limits: AgentLimits
    log: SessionLog
    owes_answer: bool

    async def run(self) -> str:
        """Take turns until the model is done or a limit is reached; return its answer."""
        returns: list[CallReturn] = []
        note = ""
        while True:
            last = self._find_limit()
            if last is not None and not self.owes_answer:
                self.log.end = last
                return ""
            if last is not None:
                note = LAST_NOTE
            turn = await self._advance(returns, note, is_last=last is not None)
            if turn.calls:
                returns = [
                    await self._make_call(requested, n, last)
                    for n, requested in enumerate(turn.calls)
                ]
            if turn.text and not turn.calls:
                self.log.end = last or SessionEnd.DONE
                return turn.text
            if last is not None:
                self.log.end = last
                raise NotAnAnswer(
                    f"the agent gave no answer within {self.log.steps} requests and "
                    f"{self.log.tokens:,} tokens"
                )
            note = ""
            if not turn.calls:
                returns = []
                note = AGAIN_NOTE.format(why=turn.unreadable or "it is empty")

    def _find_limit(self) -> SessionEnd | None:
        """The limit that is reached; for a question, one request before the last step."""
        allowed = self.limits.max_steps - self.owes_answer
        if self.log.steps >= allowed:
            return SessionEnd.STEPS
        most = self.limits.max_tokens
        return SessionEnd.TOKENS if most is not None and self.log.tokens >= most else None

    async def _advance(
        self, returns: Sequence[CallReturn], note: str, *, is_last: bool
    ) -> ModelTurn:
        tools = () if is_last else self.tools
        try:
            turn = await retry(partial(self.conversation.advance, returns, note, tools=tools))
        except ModelPending as pending:
            raise ReaderPending(f"--agent-model: {pending}") from pending
        except ModelBusy as busy:
            raise ReaderFault(
                f"--agent-model: cannot be reached: {busy}; run the same command again to continue"
            ) from busy
        except ModelFault as fault:
            raise ReaderFault(f"--agent-model: {fault}") from fault
        self.log.steps += 1
        self.log.usage += turn.usage
        self.log.tokens += turn.tokens
        self.log.unreadable += turn.unreadable is not None
        return turn

    async def _make_call(
        self, wanted: RequestedCall, place: int, last: SessionEnd | None
    ) -> CallReturn:
        """Make one call; a fault in it is reported to the model and counted."""
        number = len(self.log.calls) + 1
        tool = next((offered for offered in self.tools if offered.name == wanted.tool), None)
        arguments = wanted.arguments or {}
        problem: CallProblem | None = None
        result = ToolResult(text="")
        if last is not None or place >= MAX_CALLS_A_TURN:
            problem, message = CallProblem.REFUSED, "no more calls are possible"
        elif message := self._find_fault(wanted, tool):
            problem = CallProblem.MALFORMED
        elif tool is not None:
            try:
                result = await self.call(tool, arguments)
            except SystemFault as fault:
                problem, message = CallProblem.FAILED, str(fault)
        self.log.calls.append(
            AgentCall(
                number=number,
                tool=wanted.tool,
                role=None if tool is None else tool.role,
                arguments={} if is_too_deep(arguments) else dict(arguments),
                found=result.found,
                writes=result.writes,
                problem=problem,
                message=message or None,
            )
        )
        text = result.text if problem is None else f"error: {message}"
        if len(text) > MAX_RESULT_CHARACTERS:
            cut = f"(cut: the result has {len(text):,} characters)"
            text = f"{text[:MAX_RESULT_CHARACTERS]}\n{cut}"
        return CallReturn(call=wanted, text=text)

    def _find_fault(self, wanted: RequestedCall, tool: MemoryTool | None) -> str:
        if tool is None:
            names = ", ".join(offered.name for offered in self.tools)
            return f"there is no tool {wanted.tool!r}; the tools are {names}"
        if wanted.arguments is None or is_too_deep(wanted.arguments):
            return "the arguments are no JSON object"
        return find_argument_fault(tool.schema, wanted.arguments)


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def find_argument_fault(schema: Mapping[str, object], arguments: Mapping[str, object]) -> str:
    """Say what is wrong with the names and the types of arguments; empty if nothing is.

    >>> schema = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
    >>> find_argument_fault(schema, {"query": "leeks"})
    'text is missing'
    >>> find_argument_fault(schema, {"text": 7})
    'text is 7, and not a string'
    """
    required, properties = schema.get("required"), schema.get("properties")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            return f"{name} is missing"
    for name, about in properties.items() if isinstance(properties, dict) else ():
        kind = about.get("type") if isinstance(about, dict) else None
        if name not in arguments or not isinstance(kind, str) or kind not in _KINDS:
            continue
        value = arguments[name]
        is_flag = isinstance(value, bool) and kind != "boolean"
        if is_flag or not isinstance(value, _KINDS[kind]):
            article = "an" if kind[0] in "aio" else "a"
            return f"{name} is {json.dumps(value)[:80]}, and not {article} {kind}"
    return ""
