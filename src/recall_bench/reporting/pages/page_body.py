"""The body of the page: header, navigation, sections, and places for what the script draws."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from recall_bench.core.plain_text import NO_DATA
from recall_bench.engine.runs.rows import RowKind
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, IntervalMethod
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config
from recall_bench.reporting.formats import (
    OF_100,
    capitalise,
    format_basis,
    format_bounds,
    format_number,
    format_sentence,
)
from recall_bench.reporting.groups import NO_JUDGE
from recall_bench.reporting.headlines import (
    NO_BOUNDS,
    describe_doubt,
    describe_place,
)
from recall_bench.reporting.pages.judge_section import (
    describe_judge_range,
    render_corrected,
    render_judges,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.pages.page_sections import (
    render_canaries,
    render_categories,
    render_costs,
    render_degradation,
    render_failures,
    render_figures,
    render_hallucination,
    render_tool_loop,
)
from recall_bench.reporting.run_report import ReportHeader, RunReport


def extract_note(chart: Chart) -> str:
    """The notes of a chart as one text."""
    title = chart.spec.get("title")
    found = title.get("subtitle") if isinstance(title, Mapping) else None
    lines = [found] if isinstance(found, str) else found if isinstance(found, list | tuple) else []
    note = ""
    for line in map(str, lines):
        # The notes are broken into lines; a line with a capital starts a sentence.
        is_new = line[:1].isupper() and note and note[-1] not in ".:;,"
        note += f"{'.' if is_new else ''}{' ' if note else ''}{line}"
    return note


def is_grid(chart: Chart) -> bool:
    """Whether it has several panels, which need the whole width."""
    return chart.spec.get("width") != "container"


def strip_title(chart: Chart) -> dict[str, object]:
    """The chart without its title, and its table."""
    spec = {key: value for key, value in chart.spec.items() if key != "title"}
    return {"spec": spec, "columns": chart.columns, "rows": chart.rows}


def build_configs() -> dict[str, object]:
    """The configuration of charts by theme and colours, without background and margin."""
    return {
        f"{theme.value} {colours.value}": {
            **build_config(theme, colours),
            "background": "transparent",
            "padding": 5,
        }
        for theme in ChartTheme
        for colours in ChartColours
    }


_METHOD_NOTES = {
    IntervalMethod.QUESTIONS: "The interval covers other questions to the same personas.",
    IntervalMethod.PERSONAS: "The interval covers other personas.",
    IntervalMethod.AGREEMENT: (
        "All questions have the same result; the interval allows for questions with another one."
    ),
    IntervalMethod.NONE: "There are too few questions for an interval.",
}


PageLinks = Sequence[tuple[str, str]]
"""The titles and addresses of other pages."""


def render_header(report: RunReport, links: PageLinks = ()) -> Markup:
    """Title, notices, the headline figures, and the facts."""
    header = report.header
    return make_element(
        "header",
        *([_render_links(links)] if links else []),
        make_element("p", "Recall Bench report", class_="kicker"),
        make_element("h1", header.system),
        make_element("p", *_describe_scoring(report), class_="byline"),
        *_render_notices(header),
        make_element(
            "div",
            *render_corrected(header.corrected),
            _render_score(report),
            *(_render_rates(header) if report.no_marks is None else _render_figures(report)),
            class_="headlines",
        ),
        _render_facts(header),
        class_="masthead",
    )


def _describe_scoring(report: RunReport) -> tuple[str, ...]:
    """What judged the answers, or the protocol that scored them."""
    others = "" if report.judges is None else f" and {len(report.judges.judges) - 1} more"
    judge = make_element("span", f"{report.header.judge}{others}", class_="untrusted-text")
    scored = "" if report.score is None else f"scored by {report.score.protocol}"
    is_judged = report.header.judge != NO_JUDGE
    return (scored, *((" · " if scored else "", "judged by ", judge) if is_judged else ()))


def _render_rates(header: ReportHeader) -> Iterator[Markup]:
    yield _render_headline("Invented", header.invented, unit="% of judged answers")
    yield _render_headline(
        "Leaked",
        header.leaked,
        unit="% of answers that could leak",
        missing="No answer could leak.",
    )


def _render_figures(report: RunReport) -> Iterator[Markup]:
    """Two other figures of the protocol, where there are no marks to tell inventions by."""
    used = report.score.name if report.score is not None else None
    others = [each for each in report.figures if each.name != used]
    for each in others[:2]:
        yield _render_headline(
            capitalise(each.label), each.mean, unit="of 100", note=_describe_method(report)
        )


def _render_links(links: PageLinks) -> Markup:
    shown = (make_element("a", title, href=address) for title, address in links)
    return make_element("p", *shown, class_="elsewhere")


def render_noscript(report: RunReport) -> Markup:
    """What the page shows without JavaScript."""
    if report.no_time is not None:
        words = "The charts and the table of questions need JavaScript; nothing is loaded."
        return make_element("noscript", make_element("div", words, class_="notice"))
    shown = [
        (table, [row for row in table.shown if row.kind is not RowKind.CATEGORY])
        for table in report.heatmaps[:1]
    ]
    head = make_element(
        "tr",
        *(
            make_element("th", name)
            for _, rows in shown
            for name in ("checkpoint", *(row.name for row in rows))
        ),
    )
    rows = [
        make_element(
            "tr",
            make_element("td", column.label),
            *(make_element("td", row.scale.format(row.cells[place])) for row in rows),
        )
        for table, rows in shown
        for place, column in enumerate(table.columns)
    ]
    return make_element(
        "noscript",
        make_element(
            "div",
            make_element(
                "p",
                "Heatmaps, charts and the table of questions need JavaScript; nothing is loaded "
                "from anywhere. In short:",
            ),
            make_element("table", make_element("thead", head), make_element("tbody", *rows)),
            class_="notice",
        ),
    )


def _render_notices(header: ReportHeader) -> Iterator[Markup]:
    if header.is_stub:
        yield _render_notice(
            "STUB", "The judge was the stub, which grades nothing: these scores mean nothing."
        )
    if header.status is not RunStatus.VALID:
        yield _render_notice(header.status.value.upper(), format_sentence(header.reason))
    if doubt := describe_doubt(header.bounds):
        yield _render_notice(
            "NO BETTER THAN SILENCE",
            f"{format_sentence(f'{header.system} {doubt}')} Its score lies at that of silence or "
            "below, on the same questions.",
        )
    for notice in header.notices:
        yield _render_notice("Notice", notice, is_loud=False)


def _render_notice(label: str, text: str, *, is_loud: bool = True) -> Markup:
    return make_element(
        "p",
        make_element("strong", label),
        " ",
        make_element("span", text),
        class_="notice loud" if is_loud else "notice",
        role="alert" if is_loud else "note",
    )


def _render_score(report: RunReport) -> Markup:
    """The score, with silence and the ceiling on its bar and in words."""
    header, bounds, score = report.header, report.header.bounds, report.score
    if score is not None:
        return _render_headline(
            capitalise(score.label),
            header.overall,
            unit="of 100",
            scale=OF_100,
            below=" ".join(
                filter(
                    None,
                    (
                        format_sentence(f"{score.name}, by {score.protocol}"),
                        describe_judge_range(report.judges),
                    ),
                )
            ),
            note=_describe_method(report),
        )
    if bounds is None:
        words = "" if header.is_stub else f"Silence and ceiling: {NO_BOUNDS}."
        words = " ".join(filter(None, (words, describe_judge_range(report.judges))))
        return _render_headline("Score", header.overall, unit="of 100", scale=OF_100, below=words)
    marks = [("silence", bounds.floor), ("ceiling", bounds.ceiling)]
    ticks = [(name, value * OF_100) for name, value in marks if value is not None]
    place = describe_place(bounds)
    where = "" if place == NO_DATA else _describe_way(place)
    words = " · ".join(
        [
            *(f"{name} {format_number(value, 0)}" for name, value in ticks),
            *filter(None, [where, describe_judge_range(report.judges)]),
        ]
    )
    return _render_headline(
        "Score", header.overall, unit="of 100", scale=OF_100, ticks=ticks, below=words
    )


def _describe_way(place: str) -> str:
    value, percent, ends = place.partition(" %")
    return f"{value}{percent} of the way{ends}" if percent else place


def _render_headline(
    label: str,
    found: Estimate | None,
    *,
    unit: str,
    scale: float = 100,
    ticks: Sequence[tuple[str, float]] = (),
    below: str = "",
    missing: str = "Nothing was judged.",
    note: str = "",
) -> Markup:
    """One figure with its interval; `scale` makes its value a number of 100."""
    if found is None:
        return make_element(
            "div",
            make_element("h2", label),
            make_element("p", "–", class_="figure"),
            make_element("p", missing, class_="basis"),
            class_="headline",
        )
    digits = 0 if unit == "of 100" or not 0 < found.value < 0.0995 else 1
    ends = format_bounds(found, scale=scale, digits=digits).strip(" ()")
    ends = f"{ends} at {format_number(100 * found.level, 0)} %" if ends else "no interval"
    note = note or _METHOD_NOTES[found.method]
    if found.is_small and found.method is not IntervalMethod.NONE:
        note += " With so few questions the interval is unreliable."
    return make_element(
        "div",
        make_element("h2", label),
        make_element(
            "p",
            format_number(found.value * scale, digits),
            make_element("small", f" {unit}"),
            class_="figure",
        ),
        _render_bar(found, scale, ticks),
        *([make_element("p", below, class_="basis way")] if below else []),
        make_element("p", make_element("b", ends), " · ", format_basis(found), class_="basis"),
        make_element("p", note, class_="basis quiet"),
        class_="headline",
    )


def _describe_method(report: RunReport) -> str:
    """What the interval of a protocol's score covers."""
    found = report.header.overall
    if found is None or found.method in (IntervalMethod.AGREEMENT, IntervalMethod.NONE):
        return ""
    if found.method is IntervalMethod.PERSONAS:
        return f"The interval covers other {report.unit}s."
    return f"The interval covers other questions to the same {report.unit}s."


