"""What every report says first: the score, silence, the ceiling, inventions and leaks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from recall_bench.core.plain_text import NO_DATA, clean_text, format_quantity, join_words
from recall_bench.core.plan import LabelsCard, Plan
from recall_bench.metrics.scale import SHARE
from recall_bench.reporting.formats import (
    OF_100,
    format_of_100,
    format_score,
    format_share,
)

if TYPE_CHECKING:
    # Estimates need numpy, which a progress bar can do without.
    from recall_bench.engine.runs.heatmap_rows import RowTable
    from recall_bench.engine.runs.score_ranges import ScoreRange
    from recall_bench.engine.runs.trials import ScoreScale
    from recall_bench.metrics.estimate import Estimate

DOUBT_MARK: Final = "~"
DOUBT_NOTE: Final = f"{DOUBT_MARK} cannot be distinguished from silence, or is below it"
LOW_CEILING: Final = 50.0
"""Below this many points of 100 the ceiling says more of the reader than of the memory."""
LOW_CEILING_MARK: Final = "^"
LOW_CEILING_NOTE: Final = (
    f"{LOW_CEILING_MARK} ceiling below {LOW_CEILING:g}: the reader is the limit here, "
    "not the memory"
)
WAY_NOTE: Final = (
    "silence: the score of a memory that knows nothing; ceiling: that of the reader given the "
    "evidence; of the way: the share of the points between them"
)
INVENTION_NOTE: Final = (
    "invented: the answer states what no record supports, and does not leak; leaked: it discloses "
    "what the asker may not know, counted over the answers that could"
)
_MOST_NAMES = 5
_GET_BOUNDS: Final = (
    "run --adapter none and --adapter gold-passages with the same judge and reader, and compare"
)
NO_BOUNDS: Final = f"not computed; {_GET_BOUNDS}"
"""How to get silence and ceiling where a model would have to be paid for them."""


def describe_headline(
    score: "Estimate | None",
    bounds: "ScoreRange | None",
    invented: "Estimate | None",
    leaked: "Estimate | None",
) -> str:
    """The score, silence, the ceiling, the share of the way, and both rates, in one line.

    A doubt whether the score is above silence comes before anything else.
    """
    doubt = describe_doubt(bounds)
    parts = [format_of_100(score), *list_bounds(bounds), *list_rates(invented, leaked)]
    return (f"{doubt}: " if doubt else "") + " · ".join(parts)


def describe_unmeasured(names: Sequence[str]) -> str:
    """The categories that a score is without; empty if it is over all of them."""
    if not names:
        return ""
    return f"without {join_words(names, most=_MOST_NAMES)}, of which no question was judged"


def describe_scale(scale: "ScoreScale") -> str:
    """What a score of a dataset's protocol is, and on which scale it is printed."""
    name = "" if scale.name == scale.label else f" ({scale.name})"
    return f"{scale.label}{name} by {scale.protocol}, from 0 to {scale.full:g}; printed of 100"


def describe_labels(labels: LabelsCard) -> str:
    """How many answers people judged, who they are, and the questions that they leave out."""
    words = f"{format_quantity(labels.answers, 'answer')} judged by people"
    if labels.people:
        words += f" ({join_words(labels.people, most=_MOST_NAMES)})"
    if labels.left_out:
        count = format_quantity(len(labels.left_out), "bad question")
        words += f", {count} left out: {join_words(labels.left_out, most=_MOST_NAMES)}"
    return words


def list_bounds(bounds: "ScoreRange | None") -> Iterator[str]:
    """Silence, the ceiling and the share of the way, as far as they are known."""
    if bounds is None:
        return
    yield f"silence {format_score(bounds.floor)}"
    if bounds.ceiling is not None:
        yield f"ceiling {format_score(bounds.ceiling)}"
        share = format_way(bounds)
        if share != NO_DATA:
            value, unit, ends = share.partition(" %")
            yield f"{value}{unit} of the way{ends}"


def list_rates(invented: "Estimate | None", leaked: "Estimate | None") -> Iterator[str]:
    """The share of answers that are invented, and that leak; a leak is possible in few of them."""
    if invented is not None:
        yield f"invented {format_rate(invented)}"
    if leaked is not None:
        yield f"leaked {format_rate(leaked)} of {leaked.trials:,}"


