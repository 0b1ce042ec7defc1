"""A report as text, in a hundred columns."""

from recall_bench.core.plain_text import format_fact, format_heading, wrap_text
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.formats import SMALL_MARK, format_basis
from recall_bench.reporting.headlines import (
    NO_BOUNDS,
    describe_headline,
    describe_scale,
)
from recall_bench.reporting.report_sections import build_sections
from recall_bench.reporting.run_report import RunReport
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.sections import render_parts


def render_report(report: RunReport) -> str:
    """The whole report but for its heatmaps, which `run` prints."""
    title = f"Recall Bench · report on {report.header.system}"
    lines = [*format_heading(title, rule="═"), "", *_render_header(report)]
    for section in build_sections(report):
        lines += ["", *format_heading(section.title), *render_parts(section.parts)]
    lines += [
        "",
        *wrap_text(
            "n: different questions; each is one piece of evidence, however often it was asked. In "
            f"brackets: 95 % intervals, bootstrap over questions, or over {report.unit}s if there "
            f"are five or more (seed {report.seed}). {SMALL_MARK}: fewer than {FEW_QUESTIONS} "
            "questions; the interval is unreliable."
        ),
    ]
    return "\n".join(lines)


def _render_header(report: RunReport) -> list[str]:
    header, score, corrected = report.header, report.score, report.header.corrected
    lines = [STUB_WARNING] if header.is_stub else []
    if header.status is not RunStatus.VALID:
        lines += format_fact("Status", f"{header.status.value.upper()} ({header.reason})")
    if header.overall is not None:
        headline = describe_headline(header.overall, header.bounds, header.invented, header.leaked)
        right = None if corrected is None else corrected.describe()
        named = [right, headline if score is None else f"{score.label} {headline}"]
        words = " · ".join(filter(None, (*named, format_basis(header.overall))))
        lines += format_fact("Result", words)
        if corrected is not None:
            if len(corrected.judges) > 1 or right is None:
                for judge in corrected.judges:
                    lines += format_fact("Corrected", f"{judge.name}: {judge}")
            for caution in corrected.cautions:
                lines += format_fact("Caution", caution)
        if score is not None:
            lines += format_fact("Score", describe_scale(score))
        elif header.bounds is None and not header.is_stub:
            lines += format_fact("Silence", NO_BOUNDS)
    lines += format_fact("Judge", header.judge)
    for notice in header.notices:
        lines += format_fact("Notice", notice)
    return lines
