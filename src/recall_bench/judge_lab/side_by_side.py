"""Audits of several judges on the same answers, one column a judge."""

from collections.abc import Iterator, Sequence

from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.errors import UsageError
from recall_bench.judge_lab.audit.report import (
    MUST_FAIL,
    MUST_PASS,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.judge_lab.correction import format_judge
from recall_bench.judge_lab.tables import NO_VALUE, format_usage

_COLUMNS_HEAD = f"passed, correctness ≥{PASS['correctness']}, in %"
_COLUMNS_LABEL = 35
_MIN_COLUMN = 14
_MAX_NAME = 24


def render_audits(reports: Sequence[AuditReport]) -> str:
    """The correctness each judge passes by class, then every judge's error rates by mark."""
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits are of different answers, so they do not compare")
    names = [_shorten_name(format_judge(report.judge)) for report in reports]
    cell = max(_MIN_COLUMN, *(len(name) + 2 for name in names))
    first = reports[0]
    title = f"Audit of {len(reports)} judges"
    lines = [
        title,
        "═" * len(title),
        f"{first.n:,} answers about {', '.join(first.scenarios)}",
        *(_render_remark(report) for report in reports if _render_remark(report)),
        "",
        f"{_COLUMNS_HEAD:{_COLUMNS_LABEL}}{'n':>6}" + "".join(f"{name:>{cell}}" for name in names),
        *_render_class_columns(reports, cell),
        "",
        *_render_rate_columns(reports, cell),
        "",
        f"▼ under {MUST_PASS:.0%} of what is right; ▲ {MUST_FAIL:.0%} or more of what is wrong.",
    ]
    return "\n".join(lines)


def _render_remark(report: AuditReport) -> str:
    parts = []
    if report.not_judged:
        parts.append(f"{report.not_judged:,} not judged")
    if report.usage != Usage():
        parts.append(format_usage(report.usage))
    return f"{format_judge(report.judge)}: {', '.join(parts)}" if parts else ""


def _render_class_columns(reports: Sequence[AuditReport], cell: int) -> Iterator[str]:
    rule = "─" * (_COLUMNS_LABEL + 6 + cell * len(reports))
    was_right: bool | None = None
    for name, part in reports[0].classes.items():
        columns = [report.classes[name].marks["correctness"] for report in reports]
        is_right = any(column.sensitivity is not None for column in columns)
        if is_right != was_right:
            yield rule
            was_right = is_right
        cells = "".join(f"{_format_column_cell(column):>{cell}}" for column in columns)
        yield f"{name:{_COLUMNS_LABEL}}{part.n:>6,}{cells}"
    yield rule


def _format_column_cell(figures: MarkFigures) -> str:
    if figures.sensitivity is not None:
        missed = "▼" if figures.sensitivity.rate < MUST_PASS else " "
        return f"{_format_column_percent(figures.sensitivity)} {missed}"
    if figures.leniency is not None:
        missed = "▲" if figures.leniency.rate >= MUST_FAIL else " "
        return f"{_format_column_percent(figures.leniency)} {missed}"
    return f"{NO_VALUE}  "


def _render_rate_columns(reports: Sequence[AuditReport], cell: int) -> Iterator[str]:
    for mark in SCALES:
        parts = [report.marks[mark] for report in reports]
        rows = {
            "sensitivity": [part.sensitivity for part in parts],
            "specificity": [part.specificity for part in parts],
        }
        for name, shares in rows.items():
            if any(share is not None for share in shares):
                cells = "".join(
                    f"{_format_column_percent(share)}  ".rjust(cell) for share in shares
                )
                yield f"{f'{mark}, {name}':{_COLUMNS_LABEL + 6}}{cells}".rstrip()


def _format_column_percent(share: AuditShare | None) -> str:
    if share is None:
        return NO_VALUE
    if share.rate in {0.0, 1.0}:
        return f"{100 * share.rate:.0f}"
    return f"{min(max(100 * share.rate, 0.1), 99.9):.1f}"


def _shorten_name(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
