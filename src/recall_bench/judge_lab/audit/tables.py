"""An audit as text for people: one screen of classes, then the verdicts to look into."""

import textwrap
from collections.abc import Iterator, Sequence

from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judge_lab.audit.report import (
    MUST_FAIL,
    MUST_PASS,
    AuditExample,
    AuditReport,
    AuditShare,
    MarkFigures,
)

_NOTHING = "–"

_AUDIT_LABEL = 35
_AUDIT_CELL = 21
_AUDIT_WIDTH = 104
_INDENT = 12
_MAX_EXAMPLE = 420


def render_audit(report: AuditReport, *, examples: int = 12) -> str:
    """The classes with their pass rates, the rates over all of them, and the worst verdicts."""
    lines = [
        *_render_audit_heading(report),
        "",
        *_render_audit_classes(report),
        "",
        *_render_audit_rates(report),
        "",
        *_render_audit_notes(report),
    ]
    if report.worst and examples:
        lines += ["", *_render_examples(report.worst, examples)]
    return "\n".join(lines)


def _render_audit_heading(report: AuditReport) -> Iterator[str]:
    title = f"Audit of {report.judge.name} {report.judge.version}"
    if report.judge.model:
        title += f" ({report.judge.model})"
    yield _remove_controls(title)
    yield "═" * len(title)
    judged = "all judged" if not report.not_judged else f"{report.not_judged:,} not judged"
    if report.faults:
        judged += f" ({', '.join(f'{kind} {count}' for kind, count in report.faults.items())})"
    yield _remove_controls(f"{report.n:,} answers about {', '.join(report.scenarios)}; {judged}")
    if report.usage != Usage():
        usage = report.usage
        yield (
            f"{usage.calls:,} calls, {usage.input_tokens:,} tokens in, "
            f"{usage.output_tokens:,} out, {usage.cost_usd:.4f} USD"
        )


def _render_audit_classes(report: AuditReport) -> Iterator[str]:
    heads = "".join(f"{f'{mark} ≥{PASS[mark]}':>{_AUDIT_CELL}}" for mark in SCALES)
    yield f"{'passed, with 95 % interval':{_AUDIT_LABEL}}{'n':>6}{heads}"
    rule = "─" * (_AUDIT_LABEL + 6 + _AUDIT_CELL * len(SCALES))
    was_right: bool | None = None
    for name, part in report.classes.items():
        is_right = part.marks["correctness"].sensitivity is not None
        if is_right != was_right:
            yield rule
            was_right = is_right
        judged = part.n - part.not_judged
        cells = "".join(f"{_format_audit_cell(part.marks[mark]):>{_AUDIT_CELL}}" for mark in SCALES)
        yield f"{name:{_AUDIT_LABEL}}{judged:>6,}{cells}"
    yield rule


def _format_audit_cell(figures: MarkFigures) -> str:
    """The pass rate where it has a target, with a mark beside it where the target is missed."""
    target = figures.sensitivity or figures.leniency
    if target is None:
        return _NOTHING + "  "
    if figures.sensitivity is not None:
        missed = " ▼" if target.rate < MUST_PASS else "  "
    else:
        missed = " ▲" if target.rate >= MUST_FAIL and target.count else "  "
    return _format_audit_share(target) + missed


def _render_audit_rates(report: AuditReport) -> Iterator[str]:
    for name, words in (
        ("sensitivity", "passes what must pass"),
        ("specificity", "fails what must fail"),
        ("leniency", "passes what must fail"),
    ):
        shares: list[AuditShare | None] = [getattr(report.marks[mark], name) for mark in SCALES]
        counts = "".join(
            f"{_NOTHING if share is None else _format_audit_share(share):>{_AUDIT_CELL - 2}}  "
            for share in shares
        )
        yield f"{f'{name}: {words}':{_AUDIT_LABEL + 6}}{counts}".rstrip()


def _render_audit_notes(report: AuditReport) -> Iterator[str]:
    yield (
        f"▼ passes under {MUST_PASS:.0%} of what is right; ▲ passes {MUST_FAIL:.0%} or more of "
        f"what is wrong; {_NOTHING} readers may differ."
    )
    if report.missing:
        yield f"These scenarios support no answers of: {', '.join(report.missing)}."


def _render_examples(worst: Sequence[AuditExample], count: int) -> Iterator[str]:
    """One of each class first, then second ones."""
    by_class: dict[str, list[AuditExample]] = {}
    for example in worst:
        by_class.setdefault(example.kind, []).append(example)
    turns = max(len(group) for group in by_class.values())
    chosen = [group[i] for i in range(turns) for group in by_class.values() if i < len(group)]
    yield f"{min(count, len(chosen))} of the verdicts to look into"
    for example in chosen[:count]:
        yield ""
        yield from _render_example(example)


def _render_example(example: AuditExample) -> Iterator[str]:
    marks = ", ".join(
        f"{mark} {example.marks[mark]} of {SCALES[mark]}, must "
        f"{'pass' if example.labels[mark] else 'fail'}"
        for mark in example.wrong
    )
    yield _remove_controls(
        f"{example.id} · {_shorten_text(example.recipe, _AUDIT_WIDTH - len(example.id) - 3)}"
    )
    for label, words in (
        ("question", example.question),
        ("reference", example.reference),
        ("answer", example.answer or "(empty)"),
        ("marks", marks),
        ("reason", example.reason or _NOTHING),
    ):
        yield from textwrap.wrap(
            _shorten_text(_remove_controls(words), _MAX_EXAMPLE),
            width=_AUDIT_WIDTH,
            initial_indent=f"  {label:{_INDENT - 2}}",
            subsequent_indent=" " * _INDENT,
            break_on_hyphens=False,
        )


def _format_audit_share(share: AuditShare) -> str:
    return f"{_format_audit_percent(share.rate)} [{_format_audit_percent(share.low)}, {_format_audit_percent(share.high)}]"


def _format_audit_percent(rate: float) -> str:
    """`0`, `99.7`, `100`: as exact as the room allows, and never rounded to a certainty."""
    if rate in {0.0, 1.0}:
        return f"{100 * rate:.0f}"
    return f"{min(max(100 * rate, 0.1), 99.9):.1f}"


def _shorten_text(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _remove_controls(words: str) -> str:
    """Answers come from elsewhere: nothing in them may steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)
