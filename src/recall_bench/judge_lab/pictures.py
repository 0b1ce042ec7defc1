"""Reliability curves: of the answers a judge calls 70 % likely to pass, 7 in 10 should."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from recall_bench.core.verdict import PASS, SCALES
from recall_bench.errors import UsageError
from recall_bench.judge_lab.agreement import Agreement
from recall_bench.judge_lab.correction import format_judge
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
