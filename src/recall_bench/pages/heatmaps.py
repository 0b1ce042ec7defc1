"""The heatmaps as the page reads them: short rows of numbers, for there are many cells."""

from collections.abc import Iterable

from recall_bench.reporting.estimates import Cell, Heatmap

OVERALL, HALLUCINATION = "OVERALL", "hallucination"


def heatmap_record(heatmap: Heatmap) -> dict[str, object]:
    """One heatmap, its hallucination among the rows."""
    rows = [("score", row.category, row.cells) for row in heatmap.rows]
    rows += [("overall", OVERALL, heatmap.overall)]
    rows += [("rate", HALLUCINATION, heatmap.hallucination)]
    return {
        "persona": heatmap.persona,
        "columns": [[each.label, each.days] for each in heatmap.columns],
        "rows": [
            {"kind": kind, "name": name, "cells": list(_cells(cells))} for kind, name, cells in rows
        ],
    }


def _cells(cells: Iterable[Cell]) -> Iterable[object]:
    """Of a cell that was not measured, the number of questions that there are by then."""
    for cell in cells:
        mean = cell.mean
        if mean is None:
            yield cell.eligible
        else:
            ends = (_short(mean.low), _short(mean.high))
            counts = (mean.questions, mean.trials, mean.missing, cell.eligible)
            yield [_short(mean.value), *ends, *counts]


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 6)
