"""A report as people read it."""

import textwrap
from collections.abc import Iterator
from itertools import groupby

from recall_bench.lint.catalogue import LINTS
from recall_bench.lint.figures import LintFigure
from recall_bench.lint.finding import LintFinding, Severity
from recall_bench.lint.report import LintReport

SHOWN = 5
"""Findings of one lint that are listed unless all are asked for."""

_WIDTH = 100


def render_lint_report(report: LintReport, *, everything: bool = False) -> str:
    """The counts of each lint, the figures, then the findings."""
    parts = [*_render_head(report), *_render_table(report)]
    if report.figures:
        parts += ["", *map(_render_figure, report.figures)]
    for code, group in groupby(report.findings, key=lambda finding: finding.code):
        parts += ["", *_render_findings(code, list(group), everything=everything)]
    return "\n".join(parts)


def _render_head(report: LintReport) -> Iterator[str]:
    size = f"{_format_count(report.days, 'day')}, {_format_count(report.questions, 'question')}"
    yield f"{report.persona}, {report.arcs}: {size}"
    counts = [_format_count(report.count(severity), severity) for severity in Severity]
    yield ", ".join(counts) if report.findings else "nothing found"


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _render_table(report: LintReport) -> Iterator[str]:
    if not report.findings:
        return
    severities = {finding.code: finding.severity for finding in report.findings}
    width = max(map(len, severities))
    yield ""
    for code, count in report.counts.items():
        yield f"  {severities[code]:<8} {code:<{width}} {count:>6,}"


def _render_figure(figure: LintFigure) -> str:
    value = f"{figure.value:.0%}" if figure.is_share else f"{figure.value:g}"
    return (
        f"  {value:>5} of {figure.of:,} {figure.meaning}"
        if figure.is_share
        else (f"  {value:>5} {figure.meaning} (of {figure.of:,})")
    )


def _render_findings(code: str, found: list[LintFinding], *, everything: bool) -> Iterator[str]:
    summary = next(lint.summary for lint in LINTS if lint.code == code)
    yield from textwrap.wrap(
        f"{code} ({found[0].severity}): {summary}", _WIDTH, subsequent_indent="  "
    )
    shown = found if everything else found[:SHOWN]
    for finding in shown:
        yield f"  {finding.where}"
        yield from textwrap.wrap(
            finding.message, _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
    if len(shown) < len(found):
        yield f"  and {len(found) - len(shown):,} more; --all lists them"
