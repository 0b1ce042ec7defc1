"""The settings of the built-in systems, their ranges and their defaults."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

import msgspec
from msgspec import Meta

from recall_bench.core.distribution import get_part_version, get_version
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Asker, Clock, SystemCard
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.record import Record

Chunking = Literal["passage", "turn", "session", "paragraph", "window"]
"""Where a chunk ends: after about 300 characters of a paragraph, list or turn; with the turn,
paragraph or list entry; with the session of that day; with the paragraph or list; or after a
number of characters of the session, with some overlap."""

Consolidation = Literal["none", "beside", "only"]
"""Whether summaries are kept: no; beside the days as written; or instead of them."""

Fusion = Literal["weighted", "rank"]
"""How the scores of words and of meaning become one."""

_Count = Annotated[int, Meta(ge=1)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0)]
_Natural = Annotated[int, Meta(ge=0)]

_BOOST = 0.2
"""The value of a boost that is only switched on."""

_TURN_BOOST, _SESSION_BOOST = 0.3, 0.1
"""The values of boosts of dialogues that are only switched on."""

_OLD_NAMES = {"date_weight": "temporal_boost"}
"""Old names of settings that are still accepted."""

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
    quotes: _Count = 10
    """How many of them the answer is read from."""
    seed: int = 42


class PlaceboOptions(Record, frozen=True, kw_only=True):
    """How much is shown."""

    k: _Count = 10
    """Passages reported with an answer, which is read from all of them."""


class WordOptions(Record, frozen=True, kw_only=True):
    """BM25 and how much of it is shown."""

    k: _Count = 10
    quotes: _Count = 10
    k1: _Weight = 0.9
    b: _Share = 0.4
    threshold: _Share = NO_RECORD_BELOW["bm25"]
    """Support below which there is no record."""


class VectorOptions(Record, frozen=True, kw_only=True):
    """Vectors and how much of them is shown."""

    k: _Count = 10
    quotes: _Count = 10
    threshold: _Share | None = None
    """Support below which there is no record; unsaid, the one measured for the built-in vectors,
    and none for those of another embedder."""

    def resolve(self, *, is_measured: bool = True) -> Self:
        """The same with every value as a number; `is_measured` if the vectors are the built-in."""
        usual = NO_RECORD_BELOW["vector"] if is_measured else 0.0
        return self.replace(threshold=usual if self.threshold is None else self.threshold)


class HybridOptions(Record, frozen=True, kw_only=True):
    """Words and meaning together, with every part to be switched off or on by itself."""

    k: _Count = 10
    quotes: _Count = 10
    k1: _Weight = 0.9
    b: _Share = 0.4
    keyword: bool = True
    """Whether passages are looked for by their words."""
    vector: bool = True
    """Whether passages are looked for by their meaning."""
    weight: _Share = 0.7
    """The part of the words; the rest is the meaning's. Of no effect where only one is on."""
    fusion: Fusion = "weighted"
    """How the two are put together: by their scores and the weight, or by their ranks alone."""
    temporal_boost: bool | _Weight = 0.2
    """What being from a date the question names is worth, where a perfect match is worth 1. From
    0.1 to 0.3 it helps on a real six-month log, and about the same. True means 0.2."""
    lexical_boost: bool | _Weight = 0.0
    """What holding all quotations, names, numbers and codes of the question word for word is
    worth, on the same scale; a part of them is worth as large a part. True means 0.2."""
    turn_boost: bool | _Weight = 0.3
    """In dialogues, the part of the score of the turn before that a turn gets, so that an answer is
    found by its question. The turn after counts half, those two away a third. True means 0.3."""
    session_boost: bool | _Weight = 0.1
    """In dialogues, the part of the best score of its session that a turn gets. True means 0.1."""
    spread: _Share = 0.2
    """In dialogues, the share of the k places that is kept for sessions which have none yet."""
    rerank: bool = False
    """Whether the best 50 are ranked again by how near their words come to each of the question's,
    as much as by their first score."""
    neighbours: _Natural = 0
    """How many passages on either side, of the same day and session, are shown with each hit."""
    chunking: Chunking = "passage"
    """Where a passage ends: `passage` after about 300 characters of a paragraph, list or turn;
    `turn` with the turn, or with the paragraph or list entry of a text; `paragraph` with the turn,
    paragraph or list; `session` with the session's text of that day; `window` as below."""
    window_chars: _Count = 800
    """How long a window may become, in whole sentences."""
    window_overlap: _Natural = 200
    """How much of its end the next window may repeat, in whole sentences."""
    consolidate: Consolidation = "none"
    """Whether days, weeks and months are summed up in their most central sentences: not at all,
    `beside` the days as they were written, or `only`, in their place."""
    threshold: _Share | None = None
    """Support below which there is no record; unsaid, the one measured for what is switched on."""
    respect_sessions: bool = False
    """Whether a question is kept to the session it comes from; the principal's sees all."""

    def __post_init__(self) -> None:
        if not (self.keyword or self.vector):
            raise ValueError("keyword and vector are both off, so nothing is found; leave one on")
        if self.window_overlap >= self.window_chars:
            raise ValueError(
                f"window_overlap {self.window_overlap} leaves nothing new in a window of "
                f"window_chars {self.window_chars}; make it smaller"
            )

    def resolve(self, *, is_measured: bool = True) -> Self:
        """The same with every value as a number, as the card gives it.

        `is_measured` if the vectors are the built-in ones. With others only words are compared with
        a threshold, which is that of `bm25`.
        """
        means = "hybrid" if self.keyword and self.vector else "bm25" if self.keyword else "vector"
        usual = NO_RECORD_BELOW[means]
        if not is_measured:
            usual = NO_RECORD_BELOW["bm25"] if self.keyword else 0.0
        return self.replace(
            temporal_boost=_resolve_boost(self.temporal_boost),
            lexical_boost=_resolve_boost(self.lexical_boost),
            turn_boost=_resolve_boost(self.turn_boost, _TURN_BOOST),
            session_boost=_resolve_boost(self.session_boost, _SESSION_BOOST),
            threshold=usual if self.threshold is None else self.threshold,
        )


