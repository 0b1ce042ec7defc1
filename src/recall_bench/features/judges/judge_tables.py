"""Text tables of the judge lab: agreement, correction and audits, at most 104 columns wide."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product, zip_longest

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    join_words,
    make_table,
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
_MOST_SPLITS = 20
_MOST_WORDS = 420
_MARK_HEADS = [f"{mark} ≥{PASS[mark]}" for mark in SCALES]
_AGREEMENT_FIGURES = {
    "auc": "AUC",
    "kappa": "kappa",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "accuracy": "accuracy",
    "kappa_weighted": "kappa of scale",
    "brier": "Brier",
}
_MEANINGS = {
    "sensitivity": "passes what must pass",
    "specificity": "fails what must fail",
    "leniency": "passes what must fail",
}


def render_agreement(agreement: Agreement) -> str:
    """The three marks with intervals, then the categories, and where judge and people differ."""
    answers = format_quantity(agreement.counts.answers, "answer")
    questions = format_quantity(agreement.counts.questions, "question")
    evidence = "no corpus" if agreement.corpus is None else f"corpus {agreement.corpus[:8]}"
    lines = [
        *_render_heading(
            f"Agreement of {format_judge(agreement.judge)} with labelled verdicts",
            f"{answers} to {questions}, {_describe_judged(agreement)}; {evidence}",
            agreement.usage,
        ),
        "",
        *render_marks(agreement.marks),
        "",
        *render_categories(agreement.categories),
        *_render_splits(agreement),
    ]
    for people in agreement.people:
        lines += ["", clean_text(describe_people(people))]
        lines += [clean_text(f"  {split}") for split in people.splits[:_MOST_SPLITS]]
        if len(people.splits) > _MOST_SPLITS:
            lines.append(
                f"  and {len(people.splits) - _MOST_SPLITS:,} more, all of them with --json"
            )
    lines.append("")
    by_marks = [mark for mark, part in agreement.marks.items() if part.scored_by == "marks"]
    if by_marks:
        words = join_words(by_marks)
        lines.append(f"AUC of {words} ranks by points: the judge gives no probabilities.")
    if agreement.counts.learned_from:
        lines.append(
            f"The judge was trained on {agreement.counts.learned_from:,} of these questions, so "
            "the figures flatter it; `judge-lab answers` tests it on questions it never saw."
        )
    lines.append(
        f"Intervals: bootstrap over questions, {agreement.resamples:,} times. "
        f"{NO_VALUE}: undefined."
    )
    return "\n".join(lines)


def _render_heading(title: str, counts: str, usage: Usage) -> list[str]:
    bill = [] if usage == Usage() else [format_usage(usage)]
    return [*format_heading(title, rule="═", width=_WIDTH), clean_text(counts), *bill]


def _describe_judged(report: Agreement | AnswersReport | AuditReport) -> str:
    if not report.not_judged:
        return "all judged"
    faults = ", ".join(f"{kind} {count}" for kind, count in report.faults.items())
    return f"{report.not_judged:,} not judged" + (f" ({faults})" if faults else "")


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


def render_marks(marks: Mapping[str, MarkAgreement]) -> list[str]:
    """A line for each figure and a column for each mark."""
    parts = [marks[mark] for mark in SCALES]
    rows = [
        ["passes by label", *(_format_percent(part.positives, part.n) for part in parts)],
        ["passes by judge", *(_format_percent(part.passed, part.n) for part in parts)],
    ]
    for figure, name in _AGREEMENT_FIGURES.items():
        rows.append([name, *(_format_with_interval(part, figure) for part in parts)])
    return render_text(make_table(["with 95 % interval", *_MARK_HEADS], rows))


def render_categories(categories: Mapping[str, Mapping[str, MarkAgreement]]) -> list[str]:
    """A line for each category."""
    heads = ["AUC, kappa", "answers", "questions", *SCALES]
    rows = []
    for category, marks in categories.items():
        counts = marks["correctness"]
        rows.append(
            [
                *(_shorten_text(category, 25), f"{counts.n:,}", f"{counts.questions:,}"),
                *(
                    f"{_format_figure(marks[mark].auc)}, {_format_figure(marks[mark].kappa, 2)}"
                    for mark in SCALES
                ),
            ]
        )
    return render_text(make_table(heads, rows))


def _render_splits(agreement: Agreement) -> Iterator[str]:
    """The labelled trials on which judge and people differ; of other labels their number."""
    if not agreement.splits:
        return
    count = format_quantity(len(agreement.splits), "answer")
    yield ""
    yield f"Correctness passes by label alone or by judge alone: {count}; all of them with --json"
    of_trials = [split for split in agreement.splits if split.trial is not None]
    for split in of_trials[:_MOST_SPLITS]:
        words = f"label {split.label}, judge {split.judge}: {split.reason}"
        yield clean_text(f"  {split.trial}  {_shorten_text(words, 60)}")


def describe_people(people: AnnotatorAgreement) -> str:
    """How often two people gave the same label, and kappa of right or not, in a sentence."""
    words = f"{people.first} and {people.second}: the same label for {people.same:,} of "
    words += format_quantity(people.answers, "answer")
    if people.kappa is None:
        return f"{words}; kappa undefined"
    ends = people.interval
    interval = (
        "" if ends is None else f" [{format_number(ends[0], 2)}, {format_number(ends[1], 2)}]"
    )
    return f"{words}; kappa of right or not {format_number(people.kappa, 2)}{interval}"


def render_correction(correction: RunCorrection) -> str:
    """Pass rates as measured and as corrected, of each mark and of the categories that can be."""
    measured = "labelled verdicts" if correction.source == "agreement" else "the audit set"
    counts = format_quantity(correction.trials, "trial")
    if correction.not_answered:
        counts += f", {correction.not_answered:,} not answered"
    parts = dict(correction.marks)
    for category, marks in correction.categories.items():
        parts |= {
            f"{category}, {mark}": part
            for mark, part in marks.items()
            if part.corrected is not None
        }
    heads = ["", "sens.", "spec.", "measured", "corrected"]
    rows = [_list_rate_cells(name, part) for name, part in parts.items()]
    lines = _render_heading(
        f"Pass rates, corrected for the errors of {format_judge(correction.judge)}",
        f"{counts}; errors measured on {measured}",
        Usage(),
    )
    lines += ["", *render_text(make_table(heads, rows)), ""]
    if len(parts) == len(correction.marks):
        lines.append("No category has error rates of its own that are sure enough to correct by.")
    reasons = [f"{mark}: {part.reason}" for mark, part in correction.marks.items() if part.reason]
    lines += [f"note: {caution}" for caution in (*reasons, *correction.cautions)]
    return "\n".join(lines)


def _list_rate_cells(name: str, part: MarkCorrection) -> list[str]:
    cells = [_shorten_text(name, 37), *[NO_VALUE] * 4]
    if part.rates is not None:
        cells[1] = _format_figure(part.rates.sensitivity.share, 2)
        cells[2] = _format_figure(part.rates.specificity.share, 2)
    if part.corrected is not None:
        rate = part.corrected
        cells[3] = _format_share(rate.observed, rate.observed_interval)
        cells[4] = _format_share(rate.corrected, rate.interval)
    return cells


def render_answers(report: AnswersReport) -> str:
    """The figures over all marked answers, then by writer, category and kind."""
    lines = _render_heading(
        f"{format_card(report.judge, report.judge.model)} on marked answers",
        f"{format_quantity(report.answers, 'answer')}, {_describe_judged(report)}",
        report.usage,
    )
    heads = ("right passed", "wrong passed", "inventions found", "false alarms")
    for name, group in {"": {"all answers": report.overall}, **report.groups}.items():
        rows = [_list_answer_cells(value, figures) for value, figures in group.items()]
        table = make_table([name, "n", *heads, "AUC corr.", "AUC gr."], rows)
        lines += ["", *render_text(table)]
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


def render_audit(report: AuditReport, *, examples: int = 12) -> str:
    """The classes with their pass rates, the rates over all of them, and the worst verdicts."""
    rows = [
        [name, f"{part.n - part.not_judged:,}", *map(_format_target, part.marks.values())]
        for name, part in report.classes.items()
    ]
    rows.append([""] * (2 + len(SCALES)))
    for name, meaning in _MEANINGS.items():
        shares: list[AuditShare | None] = [getattr(report.marks[mark], name) for mark in SCALES]
        rows.append([f"{name}: {meaning}", "", *map(_format_audit_share, shares)])
    lines = [
        *_render_heading(
            f"Audit of {format_card(report.judge, report.judge.model)}",
            f"{report.n:,} answers about {', '.join(report.scenarios)}; {_describe_judged(report)}",
            report.usage,
        ),
        "",
        *render_text(make_table(["passed, with 95 % interval", "n", *_MARK_HEADS], rows)),
        "",
        (
            f"▼ passes under {MIN_SENSITIVITY:.0%} of right answers; ▲ passes {MAX_LENIENCY:.0%} "
            f"or more of wrong ones; {NO_VALUE} not labelled."
        ),
    ]
    if report.missing:
        lines.append(f"These scenarios support no answers of: {', '.join(report.missing)}.")
    # One of each class first, then second ones.
    by_class = group_by(report.worst, lambda example: example.kind).values()
    turns = [example for turn in zip_longest(*by_class) for example in turn if example is not None]
    chosen = turns[:examples]
    if chosen:
        lines += ["", f"{len(chosen)} of the verdicts to look into"]
    for example in chosen:
        lines += ["", *_render_example(example)]
    return "\n".join(lines)


def _render_example(example: AuditExample) -> Iterator[str]:
    marks = ", ".join(
        f"{mark} {example.marks[mark]} of {SCALES[mark]}, must "
        f"{'pass' if example.labels[mark] else 'fail'}"
        for mark in example.wrong
    )
    yield _shorten_text(clean_text(f"{example.id} · {example.recipe}"), _WIDTH)
    for label, words in (
        ("question", example.question),
        ("reference", example.reference),
        ("answer", example.answer or "(empty)"),
        ("marks", marks),
        ("reason", example.reason or NO_VALUE),
    ):
        yield from format_fact(f"  {label}", _shorten_text(words, _MOST_WORDS), width=_WIDTH)


def render_audits(reports: Sequence[AuditReport]) -> str:
    """The correctness each judge passes by class, then every judge's error rates by mark."""
    if len({report.audit_set for report in reports}) > 1:
        raise UsageError("these audits use different answers, so they cannot be compared")
    first = reports[0]
    rows = []
    for name, part in first.classes.items():
        marks = [report.classes[name].marks["correctness"] for report in reports]
        rows.append([name, f"{part.n:,}", *(_format_target(m, has_interval=False) for m in marks)])
    rows.append([""] * (2 + len(reports)))
    for mark, figure in product(SCALES, ("sensitivity", "specificity")):
        shares: list[AuditShare | None] = [getattr(r.marks[mark], figure) for r in reports]
        if any(share is not None for share in shares):
            cells = [_format_audit_share(share, has_interval=False) for share in shares]
            rows.append([f"{mark}, {figure}", "", *cells])
    names = [_shorten_text(format_judge(report.judge), 24) for report in reports]
    head = f"passed, correctness ≥{PASS['correctness']}, in %"
    return "\n".join(
        [
            *format_heading(f"Audit of {len(reports)} judges", rule="═", width=_WIDTH),
            f"{first.n:,} answers about {', '.join(first.scenarios)}",
            *filter(None, map(_describe_trouble, reports)),
            "",
            *render_text(make_table([head, "n", *names], rows)),
            "",
            (
                f"▼ under {MIN_SENSITIVITY:.0%} of right answers; "
                f"▲ {MAX_LENIENCY:.0%} or more of wrong ones."
            ),
        ]
    )


