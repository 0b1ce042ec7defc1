"""What the six views of hallucination say, as numbers.

The first, the row under the heatmap, is part of the heatmap; canaries have a file of their own.
"""

from enum import StrEnum

from recall_bench.core.record import Record
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.trend import Trend


class HallucinationPattern(StrEnum):
    """What happens to hallucination while recall changes with corpus size."""

    HEALTHY = "healthy"
    """Recall falls, and hallucination does not rise with it: what is lost is said to be lost."""
    PATHOLOGICAL = "pathological"
    """Recall falls and hallucination rises: what is lost is made up."""
    INVENTING = "inventing"
    """Hallucination rises, and recall is not shown to fall."""
    STEADY = "steady"
    """Neither is shown to get worse. With few questions that says little."""
    UNKNOWN = "unknown"
    """There are not two sizes to compare, nothing was judged, or recall falls and it cannot be
    told whether hallucination rises with it."""


class CategoryRate(Record, frozen=True, kw_only=True):
    """How often one group of answers made something up."""

    name: str
    rate: Estimate | None
    """None where none of its answers was judged."""
    leaked: int = 0
    """Trials in the rate that told a secret: these have no mark for being grounded either."""


class CheckpointRates(Record, frozen=True, kw_only=True):
    """Recall beside hallucination at one checkpoint."""

    checkpoint: str
    days: int
    """Story days there were to feed by then; the most of any persona, where they differ."""
    recall: Estimate | None
    """Points for correctness and completeness, as a share of all there are."""
    hallucination: Estimate | None


class RateCourse(Record, frozen=True, kw_only=True):
    """How recall and hallucination go with corpus size, for one persona or all."""

    name: str | None
    """None for all personas together."""
    rate: Estimate | None
    leaked: int = 0
    """Trials in the rate that told a secret, which may well be true."""
    moments: tuple[CheckpointRates, ...]
    hallucination: Trend | None
    """Intercept, slope, and what they predict for sizes not seen."""
    recall: Trend | None
    pattern: HallucinationPattern
    reason: str
    """The rule as it applied, in one sentence with its figures."""


class HallucinationViews(Record, frozen=True, kw_only=True):
    """Rates by category, the course over corpus size, and both by persona."""

    categories: tuple[CategoryRate, ...]
    """Negative recall and synthesis first, where they are asked."""
    overall: RateCourse
    personas: tuple[RateCourse, ...]
    """One a persona where there are several, else none."""
