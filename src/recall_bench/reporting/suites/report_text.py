"""The report of a behaviour suite as text."""

from collections.abc import Iterator

from recall_bench.core.plain_text import format_quantity, make_table, render_text
from recall_bench.reporting.formats import (
    format_card,
    format_delta,
    format_interval,
    format_number,
    format_percent,
    format_range,
)
from recall_bench.reporting.suites.figures import BehaviourReport, Figure

NOT_OFFERED = "not offered"
_LONG_S = 10.0
"""Longer times are printed in seconds."""


def render_behaviour(report: BehaviourReport, *, is_verbose: bool = False) -> str:
    """Render the headline figures, or all of them."""
    system = format_card(report.system)
    stories = format_quantity(report.stories, "story", "stories")
    lines = [f"{report.suite}: {system}, {stories}, seed {report.seed}", ""]
    figures = [figure for figure in report.figures if is_verbose or is_shown(figure)]
    rows = [
        (
            figure.label,
            format_figure(figure),
            format_ends(figure).strip("()"),
            "" if figure.estimate is None else f"{figure.estimate.trials:,}",
            _format_bounds(figure),
        )
        for figure in figures
    ]
    lines += render_text(make_table(("", "value", "95 % interval", "n", "best … worst"), rows))
    lines += ["", *_list_notes(report, figures)]
    return "\n".join(lines).rstrip()


def is_shown(figure: Figure) -> bool:
    """Whether a figure belongs in the short report."""
    return figure.is_headline or "/" not in figure.name


def format_figure(figure: Figure) -> str:
    """Format the value of a figure; in words where there is none."""
    if not figure.is_offered:
        return NOT_OFFERED
    if figure.estimate is None:
        return "–"
    value = figure.estimate.value
    match figure.unit:
        case "s":
            return f"{1000 * value:,.1f} ms" if value < _LONG_S else f"{value:,.1f} s"
        case "share":
            return format_percent(value)
        case unit:
            return f"{value:,.1f} {unit}"


def format_change(figure: Figure, change: float) -> str:
    """Format a difference between two values of a figure."""
    match figure.unit:
        case "s":
            return f"{format_delta(1000 * change, 1)} ms"
        case "share":
            return format_delta(100 * change, 1)
        case unit:
            return f"{format_delta(change, 1)} {unit}"


def format_ends(figure: Figure) -> str:
    """Format the interval of a figure; empty if it has none."""
    if figure.estimate is None or figure.estimate.interval is None:
        return ""
    scale = 100 if figure.unit == "share" else 1
    if figure.unit == "s" and figure.estimate.value < _LONG_S:
        scale = 1000
    if figure.is_difference:
        return f"({format_interval(figure.estimate, 1, scale)})"
    return f"({format_range(figure.estimate, scale=scale)})"


def _format_bounds(figure: Figure) -> str:
    if figure.best is None or figure.worst is None:
        return ""
    best, worst = (format_number(100 * end, 0) for end in (figure.best, figure.worst))
    return f"{best} … {worst} %"


def _list_notes(report: BehaviourReport, shown: list[Figure]) -> Iterator[str]:
    by_note: dict[str, list[str]] = {}
    for figure in shown:
        if figure.note:
            by_note.setdefault(figure.note, []).append(figure.label)
    for note, labels in by_note.items():
        more = f", and {len(labels) - 1} more" if len(labels) > 1 else ""
        yield f"{labels[0]}{more}: {note}"
    if report.not_answered:
        yield f"{report.not_answered:,} of {report.trials:,} questions were not answered"
    if report.not_offered:
        yield f"not offered by this system: {', '.join(report.not_offered)}"
    if not report.is_finished:
        yield "the run is not finished; run the same command again to continue"
