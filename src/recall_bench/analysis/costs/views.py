"""What a run took, as numbers."""

from enum import StrEnum

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.statistics.estimate import Estimate


class CostMeasure(StrEnum):
    """What a score can be weighed against."""

    INGEST = "ingest-seconds-a-day"
    QUERY_P50 = "query-seconds-p50"
    QUERY_P95 = "query-seconds-p95"
    TOKENS = "tokens-an-answer"
    """Tokens into models, and tokens of passages delivered to a reader, for one answer. Where the
    reader is a model, what it was given holds the passages already."""
    MONEY = "dollars-a-thousand-answers"
    """All the system and the reader spent, on feeding too; judges are no part of it."""
    BYTES = "index-bytes"
    """At the last checkpoint, all personas together."""


class CostPoint(Record, frozen=True, kw_only=True):
    """What it took at one corpus size; None where nobody says."""

    checkpoint: str
    days: int
    """Story days told by then to the persona that was told most: `full` is no number of days."""
    ingest_s_a_day: float | None
    """Feeding and settling, for each day fed for this checkpoint, all personas together."""
    query_p50_s: float | None
    query_p95_s: float | None
    """How long the system took for half of its answers, and for 95 in 100, at most."""
    delivered_tokens: float | None
    """Of passages, for each answer that came with some."""
    ingest_usage: Usage | None
    """What feeding spent on models."""
    query_usage: Usage | None
    """What answering spent on models, the system's part and the reader's."""
    index_bytes: int | None
    """All personas together."""


class RunCosts(Record, frozen=True, kw_only=True):
    """A run's costs over corpus size, and in all."""

    points: tuple[CostPoint, ...]
    measures: dict[CostMeasure, float]
    """The whole run by each measure that is known."""
    notes: tuple[str, ...]
    """What is not known, and what would make it known."""


class Contender(Record, frozen=True, kw_only=True):
    """One run in a Pareto chart."""

    name: str
    folder: str
    score: Estimate
    cost: float
    dominated_by: tuple[str, ...]
    """The names of those that score at least as much for at most as much, and better in one."""
    in_doubt: tuple[str, ...] = ()
    """Those of them whose interval of the score overlaps this one's, or who have none: that they
    score more may be chance."""


class Pareto(Record, frozen=True, kw_only=True):
    """Score against one cost."""

    measure: CostMeasure
    contenders: tuple[Contender, ...]
    """By cost, cheapest first; only runs whose cost is known."""
    unknown: tuple[str, ...]
    """Runs that do not say what they cost by this measure."""
