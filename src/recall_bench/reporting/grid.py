"""The heatmap as a table of numbers, in the public format."""

from typing import TypedDict

from recall_bench.reporting.summary import Summary


class HeatmapGrid(TypedDict):
    """Rows are categories, columns are ranges."""

    categories: list[str]
    ranges: list[str]
    scores: list[list[float | None]]
    counts: list[list[int | None]]


def heatmap_grid(summary: Summary) -> HeatmapGrid:
    """Mean and count by category and checkpoint; None where nothing was measured or visited."""
    parts = {part.checkpoint.label: part for part in summary.checkpoints}
    labels = [checkpoint.label for checkpoint in summary.plan.checkpoints]
    rows = [
        [parts[label].get_tally(name) if label in parts else None for label in labels]
        for name in summary.categories
    ]
    return {
        "categories": list(summary.categories),
        "ranges": labels,
        "scores": [[None if tally is None else tally.mean for tally in row] for row in rows],
        "counts": [[None if tally is None else tally.counted for tally in row] for row in rows],
    }
