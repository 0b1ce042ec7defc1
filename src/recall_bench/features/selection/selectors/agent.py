"""The recall agent: a language model that selects memories in one or two passes.

The first pass sees one line about each memory. The second sees the full text of what the first one
chose and can only remove. The selection's notes report what went wrong: a failed second pass, after
which the first one's choice stands, and dropped names.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.errors import (
    ModelBusy,
    ModelFault,
    ModelGone,
    ModelPending,
    NotAnAnswer,
    ReaderPending,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.core.memory import SystemCard
from recall_bench.core.usage import Usage
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.agent_prompt import (
    FRAME,
    REMINDER,
    build_pointer_prompt,
    build_text_prompt,
    parse_names,
)
from recall_bench.features.selection.selectors.agent_settings import (
    AgentSettings,
    Scheme,
    build_agent_settings,
)
from recall_bench.features.selection.selectors.keyword import Presearch
from recall_bench.features.selection.selectors.selector import MemorySelection

if TYPE_CHECKING:
    from recall_bench.core.settings import Settings
    from recall_bench.systems.models.model import Model, Prompt, Reply

VERSION = "1"
"""Increase it when code changes selections without changing a digest on the card."""

ATTEMPTS = 2
"""How often a model is asked in one pass before its reply counts as unreadable."""


def build_recall_agent(
    config: Mapping[str, object], *, settings: "Settings", folder: Path
) -> "RecallAgent":
    """Build the agent from its settings and an optional `agent.conf`.

    No model is called. UsageError for a wrong setting, a missing template, or a model that cannot
    be opened; relative paths start at the folder.
    """
    agent_settings = build_agent_settings(config, folder)
    first = _open_model(agent_settings.first_model, settings)
    if agent_settings.second_model in (None, agent_settings.first_model):
        return RecallAgent(agent_settings, first, first)
    return RecallAgent(agent_settings, first, _open_model(agent_settings.second_model, settings))


def _open_model(target: str, settings: "Settings") -> "Model":
    from recall_bench.systems.models.target import resolve_model

    model = resolve_model(target, "models", settings)
    if model is None:
        # The value is not repeated: it may be a key in the wrong place.
        raise UsageError(
            "models: one of them is unknown; write opus, sonnet or haiku for the claude "
            "program's, or a model as provider:model"
        )
    return model


@dataclass(slots=True)
class _SelectionCost:
    """Usage and notes of one selection so far."""

    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _FirstPass:
    """A finished first pass whose second pass must be retried."""

    candidates: tuple[MemoryFile, ...]
    cost: _SelectionCost


class RecallAgent:
    """Selects with one or two language models."""

    def __init__(self, settings: AgentSettings, first: "Model", second: "Model") -> None:
        self.settings = settings
        self.models = (first, second)
        self.card = _build_card(settings, first, second)
        self._unreported = Usage()

    async def open(self, memories: Sequence[MemoryFile]) -> "RecallChooser":
        """A chooser for these memories."""
        return RecallChooser(self, memories)

    async def close(self) -> None:
        """Release the models' connections."""
        first, second = self.models
        await first.close()
        if second is not first:
            await second.close()

    def drain(self) -> Usage:
        """Usage since the last call of failed selections, which no selection reports."""
        spent, self._unreported = self._unreported, Usage()
        return spent

    @contextmanager
    def track_cost(self) -> Iterator[_SelectionCost]:
        """Track the cost of a selection; it counts as unreported if the selection fails."""
        cost = _SelectionCost()
        try:
            yield cost
        except BaseException:
            self.add_unreported_cost(cost)
            raise

    def add_unreported_cost(self, cost: _SelectionCost) -> None:
        """Count a cost that no selection will report."""
        self._unreported += cost.usage


def _build_card(settings: AgentSettings, first: "Model", second: "Model") -> SystemCard:
    is_double = settings.scheme is Scheme.DOUBLE
    templates = filter(None, (settings.first_template, settings.second_template))
    return SystemCard(
        name="recall-agent",
        version=VERSION,
        config={
            "scheme": str(settings.scheme),
            "models": [first.name, *([second.name] if is_double else [])],
            "prompts": [
                {"name": template.name, "sha256": template.digest} for template in templates
            ],
            "frame": sha256((FRAME + REMINDER).encode()).hexdigest(),
            "presearch": settings.presearch,
            "presearch_content": settings.presearch_content,
            "call_timeout_s": settings.call_timeout_s,
        },
        max_concurrency=64,
    )


