"""The head of the page: what was run, how it did, and what to know before believing it."""

from collections.abc import Iterator

from recall_bench.analysis.report.figures import basis, of_six, share
from recall_bench.analysis.report.views import Header, Report
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.pages.markup import Markup, element, sentence
from recall_bench.reporting.estimates import Cell
from recall_bench.reporting.summary import Status
from recall_bench.statistics.estimate import Estimate, Method

_SPOKEN = {
    Method.QUESTIONS: "The interval speaks of other questions to the same personas.",
    Method.PERSONAS: "The interval speaks of other personas.",
    Method.AGREEMENT: (
        "Every question came to the same; the interval allows for others that would not have."
    ),
    Method.NONE: "There are too few questions for an interval.",
}


def header_of(report: Report) -> Markup:
    """Title, notices, the two headline figures, and the facts."""
    header = report.header
    return element(
        "header",
        element("p", "Recall Bench report", class_="kicker"),
        element("h1", header.system),
        element(
            "p", "judged by ", element("span", header.judge, class_="foreign"), class_="byline"
        ),
        *_notices(header),
        element(
            "div",
            _headline("Score", header.overall, best=FULL_MARKS, is_share=False),
            _headline("Made up", header.hallucination, best=1, is_share=True),
            class_="headlines",
        ),
        _facts(header),
        class_="masthead",
    )


def without_script(report: Report) -> Markup:
    """What a reader without scripts is told in place of grids, charts and the table."""
    rows = [_words_of(*each) for each in _by_checkpoint(report)]
    head = element("tr", *(element("th", name) for name in ("checkpoint", "score", "made up")))
    return element(
        "noscript",
        element(
            "div",
            element(
                "p",
                "Heatmaps, charts and the table of questions need JavaScript; nothing is loaded "
                "from anywhere. In short:",
            ),
            element("table", element("thead", head), element("tbody", *rows)),
            class_="notice",
        ),
    )


def _notices(header: Header) -> Iterator[Markup]:
    if header.is_stub:
        yield _notice(
            "STUB", "The judge was the stub, which grades nothing: these scores mean nothing."
        )
    if header.status is not Status.VALID:
        yield _notice(header.status.value.upper(), sentence(header.reason))
    for notice in header.notices:
        yield _notice("Notice", notice, is_loud=False)


def _notice(label: str, text: str, *, is_loud: bool = True) -> Markup:
    return element(
        "p",
        element("strong", label),
        " ",
        element("span", text),
        class_="notice loud" if is_loud else "notice",
        role="alert" if is_loud else "note",
    )


def _headline(label: str, found: Estimate | None, *, best: float, is_share: bool) -> Markup:
    if found is None:
        return element(
            "div",
            element("h2", label),
            element("p", "–", class_="figure"),
            element("p", "Nothing was judged.", class_="basis"),
            class_="headline",
        )
    digits, unit, scale = (1, " %", 100) if is_share else (2, f" of {best:g}", 1)
    ends = "no interval"
    if found.low is not None and found.high is not None:
        ends = f"{found.low * scale:.{digits}f} to {found.high * scale:.{digits}f}"
        ends = f"{ends} at {found.level:.0%}".replace("%", " %")
    return element(
        "div",
        element("h2", label),
        element(
            "p",
            f"{found.value * scale:.{digits}f}",
            element("small", unit),
            class_="figure",
        ),
        _bar(found, best),
        element("p", element("b", ends), " · ", basis(found), class_="basis"),
        element("p", _doubt(found), class_="basis quiet"),
        class_="headline",
    )


def _doubt(found: Estimate) -> str:
    words = _SPOKEN[found.method]
    if found.is_small and found.method is not Method.NONE:
        words += " With so few questions it is itself in doubt."
    return words


def _bar(found: Estimate, best: float) -> Markup:
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    left, width = 100 * low / best, 100 * (high - low) / best
    return element(
        "div",
        element("i", style=f"left:{left:.2f}%;width:{width:.2f}%"),
        element("b", style=f"left:{100 * found.value / best:.2f}%"),
        class_="interval",
        aria_hidden="true",
    )


def _facts(header: Header) -> Markup:
    pairs = (
        element("div", element("dt", label), element("dd", text)) for label, text in header.facts
    )
    return element(
        "details",
        element("summary", "How it was run"),
        element("dl", *pairs, class_="facts"),
    )


def _by_checkpoint(report: Report) -> Iterator[tuple[str, Cell, Cell]]:
    for heatmap in report.heatmaps[:1]:
        labels = (each.label for each in heatmap.columns)
        yield from zip(labels, heatmap.overall, heatmap.hallucination, strict=True)


def _words_of(label: str, overall: Cell, invented: Cell) -> Markup:
    cells = (label, of_six(overall.mean), share(invented.mean))
    return element("tr", *(element("td", cell) for cell in cells))
