"""The sections of the page in order, with a place for everything the script draws."""

from collections.abc import Iterable, Sequence

from recall_bench.analysis.report.views import RunReport
from recall_bench.charts import Chart
from recall_bench.pages.drawings import LISTED_CHARTS, extract_note, is_grid
from recall_bench.pages.failures import render_failures
from recall_bench.pages.header import render_header, render_noscript
from recall_bench.pages.markup import Markup, join_markup, make_element
from recall_bench.pages.sections import (
    render_canaries,
    render_costs,
    render_degradation,
    render_hallucination,
)
from recall_bench.statistics.estimate import FEW_QUESTIONS

_PAGE_SECTIONS = (
    ("scores", "Scores"),
    ("hallucination", "Hallucination"),
    ("degradation", "Degradation"),
    ("failures", "Failures"),
    ("costs", "Cost"),
    ("canaries", "Canaries"),
    ("questions", "Questions"),
)


def render_body(report: RunReport, charts: Sequence[Chart], *, has_days: bool) -> Markup:
    """Everything that is seen, with its words; figures and rows are filled in by the script."""
    return join_markup(
        make_element("a", "Skip to the questions", href="#questions", class_="skip"),
        render_header(report),
        _render_navigation(),
        make_element(
            "main",
            render_noscript(report),
            make_element("p", id="trouble", class_="notice loud", hidden=True, role="alert"),
            _render_section("scores", "Scores", [_render_heatmap()], charts, "categories"),
            _render_section(
                "hallucination", "Hallucination", render_hallucination(report.hallucination), charts
            ),
            _render_section(
                "degradation", "Degradation", render_degradation(report.degradation), charts
            ),
            _render_section(
                "failures", "Failures", render_failures(report.attribution), charts, "attribution"
            ),
            _render_section("costs", "Cost", render_costs(report.costs, report.paretos), charts),
            _render_section("canaries", "Canaries", render_canaries(report.canaries), charts),
            _render_section("questions", "Questions", [_render_explorer(has_days)], charts),
        ),
        make_element("footer", _render_footer(report)),
        make_element("div", id="tooltip", role="tooltip", hidden=True),
        make_element("dialog", id="detail", aria_labelledby="detail-title", class_="detail"),
    )


def _render_navigation() -> Markup:
    links = (
        make_element("a", title, href=f"#{name}", data_section=name)
        for name, title in _PAGE_SECTIONS
    )
    return make_element(
        "nav",
        make_element("div", *links, class_="links"),
        make_element(
            "div",
            _render_select(
                "colours",
                "Colours",
                (("standard", "Red–amber–green"), ("colour-blind", "Colour-blind safe")),
            ),
            _render_select(
                "theme", "Theme", (("auto", "System theme"), ("light", "Light"), ("dark", "Dark"))
            ),
            class_="settings",
        ),
        aria_label="Sections and settings",
    )


def _render_select(name: str, label: str, options: Iterable[tuple[str, str]]) -> Markup:
    choices = (make_element("option", title, value=value) for value, title in options)
    return make_element(
        "label",
        make_element("span", label, class_="unseen"),
        make_element("select", *choices, id=f"set-{name}"),
    )


def _render_section(
    name: str, title: str, words: Iterable[Markup], charts: Sequence[Chart], drawn: str = ""
) -> Markup:
    shown = [
        each
        for each in charts
        if each.section == (drawn or name) and each.name not in LISTED_CHARTS
    ]
    wide = _find_wide(shown)
    figures = (_render_figure(chart, is_wide=chart.name in wide) for chart in shown)
    return make_element(
        "section",
        make_element("h2", title),
        *words,
        make_element("div", *figures, class_="figures"),
        id=name,
        tabindex="-1",
        aria_label=title,
    )


def _find_wide(charts: Sequence[Chart]) -> set[str]:
    """The names of charts over the whole width: the others stand in pairs."""
    narrow = [chart.name for chart in charts if not is_grid(chart)]
    alone = narrow[-1:] if len(narrow) % 2 else []
    return {chart.name for chart in charts if is_grid(chart)} | set(alone)


def _render_figure(chart: Chart, *, is_wide: bool) -> Markup:
    note = extract_note(chart)
    return make_element(
        "figure",
        make_element("h3", chart.title),
        *([make_element("p", note, class_="note")] if note else []),
        make_element(
            "div", class_="chart", role="img", aria_label=chart.summary, data_chart=chart.name
        ),
        make_element(
            "details",
            make_element("summary", "In words, and as a table"),
            make_element("p", chart.summary),
            data_table=chart.name,
        ),
        class_=f"{'is-wide' if is_wide else ''} {'has-panels' if is_grid(chart) else ''}",
    )


def _render_heatmap() -> Markup:
    return join_markup(
        make_element(
            "p",
            "The mean of six points for each kind of question at each checkpoint. Point at a cell, "
            "or move to it with the arrow keys, for its interval; Enter lists its trials.",
        ),
        make_element("div", id="heatmap"),
    )


def _render_explorer(has_days: bool) -> Markup:
    return make_element("div", id="explorer", data_days="yes" if has_days else "no")


def _render_footer(report: RunReport) -> Markup:
    return make_element(
        "p",
        "Intervals are at 95 %, by drawing questions again, or personas where there are five or "
        f"more (seed {report.seed}). A figure over fewer than {FEW_QUESTIONS} different questions "
        "is marked: its interval holds the truth less often than it says. This page loads nothing "
        "and sends nothing.",
    )
