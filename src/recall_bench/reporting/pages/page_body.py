"""The body of the page: header, navigation, sections, and places for what the script draws."""

from collections.abc import Iterable, Iterator, Sequence

from recall_bench.core.plain_text import NO_DATA
from recall_bench.engine.runs.heatmap_rows import RowKind
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, IntervalMethod
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.formats import (
    OF_100,
    capitalise,
    format_basis,
    format_bounds,
    format_number,
    format_sentence,
)
from recall_bench.reporting.groups import NO_JUDGE
from recall_bench.reporting.headlines import NO_BOUNDS, describe_doubt, describe_place
from recall_bench.reporting.judge_text import format_score_range
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.pages.page_sections import render_parts
from recall_bench.reporting.report_sections import build_sections
from recall_bench.reporting.run_report import ReportHeader, RunReport

PageLinks = Sequence[tuple[str, str]]
"""The titles and addresses of other pages."""

_METHOD_NOTES = {
    IntervalMethod.QUESTIONS: "The interval covers other questions to the same {unit}s.",
    IntervalMethod.PERSONAS: "The interval covers other {unit}s.",
    IntervalMethod.AGREEMENT: (
        "All questions have the same result; the interval allows for questions with another one."
    ),
    IntervalMethod.NONE: "There are too few questions for an interval.",
}


def render_body(report: RunReport, charts: Sequence[Chart], links: PageLinks = ()) -> Markup:
    """The whole body; the script fills in charts and tables."""
    sections = [(section.name, section.title, section.parts) for section in build_sections(report)]
    sections.append(("questions", "Questions", ()))
    footer = (
        f"Intervals are at 95 %: bootstrap over questions, or over {report.unit}s if there are "
        f"five or more (seed {report.seed}). A figure over fewer than {FEW_QUESTIONS} different "
        "questions is marked: its interval covers the true value in less than 95 % of cases. This "
        "page loads nothing and sends nothing."
    )
    rendered = []
    for name, title, parts in sections:
        words = [*render_parts(parts)]
        if name == "scores" and report.no_time is None:
            words += [
                make_element(
                    "p",
                    "The score of each category at each checkpoint, in points of 100; silence and "
                    "ceiling are over all checkpoints. Point at a cell, or move to it with the "
                    "arrow keys, for its interval; Enter lists its trials, or for the same "
                    "questions shows their course.",
                ),
                make_element("div", id="heatmap"),
            ]
        if name == "questions":
            words.append(make_element("div", id="explorer"))
        figures = _render_figures([chart for chart in charts if chart.section == name])
        rendered.append(
            make_element(
                "section",
                make_element("h2", title),
                *words,
                make_element("div", *figures, class_="figures"),
                id=name,
                tabindex="-1",
                aria_label=title,
            )
        )
    return join_markup(
        make_element("a", "Skip to the questions", href="#questions", class_="skip"),
        render_header(report, links),
        render_navigation([(name, title) for name, title, _ in sections]),
        make_element(
            "main",
            _render_noscript(report),
            make_element("p", id="script-error", class_="notice loud", hidden=True, role="alert"),
            *rendered,
        ),
        make_element("footer", make_element("p", footer)),
        make_element("div", id="tooltip", role="tooltip", hidden=True),
        make_element("dialog", id="detail", aria_labelledby="detail-title", class_="detail"),
    )


def _render_figures(charts: Sequence[Chart]) -> Iterator[Markup]:
    """The charts of a section, those of one view in pairs; a last one alone is wide."""
    single = [chart.name for chart in charts if not chart.is_grid]
    alone = single[-1:] if len(single) % 2 else []
    for chart in charts:
        note = " ".join(filter(None, chart.notes))
        yield make_element(
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
            class_="is-wide" if chart.is_grid or chart.name in alone else "",
        )


