"""What picking is worth that looks at nothing: everything, and nothing."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Literal

from recall_bench.core.memory import SystemCard
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.selectors.selector import Selection
from recall_bench.systems.builtin.options import NoOptions, read_options


def everything(config: Mapping[str, object]) -> "Indifferent":
    """The selector called `all`: it misses nothing, whatever it is asked."""
    return Indifferent("all", config)


def nothing(config: Mapping[str, object]) -> "Indifferent":
    """The selector called `none`: it is right where nothing should be recalled."""
    return Indifferent("none", config)


class Indifferent:
    """Picks the same whatever the prompt."""

    def __init__(self, name: Literal["all", "none"], config: Mapping[str, object]) -> None:
        read_options(name, config, NoOptions)
        self.card = SystemCard(
            name=name, version=version("recall-bench"), max_concurrency=64, computes=True
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "Unasked":
        """Somebody who has made up their mind."""
        is_wanted = self.card.name == "all"
        return Unasked(tuple(memory.name for memory in memories if is_wanted))

    async def close(self) -> None:
        """Nothing is held."""


class Unasked:
    """A choice that no prompt changes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._selection = Selection(names=names)

    async def select(self, prompt: str) -> Selection:  # noqa: ARG002 - that is the point
        """The same as ever."""
        return self._selection

    async def close(self) -> None:
        """Nothing is held."""
