"""The settings of the built-in systems: what may be set, to what, and to what it is set unsaid."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from recall_bench.core.record import Record
from recall_bench.errors import UsageError
from recall_bench.systems.builtin.retrieval import Fusion

_Count = Annotated[int, Meta(ge=1)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0)]

# Least balanced error between questions that a history answers and questions that belong to
# another, on half of a real six-month log and five LoCoMo chats; the other halves confirm it:
# benchmarks/calibrate_threshold.py.
NO_RECORD_BELOW = {"bm25": 0.17, "vector": 0.43, "hybrid": 0.23, "full-context": 0.41}
"""The support, by system, below which there is no record."""


class NoOptions(Record, frozen=True, kw_only=True):
    """Nothing can be set."""


class RandomOptions(Record, frozen=True, kw_only=True):
    """How much is drawn."""

    k: _Count = 10
    """Passages reported with an answer."""
    quotes: _Count = 3
    """How many of them the answer quotes."""
    seed: int = 42


class WordOptions(Record, frozen=True, kw_only=True):
    """BM25 and how much of it is shown."""

    k: _Count = 10
    quotes: _Count = 3
    k1: _Weight = 0.9
    b: _Share = 0.4
    threshold: _Share = NO_RECORD_BELOW["bm25"]
    """Support below which there is no record."""


class VectorOptions(Record, frozen=True, kw_only=True):
    """Vectors and how much of them is shown."""

    k: _Count = 10
    quotes: _Count = 3
    threshold: _Share = NO_RECORD_BELOW["vector"]


class HybridOptions(Record, frozen=True, kw_only=True):
    """Words and meaning together."""

    k: _Count = 10
    quotes: _Count = 3
    k1: _Weight = 0.9
    b: _Share = 0.4
    weight: _Share = 0.7
    """The part of the words; the rest is the meaning's."""
    fusion: Fusion = "weighted"
    date_weight: _Weight = 0.2
    """What being from a date the question names is worth, where a perfect match is worth 1. From
    0.1 to 0.3 it helps on a real six-month log, and about the same."""
    threshold: _Share = NO_RECORD_BELOW["hybrid"]
    respect_sessions: bool = False
    """Whether a question is kept to the session it comes from; the principal's sees all."""


class RecencyOptions(HybridOptions, frozen=True, kw_only=True):
    """The same, of the last days only."""

    days: _Count = 7


class FullContextOptions(Record, frozen=True, kw_only=True):
    """How much of everything is shown."""

    budget: _Count = 8000
    """Characters of the context reported with an answer."""
    quotes: _Count = 1
    threshold: _Share = NO_RECORD_BELOW["full-context"]


Settings = TypeVar("Settings", bound=Record)


def read_options(system: str, config: Mapping[str, object], kind: type[Settings]) -> Settings:
    """The settings meant; UsageError where one is unknown or its value cannot be."""
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in config:
        if key not in known:
            raise UsageError(
                f"the system {system!r} has no setting {key!r}; {_instead(key, known)}"
            )
    try:
        return msgspec.convert(dict(config), kind, strict=False)
    except msgspec.ValidationError as wrong:
        raise UsageError(f"the system {system!r} cannot be set so: {wrong}") from wrong


def _instead(key: str, known: list[str]) -> str:
    if not known:
        return "it has none, so leave it out"
    nearest = get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}There are {', '.join(known)}"