class RecencyOptions(HybridOptions, frozen=True, kw_only=True):
    """The same, of the last days only."""

    days: _Count = 7


class FullContextOptions(Record, frozen=True, kw_only=True):
    """How much of everything is shown."""

    budget: _Count = 8000
    """Characters of the context reported with an answer."""
    quotes: _Count = 10
    threshold: _Share = NO_RECORD_BELOW["full-context"]


BUILT_IN_OPTIONS: Mapping[str, type[Record]] = {
    "none": NoOptions,
    "random": RandomOptions,
    "placebo": PlaceboOptions,
    "recency": RecencyOptions,
    "bm25": WordOptions,
    "vector": VectorOptions,
    "hybrid": HybridOptions,
    "full-context": FullContextOptions,
    "gold-passages": NoOptions,
    "oracle": NoOptions,
}
"""The settings of each built-in system, by its name."""


def list_built_ins_with(setting: str) -> tuple[str, ...]:
    """List the built-in systems that have this setting."""
    return tuple(
        name for name, kind in BUILT_IN_OPTIONS.items() if setting in kind.__struct_fields__
    )


Options = TypeVar("Options", bound=Record)


def read_options(system: str, config: Mapping[str, object], kind: type[Options]) -> Options:
    """The settings; UsageError if one is unknown or its value is out of range."""
    config = _rename_settings(config, kind)
    names = [field.name for field in msgspec.structs.fields(kind)]
    for key in config:
        if key not in names:
            raise UsageError(
                f"the system {system!r} has no setting {key!r}; {_suggest_setting(key, names)}"
            )
    try:
        return msgspec.convert(dict(config), kind, strict=False)
    except msgspec.ValidationError as wrong:
        problem = str(wrong).removesuffix(" - at `$`")
        raise UsageError(f"the system {system!r} cannot be set so: {problem}") from wrong


def _rename_settings(config: Mapping[str, object], kind: type[Record]) -> Mapping[str, object]:
    names = {old: new for old, new in _OLD_NAMES.items() if new in kind.__struct_fields__}
    if any(new in config for old, new in names.items() if old in config):
        return config
    return {names.get(key, key): value for key, value in config.items()}


def _resolve_boost(value: bool | float, on: float = _BOOST) -> float:
    return on * value if isinstance(value, bool) else value


def _suggest_setting(key: str, known: list[str]) -> str:
    if not known:
        return "it has none, so leave it out"
    return suggest_or_list(key, known, f"there are {', '.join(known)}")


def build_card(name: str, options: Record, parts: tuple[str, ...]) -> SystemCard:
    """The card of a built-in: its settings, and the versions of the libraries it is made of."""
    settings: dict[str, object] = msgspec.to_builtins(options)
    if parts:
        settings["parts"] = {part: get_part_version(part) for part in sorted(set(parts))}
    return SystemCard(
        name=name,
        version=get_version(),
        config=settings,
        max_concurrency=64,
        computes=True,
        clock=Clock.NATIVE,
        asker=Asker.HONOURED if settings.get("respect_sessions") else Asker.TOLD,
    )