def _describe_trouble(report: AuditReport) -> str:
    """What a judge cost and how often it failed; nothing if neither."""
    parts = [f"{report.not_judged:,} not judged"] if report.not_judged else []
    if report.usage != Usage():
        parts.append(format_usage(report.usage))
    return f"{format_judge(report.judge)}: {', '.join(parts)}" if parts else ""


def _format_target(figures: MarkFigures, *, has_interval: bool = True) -> str:
    """The pass rate where it has a target, with a mark beside it where the target is missed."""
    share = figures.sensitivity or figures.leniency
    missed = " "
    if figures.sensitivity is not None and figures.sensitivity.rate < MIN_SENSITIVITY:
        missed = "▼"
    elif figures.sensitivity is None and share is not None and share.rate >= MAX_LENIENCY:
        missed = "▲"
    return _format_audit_share(share, missed, has_interval=has_interval)


def _format_audit_share(
    share: AuditShare | None, missed: str = " ", *, has_interval: bool = True
) -> str:
    """A rate in percent, and beside it a column for the mark of a missed target."""
    if share is None:
        return f"{NO_VALUE}  "
    rate, low, high = map(_format_audit_percent, (share.rate, share.low, share.high))
    return f"{rate} [{low}, {high}] {missed}" if has_interval else f"{rate} {missed}"


def _format_audit_percent(rate: float) -> str:
    """`0`, `99.7` or `100`: one digit, and only 0 and 1 themselves round to certainty."""
    if rate in {0.0, 1.0}:
        return format_number(100 * rate, 0)
    return format_number(min(max(100 * rate, 0.1), 99.9), 1)


def _format_share(rate: float, interval: tuple[float, float]) -> str:
    share, low, high = (format_number(100 * value, 1) for value in (rate, *interval))
    return f"{share} % [{low}, {high}]"


def _format_with_interval(part: MarkAgreement, figure: str) -> str:
    value: float | None = getattr(part, figure)
    interval = part.intervals.get(figure)
    if value is None or interval is None:
        return _format_figure(value)
    low, high = interval
    return f"{format_number(value, 3)} [{format_number(low, 2)}, {format_number(high, 2)}]"


def _format_figure(value: float | None, digits: int = 3) -> str:
    return NO_VALUE if value is None else format_number(value, digits)


def _format_percent(part: int, whole: int) -> str:
    return f"{format_number(100 * part / whole, 0)} %" if whole else NO_VALUE


def _shorten_text(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
