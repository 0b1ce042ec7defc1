"""Tables of rows, for tests of what shows them."""

from collections.abc import Sequence

from recall_bench.core.plan import Checkpoint
from recall_bench.engine.runs.heatmap_rows import Row, RowKind, RowTable
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.metrics.scale import POINTS, Scale

Cell = Estimate | int
"""What was measured, or how many questions there are where nothing was."""


def estimate_of(
    shown: float,
    ends: tuple[float, float] | None,
    *,
    of: Scale = POINTS,
    questions: int = 25,
    trials: int = 25,
    missing: int = 0,
) -> Estimate:
    """An estimate by the numbers that people see."""
    low, high = (None, None) if ends is None else (end / of.factor for end in ends)
    return Estimate(
        value=shown / of.factor,
        low=low,
        high=high,
        level=0.95,
        method=IntervalMethod.NONE if ends is None else IntervalMethod.QUESTIONS,
        questions=questions,
        personas=1,
        trials=trials,
        missing=missing,
    )


def make_row(
    name: str, cells: Sequence[Cell], *, kind: RowKind = RowKind.FIGURE, scale: Scale = POINTS
) -> Row:
    return Row(
        name=name,
        kind=kind,
        scale=scale,
        cells=tuple(None if isinstance(cell, int) else cell for cell in cells),
        eligible=tuple(cell if isinstance(cell, int) else 30 for cell in cells),
    )


def make_table(*rows: Row) -> RowTable:
    """A table of these rows over checkpoints of a week each."""
    columns = (Checkpoint(label=f"{7 * n}d", days=7 * n) for n in range(1, 1 + len(rows[0].cells)))
    return RowTable(persona=None, columns=tuple(columns), rows=rows)


def make_bounds(floor: float, ceiling: float | None) -> ScoreRange:
    gain = estimate_of(20.0, (10.0, 30.0))
    return ScoreRange(score=3.0, floor=floor, ceiling=ceiling, gain=gain, share=None)
