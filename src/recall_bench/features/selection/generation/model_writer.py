"""Write prompts with a language model, which also says which memories they need.

Memories are data: they stand in fenced blocks, and nothing in one is an instruction.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.core.errors import BudgetSpent, ModelFault
from recall_bench.core.retry import retry
from recall_bench.core.usage import Usage
from recall_bench.features.selection.generation.composer import load_phrases
from recall_bench.features.selection.generation.sample import DrawRefusal, SampleRandom, SuiteDraft
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.agent_prompt import (
    REMINDER,
    RecallTemplate,
    build_pointer_prompt,
    build_text_prompt,
    parse_names,
)
from recall_bench.systems.models.json_schema import TEXT, TEXTS, make_object
from recall_bench.systems.models.model import FencedText, Finish, Model, Prompt, Reply, fence_blocks
from recall_bench.systems.models.prompt_text import read_prompt

_PROMPTS = Path(__file__).parent / "prompts"
_UNLIKE = "\n\nDo not repeat any of these, nor vary one of them:"
_LONGEST = 1000
"""Characters; enough for three sentences."""

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n?(.*?)\s*```", re.DOTALL)

POINTED = RecallTemplate(
    name="pool-pointers",
    text=(
        "Name every memory that might be relevant to the user's prompt: one that a good reply "
        "could draw on, going by its one line. If in doubt, name it; the full text is looked at "
        "next.\n\n{prompt}\n\n{memories}"
    ),
)
"""The first pass, over all memories."""

CONFIRMED = RecallTemplate(
    name="pool-texts",
    text=(
        "Name every memory that is truly relevant to the user's prompt, going by its full text: "
        "without it the reply would be worse. That a memory shares a word or a subject with the "
        "prompt is not enough.\n\n{prompt}\n\n{memories}"
    ),
)
"""The second pass, over what the first one found."""


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """What a model wrote."""

    prompt: str
    relevant: tuple[str, ...]
    """As given, each once."""


def build_about_prompt(picked: Sequence[MemoryFile]) -> Prompt:
    """Ask for a message to which some of these memories are relevant."""
    blocks = fence_blocks({" ".join(memory.name.splitlines()): memory.text for memory in picked})
    return Prompt(
        system=_frame_role(blocks),
        user=f"{_load_prompt('message-task').format(count=len(picked))}\n\n{blocks.text}",
        schema=make_object(prompt=TEXT, relevant=TEXTS),
    )


def build_chat_prompt(brief: str, before: Sequence[str]) -> Prompt:
    """Ask for a message to which no memory is relevant, unlike those before it."""
    asking = Prompt(
        system=_load_prompt("message-role"),
        user=_load_prompt("small-talk-task").format(brief=brief),
        schema=make_object(prompt=TEXT),
    )
    if not before:
        return asking
    blocks = fence_blocks(
        {f"message {number}": text for number, text in enumerate(before, start=1)}
    )
    return replace(
        asking,
        system=_frame_role(blocks),
        user=f"{asking.user}{_UNLIKE}\n\n{blocks.text}",
    )


def _load_prompt(name: str) -> str:
    return read_prompt(_PROMPTS / f"{name}.md")


def _frame_role(blocks: FencedText) -> str:
    return _load_prompt("message-system").format(
        role=_load_prompt("message-role"), mark=blocks.mark
    )


def parse_written(reply: Reply, names: Collection[str]) -> WrittenMessage | str:
    """The message and the names in a reply, or a description of what is wrong with it.

    A code fence around the object is accepted. The message must not contain a name.
    """
    if reply.finish is not Finish.STOP:
        return f"the model's reply was {_ENDS[reply.finish]}"
    text = reply.text.strip()
    inside = _FENCE.fullmatch(text)
    try:
        content = json.loads(inside[1] if inside else text)
    except (ValueError, RecursionError):
        return f"the model's reply is not one JSON object: {text!r:.120}"
    prompt = content.get("prompt") if isinstance(content, dict) else None
    relevant = _parse_texts(content.get("relevant", [])) if isinstance(content, dict) else None
    if not isinstance(prompt, str) or relevant is None:
        return f"the model's reply has no prompt and list of names: {text!r:.120}"
    problem = _find_problem(prompt.strip(), names)
    if problem:
        return problem
    return WrittenMessage(
        prompt.strip(), tuple(dict.fromkeys(_normalise_name(item) for item in relevant))
    )


_ENDS = {Finish.LENGTH: "cut off", Finish.FILTERED: "withheld by its content filter"}


def _parse_texts(found: object) -> list[str] | None:
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        return None
    return found


def _normalise_name(text: str) -> str:
    name = text.strip()
    return name if name.startswith("memory/") else f"memory/{name}"


def _find_problem(prompt: str, names: Collection[str]) -> str | None:
    if not prompt:
        return "the model wrote an empty message"
    if len(prompt) > _LONGEST:
        return f"the model wrote {len(prompt)} characters, which is no message of three sentences"
    bare = (name.removeprefix("memory/") for name in names)
    leaked = next((name for name in bare if name.casefold() in prompt.casefold()), None)
    return f"the model's message gives away {leaked}" if leaked else None


POINTERS = 100
"""Memories per call when a model sees one line of each."""
FULL_TEXTS = 8
"""Memories per call when a model sees their full text."""
SHOWN = 8
"""Earlier messages of a category that are shown so that a new one differs."""
_MAX_ATTEMPTS = 2


class ModelWriter:
    """Writes with one model, within the cost limit."""

    def __init__(
        self,
        model: Model,
        memories: Sequence[MemoryFile],
        *,
        is_pooled: bool,
        max_cost_usd: float | None = None,
    ) -> None:
        self._model = model
        self._memories = {memory.name: memory for memory in memories}
        self._is_pooled = is_pooled
        self._max_cost_usd = max_cost_usd
        self.name = model.name
        self.usage = Usage()

    async def write(
        self,
        picked: Sequence[MemoryFile],
        rng: SampleRandom,  # noqa: ARG002 - the model brings its own
    ) -> SuiteDraft | DrawRefusal:
        """The model's message and the relevant memories; with a pool, of all memories."""
        offered = {memory.name for memory in picked}
        written = parse_written(await self._reply(build_about_prompt(picked)), self._memories)
        if isinstance(written, str):
            return DrawRefusal(written)
        relevant = [name for name in written.relevant if name in offered]
        if not relevant:
            return DrawRefusal(
                "the model found none of the picked memories relevant to its message"
            )
        if self._is_pooled:
            relevant = await self._pool_relevant(written.prompt, relevant)
            if not relevant:
                return DrawRefusal("no memory was confirmed as relevant on its full text")
        return SuiteDraft(prompt=written.prompt, expected=tuple(sorted(relevant)))

    async def chat(
        self,
        category: str,
        before: Sequence[str],
        rng: SampleRandom,  # noqa: ARG002 - the model brings its own
    ) -> SuiteDraft | DrawRefusal:
        """The model's message of this category."""
        asking = build_chat_prompt(load_phrases().small_talk[category].brief, before[-SHOWN:])
        written = parse_written(await self._reply(asking), self._memories)
        if isinstance(written, str):
            return DrawRefusal(written)
        return SuiteDraft(prompt=written.prompt, expected=())

    async def _pool_relevant(self, prompt: str, relevant: Sequence[str]) -> list[str]:
        """Every relevant memory: found by its pointer or the writer, and confirmed on its text."""
        results = set(relevant)
        for some in _split_batches(tuple(self._memories.values()), POINTERS):
            results |= await self._ask_names(build_pointer_prompt(POINTED, prompt, some), some)
        candidates = tuple(self._memories[name] for name in sorted(results))
        confirmed: set[str] = set()
        for some in _split_batches(candidates, FULL_TEXTS):
            confirmed |= await self._ask_names(build_text_prompt(CONFIRMED, prompt, some), some)
        return sorted(confirmed)

    async def _ask_names(self, prompt: Prompt, offered: Sequence[MemoryFile]) -> set[str]:
        """The offered memories that the model names; asked once more if the reply is unreadable."""
        names = {memory.name for memory in offered}
        asking = prompt
        for _ in range(_MAX_ATTEMPTS):
            reply = await self._reply(asking)
            named = parse_names(reply, names)
            if named is not None:
                return names.intersection(named)
            asking = replace(prompt, user=prompt.user + REMINDER)
        raise ModelFault(
            f"{self.name} was asked {_MAX_ATTEMPTS} times for names of memories and last replied "
            f"{reply.text!r:.120}"
        )

    async def _reply(self, prompt: Prompt) -> Reply:
        self._check_budget()
        reply = await retry(lambda: self._model.complete(prompt))
        self.usage += reply.usage
        return reply

    def _check_budget(self) -> None:
        most = self._max_cost_usd
        if most is None:
            return
        if self.usage.unpriced:
            raise BudgetSpent(
                f"--max-cost: {self.name} does not say how many tokens a call took, so the limit "
                "cannot be kept; run the same command without it to continue"
            )
        if self.usage.cost_usd >= most:
            raise BudgetSpent(
                f"writing has cost {self.usage.cost_usd:.2f} USD of the {most:.2f} allowed; run "
                "the same command with a higher --max-cost to continue"
            )


def _split_batches(memories: tuple[MemoryFile, ...], size: int) -> Iterator[tuple[MemoryFile, ...]]:
    for start in range(0, len(memories), size):
        yield memories[start : start + size]
