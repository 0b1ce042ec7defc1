"""What `result.json` adds to the public format: every mean with its interval.

It is a part of its own, so that whoever reads the public format finds all else where it was.
"""

from collections.abc import Iterator

import msgspec

from recall_bench.reporting.estimates import SEED, Heatmap, HeatmapCell, RunEstimates
from recall_bench.reporting.files.layout import encode_row
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.intervals import LEVEL

EstimateFields = dict[str, object]


def build_estimates(means: RunEstimates, persona: str | None = None) -> EstimateFields:
    """Of a persona, or of all: over all checkpoints, and at each with every category."""
    fields: EstimateFields = {
        "level": LEVEL,
        "seed": SEED,
        "overall": encode_row(_format_estimate(means.estimate_overall(persona))),
        "hallucinationRate": encode_row(
            _format_estimate(means.estimate_hallucination(persona), scale=100)
        ),
        "checkpoints": _build_checkpoints(means.build_heatmap(persona)),
    }
    return {"estimates": fields}


def _build_checkpoints(heatmap: Heatmap) -> Iterator[msgspec.Raw]:
    for place, checkpoint in enumerate(heatmap.columns):
        yield encode_row(
            {
                "range": checkpoint.label,
                "overall": _format_cell(heatmap.overall[place]),
                "hallucinationRate": _format_cell(heatmap.hallucination[place], scale=100),
                "categories": {
                    each.category: _format_cell(each.cells[place]) for each in heatmap.rows
                },
            }
        )


def _format_cell(cell: HeatmapCell, *, scale: float = 1) -> EstimateFields | None:
    return _format_estimate(cell.mean, scale=scale)


def _format_estimate(found: Estimate | None, *, scale: float = 1) -> EstimateFields | None:
    """A mean, its interval and what is behind it; null where nothing was measured."""
    if found is None:
        return None
    return {
        "mean": scale * found.value,
        "low": None if found.low is None else scale * found.low,
        "high": None if found.high is None else scale * found.high,
        "method": found.method,
        "questions": found.questions,
        "trials": found.trials,
        "missing": found.missing,
    }