def _render_bar(found: Estimate, scale: float, ticks: Sequence[tuple[str, float]]) -> Markup:
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    return make_element(
        "div",
        *(make_element("u", style=f"left:{at:.2f}%", title=name) for name, at in ticks),
        make_element("i", style=f"left:{low * scale:.2f}%;width:{(high - low) * scale:.2f}%"),
        make_element("b", style=f"left:{found.value * scale:.2f}%"),
        class_="interval",
        aria_hidden="true",
    )


def _render_facts(header: ReportHeader) -> Markup:
    pairs = (
        make_element("div", make_element("dt", label), make_element("dd", text))
        for label, text in header.facts
    )
    return make_element(
        "details",
        make_element("summary", "How it was run"),
        make_element("dl", *pairs, class_="facts"),
    )


_PAGE_SECTIONS = (
    ("scores", "Scores"),
    ("hallucination", "Invented and leaked"),
    ("degradation", "Degradation"),
    ("failures", "Failures"),
    ("costs", "Cost"),
    ("canaries", "Canaries"),
    ("questions", "Questions"),
)


def render_body(report: RunReport, charts: Sequence[Chart], *, links: PageLinks = ()) -> Markup:
    """The whole body; the script fills in charts and tables."""
    explorer = make_element("div", id="explorer")
    footer = (
        f"Intervals are at 95 %: bootstrap over questions, or over {report.unit}s if there are "
        f"five or more (seed {report.seed}). A figure over fewer than {FEW_QUESTIONS} different "
        "questions is marked: its interval covers the true value in less than 95 % of cases. This "
        "page loads nothing and sends nothing."
    )
    return join_markup(
        make_element("a", "Skip to the questions", href="#questions", class_="skip"),
        render_header(report, links),
        render_navigation(_list_sections(report)),
        make_element(
            "main",
            render_noscript(report),
            make_element("p", id="script-error", class_="notice loud", hidden=True, role="alert"),
            _render_section("scores", "Scores", _render_scores(report), charts, "categories"),
            *_render_judge_section(report, charts),
            _render_section(
                "hallucination",
                "Invented and leaked",
                _render_missing(report.no_marks) or render_hallucination(report.hallucination),
                charts,
            ),
            _render_section(
                "degradation",
                "Degradation",
                _render_missing(report.no_time) or render_degradation(report.degradation),
                charts,
            ),
            _render_section(
                "failures", "Failures", render_failures(report.attribution), charts, "attribution"
            ),
            *_render_loop_section(report, charts),
            _render_section(
                "costs", "Cost", render_costs(report.costs, report.paretos, report.unit), charts
            ),
            _render_section("canaries", "Canaries", render_canaries(report.canaries), charts),
            _render_section("questions", "Questions", [explorer], charts),
        ),
        make_element("footer", make_element("p", footer)),
        make_element("div", id="tooltip", role="tooltip", hidden=True),
        make_element("dialog", id="detail", aria_labelledby="detail-title", class_="detail"),
    )


