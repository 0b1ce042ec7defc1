"""The explorer as files that open from disk: one page with all data, and a report page a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.folders import refuse_other_files
from recall_bench.features.explorer.explorer_page import (
    INDEX,
    render_explorer,
    render_reason,
)
from recall_bench.features.explorer.explorer_views import (
    COMMON,
    COMPARE,
    PAIRS,
    RUNS,
    ExplorerViews,
)
from recall_bench.features.explorer.run_catalogue import UNREADABLE, RunRow
from recall_bench.reporting.pages.markup import Markup, PageBlock, encode_block
from recall_bench.reporting.publication import PAGE_FILE

_REPORTS = "run"
"""The folder of the report pages, as the page links to them."""
MOST_COMPARED = 12
"""Of more runs, only the first by name are compared: pairs grow with their square."""


@dataclass(frozen=True, slots=True)
class ExplorerExport:
    """The files that were written, and what is not in them."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


def export_explorer(views: ExplorerViews, title: str, into: Path) -> ExplorerExport:
    """Write the explorer into a folder that is empty or holds one already.

    A run that cannot be read is in the table with the reason. One without a report has a page that
    says why.
    """
    if into.exists() and not into.is_dir():
        raise UsageError(f"{into}: is a file; name a folder for the explorer")
    refuse_other_files(into, (INDEX, _REPORTS))
    rows = views.catalogue.list_rows(wait=True)
    if not rows:
        raise UsageError(f"{views.catalogue.root}: holds no run")
    notes: list[str] = []
    with AtomicFile(into / INDEX) as file:
        for piece in render_explorer(
            title, is_served=False, blocks=_render_blocks(views, rows, notes)
        ):
            file.write(piece.encode())
        file.commit()
    pages = [into / _REPORTS / row.id / PAGE_FILE for row in rows if row.state != UNREADABLE]
    for row, page in zip((row for row in rows if row.state != UNREADABLE), pages, strict=True):
        try:
            views.write_report(row.id, page)
        except BenchError as error:
            # As for runs that a dataset's own protocol measures.
            problem = views.describe_error(row.id, error)
            notes.append(f"{row.name} has no report: {problem}")
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text("".join(render_reason(row.name, problem)), encoding="utf-8")
    return ExplorerExport((into / INDEX, *pages), tuple(notes))


def _render_blocks(
    views: ExplorerViews, rows: Sequence[RunRow], notes: list[str]
) -> Iterator[Markup]:
    """The blocks of all runs, then the table, which says what could not be read."""
    listed: list[RunRow] = []
    for row in rows:
        if row.state != UNREADABLE:
            try:
                blocks = list(views.list_blocks(row.id))
            except BenchError as error:
                problem = views.describe_error(row.id, error)
                notes.append(f"{row.name} cannot be read: {problem}")
                listed.append(row.replace(state=UNREADABLE, problem=problem))
                continue
            yield from (block.render() for block in blocks)
        listed.append(row)
    yield encode_block(RUNS, listed).render()
    runs = [row.id for row in listed if row.state != UNREADABLE]
    if len(runs) > MOST_COMPARED:
        notes.append(
            f"of {len(runs)} runs the first {MOST_COMPARED} by name are compared; without --export "
            "any can be"
        )
    for names in _list_comparisons(runs[:MOST_COMPARED]):
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