def format_rate(rate: "Estimate | None") -> str:
    """A share of answers in percent: a tenth below ten, without its interval."""
    return SHARE.format_short(None if rate is None else rate.value)


def format_way(bounds: "ScoreRange") -> str:
    """The share of the way from silence to the ceiling, with its interval.

    No data where the interval is wider than the whole way: silence and ceiling are too close.
    """
    share = bounds.share
    if share is None or share.low is None or share.high is None or share.high - share.low > 1:
        return NO_DATA
    return format_share(share, digits=0)


def describe_place(bounds: "ScoreRange") -> str:
    """The share of the way, or on which side of silence and ceiling a score lies if it has none."""
    share = format_way(bounds)
    if share != NO_DATA:
        return share
    if bounds.is_below_floor:
        return "below silence"
    if not bounds.is_above_floor:
        return "as silence"
    if bounds.ceiling is None or bounds.score < bounds.ceiling:
        return NO_DATA
    return "as ceiling" if bounds.score == bounds.ceiling else "above ceiling"


class HasCeiling(Protocol):
    """A range in points of 6."""

    @property
    def ceiling(self) -> float | None:
        """None where it was not computed."""


def has_low_ceiling(bounds: HasCeiling) -> bool:
    """Whether the reader does not get half of the points even if it is given the evidence."""
    return bounds.ceiling is not None and bounds.ceiling * OF_100 < LOW_CEILING


def has_low_ceilings(table: "RowTable") -> bool:
    """Whether the reader is the limit in any category, or over all of them."""
    return any(row.bounds is not None and has_low_ceiling(row.bounds) for row in table.rows)


def format_ceiling(bounds: HasCeiling, digits: int = 0) -> str:
    """The ceiling in points of 100, marked where it is low."""
    mark = LOW_CEILING_MARK if has_low_ceiling(bounds) else ""
    return format_score(bounds.ceiling, digits) + mark


def list_bound_notes(shown: "Iterable[ScoreRange | None]") -> Iterator[str]:
    """What to know of a table with silence and ceiling: how to get them, or what its marks mean."""
    ranges = [bounds for bounds in shown if bounds is not None]
    if not ranges:
        yield f"silence and ceiling: {NO_BOUNDS}"
        return
    yield WAY_NOTE
    if any(map(has_low_ceiling, ranges)):
        yield LOW_CEILING_NOTE
    if any(map(mark_doubt, ranges)):
        yield DOUBT_NOTE


def explain_missing_bounds(plan: Plan) -> str:
    """Why a run has neither silence nor ceiling, and how to get them."""
    if plan.imported is not None:
        reason = " for an imported run"
    elif plan.appellate is not None:
        reason = ", because it takes further reviews by the appellate judge"
    elif not plan.judge.computes:
        judge = clean_text(plan.judge.model or plan.judge.name)
        reason = f", because it takes further verdicts of {judge}"
    else:
        reason = ""
    return f"not computed{reason}; {_GET_BOUNDS}"


def describe_doubt(bounds: "ScoreRange | None") -> str | None:
    """The warning about a score that is not above silence; None for one above, or without bounds.

    A run without bounds says so instead: `explain_missing_bounds`.
    """
    if bounds is None or bounds.is_above_floor:
        return None
    if bounds.is_below_floor:
        return "scores below a memory that knows nothing"
    if bounds.gain.value > 0 and bounds.gain.is_small:
        return "cannot be distinguished from a memory that knows nothing by so few questions"
    return "cannot be distinguished from a memory that knows nothing"


def mark_doubt(bounds: "ScoreRange | None") -> str:
    """The mark of a score that is not above silence; empty for any other."""
    return "" if describe_doubt(bounds) is None else DOUBT_MARK


def describe_doubts(systems: Iterable[tuple[str, "ScoreRange | None"]]) -> Iterator[str]:
    """The same for several systems, in a sentence for each kind of doubt."""
    doubts: dict[str, list[str]] = {}
    for name, bounds in systems:
        if (doubt := describe_doubt(bounds)) is not None:
            doubts.setdefault(doubt, []).append(name)
    for doubt, names in doubts.items():
        plural = doubt.replace("scores", "score") if len(names) > 1 else doubt
        yield f"{join_words(names)} {plural}"
