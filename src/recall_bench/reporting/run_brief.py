"""A run on one screen: the headline, the heatmap and where the system is weakest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.plain_text import WIDTH, clean_text, format_fact, format_quantity
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.reporting.formats import SMALL_MARK, format_card, format_score
from recall_bench.reporting.headlines import LOW_CEILING_NOTE, has_low_ceilings
from recall_bench.reporting.run_text import (
    STUB_WARNING,
    describe_missing_bounds,
    describe_result,
    list_run_facts,
)
from recall_bench.reporting.score_tables import (
    render_heatmap,
    select_heatmap_places,
)

if TYPE_CHECKING:
    from recall_bench.engine.runs.heatmap_rows import RowTable
    from recall_bench.metrics.estimate import Estimate
    from recall_bench.reporting.analyses.attribution import Attribution

_WEAKEST = 3
_SHOWN_FACTS = frozenset(
    ("Isolation", "Caveats", "Judges", "Personas", "Part", "Answers", "Reviews", "Cost", "Failures")
) | {"Feed failed"}
"""The facts that a reader must not miss; the others are in the tables and on the page."""
_AGENT_FACTS = frozenset({"Messages", "Spent"})
"""Facts of an agent behind messages: nothing else shows that it was reached, and what it cost."""


class WeakCell(NamedTuple):
    """A category at a checkpoint with a low score."""

    category: str
    checkpoint: str
    mean: "Estimate"


def find_weakest(heatmap: "RowTable") -> list[WeakCell]:
    """The cells with the lowest scores; those of few questions only if there are no others."""
    cells = [
        WeakCell(row.name, checkpoint.label, mean)
        for row in heatmap.categories
        for checkpoint, mean in zip(heatmap.columns, row.cells, strict=True)
        if mean is not None
    ]
    reliable = [cell for cell in cells if not cell.mean.is_small]
    ranked = sorted(
        reliable or cells, key=lambda cell: (cell.mean.value, -cell.mean.questions, cell.category)
    )
    return ranked[:_WEAKEST]


def render_brief(
    folder: RunFolder,
    summary: Summary,
    misses: "Attribution | None" = None,
    *,
    width: int = WIDTH,
) -> str:
    """The run in short, as text; with the causes of its misses if they are known."""
    return "\n".join(_render_lines(folder, summary, misses, width))


def _render_lines(
    folder: RunFolder, summary: Summary, misses: "Attribution | None", width: int
) -> Iterator[str]:
    from recall_bench.engine.runs.estimates import RunEstimates

    means = RunEstimates.get(folder)
    if summary.is_stub:
        yield STUB_WARNING
    yield from format_fact("System", format_card(folder.plan.system), width=width)
    yield from format_fact("Result", describe_result(folder, summary, means), width=width)
    if (missing := describe_missing_bounds(summary, means)) is not None:
        yield from format_fact("Silence", missing, width=width)
    labels = _SHOWN_FACTS | _AGENT_FACTS if folder.service.messages else _SHOWN_FACTS
    if folder.diagnosis is not None and folder.diagnosis.health is not SystemHealth.VALID:
        labels |= {"Doctor"}
    for label, words in list_run_facts(folder, summary, means):
        if label in labels:
            yield from format_fact(label, clean_text(words), width=width)
    if not summary.has_score or means.estimate_overall() is None:
        return
    places = select_heatmap_places(summary.checkpoints, width=width)
    heatmap = means.build_heatmap(None, places)
    yield ""
    yield render_heatmap(heatmap, of=len(summary.checkpoints), width=width)
    if has_low_ceilings(heatmap):
        yield LOW_CEILING_NOTE
    if heatmap.has_small:
        from recall_bench.metrics.estimate import FEW_QUESTIONS

        yield f"{SMALL_MARK} fewer than {FEW_QUESTIONS} questions: the interval is unreliable"
    yield ""
    if misses is not None:
        from recall_bench.reporting.analyses.attribution import describe_misses

        yield from format_fact("Misses", describe_misses(misses), width=width)
    label = "Weakest"
    for cell in find_weakest(heatmap):
        yield from format_fact(label, _describe_cell(cell), width=width)
        label = ""


def _describe_cell(cell: WeakCell) -> str:
    mark = f" ({SMALL_MARK})" if cell.mean.is_small else ""
    score, count = format_score(cell.mean.value), format_quantity(cell.mean.questions, "question")
    place = f"{clean_text(cell.category)} at {clean_text(cell.checkpoint)}"
    return f"{place}: {score} of 100, {count}{mark}"