def render_header(report: RunReport, links: PageLinks = ()) -> Markup:
    """Title, notices, the headline figures, and the facts."""
    header = report.header
    byline: list[str] = []
    if report.score is not None:
        byline.append(f"scored by {report.score.protocol}")
    if header.judge != NO_JUDGE:
        others = "" if report.judges is None else f" and {len(report.judges.judges) - 1} more"
        judge = make_element("span", f"{header.judge}{others}", class_="untrusted-text")
        byline += [" · judged by " if byline else "judged by ", judge]
    facts = (
        make_element("div", make_element("dt", label), make_element("dd", text))
        for label, text in header.facts
    )
    elsewhere = (make_element("a", title, href=address) for title, address in links)
    return make_element(
        "header",
        *([make_element("p", *elsewhere, class_="elsewhere")] if links else []),
        make_element("p", "Recall Bench report", class_="kicker"),
        make_element("h1", header.system),
        make_element("p", *byline, class_="byline"),
        *_render_notices(header),
        make_element("div", *_render_headlines(report), class_="headlines"),
        make_element(
            "details",
            make_element("summary", "How it was run"),
            make_element("dl", *facts, class_="facts"),
        ),
        class_="masthead",
    )


def _render_notices(header: ReportHeader) -> Iterator[Markup]:
    loud: list[tuple[str, str]] = []
    if header.is_stub:
        words = "The judge was the stub, which grades nothing: these scores mean nothing."
        loud.append(("STUB", words))
    if header.status is not RunStatus.VALID:
        loud.append((header.status.value.upper(), format_sentence(header.reason)))
    if doubt := describe_doubt(header.bounds):
        words = f"{format_sentence(f'{header.system} {doubt}')} Its score lies at that of silence"
        loud.append(("NO BETTER THAN SILENCE", f"{words} or below, on the same questions."))
    for label, text in (*loud, *(("Notice", notice) for notice in header.notices)):
        is_loud = label != "Notice"
        yield make_element(
            "p",
            *(make_element("strong", label), " ", make_element("span", text)),
            class_="notice loud" if is_loud else "notice",
            role="alert" if is_loud else "note",
        )


def _render_headlines(report: RunReport) -> Iterator[Markup]:
    """The corrected share of right answers, the score, and two rates or figures."""
    header, score, judges = report.header, report.score, report.judges
    corrected = header.corrected
    if corrected is not None and (right := corrected.right) is not None:
        others = [f"by {judge.name} {judge}" for judge in corrected.judges[1:]]
        (low, high), share = right.interval, right.corrected
        yield _render_box(
            "Right, corrected",
            (format_number(100 * share, 0), "% of answers"),
            (100 * low, 100 * share, 100 * high),
            below=f"{format_number(100 * right.observed, 0)} % as judged",
            ends=f"{format_number(100 * low, 0)} to {format_number(100 * high, 0)} at 95 %",
            basis=f"corrected by {corrected.source}",
            note=" ".join(map(format_sentence, (*others, *corrected.cautions))),
        )
    by_judge = (
        "" if judges is None else f"{format_score_range(judges)} over {len(judges.judges)} judges"
    )
    label, ticks = "Score", list[tuple[str, float]]()
    if score is not None:
        label = capitalise(score.label)
        below = " ".join([format_sentence(f"{score.name}, by {score.protocol}"), by_judge])
    elif header.bounds is not None:
        marks = [("silence", header.bounds.floor), ("ceiling", header.bounds.ceiling)]
        ticks = [(name, value * OF_100) for name, value in marks if value is not None]
        place = describe_place(header.bounds)
        value, percent, ends = place.partition(" %")
        way = f"{value}{percent} of the way{ends}" if percent else place.replace(NO_DATA, "")
        words = [f"{name} {format_number(value, 0)}" for name, value in ticks]
        below = " · ".join(filter(None, (*words, way, by_judge)))
    else:
        missing = "" if header.is_stub else f"Silence and ceiling: {NO_BOUNDS}."
        below = " ".join(filter(None, (missing, by_judge)))
    yield _render_estimate(
        label, header.overall, report.unit, kind="of 100", scale=OF_100, ticks=ticks, below=below
    )
    if report.no_marks is None:
        judged = "% of judged answers"
        yield _render_estimate("Invented", header.invented, report.unit, kind=judged)
        leaks, none = "% of answers that could leak", "No answer could leak."
        yield _render_estimate("Leaked", header.leaked, report.unit, kind=leaks, missing=none)
        return
    # Two other figures of the protocol, where there are no marks to tell inventions by.
    score_name = None if score is None else score.name
    for figure in [figure for figure in report.figures if figure.name != score_name][:2]:
        yield _render_estimate(capitalise(figure.label), figure.mean, report.unit, kind="of 100")


