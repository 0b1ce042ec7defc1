"""A chart is a Vega-Lite specification that asks nothing of the world: no address, no font."""

import json
import re
from functools import cache

import pytest
import vl_convert

from recall_bench.reporting.charts.gallery import build_charts, freeze_chart
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config
from tests.reporting.charts.sample_report import empty_report, sampled_report
from tests.reporting.charts.spec_reader import CHARTS, everything, layers, views
from tests.thoroughness import choose_cases

SECTIONS = {"scores", "hallucination", "degradation", "failures", "costs"}


@cache
def few() -> list[Chart]:
    """Built for the first test that needs them: whoever runs others need not wait for them."""
    return [chart for count in (1, 2, 143) for chart in build_charts(sampled_report(count))]


def test_every_chart_compiles_without_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    for chart in CHARTS.values():
        config = build_config(ChartTheme.DARK, ChartColours.COLOUR_BLIND)

        vl_convert.vegalite_to_vega(chart.spec, config=config, show_warnings=True)
        vl_convert.vegalite_to_vega(freeze_chart(chart), config=config, show_warnings=True)

        assert capfd.readouterr() == ("", "")


def test_a_warning_would_be_seen(capfd: pytest.CaptureFixture[str]) -> None:
    spec = json.loads(json.dumps(CHARTS["failures-by-category"].spec))
    spec["layer"][0]["encoding"]["colur"] = {"field": "leaf"}

    vl_convert.vegalite_to_vega(spec, show_warnings=True)

    assert "colur" in "".join(capfd.readouterr())


@pytest.mark.parametrize("count", choose_cases([1, 2, 143], 2))
def test_runs_of_any_length_have_charts_that_compile(
    count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    for chart in build_charts(sampled_report(count)):
        vl_convert.vegalite_to_vega(chart.spec, show_warnings=True)

    assert capfd.readouterr() == ("", "")


def test_a_report_has_every_chart_once() -> None:
    assert list(CHARTS) == [
        "category-curves",
        "hallucination-by-category",
        "hallucination-over-size",
        "leaks-over-size",
        "recall-against-hallucination",
        "mixed-and-fixed-cohort",
        "survival",
        "survival-by-category",
        "failures-by-category",
        "costs-over-size",
        "score-against-query-seconds-p95",
        "score-against-tokens-an-answer",
        "score-against-index-bytes",
    ]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in CHARTS)
    assert {chart.section for chart in CHARTS.values()} == SECTIONS


def test_a_chart_without_figures_is_left_out() -> None:
    assert build_charts(empty_report()) == ()


def test_a_specification_names_no_colour_no_font_and_no_address() -> None:
    for chart in [*CHARTS.values(), *few()]:
        found = list(everything(chart.spec))

        assert not {key for key, _ in found} & {"url", "href", "font", "labelFont", "usermeta"}
        words = [value for key, value in found if isinstance(value, str) and key != "$schema"]
        assert not [word for word in words if re.search(r"https?:|//|#[0-9a-fA-F]{3,8}\b", word)]
        assert chart.spec["$schema"] == "https://vega.github.io/schema/vega-lite/v6.json"


def test_every_role_a_chart_names_has_a_look() -> None:
    for chart in CHARTS.values():
        config = build_config(ChartTheme.LIGHT, ChartColours.STANDARD)
        found = list(everything(chart.spec))
        styles = {value for key, value in found if key == "style"}
        ranges = {value for key, value in found if key == "range"}

        assert styles <= set(config["style"])  # type: ignore[call-overload]
        assert ranges <= set(config["range"])  # type: ignore[call-overload]


def test_every_chart_says_what_it_shows_in_words_and_in_a_table() -> None:
    for chart in [*CHARTS.values(), *few()]:
        assert chart.rows
        assert all(len(row) == len(chart.columns) for row in chart.rows)
        assert re.search(r"\d", chart.summary)
        assert chart.summary.endswith(".")
        assert "nan" not in json.dumps([chart.spec, chart.rows], allow_nan=False).lower().split()


def test_a_single_view_fills_its_container_and_a_picture_has_a_width() -> None:
    for chart in CHARTS.values():
        is_single = "concat" not in chart.spec
        assert (chart.spec.get("width") == "container") == is_single
        assert "container" not in [value for _, value in everything(freeze_chart(chart))]


def test_a_page_has_something_to_point_at_and_a_picture_does_not_carry_it() -> None:
    crowded = {chart.name: chart for chart in build_charts(sampled_report(143))}["category-curves"]
    panel = views(crowded)[1]
    unseen = [layer for layer in panel["layer"] if layer["mark"].get("opacity") == 0]

    assert len(unseen[0]["data"]["values"]) == 143
    assert unseen[0]["encoding"]["tooltip"]
    assert not [
        layer
        for view in freeze_chart(crowded)["concat"]  # type: ignore[attr-defined]
        for layer in view["layer"]
        if layer["mark"].get("opacity") == 0
    ]
    assert layers(panel, "line")
