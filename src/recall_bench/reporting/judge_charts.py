"""Reliability curves: of the answers a judge calls 70 % likely to pass, 7 in 10 should."""

from collections.abc import Iterator, Mapping, Sequence
from math import asin, pi, sqrt
from pathlib import Path
from typing import Final, Literal

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judging.lab.audit.audit import (
    MUST_FAIL,
    MUST_PASS,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.judging.lab.audit.audit_case import AuditClass
from recall_bench.judging.lab.correction import format_judge
from recall_bench.judging.lab.judge_agreement import Agreement
from recall_bench.metrics.agreement import MarkAgreement

VEGA_LITE_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
CHART_INK, CHART_MUTED, CHART_RULE, CHART_BAND = "#1b1f24", "#4d5762", "#8b949e", "#e3e7ec"
CHART_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
MARK_COLOURS: Final = {"correctness": "#1f5fa8", "completeness": "#0f7b6c", "grounded": "#8a4fb0"}

_CURVE_SIDE = 260
_STRIP_HEIGHT = 56
_PIXELS = 2

_READING = "On the dashed line the judge knows how sure it may be; above it is too strict."

ReliabilityChart = dict[str, object]


def build_reliability_chart(found: Agreement) -> ReliabilityChart:
    """The Vega-Lite chart of the three curves; UsageError if the judge gives no probabilities."""
    panels = [
        _build_mark_panel(mark, part)
        for mark, part in found.marks.items()
        if part.reliability is not None
    ]
    if not panels:
        raise UsageError(
            f"--chart: {format_judge(found.judge)} gives no probabilities, so it has no reliability "
            "curves; leave the chart out"
        )
    counts = found.counts
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "description": _describe_reliability(found),
        "title": {
            "text": f"How far to trust {format_judge(found.judge)}",
            "subtitle": [
                f"{counts.judged:,} labelled answers to {counts.questions:,} questions. {_READING}",
                "Bars are 95 % intervals over questions; the strip counts the answers.",
            ],
            "anchor": "start",
            "fontSize": 18,
            "subtitleFontSize": 12,
            "subtitleColor": CHART_MUTED,
            "subtitlePadding": 6,
            "offset": 18,
        },
        "background": "#ffffff",
        "padding": 24,
        "spacing": 28,
        "config": _RELIABILITY_CONFIG,
        "hconcat": panels,
    }


_RELIABILITY_CONFIG: Final = {
    "font": CHART_FONT,
    "view": {"stroke": None},
    "concat": {"spacing": 28},
    "title": {"color": CHART_INK},
    "axis": {
        "labelColor": CHART_MUTED,
        "titleColor": CHART_MUTED,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "gridColor": CHART_BAND,
        "domainColor": CHART_RULE,
        "tickColor": CHART_RULE,
    },
}


def _build_mark_panel(mark: str, part: MarkAgreement) -> ReliabilityChart:
    bins = [bin_ for bin_ in part.reliability or () if bin_.n]
    values = [
        {
            "stated": bin_.probability,
            "observed": bin_.observed,
            "low": bin_.interval[0] if bin_.interval else None,
            "high": bin_.interval[1] if bin_.interval else None,
            "start": bin_.start,
            "end": bin_.end,
            "n": bin_.n,
        }
        for bin_ in bins
    ]
    return {
        "title": {
            "text": f"{mark.capitalize()} ≥ {PASS[mark]} of {SCALES[mark]}",
            "subtitle": _format_caption(part),
            "anchor": "start",
            "fontSize": 14,
            "subtitleFontSize": 12,
            "subtitleColor": CHART_MUTED,
            "offset": 10,
        },
        "spacing": 6,
        "data": {"values": values},
        "vconcat": [_build_curve(MARK_COLOURS[mark]), _build_strip(MARK_COLOURS[mark])],
    }


def _format_caption(part: MarkAgreement) -> str:
    figures = {"AUC": part.auc, "kappa": part.kappa, "Brier": part.brier}
    return " · ".join(f"{name} {value:.3f}" for name, value in figures.items() if value is not None)


