"""Text tables of the judge lab: agreement, correction and audits, at most 104 columns wide."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import clean_text
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judging.lab.audit.audit import (
    MAX_LENIENCY,
    MIN_SENSITIVITY,
    AuditExample,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.judging.lab.correction import MarkCorrection, RunCorrection, format_judge
from recall_bench.judging.lab.judge_agreement import Agreement
from recall_bench.metrics.agreement import MarkAgreement

NO_VALUE = "–"

_AGREEMENT_LABEL = 26
_AGREEMENT_FIGURES = {
    "auc": "AUC",
    "kappa": "kappa",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}


def render_agreement(found: Agreement) -> str:
    """The three marks with intervals, then the categories."""
    return "\n".join(
        [
            *_render_agreement_heading(found),
            "",
            *render_marks(found.marks),
            "",
            *render_categories(found.categories),
            *_render_agreement_notes(found),
        ]
    )


def _render_agreement_heading(found: Agreement) -> Iterator[str]:
    title = f"Agreement of {format_judge(found.judge)} with labelled verdicts"
    yield title
    yield "═" * len(title)
    counts = found.counts
    judged = "all judged" if not found.not_judged else f"{found.not_judged:,} not judged"
    if found.faults:
        judged += f" ({', '.join(f'{kind} {count}' for kind, count in found.faults.items())})"
    evidence = "no corpus" if found.corpus is None else f"corpus {found.corpus[:8]}"
    answers = _format_count(counts.answers, "answer")
    questions = _format_count(counts.questions, "question")
    yield f"{answers} to {questions}, {judged}; {evidence}"
    if found.usage != Usage():
        yield format_usage(found.usage)


def render_marks(marks: Mapping[str, MarkAgreement]) -> Iterator[str]:
    """A line for each mark with its figures, and one with its further figures."""
    yield f"{'':15}{'passes':>13}" + "".join(f"{name:>18}" for name in _AGREEMENT_FIGURES.values())
    yield f"{'':15}{'label  judge':>13}" + f"{'95 % interval':>18}" * len(_AGREEMENT_FIGURES)
    for mark, part in marks.items():
        passes = (
            f"{_format_percent(part.positives, part.n)}{_format_percent(part.passed, part.n):>7}"
        )
        cells = (_format_with_interval(part, figure) for figure in _AGREEMENT_FIGURES)
        label = f"{mark} ≥{PASS[mark]}"
        yield f"{label:15}{passes:>13}" + "".join(f"{cell:>18}" for cell in cells)
    yield ""
    yield f"{'':15}{'accuracy':>13}{'kappa of scale':>18}{'Brier':>18}"
    for mark, part in marks.items():
        yield (
            f"{mark:15}{_format_figure(part.accuracy):>13}{_format_figure(part.kappa_weighted):>18}"
            f"{_format_figure(part.brier):>18}"
        )


def render_categories(categories: Mapping[str, Mapping[str, MarkAgreement]]) -> Iterator[str]:
    """A line for each category."""
    heads = "".join(f"{mark:>18}" for mark in SCALES)
    yield f"{'':{_AGREEMENT_LABEL}}{'answers':>8}{'quest.':>8}{heads}"
    yield f"{'':{_AGREEMENT_LABEL}}{'':16}" + f"{'AUC   kappa':>18}" * len(SCALES)
    for category, marks in categories.items():
        any_mark = marks["correctness"]
        cells = "".join(
            f"{_format_figure(marks[mark].auc):>11}{_format_figure(marks[mark].kappa, 2):>7}"
            for mark in SCALES
        )
        label = _shorten_text(category, _AGREEMENT_LABEL - 1)
        yield f"{label:{_AGREEMENT_LABEL}}{any_mark.n:>8,}{any_mark.questions:>8,}{cells}"


def _render_agreement_notes(found: Agreement) -> Iterator[str]:
    by_marks = [mark for mark, part in found.marks.items() if part.scored_by == "marks"]
    yield ""
    if by_marks:
        yield f"AUC of {_join_names(by_marks)} ranks by points: the judge gives no probabilities."
    if found.counts.learned_from:
        yield (
            f"The judge was trained on {found.counts.learned_from:,} of these questions, so the "
            "figures flatter it; `judge-lab calibrate` tests it on held-out ones."
        )
    yield f"Intervals: questions drawn anew {found.resamples:,} times. {NO_VALUE} is undefined."


def render_correction(found: RunCorrection) -> str:
    """Pass rates as measured and as corrected."""
    title = f"Pass rates, corrected for the errors of {format_judge(found.judge)}"
    measured = "labelled verdicts" if found.source == "agreement" else "the audit set"
    counts = _format_count(found.trials, "trial")
    if found.not_answered:
        counts += f", {found.not_answered:,} not answered"
    lines = [
        title,
        "═" * len(title),
        f"{counts}; errors measured on {measured}",
        "",
        _render_correction_head(""),
        *(_render_correction_row(mark, part) for mark, part in found.marks.items()),
    ]
    sure = {
        f"{category}, {mark}": part
        for category, marks in found.categories.items()
        for mark, part in marks.items()
        if part.corrected is not None
    }
    lines += ["", *_render_corrected_categories(sure)]
    reasons = [
        f"{mark}: {part.reason}" for mark, part in found.marks.items() if part.reason is not None
    ]
    lines += [f"note: {caution}" for caution in (*reasons, *found.cautions)]
    return "\n".join(lines)


def _render_corrected_categories(sure: Mapping[str, MarkCorrection]) -> Iterator[str]:
    if not sure:
        yield "No category has error rates of its own that are sure enough to correct by."
        return
    yield _render_correction_head("by its own error rates")
    for label, part in sure.items():
        yield _render_correction_row(label, part)


def _render_correction_head(label: str) -> str:
    return f"{label:38}{'sens.':>7}{'spec.':>7}{'measured':>22}{'corrected':>24}"


def _render_correction_row(label: str, part: MarkCorrection) -> str:
    rates, rate = part.rates, part.corrected
    sensitivity = _format_figure(None if rates is None else rates.sensitivity.share, 2)
    specificity = _format_figure(None if rates is None else rates.specificity.share, 2)
    start = f"{_shorten_text(label, 37):38}{sensitivity:>7}{specificity:>7}"
    if rate is None:
        return f"{start}{NO_VALUE:>22}{NO_VALUE:>24}"
    return (
        f"{start}{_format_share(rate.observed, rate.observed_interval):>22}"
        f"{_format_share(rate.corrected, rate.interval):>24}"
    )


def format_usage(usage: Usage) -> str:
    """What calling a model cost, in one line."""
    parts = [
        _format_count(usage.calls, "call"),
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out",
    ]
    if usage.cost_usd or not usage.unpriced:
        parts.append(f"{usage.cost_usd:.4f} USD")
    if usage.unpriced:
        parts.append(f"{_format_count(usage.unpriced, 'call')} of unknown price")
    if usage.cached:
        parts.append(f"{_format_count(usage.cached, 'verdict')} on record")
    return ", ".join(parts)


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_share(rate: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{100 * rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _format_with_interval(part: MarkAgreement, figure: str) -> str:
    value: float | None = getattr(part, figure)
    interval = part.intervals.get(figure)
    if value is None or interval is None:
        return _format_figure(value)
    low, high = interval
    return f"{value:.3f} [{_format_short(low)},{_format_short(high)}]"


def _format_short(value: float) -> str:
    """`.84`: a share without its zero, so that an interval stays short."""
    return f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)


def _format_figure(value: float | None, digits: int = 3) -> str:
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def _format_percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else NO_VALUE


def _join_names(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


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
    yield clean_text(title)
    yield "═" * len(title)
    judged = "all judged" if not report.not_judged else f"{report.not_judged:,} not judged"
    if report.faults:
        judged += f" ({', '.join(f'{kind} {count}' for kind, count in report.faults.items())})"
    yield clean_text(f"{report.n:,} answers about {', '.join(report.scenarios)}; {judged}")
    if report.usage != Usage():
        yield format_usage(report.usage)


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


def _format_audit_cell(figures: MarkFigures, *, has_interval: bool = True) -> str:
    """The pass rate where it has a target, with a mark beside it where the target is missed."""
    target = figures.sensitivity or figures.leniency
    if target is None:
        return f"{NO_VALUE}  "
    missed = " "
    if figures.sensitivity is not None:
        missed = "▼" if target.rate < MIN_SENSITIVITY else " "
    elif target.rate >= MAX_LENIENCY:
        missed = "▲"
    shown = _format_audit_share(target) if has_interval else _format_audit_percent(target.rate)
    return f"{shown} {missed}"


def _render_audit_rates(report: AuditReport) -> Iterator[str]:
    for name, words in (
        ("sensitivity", "passes what must pass"),
        ("specificity", "fails what must fail"),
        ("leniency", "passes what must fail"),
    ):
        shares: list[AuditShare | None] = [getattr(report.marks[mark], name) for mark in SCALES]
        counts = "".join(
            f"{NO_VALUE if share is None else _format_audit_share(share):>{_AUDIT_CELL - 2}}  "
            for share in shares
        )
        yield f"{f'{name}: {words}':{_AUDIT_LABEL + 6}}{counts}".rstrip()


def _render_audit_notes(report: AuditReport) -> Iterator[str]:
    yield (
        f"▼ passes under {MIN_SENSITIVITY:.0%} of what is right; "
        f"▲ passes {MAX_LENIENCY:.0%} or more of what is wrong; {NO_VALUE} readers may differ."
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
    yield clean_text(
        f"{example.id} · {_shorten_text(example.recipe, _AUDIT_WIDTH - len(example.id) - 3)}"
    )
    for label, words in (
        ("question", example.question),
        ("reference", example.reference),
        ("answer", example.answer or "(empty)"),
        ("marks", marks),
        ("reason", example.reason or NO_VALUE),
    ):
        yield from textwrap.wrap(
            _shorten_text(clean_text(words), _MAX_EXAMPLE),
            width=_AUDIT_WIDTH,
            initial_indent=f"  {label:{_INDENT - 2}}",
            subsequent_indent=" " * _INDENT,
            break_on_hyphens=False,
        )


def _format_audit_share(share: AuditShare) -> str:
    low, high = _format_audit_percent(share.low), _format_audit_percent(share.high)
    return f"{_format_audit_percent(share.rate)} [{low}, {high}]"


def _format_audit_percent(rate: float) -> str:
    """`0`, `99.7` or `100`: one digit, and only 0 and 1 themselves round to certainty."""
    if rate in {0.0, 1.0}:
        return f"{100 * rate:.0f}"
    return f"{min(max(100 * rate, 0.1), 99.9):.1f}"


def _shorten_text(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


_COLUMNS_HEAD = f"passed, correctness ≥{PASS['correctness']}, in %"
_MIN_COLUMN = 14
_MAX_NAME = 24


def render_audits(reports: Sequence[AuditReport]) -> str:
    """The correctness each judge passes by class, then every judge's error rates by mark."""
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits are of different answers, so they do not compare")
    names = [_shorten_text(format_judge(report.judge), _MAX_NAME) for report in reports]
    cell = max(_MIN_COLUMN, *(len(name) + 2 for name in names))
    first = reports[0]
    title = f"Audit of {len(reports)} judges"
    lines = [
        title,
        "═" * len(title),
        f"{first.n:,} answers about {', '.join(first.scenarios)}",
        *filter(None, map(_render_remark, reports)),
        "",
        f"{_COLUMNS_HEAD:{_AUDIT_LABEL}}{'n':>6}" + "".join(f"{name:>{cell}}" for name in names),
        *_render_class_columns(reports, cell),
        "",
        *_render_rate_columns(reports, cell),
        "",
        (
            f"▼ under {MIN_SENSITIVITY:.0%} of what is right; "
            f"▲ {MAX_LENIENCY:.0%} or more of what is wrong."
        ),
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
    rule = "─" * (_AUDIT_LABEL + 6 + cell * len(reports))
    was_right: bool | None = None
    for name, part in reports[0].classes.items():
        columns = [report.classes[name].marks["correctness"] for report in reports]
        is_right = any(column.sensitivity is not None for column in columns)
        if is_right != was_right:
            yield rule
            was_right = is_right
        cells = "".join(
            f"{_format_audit_cell(column, has_interval=False):>{cell}}" for column in columns
        )
        yield f"{name:{_AUDIT_LABEL}}{part.n:>6,}{cells}"
    yield rule


def _render_rate_columns(reports: Sequence[AuditReport], cell: int) -> Iterator[str]:
    for mark in SCALES:
        parts = [report.marks[mark] for report in reports]
        rows = {
            "sensitivity": [part.sensitivity for part in parts],
            "specificity": [part.specificity for part in parts],
        }
        for name, shares in rows.items():
            if any(share is not None for share in shares):
                shown = [
                    NO_VALUE if share is None else _format_audit_percent(share.rate)
                    for share in shares
                ]
                cells = "".join(f"{each}  ".rjust(cell) for each in shown)
                yield f"{f'{mark}, {name}':{_AUDIT_LABEL + 6}}{cells}".rstrip()
