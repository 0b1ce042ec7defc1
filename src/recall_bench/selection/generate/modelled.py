"""Prompts by a language model, which also says which memories they need."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from recall_bench.core.usage import Usage
from recall_bench.errors import BudgetSpent, ModelFault
from recall_bench.models.model import Model, Prompt, Reply
from recall_bench.running.patience import retry
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.generate.asking import (
    CONFIRMED,
    POINTED,
    build_about_prompt,
    build_chat_prompt,
    parse_written,
)
from recall_bench.selection.generate.chance import SampleRandom
from recall_bench.selection.generate.draft import DrawRefusal, SuiteDraft
from recall_bench.selection.generate.small_talk import CATEGORIES
from recall_bench.selection.selectors.agent_prompt import (
    REMINDER,
    build_pointer_prompt,
    build_text_prompt,
    parse_names,
)

POINTERS = 100
"""Memories that a model looks at in one go, a line each,"""
TEXTS = 8
"""and in full."""
SHOWN = 8
"""Earlier messages of a category that a new one must be unlike."""
_MAX_ATTEMPTS = 2


class ModelWriter:
    """Asks one model for everything, and keeps within the money allowed."""

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
        chance: SampleRandom,  # noqa: ARG002 - the model brings its own
    ) -> SuiteDraft | DrawRefusal:
        """The model's message, and what it says is relevant to it; in a pool, of all memories."""
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
        chance: SampleRandom,  # noqa: ARG002 - the model brings its own
    ) -> SuiteDraft | DrawRefusal:
        """The model's message of this category."""
        asking = build_chat_prompt(CATEGORIES[category].brief, before[-SHOWN:])
        written = parse_written(await self._reply(asking), self._memories)
        if isinstance(written, str):
            return DrawRefusal(written)
        return SuiteDraft(prompt=written.prompt, expected=())

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()

    async def _pool_relevant(self, prompt: str, relevant: Sequence[str]) -> list[str]:
        """Every memory that is relevant: found by its pointer or its writer, and confirmed."""
        found = set(relevant)
        for some in _split_batches(tuple(self._memories.values()), POINTERS):
            found |= await self._ask_names(build_pointer_prompt(POINTED, prompt, some), some)
        candidates = tuple(self._memories[name] for name in sorted(found))
        confirmed: set[str] = set()
        for some in _split_batches(candidates, TEXTS):
            confirmed |= await self._ask_names(build_text_prompt(CONFIRMED, prompt, some), some)
        return sorted(confirmed)

    async def _ask_names(self, prompt: Prompt, offered: Sequence[MemoryFile]) -> set[str]:
        """Which of the offered memories the model names, asked once more if it names nothing."""
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
                "cannot be kept; the same command without it goes on"
            )
        if self.usage.cost_usd >= most:
            raise BudgetSpent(
                f"writing has cost {self.usage.cost_usd:.2f} USD of the {most:.2f} allowed; the "
                "same command with a higher --max-cost goes on"
            )


def _split_batches(memories: tuple[MemoryFile, ...], size: int) -> Iterator[tuple[MemoryFile, ...]]:
    for start in range(0, len(memories), size):
        yield memories[start : start + size]
