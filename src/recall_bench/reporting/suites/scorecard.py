"""The scorecard: recall and the behaviour suites of one or several systems on one page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.feature import list_offers, require_part
from recall_bench.core.folders import refuse_other_files
from recall_bench.core.plain_text import make_table, render_text
from recall_bench.core.record import ComputedRecord
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import format_card, format_number
from recall_bench.reporting.pages.document import PageAssets, list_page_assets, render_document
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.suites.figures import BehaviourReport, Figure
from recall_bench.reporting.suites.report_text import format_ends, format_figure
from recall_bench.reporting.suites.suite_report import build_behaviour_report

PAGE, FIGURES = "scorecard.html", "scorecard.json"
RECALL = "recall"
NOT_MEASURED = "–"
_ASSETS = PageAssets(styles=(*list_page_assets("base"), (__package__, "scorecard")), scripts=())


class Scorecard(ComputedRecord, frozen=True, kw_only=True):
    """The reports of several systems, by suite."""

    systems: tuple[str, ...]
    reports: dict[str, dict[str, BehaviourReport]]
    """By suite and system."""
    recall: dict[str, Figure]
    """By system, the score of a run over personas as a share of full marks."""

    def list_rows(self, *, is_verbose: bool = False) -> Iterator[tuple[str, str, str]]:
        """Yield suite, name and label of each figure that a system has."""
        if self.recall:
            yield RECALL, "score", "score of full marks"
        for suite, by_system in self.reports.items():
            labels: dict[str, str] = {}
            for report in by_system.values():
                for figure in report.figures:
                    if is_verbose or figure.is_headline or _tells_knowledge(figure):
                        labels.setdefault(figure.name, figure.label)
            yield from ((suite, name, label) for name, label in labels.items())

    def find(self, suite: str, name: str, system: str) -> Figure | None:
        """Return a figure of a system; None if it was not measured."""
        if suite == RECALL:
            return self.recall.get(system)
        report = self.reports[suite].get(system)
        return None if report is None else report.get_figure(name)


def _tells_knowledge(figure: Figure) -> bool:
    """Whether it says how much was known at all, beside which the others are read."""
    return figure.name == RECALL or figure.name.startswith("known")


def build_scorecard(folders: Sequence[RunFolder], names: Sequence[str] | None = None) -> Scorecard:
    """Collect the figures of several runs; UsageError if one system has two runs of one kind.

    `names` are those of the systems, one for each run, unless they go by their own.
    """
    reports: dict[str, dict[str, BehaviourReport]] = {}
    recall: dict[str, Figure] = {}
    systems: dict[str, None] = {}
    called = names or [format_card(folder.plan.system) for folder in folders]
    for folder, system in zip(folders, called, strict=True):
        systems[system] = None
        kind = RECALL if folder.plan.behaviour is None else folder.plan.behaviour.suite
        if system in (recall if kind == RECALL else reports.get(kind, {})):
            raise UsageError(f"{folder.path}: a run of {kind} by {system} is named twice")
        if kind == RECALL:
            recall[system] = _measure_recall(folder)
        else:
            reports.setdefault(kind, {})[system] = build_behaviour_report(folder)
    ordered = {suite: reports[suite] for suite in list_offers("figures") if suite in reports}
    return Scorecard(systems=tuple(systems), reports=ordered, recall=recall)


def _measure_recall(folder: RunFolder) -> Figure:
    overall = RunEstimates.get(folder).estimate_overall()
    label = "score of full marks"
    if overall is None:
        return Figure(name="score", label=label, note="no answer was judged")
    return Figure(name="score", label=label, estimate=_scale(overall), best=1.0, worst=0.0)


def _scale(found: Estimate) -> Estimate:
    return found.replace(
        value=found.value / FULL_MARKS,
        low=None if found.low is None else found.low / FULL_MARKS,
        high=None if found.high is None else found.high / FULL_MARKS,
    )


def render_scorecard(card: Scorecard, *, is_verbose: bool = False) -> str:
    """Render the scorecard as a table of text."""
    rows = [
        (
            f"{suite}: {label}",
            *(format_cell(card.find(suite, name, system)) for system in card.systems),
        )
        for suite, name, label in card.list_rows(is_verbose=is_verbose)
    ]
    return "\n".join(render_text(make_table(("", *card.systems), rows)))


def format_cell(figure: Figure | None) -> str:
    """Format a figure with its interval; a dash if it was not measured."""
    if figure is None:
        return NOT_MEASURED
    return f"{format_figure(figure)} {format_ends(figure)}".strip()


def write_scorecard(
    card: Scorecard, into: Path, *, stories: RunFolder | None = None
) -> tuple[Path, ...]:
    """Write the scorecard as a page and as JSON; with the events of the stories of one run."""
    refuse_other_files(into, (PAGE, FIGURES))
    write_scorecard_page(into / PAGE, card, stories=stories, links=(("Figures as JSON", FIGURES),))
    replace_file(into / FIGURES, msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
    return into / PAGE, into / FIGURES


def write_scorecard_page(
    output: Path,
    card: Scorecard,
    *,
    stories: RunFolder | None = None,
    links: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page alone."""
    title = "Scorecard" if stories is None else f"{next(iter(card.reports))}: {card.systems[0]}"
    body = _render_body(card, title, stories, links)
    pieces = render_document(title, body, first=Markup(""), rest=(), assets=_ASSETS)
    replace_file(output, "".join(pieces).encode())