class RecallChooser:
    """The agent with one folder of memories."""

    def __init__(self, agent: RecallAgent, memories: Sequence[MemoryFile]) -> None:
        self._agent = agent
        self._memories = {memory.name: memory for memory in memories}
        with_content = agent.settings.presearch_content
        self._presearch = (
            Presearch(memories, with_content=with_content) if agent.settings.presearch else None
        )
        self._first_passes: dict[str, list[_FirstPass]] = {}

    async def select(self, prompt: str) -> MemorySelection:
        """Select; without candidates or with an empty prompt no model is called.

        SystemBusy if a model asks to retry later, ReaderPending if its reply comes as a file,
        SystemGone if it cannot be reached, SystemFault if the first pass fails otherwise.
        """
        search = self._presearch
        offered = (
            tuple(self._memories.values()) if search is None else search.filter_memories(prompt)
        )
        candidates = None if search is None else tuple(memory.name for memory in offered)
        if not offered or not prompt.strip():
            return MemorySelection(names=(), presearched=candidates)
        with self._agent.track_cost() as cost:
            if self._agent.settings.scheme is Scheme.SINGLE:
                names = await self._run_first_pass(prompt, offered, cost)
            else:
                names = await self._select_in_two_passes(prompt, offered, cost)
        return MemorySelection(
            names=names, presearched=candidates, usage=cost.usage, notes=tuple(cost.notes)
        )

    async def close(self) -> None:
        """Count the cost of first passes that were never resumed."""
        for waiting in self._first_passes.values():
            for first_pass in waiting:
                self._agent.add_unreported_cost(first_pass.cost)
        self._first_passes.clear()

    async def _select_in_two_passes(
        self, prompt: str, offered: Sequence[MemoryFile], cost: _SelectionCost
    ) -> tuple[str, ...]:
        candidates = self._resume_first_pass(prompt, cost)
        if candidates is None:
            # The memories of these names; unknown names are noted and dropped.
            names = await self._run_first_pass(prompt, offered, cost)
            cost.notes += [
                f"the first pass named {name}, which is not on disk: left out"
                for name in names
                if name not in self._memories
            ]
            candidates = tuple(self._memories[name] for name in names if name in self._memories)
        if not candidates:
            return ()
        try:
            return await self._run_second_pass(prompt, candidates, cost)
        except SystemBusy:
            # The prompt will be retried: keep its first pass so that it is not paid twice.
            paid = _SelectionCost(cost.usage, cost.notes)
            self._first_passes.setdefault(prompt, []).append(_FirstPass(candidates, paid))
            cost.usage = Usage()
            raise
        except SystemFault as fault:
            cost.notes.append(f"the second pass failed, so the first one's choice stands: {fault}")
            return tuple(memory.name for memory in candidates)

    def _resume_first_pass(
        self, prompt: str, cost: _SelectionCost
    ) -> tuple[MemoryFile, ...] | None:
        """The candidates of an earlier first pass for the prompt, to resume from."""
        waiting = self._first_passes.get(prompt)
        if not waiting:
            return None
        earlier = waiting.pop()
        cost.usage += earlier.cost.usage
        cost.notes += earlier.cost.notes
        return earlier.candidates

    async def _run_first_pass(
        self, prompt: str, offered: Sequence[MemoryFile], cost: _SelectionCost
    ) -> tuple[str, ...]:
        asking = build_pointer_prompt(self._agent.settings.first_template, prompt, offered)
        return await self._ask_names(asking, 1, cost)

    async def _run_second_pass(
        self, prompt: str, candidates: Sequence[MemoryFile], cost: _SelectionCost
    ) -> tuple[str, ...]:
        template = self._agent.settings.second_template
        assert template is not None  # noqa: S101 - a double scheme has one
        names = await self._ask_names(build_text_prompt(template, prompt, candidates), 2, cost)
        chosen = {memory.name for memory in candidates}
        cost.notes += [
            f"the second pass named {name}, which the first had not chosen: left out"
            for name in names
            if name not in chosen
        ]
        return tuple(name for name in names if name in chosen)

    async def _ask_names(
        self, prompt: "Prompt", turn: int, cost: _SelectionCost
    ) -> tuple[str, ...]:
        """The names in the model's reply, asked once more if it is no list of names."""
        request, unreadable = prompt, ""
        for _ in range(ATTEMPTS):
            reply = await self._ask_model(request, turn)
            cost.usage += reply.usage
            names = parse_names(reply, self._memories)
            if names is not None:
                if unreadable:
                    cost.notes.append(
                        f"pass {turn} was asked again: {unreadable} is no list of names"
                    )
                return names
            unreadable = f"{reply.text[:120]!r} ({reply.finish})"
            request = replace(prompt, user=prompt.user + REMINDER)
        name = self._agent.models[turn - 1].name
        raise NotAnAnswer(
            f"pass {turn}: {name} was asked {ATTEMPTS} times for names of memories and last "
            f"replied {unreadable}"
        )

    async def _ask_model(self, prompt: "Prompt", turn: int) -> "Reply":
        model = self._agent.models[turn - 1]
        timeout_s = self._agent.settings.call_timeout_s
        try:
            with anyio.move_on_after(timeout_s):
                return await model.complete(prompt)
        except ModelPending as pending:
            raise ReaderPending(f"pass {turn}: {pending}") from pending
        except ModelBusy as error:
            raise SystemBusy(f"pass {turn}: {error}", error.retry_after_s) from error
        except ModelGone as error:
            raise SystemGone(f"pass {turn}: {error}") from error
        except ModelFault as error:
            raise SystemFault(f"pass {turn}: {error}") from error
        raise SystemTimeout(f"pass {turn}: {model.name} gave no reply within {timeout_s:g} s")