def _list_sections(report: RunReport) -> PageLinks:
    """The sections of the page, with those that only some runs have."""
    sections = list(_PAGE_SECTIONS)
    if report.tool_loop is not None:
        sections.insert([name for name, _ in sections].index("costs"), _LOOP_SECTION)
    if report.judges is not None:
        sections.insert(1, _JUDGE_SECTION)
    return sections


_LOOP_SECTION = ("tool-loop", "Tool loop")
_JUDGE_SECTION = ("judges", "Judges")


def _render_judge_section(report: RunReport, charts: Sequence[Chart]) -> tuple[Markup, ...]:
    """How much the score depends on the judge; nothing for a run with one judge."""
    if report.judges is None:
        return ()
    return (_render_section(*_JUDGE_SECTION, render_judges(report.judges), charts),)


def _render_loop_section(report: RunReport, charts: Sequence[Chart]) -> tuple[Markup, ...]:
    """What an agent did with the memory; nothing for other systems."""
    if report.tool_loop is None:
        return ()
    return (_render_section(*_LOOP_SECTION, render_tool_loop(report.tool_loop), charts),)


def _render_missing(why: str | None) -> tuple[Markup, ...]:
    """A sentence in place of a section, if there is a reason."""
    return () if why is None else (make_element("p", format_sentence(why), class_="missing"),)


