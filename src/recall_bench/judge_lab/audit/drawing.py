"""Audits as a picture: one row a class, one dot a judge, and the place where it should be.

Shares near nothing and near all matter most, so the scale is the arcsine of the share's root:
it spreads both ends, and draws intervals of the same count about equally wide wherever they are.
"""

from collections.abc import Iterator, Sequence
from math import asin, pi, sqrt
from pathlib import Path
from typing import Final

from recall_bench.core.verdict import PASS, SCALES
from recall_bench.errors import UsageError
from recall_bench.judge_lab.audit.item import AuditClass
from recall_bench.judge_lab.audit.report import (
    MUST_FAIL,
    MUST_PASS,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.judge_lab.pictures import draw_chart, find_picture_kind

ChartSpec = dict[str, object]
ChartRow = dict[str, object]

_INK, _MUTED, _RULE = "#1b1f24", "#4d5762", "#c6ccd4"
_JUDGE_COLOURS: Final = ("#1f5fa8", "#c2571a", "#0f7b6c", "#8a4fb0", "#b0305c", "#5b6470")
_TARGET_COLOUR, _MISSED_COLOUR = "#cfe9d6", "#b42318"
_WIDTH: Final = {"correctness": 340, "completeness": 230, "grounded": 230}
_ROW, _DOT_GAP = 25, 8
_FROM_INTERVAL = 8
_BETWEEN = 0.12
"""The share of a row that stays empty."""
_TICKS: Final = (0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.95, 1)
_FEW_TICKS: Final = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)


def write_audit_chart(reports: Sequence[AuditReport], path: Path) -> None:
    """Draw the audits of one or several judges into a .png, .svg or .pdf file."""
    kind = find_picture_kind(path)
    picture = draw_chart(build_audit_chart(reports), kind)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error


def build_audit_chart(reports: Sequence[AuditReport]) -> ChartSpec:
    """The Vega-Lite chart of audits of the same answers, judge beside judge."""
    if not reports:
        raise UsageError("there is no audit to draw")
    if len(reports) > len(_JUDGE_COLOURS):
        raise UsageError(f"a chart has room for {len(_JUDGE_COLOURS)} judges; got {len(reports)}")
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits are of different answers; draw audits of one set together")
    names = _name_judges(reports)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": _describe_audits(reports, names),
        "title": _build_title(reports, names),
        "background": "#ffffff",
        "padding": 24,
        "config": _AUDIT_CONFIG,
        "hconcat": [_build_panel(mark, reports, names) for mark in SCALES],
    }


_AUDIT_CONFIG: Final = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "concat": {"spacing": 22},
    "axis": {
        "labelColor": _MUTED,
        "labelFontSize": 11,
        "domain": False,
        "ticks": False,
        "title": None,
    },
    "legend": {"labelFontSize": 12, "labelColor": _INK, "title": None, "symbolOpacity": 1},
}


def _build_title(reports: Sequence[AuditReport], names: Sequence[str]) -> ChartSpec:
    first = reports[0]
    text = f"Audit of {names[0]}" if len(names) == 1 else f"Audit of {len(names)} judges"
    shown = (
        f"{first.n:,} answers with known marks, about {_join_words(first.scenarios)}: the share of "
        "each class that passes, with its 95 % interval."
    )
    read = (
        f"Green is where it should be: at least {MUST_PASS:.0%} of what is right, under "
        f"{MUST_FAIL:.0%} of what is wrong. Both ends of the scale are stretched."
    )
    return {
        "text": text,
        "subtitle": [shown, read],
        "anchor": "start",
        "fontSize": 19,
        "color": _INK,
        "subtitleFontSize": 12.5,
        "subtitleColor": _MUTED,
        "subtitlePadding": 7,
        "subtitleLineHeight": 17,
        "offset": 20,
    }


