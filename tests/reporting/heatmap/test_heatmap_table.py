"""The heatmap as a piece of HTML: what it shows, and that no text can break out of it."""

from dataclasses import replace

from recall_bench.core.plan import Checkpoint
from recall_bench.engine.runs.heatmap_rows import RowKind
from recall_bench.metrics.scale import SHARE
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.heatmap.heatmap_table import render_heatmap_table
from tests.reporting.heatmap.row_tables import estimate_of, make_bounds, make_row, make_table

FEW = estimate_of(41.4, (30.0, 50.0), questions=9, trials=9)
NONE = 0
DATA = HeatmapData(
    title="bm25 1: recall",
    headline="41 of 100",
    subtitle=("Persona ada", "Dataset d"),
    table=make_table(
        make_row("factual-recall", (FEW, NONE), kind=RowKind.CATEGORY).replace(
            bounds=make_bounds(1.0, 2.0)
        ),
        make_row("synthesis", (NONE, NONE), kind=RowKind.CATEGORY),
        make_row("overall", (FEW, NONE), kind=RowKind.TOTAL).replace(bounds=make_bounds(1.5, None)),
        make_row("invented", (estimate_of(2.5, None, of=SHARE, questions=9), NONE), scale=SHARE),
    ),
    done=2,
    planned_checkpoints=2,
)


def test_categories_overall_and_rates_are_rows() -> None:
    page = render_heatmap_table(DATA)

    assert page.count("<tr>") == 4
    assert ">41!</td>" in page
    assert ">2.5 %!</td>" in page
    assert "Synthesis" not in page
    assert "41 of 100" in page
    assert "interval is unreliable" in page


def test_silence_and_ceiling_stand_beside_the_rows() -> None:
    page = render_heatmap_table(DATA)
    table = make_table(*(row.replace(bounds=None) for row in DATA.table.rows))
    bare = render_heatmap_table(replace(DATA, table=table))

    assert ">17</td>" in page
    assert ">33^</td>" in page
    assert ">25</td>" in page
    assert ">silence</th>" in page
    assert ">silence</th>" not in bare


def test_an_invalid_run_has_a_reason_and_no_figures() -> None:
    page = render_heatmap_table(replace(DATA, invalid="too many failed", headline=None))

    assert "INVALID: too many failed" in page
    assert "<table>" not in page


def test_no_text_can_break_out() -> None:
    hostile = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
    page = render_heatmap_table(
        replace(
            DATA,
            title=hostile,
            headline=hostile,
            subtitle=(hostile,),
            table=DATA.table.replace(
                columns=(Checkpoint(label=hostile, days=7), DATA.table.columns[1]),
                rows=tuple(row.replace(name=hostile, note=hostile) for row in DATA.table.rows),
            ),
        )
    )

    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") > 4