def render_navigation(sections: PageLinks) -> Markup:
    """Links to the sections of a page, and the choices of colours and theme."""
    links = (
        make_element("a", title, href=f"#{name}", data_section=name) for name, title in sections
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
        make_element("span", label, class_="visually-hidden"),
        make_element("select", *choices, id=f"set-{name}"),
    )


def _render_section(
    name: str, title: str, words: Iterable[Markup], charts: Sequence[Chart], drawn: str = ""
) -> Markup:
    shown = [each for each in charts if each.section == (drawn or name)]
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
    """The charts over the whole width; the others stand in pairs."""
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
        class_="is-wide" if is_wide else "",
    )


def _render_scores(report: RunReport) -> Iterator[Markup]:
    for heatmap in report.heatmaps[:1]:
        if heatmap.total.total is not None and report.header.overall is not None:
            yield from render_categories(heatmap)
    if report.figures:
        yield from render_figures(report.figures, report.categories)
    if report.no_time is not None:
        yield from _render_missing(report.no_time)
        return
    yield make_element(
        "p",
        "The score of each category at each checkpoint, in points of 100; silence and ceiling are "
        "over all checkpoints. Point at a cell, or move to it with the arrow keys, for its "
        "interval; Enter lists its trials, or for the same questions shows their course.",
    )
    yield make_element("div", id="heatmap")