def _build_panel(mark: str, reports: Sequence[AuditReport], names: Sequence[str]) -> ChartSpec:
    is_first = mark == next(iter(SCALES))
    classes = [kind.value for kind in AuditClass if kind.value in reports[0].classes]
    rows = list(_list_rows(mark, reports, names))
    height = _measure_row(len(reports))
    layers = [*_build_targets(_list_zones(mark, reports[0]), classes, mark, is_first=is_first)]
    layers += [*_build_dots(rows, classes, names, mark)]
    return {
        "title": {
            "text": f"{mark.capitalize()} ≥ {PASS[mark]} of {SCALES[mark]}",
            "anchor": "start",
            "fontSize": 14,
            "color": _INK,
            "offset": 8,
        },
        "width": _WIDTH[mark],
        "height": {"step": height},
        "layer": layers,
    }


def _measure_row(judges: int) -> float:
    return _ROW + _DOT_GAP * (judges - 1)


def _encode_class(classes: Sequence[str], *, has_labels: bool) -> ChartSpec:
    axis: ChartSpec = {
        "orient": "left",
        "labelPadding": 10,
        "labelFontSize": 13,
        "labelColor": _INK,
    }
    axis |= {"labelLimit": 300, "grid": False}
    return {
        "field": "class",
        "type": "nominal",
        "scale": {"domain": list(classes), "paddingInner": _BETWEEN, "paddingOuter": 0.1},
        "axis": axis if has_labels else None,
    }


def _encode_share(field: str, mark: str) -> ChartSpec:
    ticks = _TICKS if mark == "correctness" else _FEW_TICKS
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {
            "orient": "top",
            "values": [round(_scale_share(tick), 4) for tick in ticks],
            "labelExpr": "format(pow(sin(datum.value * PI / 2), 2), '.0%')",
            "labelOverlap": False,
            "gridColor": _RULE,
            "gridDash": [2, 3],
        },
    }


def _build_targets(
    zones: Sequence[ChartRow], classes: Sequence[str], mark: str, *, is_first: bool
) -> Iterator[ChartSpec]:
    """What lies under the dots: the targets, and a dash where readers may differ."""
    y = _encode_class(classes, has_labels=is_first)
    yield {
        "data": {"values": [zone for zone in zones if "from" in zone]},
        "mark": {"type": "rect", "color": _TARGET_COLOUR, "cornerRadius": 2},
        "encoding": {"y": y, "x": _encode_share("from", mark), "x2": {"field": "to"}},
    }
    yield {
        "data": {"values": [zone for zone in zones if "from" not in zone]},
        "mark": {
            "type": "text",
            "text": "readers may differ",
            "align": "left",
            "dx": 4,
            "fontSize": 10.5,
            "fontStyle": "italic",
            "color": "#9aa3ad",
        },
        "encoding": {"y": y, "x": {**_encode_share("at", mark)}},
    }


def _build_dots(
    rows: Sequence[ChartRow], classes: Sequence[str], names: Sequence[str], mark: str
) -> Iterator[ChartSpec]:
    """Intervals and dots, the judges of a class one below the other."""
    y = _encode_class(classes, has_labels=mark == next(iter(SCALES)))
    is_alone = len(names) == 1
    placed = {"y": y, **_encode_judge(names)}
    yield {
        "data": {"values": list(rows)},
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.4, "strokeCap": "round"},
        "encoding": {**placed, "x": _encode_share("low", mark), "x2": {"field": "high"}},
    }
    yield {
        "data": {"values": list(rows)},
        "mark": {
            "type": "point",
            "filled": True,
            "opacity": 1,
            "size": 80 if is_alone else 55,
            "stroke": "#ffffff",
            "strokeWidth": 1.2,
        },
        "encoding": {**placed, "x": _encode_share("at", mark)},
    }
    if is_alone:
        yield _build_figures([row for row in rows if row["is_left"]], y, mark, align="right")
        yield _build_figures([row for row in rows if not row["is_left"]], y, mark, align="left")


