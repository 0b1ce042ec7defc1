"""An audit as text for people: one screen of classes, then the verdicts to look into."""

import textwrap
from collections.abc import Iterator, Sequence

from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judge_lab.audit.report import (
    MUST_FAIL,
    MUST_PASS,
    AuditReport,
    Example,
    MarkFigures,
    Share,
)

NOTHING = "–"

_LABEL = 35
_CELL = 21
_WIDTH = 104
_INDENT = 12
_LONGEST = 420


def audit_table(report: AuditReport, *, examples: int = 12) -> str:
    """The classes with their pass rates, the rates over all of them, and the worst verdicts."""
    lines = [
        *_heading(report),
        "",
        *_classes(report),
        "",
        *_overall(report),
        "",
        *_notes(report),
    ]
    if report.worst and examples:
        lines += ["", *_examples(report.worst, examples)]
    return "\n".join(lines)


def _heading(report: AuditReport) -> Iterator[str]:
    title = f"Audit of {report.judge.name} {report.judge.version}"
    if report.judge.model:
        title += f" ({report.judge.model})"
    yield _plain(title)
    yield "═" * len(title)
    judged = "all judged" if not report.not_judged else f"{report.not_judged:,} not judged"
    if report.faults:
        judged += f" ({', '.join(f'{kind} {count}' for kind, count in report.faults.items())})"
    yield _plain(f"{report.n:,} answers about {', '.join(report.scenarios)}; {judged}")
    if report.usage != Usage():
        usage = report.usage
        yield (
            f"{usage.calls:,} calls, {usage.input_tokens:,} tokens in, "
            f"{usage.output_tokens:,} out, {usage.cost_usd:.4f} USD"
        )


def _classes(report: AuditReport) -> Iterator[str]:
    heads = "".join(f"{f'{mark} ≥{PASS[mark]}':>{_CELL}}" for mark in SCALES)
    yield f"{'passed, with 95 % interval':{_LABEL}}{'n':>6}{heads}"
    rule = "─" * (_LABEL + 6 + _CELL * len(SCALES))
    was_right: bool | None = None
    for name, part in report.classes.items():
        is_right = part.marks["correctness"].sensitivity is not None
        if is_right != was_right:
            yield rule
            was_right = is_right
        judged = part.n - part.not_judged
        cells = "".join(f"{_cell(part.marks[mark]):>{_CELL}}" for mark in SCALES)
        yield f"{name:{_LABEL}}{judged:>6,}{cells}"
    yield rule


def _cell(figures: MarkFigures) -> str:
    """The pass rate where it has a target, with a mark beside it where the target is missed."""
    target = figures.sensitivity or figures.leniency
    if target is None:
        return NOTHING + "  "
    if figures.sensitivity is not None:
        missed = " ▼" if target.rate < MUST_PASS else "  "
    else:
        missed = " ▲" if target.rate >= MUST_FAIL and target.count else "  "
    return _share(target) + missed


def _overall(report: AuditReport) -> Iterator[str]:
    for name, words in (
        ("sensitivity", "passes what must pass"),
        ("specificity", "fails what must fail"),
        ("leniency", "passes what must fail"),
    ):
        shares: list[Share | None] = [getattr(report.marks[mark], name) for mark in SCALES]
        counts = "".join(
            f"{NOTHING if share is None else _share(share):>{_CELL - 2}}  " for share in shares
        )
        yield f"{f'{name}: {words}':{_LABEL + 6}}{counts}".rstrip()


def _notes(report: AuditReport) -> Iterator[str]:
    yield (
        f"▼ passes under {MUST_PASS:.0%} of what is right; ▲ passes {MUST_FAIL:.0%} or more of "
        f"what is wrong; {NOTHING} readers may differ."
    )
    if report.missing:
        yield f"These scenarios support no answers of: {', '.join(report.missing)}."


def _examples(worst: Sequence[Example], count: int) -> Iterator[str]:
    """One of each class first, then second ones."""
    by_class: dict[str, list[Example]] = {}
    for example in worst:
        by_class.setdefault(example.kind, []).append(example)
    turns = max(len(group) for group in by_class.values())
    chosen = [group[i] for i in range(turns) for group in by_class.values() if i < len(group)]
    yield f"{min(count, len(chosen))} of the verdicts to look into"
    for example in chosen[:count]:
        yield ""
        yield from _example(example)


def _example(example: Example) -> Iterator[str]:
    marks = ", ".join(
        f"{mark} {example.marks[mark]} of {SCALES[mark]}, must "
        f"{'pass' if example.labels[mark] else 'fail'}"
        for mark in example.wrong
    )
    yield _plain(f"{example.id} · {_shortened(example.recipe, _WIDTH - len(example.id) - 3)}")
    for label, words in (
        ("question", example.question),
        ("reference", example.reference),
        ("answer", example.answer or "(empty)"),
        ("marks", marks),
        ("reason", example.reason or NOTHING),
    ):
        yield from textwrap.wrap(
            _shortened(_plain(words), _LONGEST),
            width=_WIDTH,
            initial_indent=f"  {label:{_INDENT - 2}}",
            subsequent_indent=" " * _INDENT,
            break_on_hyphens=False,
        )


def _share(share: Share) -> str:
    return f"{_percent(share.rate)} [{_percent(share.low)}, {_percent(share.high)}]"


def _percent(rate: float) -> str:
    """`0`, `99.7`, `100`: as exact as the room allows, and never rounded to a certainty."""
    if rate in {0.0, 1.0}:
        return f"{100 * rate:.0f}"
    return f"{min(max(100 * rate, 0.1), 99.9):.1f}"


def _shortened(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _plain(words: str) -> str:
    """Answers come from elsewhere: nothing in them may steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)
