"""A report as one HTML file that opens from disk and loads nothing."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.plan import Trial
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.analyses.attribution import FailureLeaf
from recall_bench.reporting.charts.gallery import build_charts
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config
from recall_bench.reporting.pages.document import REPORT_ASSETS, load_vega_script, render_document
from recall_bench.reporting.pages.markup import PageBlock, join_markup
from recall_bench.reporting.pages.page_body import PageLinks, render_body
from recall_bench.reporting.pages.page_data import collect_questions, encode_heatmap
from recall_bench.reporting.pages.trial_blocks import TrialBlocks
from recall_bench.reporting.run_report import RunReport


def write_page(
    output: Path,
    report: RunReport,
    *,
    folder: RunFolder,
    table: TrialTable,
    leaves: Mapping[Trial, FailureLeaf],
    stories: Mapping[str, Mapping[int, str]],
    links: PageLinks = (),
) -> None:
    """Write the report as one HTML file, atomically.

    `stories` are the texts of days by persona; without them the page says how to supply them.
    `links` lead to other pages.
    """
    charts = build_charts(report)
    charting = load_vega_script()
    blocks = TrialBlocks(folder, table, collect_questions(table, report.categories), stories)
    with ThreadPoolExecutor() as packers:
        # Blocks are compressed in threads while the next are collected.
        texts = list(packers.map(PageBlock.render, blocks.write_texts()))
    rest = chain(texts, [PageBlock("charting", charting.encode()).render()])
    first = blocks.build_index("page", _describe_page(report, charts), leaves)
    pieces = render_document(
        f"{report.header.system} · Recall Bench",
        render_body(report, charts, links),
        first=join_markup(*(block.render() for block in first)),
        rest=rest,
        assets=REPORT_ASSETS,
        charting=charting,
    )
    with AtomicFile(output) as file:
        for piece in pieces:
            file.write(piece.encode())
        file.commit()


def _describe_page(report: RunReport, charts: tuple[Chart, ...]) -> dict[str, object]:
    """The data of the page without trials."""
    return {
        "few": FEW_QUESTIONS,
        "heatmaps": []
        if report.no_time
        else [encode_heatmap(heatmap) for heatmap in report.heatmaps],
        "charts": {
            chart.name: {"spec": chart.body, "columns": chart.columns, "rows": chart.rows}
            for chart in charts
        },
        "configs": {
            f"{theme.value} {colours.value}": {
                **build_config(theme, colours),
                "background": "transparent",
                "padding": 5,
            }
            for theme in ChartTheme
            for colours in ChartColours
        },
    }
