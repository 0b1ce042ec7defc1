"""The sections of the page in order, with a place for everything the script draws."""

from collections.abc import Iterable, Sequence

from recall_bench.analysis.report.views import Report
from recall_bench.charts import Chart
from recall_bench.pages.drawings import IN_WORDS, has_panels, note_of
from recall_bench.pages.failures import failure_words
from recall_bench.pages.header import header_of, without_script
from recall_bench.pages.markup import Markup, element, joined
from recall_bench.pages.sections import (
    canary_words,
    cost_words,
    degradation_words,
    hallucination_words,
)
from recall_bench.statistics.estimate import FEW_QUESTIONS

_SECTIONS = (
    ("scores", "Scores"),
    ("hallucination", "Hallucination"),
    ("degradation", "Degradation"),
    ("failures", "Failures"),
    ("costs", "Cost"),
    ("canaries", "Canaries"),
    ("questions", "Questions"),
)


def body_of(report: Report, charts: Sequence[Chart], *, has_days: bool) -> Markup:
    """Everything that is seen, with its words; figures and rows are filled in by the script."""
    return joined(
        element("a", "Skip to the questions", href="#questions", class_="skip"),
        header_of(report),
        _navigation(),
        element(
            "main",
            without_script(report),
            element("p", id="trouble", class_="notice loud", hidden=True, role="alert"),
            _section("scores", "Scores", [_heatmap()], charts, "categories"),
            _section(
                "hallucination", "Hallucination", hallucination_words(report.hallucination), charts
            ),
            _section("degradation", "Degradation", degradation_words(report.degradation), charts),
            _section(
                "failures", "Failures", failure_words(report.attribution), charts, "attribution"
            ),
            _section("costs", "Cost", cost_words(report.costs, report.paretos), charts),
            _section("canaries", "Canaries", canary_words(report.canaries), charts),
            _section("questions", "Questions", [_explorer(has_days)], charts),
        ),
        element("footer", _reading(report)),
        element("div", id="tooltip", role="tooltip", hidden=True),
        element("dialog", id="detail", aria_labelledby="detail-title", class_="detail"),
    )


def _navigation() -> Markup:
    links = (element("a", title, href=f"#{name}", data_section=name) for name, title in _SECTIONS)
    return element(
        "nav",
        element("div", *links, class_="links"),
        element(
            "div",
            _toggle(
                "colours",
                "Colours",
                (("standard", "Red–amber–green"), ("colour-blind", "Colour-blind safe")),
            ),
            _toggle(
                "theme", "Theme", (("auto", "System theme"), ("light", "Light"), ("dark", "Dark"))
            ),
            class_="settings",
        ),
        aria_label="Sections and settings",
    )


def _toggle(name: str, label: str, options: Iterable[tuple[str, str]]) -> Markup:
    choices = (element("option", title, value=value) for value, title in options)
    return element(
        "label",
        element("span", label, class_="unseen"),
        element("select", *choices, id=f"set-{name}"),
    )


def _section(
    name: str, title: str, words: Iterable[Markup], charts: Sequence[Chart], drawn: str = ""
) -> Markup:
    shown = [
        each for each in charts if each.section == (drawn or name) and each.name not in IN_WORDS
    ]
    wide = _wide(shown)
    figures = (_figure(chart, is_wide=chart.name in wide) for chart in shown)
    return element(
        "section",
        element("h2", title),
        *words,
        element("div", *figures, class_="figures"),
        id=name,
        tabindex="-1",
        aria_label=title,
    )


def _wide(charts: Sequence[Chart]) -> set[str]:
    """The names of charts over the whole width: the others stand in pairs."""
    narrow = [chart.name for chart in charts if not has_panels(chart)]
    alone = narrow[-1:] if len(narrow) % 2 else []
    return {chart.name for chart in charts if has_panels(chart)} | set(alone)


def _figure(chart: Chart, *, is_wide: bool) -> Markup:
    note = note_of(chart)
    return element(
        "figure",
        element("h3", chart.title),
        *([element("p", note, class_="note")] if note else []),
        element("div", class_="chart", role="img", aria_label=chart.summary, data_chart=chart.name),
        element(
            "details",
            element("summary", "In words, and as a table"),
            element("p", chart.summary),
            data_table=chart.name,
        ),
        class_=f"{'is-wide' if is_wide else ''} {'has-panels' if has_panels(chart) else ''}",
    )


def _heatmap() -> Markup:
    return joined(
        element(
            "p",
            "The mean of six points for each kind of question at each checkpoint. Point at a cell, "
            "or move to it with the arrow keys, for its interval; Enter lists its trials.",
        ),
        element("div", id="heatmap"),
    )


def _explorer(has_days: bool) -> Markup:
    return element("div", id="explorer", data_days="yes" if has_days else "no")


def _reading(report: Report) -> Markup:
    return element(
        "p",
        "Intervals are at 95 %, by drawing questions again, or personas where there are five or "
        f"more (seed {report.seed}). A figure over fewer than {FEW_QUESTIONS} different questions "
        "is marked: its interval holds the truth less often than it says. This page loads nothing "
        "and sends nothing.",
    )