def _encode_judge(names: Sequence[str]) -> ChartSpec:
    """What tells judges apart: their colour, and where there are several their place in the row."""
    colour: ChartSpec = {
        "field": "judge",
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(_JUDGE_COLOURS[: len(names)])},
        "legend": None,
    }
    if len(names) == 1:
        return {"color": colour}
    middle = _measure_row(len(names)) * (1 - _BETWEEN) / 2
    reach = _DOT_GAP * (len(names) - 1) / 2
    place: ChartSpec = {
        "field": "judge",
        "type": "nominal",
        "scale": {"domain": list(names), "range": [middle - reach, middle + reach]},
    }
    legend = {"orient": "bottom", "direction": "horizontal"}
    return {"color": {**colour, "legend": legend}, "yOffset": place}


def _build_figures(rows: Sequence[ChartRow], y: ChartSpec, mark: str, *, align: str) -> ChartSpec:
    """The shares in figures, red where the target is missed."""
    return {
        "data": {"values": list(rows)},
        "mark": {
            "type": "text",
            "fontSize": 11,
            "align": align,
            "dx": -_FROM_INTERVAL if align == "right" else _FROM_INTERVAL,
        },
        "encoding": {
            "y": y,
            "x": _encode_share("beyond", mark),
            "text": {"field": "said", "type": "nominal"},
            "color": {
                "condition": {"test": "datum.missed", "value": _MISSED_COLOUR},
                "value": _MUTED,
            },
        },
    }


def _list_rows(
    mark: str, reports: Sequence[AuditReport], names: Sequence[str]
) -> Iterator[ChartRow]:
    for report, name in zip(reports, names, strict=True):
        for label, part in report.classes.items():
            share = _get_target(part.marks[mark])
            if share is None:
                continue
            must_pass = part.marks[mark].sensitivity is not None
            is_left = share.rate > 0.5
            yield {
                "class": label,
                "judge": name,
                "at": _scale_share(share.rate),
                "low": _scale_share(share.low),
                "high": _scale_share(share.high),
                "beyond": _scale_share(share.low if is_left else share.high),
                "is_left": is_left,
                "said": _format_share_percent(share.rate),
                "missed": _is_off_target(share, must_pass=must_pass),
            }


def _list_zones(mark: str, report: AuditReport) -> list[ChartRow]:
    """Where the dots of each class should be."""
    zones: list[ChartRow] = []
    for label, part in report.classes.items():
        figures = part.marks[mark]
        if figures.sensitivity is not None:
            zones.append({"class": label, "from": _scale_share(MUST_PASS), "to": 1})
        elif figures.leniency is not None:
            zones.append({"class": label, "from": 0, "to": _scale_share(MUST_FAIL)})
        else:
            zones.append({"class": label, "at": 0})
    return zones


def _get_target(figures: MarkFigures) -> AuditShare | None:
    return figures.sensitivity or figures.leniency


def _is_off_target(share: AuditShare, *, must_pass: bool) -> bool:
    return share.rate < MUST_PASS if must_pass else share.rate >= MUST_FAIL


def _scale_share(rate: float) -> float:
    """Where a share lies on the stretched scale."""
    return asin(sqrt(rate)) * 2 / pi


def _format_share_percent(rate: float) -> str:
    return f"{100 * rate:.0f} %" if rate in {0.0, 1.0} else f"{100 * rate:.1f} %"


def _name_judges(reports: Sequence[AuditReport]) -> list[str]:
    """What the judges are called, told apart where two are called the same."""
    names = [
        report.judge.model or f"{report.judge.name} {report.judge.version}" for report in reports
    ]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({place + 1})" for place, name in enumerate(names)]


def _join_words(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _describe_audits(reports: Sequence[AuditReport], names: Sequence[str]) -> str:
    """The picture in words, for those who do not see it."""
    parts = []
    for report, name in zip(reports, names, strict=True):
        told = [
            f"{label} {_format_share_percent(share.rate)}"
            for label, part in report.classes.items()
            if (share := _get_target(part.marks["correctness"])) is not None
        ]
        parts.append(f"{name} gives a pass in correctness to: {', '.join(told)}.")
    return " ".join(parts)
