"""Charts of the judge lab: reliability curves, and the pass rates of an audit by class.

The audit's scale is the arcsine of the square root of a share: it spreads both ends, where the
targets lie, and draws intervals of the same count about equally wide everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import asin, pi, sqrt
from pathlib import Path
from typing import Final

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.features.judges.audit_report import (
    MAX_LENIENCY,
    MIN_SENSITIVITY,
    AuditClass,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.features.judges.correction import format_judge
from recall_bench.features.judges.judge_agreement import Agreement
from recall_bench.metrics.agreement import MarkAgreement
from recall_bench.reporting.charts.plane import build_quantity_axis
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config
from recall_bench.reporting.formats import format_number
from recall_bench.reporting.pictures import VEGA_LITE_SCHEMA, write_picture

Spec = dict[str, object]

_MARK_COLOURS: Final = {"correctness": "#1f5fa8", "completeness": "#0f7b6c", "grounded": "#8a4fb0"}
_JUDGE_COLOURS: Final = ("#1f5fa8", "#c2571a", "#0f7b6c", "#8a4fb0", "#b0305c", "#5b6470")
_TARGET_COLOUR, _MISSED_COLOUR = "#cfe9d6", "#b42318"

_CURVE_SIZE = 260
_PANEL_WIDTH, _ROW_HEIGHT, _JUDGE_HEIGHT = 250, 25, 8
_FIFTHS = (0, 0.2, 0.4, 0.6, 0.8, 1)
_AUDIT_TICKS: Final = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)


def write_reliability_chart(agreement: Agreement, path: Path) -> None:
    """Draw the reliability curves of a judge; UsageError if it gives no probabilities."""
    _write_chart(build_reliability_chart(agreement), path)


def write_audit_chart(reports: Sequence[AuditReport], path: Path) -> None:
    """Draw the pass rates of one or several judges by class."""
    _write_chart(build_audit_chart(reports), path)


def _write_chart(spec: Spec, path: Path) -> None:
    title = spec["title"]
    text = str(title["text"]) if isinstance(title, Mapping) else str(title)
    config = build_config(ChartTheme.LIGHT, ChartColours.STANDARD)
    write_picture(spec, path, title=text, summary=str(spec["description"]), config=config)


def build_reliability_chart(agreement: Agreement) -> Spec:
    """One panel a mark: stated probability against the share that passed."""
    panels = [
        _build_reliability_panel(mark, part)
        for mark, part in agreement.marks.items()
        if part.reliability is not None
    ]
    name = format_judge(agreement.judge)
    if not panels:
        raise UsageError(
            f"--chart: {name} gives no probabilities, so it has no reliability curves; "
            "leave the chart out"
        )
    counts = agreement.counts
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "description": _describe_reliability(agreement),
        "title": {
            "text": f"How far to trust {name}",
            "subtitle": [
                (
                    f"{counts.judged:,} labelled answers to {counts.questions:,} questions. On the "
                    "dashed line the stated probabilities are right; above it the judge "
                    "is too strict."
                ),
                "Bars are 95 % intervals over questions; the figures count the answers.",
            ],
        },
        "spacing": 28,
        "hconcat": panels,
    }


def _build_reliability_panel(mark: str, part: MarkAgreement) -> Spec:
    figures = {"AUC": part.auc, "kappa": part.kappa, "Brier": part.brier}
    words = [
        f"{name} {format_number(value, 3)}" for name, value in figures.items() if value is not None
    ]
    values = []
    for bin_ in part.reliability or ():
        low, high = bin_.interval or (None, None)
        point = {"stated": bin_.probability, "observed": bin_.observed, "n": bin_.n}
        if bin_.n:
            values.append({**point, "low": low, "high": high})
    colour = _MARK_COLOURS[mark]
    stated = build_quantity_axis(
        "probability of a pass, by the judge", 0, 1, ticks=_FIFTHS, form=".0%"
    )
    share = build_quantity_axis("share that passed", 0, 1, ticks=_FIFTHS, form=".0%")
    x: Spec = {"field": "stated", **stated}
    at_point: Spec = {"x": x, "y": {"field": "observed", **share}}
    diagonal = [{"stated": 0, "observed": 0}, {"stated": 1, "observed": 1}]
    count = {"field": "n", "type": "quantitative", "format": ",d"}
    return {
        "title": {
            "text": f"{mark.capitalize()} ≥ {PASS[mark]} of {SCALES[mark]}",
            "subtitle": " · ".join(words),
        },
        "width": _CURVE_SIZE,
        "height": _CURVE_SIZE,
        "data": {"values": values},
        "layer": [
            {
                "data": {"values": diagonal},
                "mark": {"type": "line", "style": "reference"},
                "encoding": at_point,
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": colour, "opacity": 0.45, "strokeWidth": 3},
                "encoding": {"x": x, "y": {"field": "low", **share}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "color": colour, "point": {"size": 55, "color": colour}},
                "encoding": at_point,
            },
            {
                "mark": {"type": "text", "style": "note", "align": "left", "dx": 6, "dy": -9},
                "encoding": {**at_point, "text": count},
            },
        ],
    }


def _describe_reliability(agreement: Agreement) -> str:
    parts = [f"Reliability of {format_judge(agreement.judge)}."]
    for mark, part in agreement.marks.items():
        points = ", ".join(
            f"{format_number(100 * bin_.observed, 0)}% of {bin_.n} at "
            f"{format_number(100 * bin_.probability, 0)}%"
            for bin_ in part.reliability or ()
            if bin_.observed is not None and bin_.probability is not None
        )
        parts.append(f"{mark} passes {points}.")
    return " ".join(parts)


def build_audit_chart(reports: Sequence[AuditReport]) -> Spec:
    """One column a mark, one row a class, one dot a judge; UsageError for unlike audits."""
    if not reports:
        raise UsageError("there is no audit to draw")
    if len(reports) > len(_JUDGE_COLOURS):
        raise UsageError(f"a chart has room for {len(_JUDGE_COLOURS)} judges; got {len(reports)}")
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits are of different answers; draw audits of one set together")
    names = _name_judges(reports)
    first = reports[0]
    columns = {mark: f"{mark.capitalize()} ≥ {PASS[mark]} of {SCALES[mark]}" for mark in SCALES}
    text = f"Audit of {names[0]}" if len(names) == 1 else f"Audit of {len(names)} judges"
    about = " and ".join(filter(None, (", ".join(first.scenarios[:-1]), first.scenarios[-1])))
    header = {"title": None, "labelFontWeight": "bold", "labelAnchor": "start"}
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "description": _describe_audits(reports, names),
        "title": {
            "text": text,
            "subtitle": [
                (
                    f"{first.n:,} answers with known marks, about {about}: the share of each class "
                    "that passes, with its 95 % interval."
                ),
                (
                    f"Green is the target: at least {MIN_SENSITIVITY:.0%} of what is right, under "
                    f"{MAX_LENIENCY:.0%} of what is wrong. Both ends of the scale are stretched."
                ),
            ],
        },
        "data": {"values": list(_list_rows(reports, names, columns))},
        "facet": {"column": {"field": "mark", "sort": list(columns.values()), "header": header}},
        "spec": _build_audit_panel(first, names),
    }


def _build_audit_panel(report: AuditReport, names: Sequence[str]) -> Spec:
    classes = [kind.value for kind in AuditClass if kind.value in report.classes]
    is_alone = len(names) == 1
    y = {
        "field": "class",
        "type": "nominal",
        "scale": {"domain": classes},
        "axis": {"title": None, "grid": False, "labelLimit": 300},
    }
    judge = {"field": "judge", "type": "nominal", "sort": list(names), "title": None}
    colours = {"domain": list(names), "range": list(_JUDGE_COLOURS[: len(names)])}
    legend = (
        None if is_alone else {"orient": "bottom", "direction": "horizontal", "symbolOpacity": 1}
    )
    by_judge: Spec = {"y": y, "color": {**judge, "scale": colours, "legend": legend}}
    if not is_alone:
        by_judge["yOffset"] = judge
    target = {"type": "rect", "color": _TARGET_COLOUR, "cornerRadius": 2}
    interval = {"type": "rule", "strokeWidth": 3, "opacity": 0.4, "strokeCap": "round"}
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 80 if is_alone else 55}
    note = {"type": "text", "style": "note", "align": "left", "dx": 4, "fontStyle": "italic"}
    layers: list[Spec] = [
        {"mark": target, "encoding": {"y": y, "x": _encode_share("from"), "x2": {"field": "to"}}},
        {
            "transform": [{"filter": "isValid(datum.note)"}],
            "mark": note,
            "encoding": {"y": y, "x": _encode_share("from"), "text": {"field": "note"}},
        },
        {
            "mark": interval,
            "encoding": {**by_judge, "x": _encode_share("low"), "x2": {"field": "high"}},
        },
        {"mark": dot, "encoding": {**by_judge, "x": _encode_share("rate")}},
    ]
    if is_alone:
        figure = {"type": "text", "style": "note", "align": "left", "x": _PANEL_WIDTH + 6}
        colour = {"condition": {"test": "datum.is_missed", "value": _MISSED_COLOUR}}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.figure)"}],
                "mark": figure,
                "encoding": {"y": y, "text": {"field": "figure"}, "color": colour},
            }
        )
    height = _ROW_HEIGHT + _JUDGE_HEIGHT * (len(names) - 1)
    return {
        "width": _PANEL_WIDTH,
        "height": {"step": height, "for": "position"},
        "layer": layers,
    }


def _encode_share(field: str) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {
            "title": None,
            "values": [round(_scale_share(tick), 4) for tick in _AUDIT_TICKS],
            "labelExpr": "format(pow(sin(datum.value * PI / 2), 2), '.0%')",
            "labelFlush": False,
            "gridDash": [2, 3],
        },
    }


def _scale_share(rate: float) -> float:
    """The place of a share on the stretched scale."""
    return asin(sqrt(rate)) * 2 / pi


def _list_rows(
    reports: Sequence[AuditReport], names: Sequence[str], columns: Mapping[str, str]
) -> Iterator[Spec]:
    for report, name in zip(reports, names, strict=True):
        for label, part in report.classes.items():
            for mark, column in columns.items():
                row: Spec = {"mark": column, "class": label, "judge": name}
                yield row | _measure_row(part.marks[mark])


def _measure_row(figures: MarkFigures) -> Spec:
    """Where a dot, its interval and its target lie; a note where the answers have no label."""
    share = _get_target(figures)
    if share is None:
        return {"note": "readers may differ", "from": 0, "to": 0}
    must_pass = figures.sensitivity is not None
    return {
        "from": _scale_share(MIN_SENSITIVITY) if must_pass else 0,
        "to": 1 if must_pass else _scale_share(MAX_LENIENCY),
        "rate": _scale_share(share.rate),
        "low": _scale_share(share.low),
        "high": _scale_share(share.high),
        "figure": _format_percent(share.rate),
        "is_missed": share.rate < MIN_SENSITIVITY if must_pass else share.rate >= MAX_LENIENCY,
    }


def _get_target(figures: MarkFigures) -> AuditShare | None:
    return figures.sensitivity or figures.leniency


def _format_percent(rate: float) -> str:
    return (
        f"{format_number(100 * rate, 0)} %"
        if rate in {0.0, 1.0}
        else f"{format_number(100 * rate, 1)} %"
    )


def _name_judges(reports: Sequence[AuditReport]) -> list[str]:
    """Short names of the judges, numbered where two have the same name."""
    names = [
        report.judge.model or f"{report.judge.name} {report.judge.version}" for report in reports
    ]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _describe_audits(reports: Sequence[AuditReport], names: Sequence[str]) -> str:
    """The text alternative: what each judge passes in correctness."""
    parts = []
    for report, name in zip(reports, names, strict=True):
        shares = [
            f"{label} {_format_percent(share.rate)}"
            for label, part in report.classes.items()
            if (share := _get_target(part.marks["correctness"])) is not None
        ]
        parts.append(f"{name} gives a pass in correctness to: {', '.join(shares)}.")
    return " ".join(parts)
