"""A report for people, in a hundred columns: each section says what it found, then shows it."""

from collections.abc import Iterable

from recall_bench.analysis.canaries.text import render_canaries as canary_text
from recall_bench.analysis.report.attribution_text import render_failures
from recall_bench.analysis.report.cost_text import render_costs
from recall_bench.analysis.report.degradation_text import render_degradation
from recall_bench.analysis.report.figures import (
    SMALL_MARK,
    format_basis,
    format_of_six,
    format_share,
)
from recall_bench.analysis.report.hallucination_text import render_hallucination
from recall_bench.analysis.report.views import ReportHeader, RunReport
from recall_bench.reporting.lines import format_fact, format_heading, wrap_text
from recall_bench.reporting.summary import RunStatus
from recall_bench.reporting.text import STUB_WARNING
from recall_bench.statistics.estimate import FEW_QUESTIONS

_MAX_CANARIES = 8


def render_report(report: RunReport) -> str:
    """The whole report but for its heatmaps, which `run` prints."""
    lines = [
        *format_heading(f"Recall Bench · report on {report.header.system}", rule="═"),
        "",
        *_render_header(report.header),
    ]
    lines += _render_section("Hallucination", render_hallucination(report.hallucination))
    lines += _render_section("Degradation", render_degradation(report.degradation))
    lines += _render_section("Failures", render_failures(report.attribution))
    lines += _render_section("Cost", render_costs(report.costs, report.paretos))
    lines += _render_section(
        "Canaries", canary_text(report.canaries, most=_MAX_CANARIES).split("\n")
    )
    lines += ["", *_render_notes(report)]
    return "\n".join(lines)


def _render_header(header: ReportHeader) -> list[str]:
    lines = [STUB_WARNING] if header.is_stub else []
    if header.status is not RunStatus.VALID:
        lines += format_fact("Status", f"{header.status.value.upper()} ({header.reason})")
    if header.overall is not None:
        lines += format_fact(
            "Score", f"{format_of_six(header.overall)} · {format_basis(header.overall)}"
        )
    lines += format_fact("Made up", f"{format_share(header.hallucination)} of judged answers")
    lines += format_fact("Judge", header.judge)
    for notice in header.notices:
        lines += format_fact("Notice", notice)
    return lines


def _render_section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", *format_heading(title), *lines]


def _render_notes(report: RunReport) -> list[str]:
    return wrap_text(
        "n: different questions; each is one piece of evidence, however often it was put. In "
        f"brackets: 95 % intervals, by drawing questions again, or personas where there are five "
        f"or more (seed {report.seed}). {SMALL_MARK}: fewer than {FEW_QUESTIONS} questions; the "
        "interval holds less often than it says."
    )
