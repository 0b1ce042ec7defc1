"""Text tables of the judge lab: agreement, correction and audits, at most 104 columns wide."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product, zip_longest

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    Column,
    Table,
    clean_text,
    format_heading,
    format_quantity,
    join_words,
    render_text,
)
from recall_bench.core.record import group_by
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.features.judges.audit_report import (
    MAX_LENIENCY,
    MIN_SENSITIVITY,
    AuditExample,
    AuditReport,
    AuditShare,
    MarkFigures,
)
from recall_bench.features.judges.correction import MarkCorrection, RunCorrection, format_judge
from recall_bench.features.judges.judge_agreement import Agreement
from recall_bench.features.judges.marked_answers import AnswerFigures, AnswersReport
from recall_bench.judging.human_labels import AnnotatorAgreement
from recall_bench.metrics.agreement import MarkAgreement
from recall_bench.reporting.formats import format_card, format_number

NO_VALUE = "–"
_WIDTH = 104

_AGREEMENT_LABEL = 26
_MOST_SPLITS = 20
_SPLIT_REASON = 60
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
            *_render_splits(found),
            *_render_people(found.people),
            *_render_agreement_notes(found),
        ]
    )


def _render_agreement_heading(found: Agreement) -> Iterator[str]:
    title = f"Agreement of {format_judge(found.judge)} with labelled verdicts"
    yield from format_heading(title, rule="═", width=_WIDTH)
    answers = format_quantity(found.counts.answers, "answer")
    questions = format_quantity(found.counts.questions, "question")
    evidence = "no corpus" if found.corpus is None else f"corpus {found.corpus[:8]}"
    yield f"{answers} to {questions}, {_describe_judged(found)}; {evidence}"
    if found.usage != Usage():
        yield format_usage(found.usage)


def _describe_judged(found: Agreement | AnswersReport | AuditReport) -> str:
    if not found.not_judged:
        return "all judged"
    faults = ", ".join(f"{kind} {count}" for kind, count in found.faults.items())
    return f"{found.not_judged:,} not judged" + (f" ({faults})" if faults else "")


def render_marks(marks: Mapping[str, MarkAgreement]) -> Iterator[str]:
    """A line for each mark with its figures, and one with its further figures."""
    figures = [Column(name, 18) for name in _AGREEMENT_FIGURES.values()]
    rows = [["", "label  judge", *["95 % interval"] * len(figures)]]
    rows += [
        [
            f"{mark} ≥{PASS[mark]}",
            f"{_format_percent(part.positives, part.n)}{_format_percent(part.passed, part.n):>7}",
            *(_format_with_interval(part, figure) for figure in _AGREEMENT_FIGURES),
        ]
        for mark, part in marks.items()
    ]
    yield from _render_columns([Column("", 15, is_text=True), Column("passes", 13), *figures], rows)
    yield ""
    heads = [Column("accuracy", 13), Column("kappa of scale", 18), Column("Brier", 18)]
    rows = [
        [mark, *map(_format_figure, (part.accuracy, part.kappa_weighted, part.brier))]
        for mark, part in marks.items()
    ]
    yield from _render_columns([Column("", 15, is_text=True), *heads], rows)


def render_categories(categories: Mapping[str, Mapping[str, MarkAgreement]]) -> Iterator[str]:
    """A line for each category."""
    heads = [Column("answers", 8), Column("quest.", 8), *(Column(mark, 18) for mark in SCALES)]
    rows = [["", "", "", *["AUC   kappa"] * len(SCALES)]]
    rows += [
        [
            _shorten_text(category, _AGREEMENT_LABEL - 1),
            f"{marks['correctness'].n:,}",
            f"{marks['correctness'].questions:,}",
            *(
                f"{_format_figure(marks[mark].auc):>11}{_format_figure(marks[mark].kappa, 2):>7}"
                for mark in SCALES
            ),
        ]
        for category, marks in categories.items()
    ]
    yield from _render_columns([Column("", _AGREEMENT_LABEL, is_text=True), *heads], rows)


def _render_splits(found: Agreement) -> Iterator[str]:
    """The labelled trials on which judge and people differ; of other labels their number."""
    if not found.splits:
        return
    count = format_quantity(len(found.splits), "answer")
    yield ""
    yield f"Correctness passes by label alone or by judge alone: {count}; all of them with --json"
    for each in [split for split in found.splits if split.trial is not None][:_MOST_SPLITS]:
        words = f"label {each.label}, judge {each.judge}: {each.reason}"
        yield clean_text(f"  {each.trial}  {_shorten_text(words, _SPLIT_REASON)}")


def _render_people(people: Sequence[AnnotatorAgreement]) -> Iterator[str]:
    """How well every two people agree, and on which answers they do not."""
    for each in people:
        yield ""
        yield clean_text(describe_people(each))
        yield from (clean_text(f"  {split}") for split in each.splits[:_MOST_SPLITS])
        if len(each.splits) > _MOST_SPLITS:
            yield f"  and {len(each.splits) - _MOST_SPLITS:,} more, all of them with --json"


def describe_people(found: AnnotatorAgreement) -> str:
    """How often two people gave the same label, and kappa of right or not, in a sentence."""
    words = f"{found.first} and {found.second}: the same label for {found.same:,} of "
    words += format_quantity(found.answers, "answer")
    if found.kappa is None:
        return f"{words}; kappa undefined"
    ends = found.interval
    interval = (
        "" if ends is None else f" [{format_number(ends[0], 2)}, {format_number(ends[1], 2)}]"
    )
    return f"{words}; kappa of right or not {format_number(found.kappa, 2)}{interval}"


def _render_columns(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    return render_text(Table(columns, rows, gap=""))


def _render_agreement_notes(found: Agreement) -> Iterator[str]:
    by_marks = [mark for mark, part in found.marks.items() if part.scored_by == "marks"]
    yield ""
    if by_marks:
        yield f"AUC of {join_words(by_marks)} ranks by points: the judge gives no probabilities."
    if found.counts.learned_from:
        yield (
            f"The judge was trained on {found.counts.learned_from:,} of these questions, so the "
            "figures flatter it; `judge-lab calibrate` tests it on held-out ones."
        )
    yield f"Intervals: bootstrap over questions, {found.resamples:,} times. {NO_VALUE}: undefined."


def render_correction(found: RunCorrection) -> str:
    """Pass rates as measured and as corrected."""
    title = f"Pass rates, corrected for the errors of {format_judge(found.judge)}"
    measured = "labelled verdicts" if found.source == "agreement" else "the audit set"
    counts = format_quantity(found.trials, "trial")
    if found.not_answered:
        counts += f", {found.not_answered:,} not answered"
    sure = {
        f"{category}, {mark}": part
        for category, marks in found.categories.items()
        for mark, part in marks.items()
        if part.corrected is not None
    }
    lines = format_heading(title, rule="═", width=_WIDTH)
    lines += [f"{counts}; errors measured on {measured}", "", *_render_rates("", found.marks), ""]
    if sure:
        lines += _render_rates("by its own error rates", sure)
    else:
        lines.append("No category has error rates of its own that are sure enough to correct by.")
    reasons = [
        f"{mark}: {part.reason}" for mark, part in found.marks.items() if part.reason is not None
    ]
    lines += [f"note: {caution}" for caution in (*reasons, *found.cautions)]
    return "\n".join(lines)


def _render_rates(head: str, parts: Mapping[str, MarkCorrection]) -> list[str]:
    columns = [
        Column(head, 38, is_text=True),
        Column("sens.", 7),
        Column("spec.", 7),
        Column("measured", 22),
        Column("corrected", 24),
    ]
    rows = []
    for label, part in parts.items():
        rates, rate = part.rates, part.corrected
        shown = [NO_VALUE, NO_VALUE]
        if rate is not None:
            shown = [
                _format_share(rate.observed, rate.observed_interval),
                _format_share(rate.corrected, rate.interval),
            ]
        sensitivity = None if rates is None else rates.sensitivity.share
        specificity = None if rates is None else rates.specificity.share
        figures = _format_figure(sensitivity, 2), _format_figure(specificity, 2)
        rows.append([_shorten_text(label, 37), *figures, *shown])
    return _render_columns(columns, rows)


def format_usage(usage: Usage) -> str:
    """What calling a model cost, in one line."""
    parts = [
        format_quantity(usage.calls, "call"),
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out",
    ]
    if usage.cost_usd or not usage.unpriced:
        parts.append(f"{format_number(usage.cost_usd, 4)} USD")
    if usage.unpriced:
        parts.append(f"{format_quantity(usage.unpriced, 'call')} of unknown price")
    if usage.cached:
        parts.append(f"{format_quantity(usage.cached, 'verdict')} on record")
    return ", ".join(parts)


def _format_share(rate: float, interval: tuple[float, float]) -> str:
    share, low, high = (format_number(100 * each, 1) for each in (rate, *interval))
    return f"{share} % [{low}, {high}]"


def _format_with_interval(part: MarkAgreement, figure: str) -> str:
    value: float | None = getattr(part, figure)
    interval = part.intervals.get(figure)
    if value is None or interval is None:
        return _format_figure(value)
    low, high = interval
    return f"{format_number(value, 3)} [{_format_short(low)},{_format_short(high)}]"


def _format_short(value: float) -> str:
    """`.84`: a share without its zero, so that an interval stays short."""
    return format_number(value, 2).replace("0.", ".", 1)


def _format_figure(value: float | None, digits: int = 3) -> str:
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def _format_percent(part: int, whole: int) -> str:
    return f"{format_number(100 * part / whole, 0)} %" if whole else NO_VALUE


def render_answers(report: AnswersReport) -> str:
    """The figures over all marked answers, then by writer, category and kind."""
    title = f"{format_card(report.judge, report.judge.model)} on marked answers"
    lines = format_heading(title, rule="═", width=_WIDTH)
    lines.append(f"{format_quantity(report.answers, 'answer')}, {_describe_judged(report)}")
    if report.usage != Usage():
        lines.append(format_usage(report.usage))
    heads = ("right passed", "wrong passed", "inventions found", "false alarms")
    for name, group in {"": {"all answers": report.overall}, **report.groups}.items():
        columns = [
            Column(name, 26, is_text=True),
            Column("n", 6),
            *(Column(head, 17) for head in heads),
            *(Column(head, 10) for head in ("AUC corr.", "AUC gr.")),
        ]
        rows = [_list_answer_cells(value, figures) for value, figures in group.items()]
        lines += ["", *_render_columns(columns, rows)]
    lines += ["", f"{NO_VALUE}: no answer counts for the figure."]
    return "\n".join(lines)


def _list_answer_cells(name: str, figures: AnswerFigures) -> list[str]:
    shares = (
        *(figures.right_passed, figures.wrong_passed),
        *(figures.inventions_found, figures.false_alarms),
    )
    return [
        _shorten_text(name, 25),
        f"{figures.n:,}",
        *(
            NO_VALUE if s is None else f"{s.count}/{s.of}{_format_percent(s.count, s.of):>7}"
            for s in shares
        ),
        *map(_format_figure, (figures.auc_correct, figures.auc_grounded)),
    ]


_AUDIT_LABEL = 35
_AUDIT_CELL = 21
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
    title = f"Audit of {format_card(report.judge, report.judge.model)}"
    yield from format_heading(title, rule="═", width=_WIDTH)
    about = ", ".join(report.scenarios)
    yield clean_text(f"{report.n:,} answers about {about}; {_describe_judged(report)}")
    if report.usage != Usage():
        yield format_usage(report.usage)


def _render_audit_classes(report: AuditReport) -> Iterator[str]:
    heads = [Column(f"{mark} ≥{PASS[mark]}", _AUDIT_CELL) for mark in SCALES]
    rows = [
        [name, f"{part.n - part.not_judged:,}", *map(_format_audit_cell, part.marks.values())]
        for name, part in report.classes.items()
    ]
    yield from _render_classes(report, "passed, with 95 % interval", heads, rows)


def _render_classes(
    report: AuditReport, head: str, heads: Sequence[Column], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """The table, with a rule between classes of right and of wrong answers."""
    columns = [Column(head, _AUDIT_LABEL, is_text=True), Column("n", 6), *heads]
    rule = "─" * sum(column.width for column in columns)
    first, *lines = _render_columns(columns, rows)
    yield first
    was_right: bool | None = None
    for line, part in zip(lines, report.classes.values(), strict=True):
        is_right = part.marks["correctness"].sensitivity is not None
        if is_right != was_right:
            yield rule
            was_right = is_right
        yield line
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
        shown = (NO_VALUE if share is None else _format_audit_share(share) for share in shares)
        yield _format_rates(f"{name}: {words}", shown, _AUDIT_CELL)


def _render_audit_notes(report: AuditReport) -> Iterator[str]:
    yield (
        f"▼ passes under {MIN_SENSITIVITY:.0%} of right answers; ▲ passes {MAX_LENIENCY:.0%} or "
        f"more of wrong ones; {NO_VALUE} not labelled."
    )
    if report.missing:
        yield f"These scenarios support no answers of: {', '.join(report.missing)}."


def _render_examples(worst: Sequence[AuditExample], count: int) -> Iterator[str]:
    """One of each class first, then second ones."""
    by_class = group_by(worst, lambda example: example.kind).values()
    turns = zip_longest(*by_class)
    chosen = [example for turn in turns for example in turn if example is not None]
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
        f"{example.id} · {_shorten_text(example.recipe, _WIDTH - len(example.id) - 3)}"
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
            width=_WIDTH,
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
        return format_number(100 * rate, 0)
    return format_number(min(max(100 * rate, 0.1), 99.9), 1)


def _shorten_text(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


_COLUMNS_HEAD = f"passed, correctness ≥{PASS['correctness']}, in %"
_MIN_COLUMN = 14
_MAX_NAME = 24


def render_audits(reports: Sequence[AuditReport]) -> str:
    """The correctness each judge passes by class, then every judge's error rates by mark."""
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits use different answers, so they cannot be compared")
    names = [_shorten_text(format_judge(report.judge), _MAX_NAME) for report in reports]
    cell = max(_MIN_COLUMN, *(len(name) + 2 for name in names))
    first = reports[0]
    rows = [
        [
            name,
            f"{part.n:,}",
            *(
                _format_audit_cell(report.classes[name].marks["correctness"], has_interval=False)
                for report in reports
            ),
        ]
        for name, part in first.classes.items()
    ]
    lines = [
        *format_heading(f"Audit of {len(reports)} judges", rule="═", width=_WIDTH),
        f"{first.n:,} answers about {', '.join(first.scenarios)}",
        *filter(None, map(_render_remark, reports)),
        "",
        *_render_classes(first, _COLUMNS_HEAD, [Column(name, cell) for name in names], rows),
        "",
        *_render_rate_columns(reports, cell),
        "",
        (
            f"▼ under {MIN_SENSITIVITY:.0%} of right answers; "
            f"▲ {MAX_LENIENCY:.0%} or more of wrong ones."
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


def _render_rate_columns(reports: Sequence[AuditReport], cell: int) -> Iterator[str]:
    for mark, name in product(SCALES, ("sensitivity", "specificity")):
        shares: list[AuditShare | None] = [getattr(report.marks[mark], name) for report in reports]
        if any(share is not None for share in shares):
            shown = (
                NO_VALUE if share is None else _format_audit_percent(share.rate) for share in shares
            )
            yield _format_rates(f"{mark}, {name}", shown, cell)


def _format_rates(label: str, shown: Iterable[str], cell: int) -> str:
    cells = "".join(f"{each}  ".rjust(cell) for each in shown)
    return f"{label:{_AUDIT_LABEL + 6}}{cells}".rstrip()
