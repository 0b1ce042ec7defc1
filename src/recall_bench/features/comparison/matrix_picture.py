"""An overview of a matrix: every system in every category, setting by setting, in colour."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from recall_bench.core.plain_text import NO_DATA, clean_text, format_quantity
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.features.comparison.matrix_records import (
    MatrixReport,
    SettingReport,
    SystemFigures,
)
from recall_bench.features.comparison.matrix_text import format_headline, list_doubts
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.formats import (
    OF_100,
    format_number,
    format_range,
    format_score,
    format_slug,
)
from recall_bench.reporting.headlines import describe_place, mark_doubt
from recall_bench.reporting.heatmap.cell_grid import (
    EMPTY_KEY,
    LABEL_SIZE,
    TITLE_SIZE,
    ColourLegend,
    GridCell,
    GridStyle,
    View,
    build_grid,
    build_legend,
    build_picture,
    build_rate_scale,
    build_score_scale,
    make_small_key,
)
from recall_bench.reporting.heatmap.colours import MUTED, colour_rate, colour_score
from recall_bench.reporting.pictures import wrap_lines, write_picture

_STYLE = GridStyle(cell=84.0, row=40.0, detail_lines=1)
_HEAD_SIZE = 11.0
_LABEL_LIMIT = 210
_LEAST_WIDTH = 620.0
_SCORE, _WAY, _INVENTED, _LEAKED = "Score", "Share of the way", "Invented", "Leaked"
CEILING, SILENCE = "Ceiling: evidence in hand", "Silence: nothing known"
_LEGEND_NOTE = (
    "Below each figure: its 95 % interval and the number of questions. Best first; the baseline is "
    "bold."
)
_WAY_NOTE = "Share of the way: of the points between silence and ceiling, in %."
_RATE_TICKS = (0, 5, 25, 50, 100)


def draw_matrix(report: MatrixReport, png: Path, svg: Path) -> None:
    """Write the overview as PNG and as SVG."""
    spec = build_specification(report)
    title, _, summary = str(spec["description"]).partition("\n")
    write_picture(spec, png, svg, title=title, summary=summary)


def build_specification(report: MatrixReport) -> View:
    """The Vega-Lite chart of the overview."""
    shown = [setting for setting in report.settings if setting.systems]
    categories = list(
        dict.fromkeys(
            place.name
            for setting in shown
            for system in setting.systems
            for place in system.categories
            if place.mean is not None
        )
    )
    width = max(_STYLE.cell * (len(categories) + 6), _LEAST_WIDTH)
    few = f"under {FEW_QUESTIONS} questions, interval unreliable"
    missing = len(report.missing)
    verb = "is" if missing == 1 else "are"
    notes = [
        *list_doubts(report),
        format_headline(report),
        f"{format_quantity(missing, 'cell')} {verb} missing or not valid" if missing else "",
        _LEGEND_NOTE,
        _WAY_NOTE if any(_list_bounds(setting) for setting in shown) else "",
    ]
    return build_picture(
        wrap_lines(report.name, size=TITLE_SIZE, width=width),
        [line for note in notes for line in wrap_lines(note, size=LABEL_SIZE, width=width)],
        _describe_matrix(report, shown),
        [
            *(
                _build_setting(report, setting, categories, has_heads=place == 0)
                for place, setting in enumerate(shown)
            ),
            build_legend(
                [
                    ColourLegend(
                        title="score, of 100",
                        scale=build_score_scale(best=100),
                        ticks=(0, 25, 50, 75, 100),
                    ),
                    ColourLegend(
                        title="invented or leaked, %", scale=build_rate_scale(), ticks=_RATE_TICKS
                    ),
                ],
                [EMPTY_KEY, make_small_key(few, colour_score(1, 1), has_text=True)],
            ),
        ],
    )


def _build_setting(
    report: MatrixReport, setting: SettingReport, categories: Sequence[str], *, has_heads: bool
) -> View:
    """One setting: scores, categories and rates side by side, best system first.

    The ceiling is the row above all systems, and silence the row below, if they have the same.
    """
    systems = {system.system: system for system in setting.systems}
    ranked = [systems[rank.system] for rank in setting.ranking]
    bounds = _find_common_bounds(setting)
    names = [clean_text(each.system) for each in ranked]
    if bounds is not None:
        names = [*([CEILING] if bounds[_SCORE].ceiling is not None else []), *names, SILENCE]
    firsts = [_SCORE, _WAY] if _list_bounds(setting) else [_SCORE]
    rates = [_INVENTED] + [_LEAKED] * any(each.leaked is not None for each in ranked)
    is_baseline = f"datum.label === {json.dumps(clean_text(report.baseline))}"
    axis = {
        "title": None,
        "labelLimit": _LABEL_LIMIT,
        "labelFontWeight": {"condition": {"test": is_baseline, "value": "bold"}, "value": "normal"},
    }
    lines = max(_format_head(name).count("\n") for name in (*firsts, *categories))
    heads = {
        "title": None,
        "orient": "top",
        "labelPadding": 8 + 14 * lines,
        "labelExpr": r"split(datum.label, '\n')",
        "labelFontSize": _HEAD_SIZE,
        "labelLineHeight": 14,
        "labelOverlap": False,
    }
    views = [
        build_grid(
            [
                *(_build_cell(each, column) for each in ranked for column in columns),
                *([] if bounds is None or is_rate else _build_bound_cells(bounds, columns)),
            ],
            rows=names,
            columns=[_format_head(column) for column in columns],
            style=_STYLE,
            scale=build_rate_scale() if is_rate else build_score_scale(best=100),
            x_axis=heads if has_heads else None,
            y_axis=axis if columns == firsts else None,
        )
        for columns, is_rate in ((firsts, False), (list(categories), False), (rates, True))
        if columns
    ]
    found: View = {
        "hconcat": views,
        "spacing": 14,
        "resolve": {"scale": dict.fromkeys(("x", "y", "fill"), "independent")},
    }
    if len(report.settings) > 1:
        title = f"Setting {clean_text(setting.name)}"
        found["title"] = {"text": title, "fontSize": LABEL_SIZE, "color": MUTED, "offset": 8}
    return found


def _build_cell(system: SystemFigures, column: str) -> GridCell:
    name, head = clean_text(system.system), _format_head(column)
    if column == _WAY:
        return _build_way_cell(name, system.bounds)
    rates = {_INVENTED: system.invented, _LEAKED: system.leaked}
    means = {place.name: place.mean for place in system.categories} | {_SCORE: system.score}
    is_rate = column in rates
    found = rates[column] if is_rate else means.get(column)
    if found is None:
        return GridCell(row=name, column=head, value=None, fill=None)
    share = found.value if is_rate else found.value / FULL_MARKS
    interval = format_range(found, scale=100.0 if is_rate else OF_100, digits=0)
    doubt = mark_doubt(system.bounds) if column == _SCORE else ""
    return GridCell(
        row=name,
        column=head,
        value=100 * share,
        fill=colour_rate(share) if is_rate else colour_score(share, 1),
        mean=f"{format_number(100 * share, 1)}{' %' if is_rate else ''}{doubt}",
        details=[" · ".join(filter(None, (interval, f"n {found.questions}")))],
        is_small=found.is_small,
    )


def _build_way_cell(name: str, bounds: ScoreRange | None) -> GridCell:
    """The share of the way, or in words where there is none; coloured like a score."""
    head = _format_head(_WAY)
    if bounds is None or bounds.share is None or (words := describe_place(bounds)) == NO_DATA:
        return GridCell(row=name, column=head, value=None, fill=None)
    share = min(max(bounds.share.value, 0.0), 1.0)
    value, _, ends = words.partition(" (" if "(" in words else " ")
    return GridCell(
        row=name,
        column=head,
        value=100 * share,
        fill=colour_score(share, 1),
        mean=value,
        details=[ends.rstrip(")")],
    )


def _list_bounds(setting: SettingReport) -> list[ScoreRange]:
    return [system.bounds for system in setting.systems if system.bounds is not None]


def _find_common_bounds(setting: SettingReport) -> dict[str, ScoreRange] | None:
    """Silence and ceiling, overall and by category, if all systems have the same."""
    bounds = _list_bounds(setting)
    pairs = {(bound.floor, bound.ceiling) for bound in bounds}
    if len(bounds) != len(setting.systems) or len(pairs) != 1:
        return None
    places = setting.systems[0].categories
    return {_SCORE: bounds[0]} | {
        place.name: place.bounds for place in places if place.bounds is not None
    }


def _build_bound_cells(
    bounds: Mapping[str, ScoreRange], columns: Sequence[str]
) -> Iterator[GridCell]:
    for column in columns:
        found = bounds.get(column)
        if found is None:
            continue
        for name, marks in ((CEILING, found.ceiling), (SILENCE, found.floor)):
            if marks is not None:
                yield GridCell(
                    row=name,
                    column=_format_head(column),
                    value=marks * OF_100,
                    fill=colour_score(marks, FULL_MARKS),
                    mean=format_score(marks, 1),
                    details=[""],
                )


def _format_head(slug: str) -> str:
    return "\n".join(wrap_lines(format_slug(slug), size=_HEAD_SIZE, width=_STYLE.cell - 6))


def _describe_matrix(report: MatrixReport, shown: Sequence[SettingReport]) -> str:
    said = [
        f"{setting.name}: "
        + ", ".join(
            f"{rank.system} {format_score(rank.score.value, 1)}" for rank in setting.ranking
        )
        for setting in shown
    ]
    rest = f"{format_headline(report)}. Scores of 100 by setting: {'; '.join(said)}."
    return f"{clean_text(report.name)}\n{clean_text(rest)}"
