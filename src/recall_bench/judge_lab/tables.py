"""What the lab found out, as text for people: one screen, 100 columns."""

from collections.abc import Iterator, Mapping

from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judge_lab.agreement import Agreement
from recall_bench.judge_lab.correction import MarkCorrection, RunCorrection, format_judge
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
    answers, questions = (
        _format_count(counts.answers, "answer"),
        _format_count(counts.questions, "question"),
    )
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
        label = _shorten(category, _AGREEMENT_LABEL)
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
    sensitivity = None if rates is None else rates.sensitivity.share
    specificity = None if rates is None else rates.specificity.share
    start = f"{_shorten(label, 38):38}{_format_figure(sensitivity, 2):>7}{_format_figure(specificity, 2):>7}"
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


def _shorten(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: width - 2]}…"
