"""Which variants of a system are compared: words in, settings out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import msgspec

from recall_bench.errors import UsageError
from recall_bench.yaml12 import Document

BASE = "base"
"""The name of the variant that the others are compared with."""

Grid = Mapping[str, tuple[object, ...]]
"""The values each setting is tried with."""

_SWITCHES = ("keyword", "vector", "temporal_boost", "lexical_boost", "rerank")
_CHOICES = {
    "neighbours": (0, 1),
    "fusion": ("weighted", "rank"),
    "chunking": ("passage", "turn", "paragraph", "session", "window"),
    "consolidate": ("none", "beside", "only"),
}
_HAVE_PARTS = ("hybrid", "recency")


@dataclass(frozen=True, slots=True)
class Variant:
    """A system set in one way."""

    name: str
    changes: Mapping[str, object]
    """What it is set to other than the base."""


def read_grid(words: Iterable[str]) -> Grid:
    """What `--grid KEY=VALUE,VALUE` says, several times over; each value is read as YAML."""
    grid: dict[str, tuple[object, ...]] = {}
    for word in words:
        key, values = _split(word)
        if key in grid:
            raise UsageError(f"--grid: {key} is given twice; put its values into one list")
        grid[key] = tuple(Document(f"--grid {key}", value).content for value in values.split(","))
    return grid


def usual_grid(adapter: str, base: Mapping[str, object]) -> Grid:
    """Every part of the built-in system the other way round, and every other choice."""
    if adapter not in _HAVE_PARTS:
        raise UsageError(
            f"--grid: nothing is known of the settings of {adapter}; say what to vary, "
            "for example --grid k=5,10,20"
        )
    switches = {name: (not base[name],) for name in _SWITCHES}
    choices = {
        name: tuple(value for value in values if value != base[name])
        for name, values in _CHOICES.items()
    }
    return {**switches, **choices}


def one_at_a_time(grid: Grid) -> Iterator[Variant]:
    """The base with one setting changed, for each value of each."""
    for key, values in grid.items():
        for value in values:
            yield _variant({key: value})


def every_combination(grid: Grid) -> Iterator[Variant]:
    """One value of every setting, in every way."""
    for values in product(*grid.values()):
        yield _variant(dict(zip(grid, values, strict=True)))


def _variant(changes: Mapping[str, object]) -> Variant:
    return Variant(", ".join(f"{key}={spelt(value)}" for key, value in changes.items()), changes)


def spelt(value: object) -> str:
    """A value as people type it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _split(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not (key and sign and value) or "" in value.split(","):
        raise UsageError(f"--grid: {word!r} is not of the form KEY=VALUE,VALUE")
    return key, value
