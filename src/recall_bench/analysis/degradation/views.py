"""What is said about how memory degrades, as numbers."""

from enum import StrEnum

from recall_bench.core.record import Record
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.survival import Survival
from recall_bench.statistics.trend import Trend


class SurvivalGroup(StrEnum):
    """What facts are grouped by before their survival is compared."""

    ALL = "all"
    CATEGORY = "category"
    AGE = "age"
    """How old the fact was when it was first asked about."""
    REVISIONS = "revisions"
    """How often the thing was revised since it was first told: superseded values of the truth."""


class CurvePoint(Record, frozen=True, kw_only=True):
    """The mean at one checkpoint."""

    checkpoint: str
    days: int
    """Story days told by then to the persona that was told most: `full` is no number of days."""
    mean: Estimate | None


class CohortCard(Record, frozen=True, kw_only=True):
    """Which questions the fixed view follows: the same at each of its checkpoints."""

    first: str
    last: str
    checkpoints: int
    questions: int
    personas: int
    left_out: int
    """Other questions that were asked at some of these checkpoints."""


class GroupSurvival(Record, frozen=True, kw_only=True):
    """The survival of one group of facts."""

    by: SurvivalGroup
    name: str
    survival: Survival


class Degradation(Record, frozen=True, kw_only=True):
    """The mixed view beside the fixed one, and how long facts stay known."""

    mixed: tuple[CurvePoint, ...]
    """Every question asked at each checkpoint: they change from one to the next."""
    mixed_trend: Trend | None
    fixed: tuple[CurvePoint, ...]
    """The same questions at each checkpoint; empty where there are none."""
    fixed_trend: Trend | None
    cohort: CohortCard | None
    survivals: tuple[GroupSurvival, ...]
    """Each as far as enough facts were followed."""
    never_known: int
    """Facts no answer was ever right about: they cannot be lost. Each repeat counts."""
    failures: int
    """A fact is lost at the first of so many wrong answers in a row."""
    reason: str | None
    """Why there is no fixed view, or no survival; None where there are both."""
    unfollowed: int = 0
    """Facts that were known and then not asked often enough to tell whether they were lost."""
    notes: tuple[str, ...] = ()
    """Which groups are left out, and what keeps the rest from saying more."""
