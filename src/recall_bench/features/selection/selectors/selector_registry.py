"""Resolve a `--selector` target, and the two constant selectors."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from recall_bench.core.distribution import get_version
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.settings import Settings
from recall_bench.core.user_code import has_separator, is_code_target, split_target
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.keyword import build_keyword_selector
from recall_bench.features.selection.selectors.retrieval_selector import (
    build_bm25,
    build_hybrid,
    build_vector,
)
from recall_bench.features.selection.selectors.selector import (
    MemorySelection,
    Selector,
    WithoutResources,
)
from recall_bench.systems.builtin.options import NoOptions, read_options


class ConstantSelector(WithoutResources):
    """Selects every memory for every prompt, or none."""

    def __init__(self, name: Literal["all", "none"], config: Mapping[str, object]) -> None:
        read_options(name, config, NoOptions)
        self.card = SystemCard(name=name, version=get_version(), max_concurrency=64, computes=True)

    async def open(self, memories: Sequence[MemoryFile]) -> "ConstantChooser":
        """A chooser with its selection fixed."""
        is_wanted = self.card.name == "all"
        return ConstantChooser(tuple(memory.name for memory in memories if is_wanted))


class ConstantChooser(WithoutResources):
    """A selection that does not depend on the prompt."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._selection = MemorySelection(names=names)

    async def select(self, prompt: str) -> MemorySelection:  # noqa: ARG002 - that is the point
        """The same for every prompt."""
        return self._selection


AGENT = "agent"

_COMMAND = "command:"


def resolve_selector(
    target: str, settings: Settings, *, folder: Path, hidden: Sequence[Path] = ()
) -> Selector:
    """A built-in or the recall agent by name, `command:PROGRAM ARGS…`, or Python code.

    `folder` holds `memory/`: programs run there, and the agent's relative paths start there. Code
    of the user cannot open what is hidden.
    UsageError if the target is unknown or does not accept the settings.
    """
    config = settings.config
    if target in _BUILT_IN:
        return _BUILT_IN[target](config)
    if target == AGENT:
        from recall_bench.features.selection.selectors.agent import build_recall_agent

        return build_recall_agent(config, settings=settings, folder=folder)
    if target.startswith(_COMMAND):
        from recall_bench.features.selection.selectors.user_selectors import build_command_selector

        return build_command_selector(target, settings, folder=folder, hidden=hidden)
    if is_code_target(target) and not _is_program(target):
        if settings.in_process:
            from recall_bench.features.selection.selectors.user_selectors import load_selector

            return load_selector(target, config)
        from recall_bench.features.selection.selectors.isolated_selector import (
            load_isolated_selector,
        )

        return load_isolated_selector(target, settings, hidden)
    raise UsageError(f"there is no selector {target!r}; {_suggest_target(target)}")


_BUILT_IN: dict[str, Callable[[Mapping[str, object]], Selector]] = {
    "all": partial(ConstantSelector, "all"),
    "bm25": build_bm25,
    "hybrid": build_hybrid,
    "keyword": build_keyword_selector,
    "none": partial(ConstantSelector, "none"),
    "vector": build_vector,
}

NAMES = tuple(sorted((*_BUILT_IN, AGENT)))
"""The named selectors."""


def _is_program(target: str) -> bool:
    """Whether the target must be a program: Python code is a `.py` file or a module name."""
    place, _ = split_target(target)
    if place.endswith(".py"):
        return " " in place and not Path(place).is_file()
    return has_separator(target) or " " in place


def _suggest_target(target: str) -> str:
    if _is_program(target) or shutil.which(target):
        return f"a program is written 'command:{target}'"
    listed = f"there are {', '.join(NAMES)}, command:PROGRAM, file.py:name and module:name"
    return suggest_or_list(target, NAMES, listed)
