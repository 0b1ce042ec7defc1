"""What picking is worth that looks at nothing: everything, and nothing."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Literal

from recall_bench.core.memory import SystemCard
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.selectors.selector import MemorySelection
from recall_bench.systems.builtin.options import NoOptions, read_options


def select_all(config: Mapping[str, object]) -> "ConstantSelector":
    """The selector called `all`: it misses nothing, whatever it is asked."""
    return ConstantSelector("all", config)


def select_none(config: Mapping[str, object]) -> "ConstantSelector":
    """The selector called `none`: it is right where nothing should be recalled."""
    return ConstantSelector("none", config)


class ConstantSelector:
    """Picks the same whatever the prompt."""

    def __init__(self, name: Literal["all", "none"], config: Mapping[str, object]) -> None:
        read_options(name, config, NoOptions)
        self.card = SystemCard(
            name=name, version=version("recall-bench"), max_concurrency=64, computes=True
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "ConstantChooser":
        """Somebody who has made up their mind."""
        is_wanted = self.card.name == "all"
        return ConstantChooser(tuple(memory.name for memory in memories if is_wanted))

    async def close(self) -> None:
        """Nothing is held."""


class ConstantChooser:
    """A choice that no prompt changes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._selection = MemorySelection(names=names)

    async def select(self, prompt: str) -> MemorySelection:  # noqa: ARG002 - that is the point
        """The same as ever."""
        return self._selection

    async def close(self) -> None:
        """Nothing is held."""
