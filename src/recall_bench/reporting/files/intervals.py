"""What `result.json` adds to the public format: every mean with its interval.

It is a part of its own, so that whoever reads the public format finds all else where it was.
"""

from collections.abc import Iterator

import msgspec

from recall_bench.reporting.estimates import SEED, Cell, Estimates, Heatmap
from recall_bench.reporting.files.layout import row
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.intervals import LEVEL

Fields = dict[str, object]


def estimates(means: Estimates, persona: str | None = None) -> Fields:
    """Of a persona, or of all: over all checkpoints, and at each with every category."""
    fields: Fields = {
        "level": LEVEL,
        "seed": SEED,
        "overall": row(_figure(means.overall(persona))),
        "hallucinationRate": row(_figure(means.hallucination(persona), scale=100)),
        "checkpoints": _checkpoints(means.heatmap(persona)),
    }
    return {"estimates": fields}


def _checkpoints(heatmap: Heatmap) -> Iterator[msgspec.Raw]:
    for place, checkpoint in enumerate(heatmap.columns):
        yield row(
            {
                "range": checkpoint.label,
                "overall": _of(heatmap.overall[place]),
                "hallucinationRate": _of(heatmap.hallucination[place], scale=100),
                "categories": {each.category: _of(each.cells[place]) for each in heatmap.rows},
            }
        )


def _of(cell: Cell, *, scale: float = 1) -> Fields | None:
    return _figure(cell.mean, scale=scale)


def _figure(found: Estimate | None, *, scale: float = 1) -> Fields | None:
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
