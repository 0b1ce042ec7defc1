"""Which variants of a system are compared: words in, settings out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import msgspec

from recall_bench.errors import UsageError
from recall_bench.yaml12 import Document

BASE = "base"
"""The name of the variant that the others are compared with."""

ParameterGrid = Mapping[str, tuple[object, ...]]
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
class AblationVariant:
    """A system set in one way."""

    name: str
    changes: Mapping[str, object]
    """What it is set to other than the base."""


def read_grid(words: Iterable[str]) -> ParameterGrid:
    """What `--grid KEY=VALUE,VALUE` says, several times over; each value is read as YAML."""
    grid: dict[str, tuple[object, ...]] = {}
    for word in words:
        key, values = _split_word(word)
        if key in grid:
            raise UsageError(f"--grid: {key} is given twice; put its values into one list")
        grid[key] = tuple(Document(f"--grid {key}", value).content for value in values.split(","))
    return grid


def build_default_grid(adapter: str, base: Mapping[str, object]) -> ParameterGrid:
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


def list_single_changes(grid: ParameterGrid) -> Iterator[AblationVariant]:
    """The base with one setting changed, for each value of each."""
    for key, values in grid.items():
        for value in values:
            yield _make_variant({key: value})


def list_combinations(grid: ParameterGrid) -> Iterator[AblationVariant]:
    """One value of every setting, in every way."""
    for values in product(*grid.values()):
        yield _make_variant(dict(zip(grid, values, strict=True)))


def _make_variant(changes: Mapping[str, object]) -> AblationVariant:
    return AblationVariant(
        ", ".join(f"{key}={format_value(value)}" for key, value in changes.items()), changes
    )


def format_value(value: object) -> str:
    """A value as people type it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _split_word(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not (key and sign and value) or "" in value.split(","):
        raise UsageError(f"--grid: {word!r} is not of the form KEY=VALUE,VALUE")
    return key, value
