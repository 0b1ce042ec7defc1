"""The heatmap as a piece of HTML: what it shows, and that no text can break out of it."""

from dataclasses import replace

from recall_bench.reporting.heatmap.heatmap_data import HeatmapData, PictureCell, RateRow, RowBounds
from recall_bench.reporting.heatmap.heatmap_table import render_heatmap_table

FEW = PictureCell(score=41.4, count=9, eligible=9, low=30.0, high=50.0, questions=9, missing=0)
NONE = PictureCell(score=None, count=0, eligible=0)
DATA = HeatmapData(
    title="bm25 1: recall",
    headline="41 of 100",
    subtitle=("Persona ada", "Dataset d"),
    categories=("factual-recall", "synthesis"),
    columns=("5d", "10d"),
    cells=((FEW, NONE), (NONE, NONE)),
    overall=(FEW, NONE),
    rates=(RateRow("invented", (replace(FEW, score=2.5), NONE)),),
    done=2,
    planned_checkpoints=2,
    bounds={"factual-recall": RowBounds(1.0, 2.0)},
    overall_bounds=RowBounds(1.5, None),
)


def test_categories_overall_and_rates_are_rows() -> None:
    page = render_heatmap_table(DATA)

    assert page.count("<tr>") == 4
    assert ">41!</td>" in page
    assert ">2.5!</td>" in page
    assert "Synthesis" not in page
    assert "41 of 100" in page
    assert "interval is unreliable" in page


def test_silence_and_ceiling_stand_beside_the_rows() -> None:
    page = render_heatmap_table(DATA)
    bare = render_heatmap_table(replace(DATA, bounds={}, overall_bounds=None))

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
            categories=(hostile, "b"),
            columns=(hostile, "10d"),
            rates=(RateRow(hostile, DATA.overall),),
            bounds={},
        )
    )

    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") > 4
