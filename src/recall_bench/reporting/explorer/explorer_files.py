"""The explorer as files that open from disk: one page with all data, and a report page a run."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.output_folder import refuse_foreign_files
from recall_bench.reporting.explorer.explorer_page import INDEX, render_explorer
from recall_bench.reporting.explorer.explorer_views import (
    COMMON,
    COMPARE,
    PAIRS,
    RUNS,
    ExplorerViews,
)
from recall_bench.reporting.explorer.run_catalogue import UNREADABLE
from recall_bench.reporting.pages.markup import Markup, PageBlock, encode_block
from recall_bench.reporting.publication import PAGE_FILE

_REPORTS = "run"
"""The folder of the report pages, as the page links to them."""


def export_explorer(views: ExplorerViews, title: str, into: Path) -> list[Path]:
    """Write the explorer into a folder that is empty or holds one already; the files are returned.

    A run whose report cannot be written is in the page all the same.
    """
    if into.exists() and not into.is_dir():
        raise UsageError(f"{into}: is a file; name a folder for the explorer")
    refuse_foreign_files(into, (INDEX, _REPORTS))
    rows = views.catalogue.list_rows(wait=True)
    if not rows:
        raise UsageError(f"{views.catalogue.root}: holds no run")
    runs = [row.id for row in rows if row.state != UNREADABLE]
    files = [into / INDEX]
    with AtomicFile(into / INDEX) as file:
        blocks = _render_blocks(views, runs, encode_block(RUNS, rows))
        for piece in render_explorer(title, is_served=False, blocks=blocks):
            file.write(piece.encode())
        file.commit()
    for run in runs:
        page = into / _REPORTS / run / PAGE_FILE
        try:
            views.write_report(run, page)
        except BenchError:
            # Some runs have no report: those that a dataset's own protocol measures.
            continue
        files.append(page)
    return files


def _render_blocks(views: ExplorerViews, runs: Sequence[str], table: PageBlock) -> Iterator[Markup]:
    yield table.render()
    for run in runs:
        for block in views.list_blocks(run):
            yield block.render()
    for names in _list_comparisons(runs):
        kinds = (COMPARE, COMMON, PAIRS) if names.count(".") == 1 else (COMPARE, COMMON)
        for kind in kinds:
            name = f"{kind}/{names}"
            yield PageBlock(name, views.build(name)).render()


def _list_comparisons(runs: Sequence[str]) -> Iterator[str]:
    """Every two runs, and all of them."""
    for pair in combinations(runs, 2):
        yield ".".join(pair)
    if len(runs) > 2:
        yield ".".join(runs)
