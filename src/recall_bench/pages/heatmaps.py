"""The heatmaps as the page reads them: short rows of numbers, for there are many cells."""

from collections.abc import Iterable

from recall_bench.reporting.estimates import Heatmap, HeatmapCell

OVERALL_ROW, HALLUCINATION_ROW = "OVERALL", "hallucination"


def encode_heatmap(heatmap: Heatmap) -> dict[str, object]:
    """One heatmap, its hallucination among the rows."""
    rows = [("score", row.category, row.cells) for row in heatmap.rows]
    rows += [("overall", OVERALL_ROW, heatmap.overall)]
    rows += [("rate", HALLUCINATION_ROW, heatmap.hallucination)]
    return {
        "persona": heatmap.persona,
        "columns": [[each.label, each.days] for each in heatmap.columns],
        "rows": [
            {"kind": kind, "name": name, "cells": list(_encode_cells(cells))}
            for kind, name, cells in rows
        ],
    }


def _encode_cells(cells: Iterable[HeatmapCell]) -> Iterable[object]:
    """Of a cell that was not measured, the number of questions that there are by then."""
    for cell in cells:
        mean = cell.mean
        if mean is None:
            yield cell.eligible
        else:
            ends = (_round_number(mean.low), _round_number(mean.high))
            counts = (mean.questions, mean.trials, mean.missing, cell.eligible)
            yield [_round_number(mean.value), *ends, *counts]


def _round_number(number: float | None) -> float | None:
    return None if number is None else round(number, 6)
