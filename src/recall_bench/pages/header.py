"""The head of the page: what was run, how it did, and what to know before believing it."""

from collections.abc import Iterator

from recall_bench.analysis.report.figures import format_basis, format_of_six, format_share
from recall_bench.analysis.report.views import ReportHeader, RunReport
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.pages.markup import Markup, format_sentence, make_element
from recall_bench.reporting.estimates import HeatmapCell
from recall_bench.reporting.summary import RunStatus
from recall_bench.statistics.estimate import Estimate, IntervalMethod

_METHOD_NOTES = {
    IntervalMethod.QUESTIONS: "The interval speaks of other questions to the same personas.",
    IntervalMethod.PERSONAS: "The interval speaks of other personas.",
    IntervalMethod.AGREEMENT: (
        "Every question came to the same; the interval allows for others that would not have."
    ),
    IntervalMethod.NONE: "There are too few questions for an interval.",
}


def render_header(report: RunReport) -> Markup:
    """Title, notices, the two headline figures, and the facts."""
    header = report.header
    return make_element(
        "header",
        make_element("p", "Recall Bench report", class_="kicker"),
        make_element("h1", header.system),
        make_element(
            "p", "judged by ", make_element("span", header.judge, class_="foreign"), class_="byline"
        ),
        *_render_notices(header),
        make_element(
            "div",
            _render_headline("Score", header.overall, best=FULL_MARKS, is_share=False),
            _render_headline("Made up", header.hallucination, best=1, is_share=True),
            class_="headlines",
        ),
        _render_facts(header),
        class_="masthead",
    )


def render_noscript(report: RunReport) -> Markup:
    """What a reader without scripts is told in place of grids, charts and the table."""
    rows = [_render_checkpoint(*each) for each in _list_checkpoints(report)]
    head = make_element(
        "tr", *(make_element("th", name) for name in ("checkpoint", "score", "made up"))
    )
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


def _render_headline(label: str, found: Estimate | None, *, best: float, is_share: bool) -> Markup:
    if found is None:
        return make_element(
            "div",
            make_element("h2", label),
            make_element("p", "–", class_="figure"),
            make_element("p", "Nothing was judged.", class_="basis"),
            class_="headline",
        )
    digits, unit, scale = (1, " %", 100) if is_share else (2, f" of {best:g}", 1)
    ends = "no interval"
    if found.low is not None and found.high is not None:
        ends = f"{found.low * scale:.{digits}f} to {found.high * scale:.{digits}f}"
        ends = f"{ends} at {found.level:.0%}".replace("%", " %")
    return make_element(
        "div",
        make_element("h2", label),
        make_element(
            "p",
            f"{found.value * scale:.{digits}f}",
            make_element("small", unit),
            class_="figure",
        ),
        _render_bar(found, best),
        make_element("p", make_element("b", ends), " · ", format_basis(found), class_="basis"),
        make_element("p", _describe_doubt(found), class_="basis quiet"),
        class_="headline",
    )


def _describe_doubt(found: Estimate) -> str:
    words = _METHOD_NOTES[found.method]
    if found.is_small and found.method is not IntervalMethod.NONE:
        words += " With so few questions it is itself in doubt."
    return words


def _render_bar(found: Estimate, best: float) -> Markup:
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    left, width = 100 * low / best, 100 * (high - low) / best
    return make_element(
        "div",
        make_element("i", style=f"left:{left:.2f}%;width:{width:.2f}%"),
        make_element("b", style=f"left:{100 * found.value / best:.2f}%"),
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


def _list_checkpoints(report: RunReport) -> Iterator[tuple[str, HeatmapCell, HeatmapCell]]:
    for heatmap in report.heatmaps[:1]:
        labels = (each.label for each in heatmap.columns)
        yield from zip(labels, heatmap.overall, heatmap.hallucination, strict=True)


def _render_checkpoint(label: str, overall: HeatmapCell, invented: HeatmapCell) -> Markup:
    cells = (label, format_of_six(overall.mean), format_share(invented.mean))
    return make_element("tr", *(make_element("td", cell) for cell in cells))