def _build_curve(colour: str) -> ReliabilityChart:
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 55, "color": colour}
    return {
        "width": _CURVE_SIDE,
        "height": _CURVE_SIDE,
        "layer": [
            {
                "data": {"values": [{"stated": 0, "observed": 0}, {"stated": 1, "observed": 1}]},
                "mark": {
                    "type": "line",
                    "color": CHART_RULE,
                    "strokeDash": [5, 4],
                    "strokeWidth": 1.2,
                },
                "encoding": _encode_position("observed"),
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": colour, "opacity": 0.45, "strokeWidth": 3},
                "encoding": _encode_position("low") | {"y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "color": colour, "strokeWidth": 2},
                "encoding": _encode_position("observed"),
            },
            {
                "mark": dot | {"stroke": "#ffffff", "strokeWidth": 1.2},
                "encoding": _encode_position("observed"),
            },
        ],
    }


def _encode_position(field: str) -> ReliabilityChart:
    """A place on the curve's plane: what the judge said, against the share in this field."""
    share = {"type": "quantitative", "scale": {"domain": [0, 1], "nice": False}}
    return {
        "x": {
            **share,
            "field": "stated",
            "axis": {"labels": False, "ticks": False, "title": None, "values": _TENTHS},
        },
        "y": {
            **share,
            "field": field,
            "axis": {"title": "share that did pass", "format": ".0%", "values": _TENTHS},
        },
    }


_TENTHS = (0, 0.2, 0.4, 0.6, 0.8, 1)


def _build_strip(colour: str) -> ReliabilityChart:
    x = {
        "field": "start",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {
            "title": "probability of a pass, by the judge",
            "format": ".0%",
            "values": _TENTHS,
            "grid": False,
        },
    }
    height = {
        "field": "n",
        "type": "quantitative",
        "scale": {"type": "sqrt"},
        "axis": None,
    }
    return {
        "width": _CURVE_SIDE,
        "height": _STRIP_HEIGHT,
        "layer": [
            {
                "mark": {"type": "bar", "color": colour, "opacity": 0.3},
                "encoding": {"x": x, "x2": {"field": "end"}, "y": height, "y2": {"datum": 0}},
            },
            {
                "transform": [{"calculate": "(datum.start + datum.end) / 2", "as": "middle"}],
                "mark": {"type": "text", "dy": -6, "fontSize": 9.5, "color": CHART_MUTED},
                "encoding": {
                    "x": {**x, "field": "middle"},
                    "y": height,
                    "text": {"field": "n", "type": "quantitative", "format": ",d"},
                },
            },
        ],
    }


def _describe_reliability(found: Agreement) -> str:
    parts = [f"Reliability of {format_judge(found.judge)}."]
    for mark, part in found.marks.items():
        points = ", ".join(
            f"{bin_.observed:.0%} of {bin_.n} at {bin_.probability:.0%}"
            for bin_ in part.reliability or ()
            if bin_.observed is not None and bin_.probability is not None
        )
        parts.append(f"{mark} passes {points}.")
    return " ".join(parts)


PictureKind = Literal["png", "svg", "pdf"]


def find_picture_kind(output: Path) -> PictureKind:
    """The kind of picture a file's name asks for; UsageError if it asks for none we can draw."""
    match output.suffix.lower():
        case ".png":
            return "png"
        case ".svg":
            return "svg"
        case ".pdf":
            return "pdf"
    raise UsageError(f"{output}: a picture ends in .png, .svg or .pdf")


def draw_chart(chart: Mapping[str, object], kind: PictureKind) -> bytes:
    """The chart as the bytes of a picture."""
    import vl_convert

    content = dict(chart)
    if kind == "svg":
        return vl_convert.vegalite_to_svg(content, allowed_base_urls=[]).encode()
    if kind == "pdf":
        return vl_convert.vegalite_to_pdf(content, allowed_base_urls=[])
    return vl_convert.vegalite_to_png(content, scale=_PIXELS, allowed_base_urls=[])


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