def _render_estimate(
    label: str,
    estimate: Estimate | None,
    unit: str,
    *,
    kind: str,
    scale: float = 100,
    ticks: Sequence[tuple[str, float]] = (),
    below: str = "",
    missing: str = "Nothing was judged.",
) -> Markup:
    """One figure with its interval; `scale` makes its value a number of 100."""
    if estimate is None:
        return make_element(
            "div",
            make_element("h2", label),
            make_element("p", "–", class_="figure"),
            make_element("p", missing, class_="basis"),
            class_="headline",
        )
    digits = 0 if kind == "of 100" or not 0 < estimate.value < 0.0995 else 1
    ends = format_bounds(estimate, scale=scale, digits=digits).strip(" ()")
    note = _METHOD_NOTES[estimate.method].format(unit=unit)
    if estimate.is_small and estimate.method is not IntervalMethod.NONE:
        note += " With so few questions the interval is unreliable."
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    return _render_box(
        label,
        (format_number(estimate.value * scale, digits), kind),
        (low * scale, estimate.value * scale, high * scale),
        ticks=ticks,
        below=below,
        ends=f"{ends} at {format_number(100 * estimate.level, 0)} %" if ends else "no interval",
        basis=format_basis(estimate),
        note=note,
    )


def _render_box(
    label: str,
    figure: tuple[str, str],
    bar: tuple[float, float, float],
    *,
    ticks: Sequence[tuple[str, float]] = (),
    below: str,
    ends: str,
    basis: str,
    note: str,
) -> Markup:
    """A headline figure; `bar` has both ends of its interval and the value between them."""
    (value, kind), (low, at, high) = figure, bar
    return make_element(
        "div",
        make_element("h2", label),
        make_element("p", value, make_element("small", f" {kind}"), class_="figure"),
        make_element(
            "div",
            *(make_element("u", style=f"left:{tick:.2f}%", title=name) for name, tick in ticks),
            make_element("i", style=f"left:{low:.2f}%;width:{high - low:.2f}%"),
            make_element("b", style=f"left:{at:.2f}%"),
            class_="interval",
            aria_hidden="true",
        ),
        *([make_element("p", below, class_="basis way")] if below else []),
        make_element("p", make_element("b", ends), f" · {basis}", class_="basis"),
        make_element("p", note, class_="basis quiet"),
        class_="headline",
    )


def _render_noscript(report: RunReport) -> Markup:
    """What the page shows without JavaScript."""
    words = "Heatmaps, charts and the table of questions need JavaScript; nothing is loaded."
    content = [make_element("p", words)]
    if report.no_time is None and report.heatmaps:
        table = report.heatmaps[0]
        rows = [row for row in table.shown if row.kind is not RowKind.CATEGORY]
        heads = (make_element("th", name) for name in ("checkpoint", *(row.name for row in rows)))
        lines = [
            make_element(
                "tr",
                make_element("td", column.label),
                *(make_element("td", row.scale.format(row.cells[place])) for row in rows),
            )
            for place, column in enumerate(table.columns)
        ]
        content.append(make_element("table", make_element("tr", *heads), *lines))
    return make_element("noscript", make_element("div", *content, class_="notice"))


def render_navigation(sections: Sequence[tuple[str, str]]) -> Markup:
    """Links to sections, given their names and titles, and the choices of colours and theme."""
    links = (
        make_element("a", title, href=f"#{name}", data_section=name) for name, title in sections
    )
    colours = (("standard", "Red–amber–green"), ("colour-blind", "Colour-blind safe"))
    themes = (("auto", "System theme"), ("light", "Light"), ("dark", "Dark"))
    return make_element(
        "nav",
        make_element("div", *links, class_="links"),
        make_element(
            "div",
            _render_select("colours", "Colours", colours),
            _render_select("theme", "Theme", themes),
            class_="settings",
        ),
        aria_label="Sections and settings",
    )


def _render_select(name: str, label: str, options: Iterable[tuple[str, str]]) -> Markup:
    choices = (make_element("option", title, value=value) for value, title in options)
    return make_element(
        "label",
        make_element("span", label, class_="visually-hidden"),
        make_element("select", *choices, id=f"set-{name}"),
    )
