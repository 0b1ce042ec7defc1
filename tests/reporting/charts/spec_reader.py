"""What a specification draws, read back."""

from collections.abc import Iterator
from typing import Any

from recall_bench.reporting.charts.gallery import build_charts
from recall_bench.reporting.charts.plane import Chart
from tests.reporting.charts.sample_report import sampled_report

REPORT = sampled_report()
CHARTS = {chart.name: chart for chart in build_charts(REPORT)}


def views(chart: Chart) -> list[dict[str, Any]]:
    """The panels of a chart, or the one view it has."""
    spec: dict[str, Any] = chart.spec
    return list(spec["concat"]) if "concat" in spec else [spec]


def layers(view: dict[str, Any], kind: str, style: str = "") -> list[dict[str, Any]]:
    """The layers of this kind of mark that can be seen."""
    return [
        layer
        for layer in view["layer"]
        if layer["mark"]["type"] == kind
        and layer["mark"]["style"].endswith(style)
        and layer["mark"].get("opacity") != 0
    ]


def drawn(view: dict[str, Any], kind: str, style: str = "") -> list[dict[str, Any]]:
    """All values of these layers."""
    return [value for layer in layers(view, kind, style) for value in layer["data"]["values"]]


def heading(view: dict[str, Any]) -> str:
    """The title of a panel."""
    return str(view["title"]["text"])


def everything(value: object) -> Iterator[tuple[str, object]]:
    """Every key and leaf of a specification."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), inner
            yield from everything(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield "", inner
            yield from everything(inner)