def _render_body(
    card: Scorecard, title: str, stories: RunFolder | None, links: Sequence[tuple[str, str]]
) -> Markup:
    rows = list(card.list_rows(is_verbose=True))
    suites = dict.fromkeys(suite for suite, _, _ in rows)
    headlines = {(suite, name) for suite, name, _ in card.list_rows()}
    sections = [
        _render_suite(card, suite, [row for row in rows if row[0] == suite], headlines)
        for suite in suites
    ]
    return join_markup(
        make_element(
            "header",
            make_element("p", "Recall Bench", class_="kicker"),
            make_element("h1", title, class_="untrusted-text"),
            make_element(
                "p",
                *(make_element("a", words, href=address) for words, address in links),
                class_="links",
            ),
            class_="masthead",
        ),
        make_element(
            "main",
            _render_key(),
            *sections,
            *([] if stories is None else [require_part("suites.stories", "a scorecard")(stories)]),
        ),
    )


def _render_key() -> Markup:
    return make_element(
        "p",
        "In brackets the 95 % interval. On each line from 0 to 100 % the mark is the value and the "
        "band its interval; green is within 2 points of the best possible value, amber within 25. "
        "Bold rows are the main figures.",
        class_="quiet key",
    )


def _render_suite(
    card: Scorecard,
    suite: str,
    rows: Sequence[tuple[str, str, str]],
    headlines: set[tuple[str, str]],
) -> Markup:
    head = make_element(
        "tr",
        make_element("th", "", scope="col"),
        *(
            make_element("th", system, scope="col", class_="untrusted-text")
            for system in card.systems
        ),
    )
    body = []
    for _, name, label in rows:
        cells = [_render_cell(card.find(suite, name, system), system) for system in card.systems]
        kind = "headline" if (suite, name) in headlines else None
        body.append(make_element("tr", make_element("th", label, scope="row"), *cells, class_=kind))
    table = make_element(
        "table", make_element("thead", head), make_element("tbody", *body), class_="scorecard"
    )
    return make_element("section", make_element("h2", suite), table)


def _render_cell(figure: Figure | None, system: str) -> Markup:
    if figure is None:
        return make_element("td", NOT_MEASURED, class_="none", data_name=system)
    is_open = bool(figure.note) and figure.estimate is None
    value = make_element("b", format_figure(figure))
    ends = make_element("small", f" {format_ends(figure)}", class_="quiet")
    return make_element(
        "td",
        value,
        ends,
        _render_track(figure),
        *([make_element("small", figure.note, class_="quiet reason")] if is_open else []),
        class_=_grade(figure),
        data_name=system,
        title=figure.note or None,
    )


def _render_track(figure: Figure) -> Markup:
    """The value and its interval on a line from 0 to 100 %."""
    estimate = figure.estimate
    if estimate is None or figure.unit != "share" or figure.best is None:
        return Markup("")
    low, high = (
        (estimate.low, estimate.high) if estimate.interval else (estimate.value, estimate.value)
    )
    left, right = max(0.0, low or 0.0), min(1.0, high or 0.0)
    start, width = format_number(100 * left, 1), format_number(100 * max(0.0, right - left), 1)
    band = f"left:{start}%;width:{width}%"
    dot = f"left:{format_number(100 * min(1.0, max(0.0, estimate.value)), 1)}%"
    return make_element(
        "span",
        make_element("span", class_="band", style=band),
        make_element("span", class_="dot", style=dot),
        class_="track",
        role="img",
        aria_label=f"{format_figure(figure)} {format_ends(figure)}",
    )


def _grade(figure: Figure) -> str:
    """How far a value is from the best one, as a class of the style sheet."""
    if not figure.is_offered:
        return "none"
    if figure.estimate is None or figure.best is None or figure.unit != "share":
        return "plain"
    distance = abs(figure.estimate.value - figure.best)
    return "good" if distance <= 0.02 else "fair" if distance <= 0.25 else "poor"
