"""A row of the heatmap: one function from the trials of a run to cells."""

from collections.abc import Iterator

from recall_bench.engine.runs.heatmap_rows import Row, RowTrials
from recall_bench.metrics.scale import SHARE


def build_silent_row(trials: RowTrials) -> Iterator[Row]:
    """Build the share of empty answers."""
    cells, total = trials.estimate_values(lambda row: float(row.is_silent), limits=(0.0, 1.0))
    yield Row(
        name="silent",
        key="silentRate",
        scale=SHARE,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        note="silent: the answer has no words",
    )
