"""An overview of a matrix: every system in every category, setting by setting, in colour."""

from pathlib import Path

from recall_bench.core.plain_text import NO_DATA, format_quantity
from recall_bench.core.plan import Checkpoint
from recall_bench.engine.runs.heatmap_rows import INVENTED, LEAKED, OVERALL, Row, RowKind, RowTable
from recall_bench.features.comparison.matrix_records import MatrixReport, SettingReport
from recall_bench.features.comparison.matrix_text import format_headline, list_doubts
from recall_bench.metrics.scale import POINTS, SHARE
from recall_bench.reporting.headlines import format_way
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.heatmap.heatmap_picture import build_heatmap_spec
from recall_bench.reporting.pictures import write_picture

_WAY_SCALE = SHARE.replace(name="way", is_higher_better=True, ramp=POINTS.ramp)
_WAY = "share of the way"


def draw_matrix(report: MatrixReport, png: Path, svg: Path) -> None:
    """Write the overview as PNG and as SVG."""
    spec = build_heatmap_spec(build_overview(report))
    title, _, summary = str(spec["description"]).partition("\n")
    write_picture(spec, png, svg, title=title, summary=summary)


def build_overview(report: MatrixReport) -> HeatmapData:
    """A table for each setting, its systems as columns, the best first."""
    tables = [
        (f"Setting {setting.name}", _build_table(setting))
        for setting in report.settings
        if setting.systems
    ]
    (_, first), *others = tables
    missing = len(report.missing)
    verb = "is" if missing == 1 else "are"
    return HeatmapData(
        title=report.name,
        subtitle=(
            *list_doubts(report),
            format_headline(report),
            f"{format_quantity(missing, 'cell')} {verb} missing or not valid" if missing else "",
            f"{tables[0][0]}; the others below" if others else "",
        ),
        table=first,
        others=tuple(others),
        done=0,
        planned_checkpoints=0,
        intervals="95 % interval",
        column_name="system",
        names_all_columns=True,
    )


def _build_table(setting: SettingReport) -> RowTable:
    """Scores by category and overall, how far systems come, and what they invent and leak."""
    by_name = {system.system: system for system in setting.systems}
    systems = [by_name[rank.system] for rank in setting.ranking]
    has_range = _have_one_range(setting)
    names = dict.fromkeys(place.name for system in systems for place in system.categories)
    rows = []
    for name in names:
        places = [
            next((place for place in system.categories if place.name == name), None)
            for system in systems
        ]
        ranges = [place.bounds for place in places if place is not None]
        rows.append(
            Row(
                name=name,
                kind=RowKind.CATEGORY,
                scale=POINTS,
                cells=tuple(None if place is None else place.mean for place in places),
                bounds=next(iter(ranges), None) if has_range else None,
            )
        )
    rows.append(
        Row(
            name=OVERALL,
            kind=RowKind.TOTAL,
            scale=POINTS,
            cells=tuple(system.score for system in systems),
            bounds=systems[0].bounds if has_range else None,
        )
    )
    # A share whose interval is wider than the whole way says nothing.
    ways = tuple(
        None if ends is None or format_way(ends) == NO_DATA else ends.share
        for ends in (system.bounds for system in systems)
    )
    note = f"{_WAY}: of the points between silence and ceiling"
    rows.append(Row(name=_WAY, scale=_WAY_SCALE, cells=ways, note=note))
    invented, leaked = ([getattr(s, name) for s in systems] for name in ("invented", "leaked"))
    rows.append(Row(name=INVENTED, scale=SHARE, cells=tuple(invented)))
    rows.append(Row(name=LEAKED, scale=SHARE, cells=tuple(leaked)))
    columns = tuple(Checkpoint(label=system.system, days=0) for system in systems)
    return RowTable(persona=None, columns=columns, rows=tuple(rows))


def _have_one_range(setting: SettingReport) -> bool:
    """Whether silence and ceiling are the same for all systems."""
    bounds = [system.bounds for system in setting.systems]
    ranges = {(ends.floor, ends.ceiling) for ends in bounds if ends is not None}
    return len(ranges) == 1 and None not in bounds
