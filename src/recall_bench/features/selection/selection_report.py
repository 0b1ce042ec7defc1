"""The report of a selection run: scores of every test, summary, JSON, text, `.result` files."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.event import NotAnswered, TrialResult
from recall_bench.core.memory import SystemCard
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.scenario import WallTime
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.features.selection.selection_scores import (
    CLASSES,
    EVAL_VERSION,
    SelectionOutcome,
    compare_selection,
)
from recall_bench.features.selection.suite import NO_RECALL, RECALL, Suite
from recall_bench.metrics.bootstrap import compute_wilson
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.reporting.formats import format_card, format_number, format_seconds
from recall_bench.reporting.groups import find_quantile


class ScoredTest(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One trial of a test, or a skipped test."""

    test: str
    repeat: int = 0
    category: str
    prompt: str
    outcome: SelectionOutcome
    expected: tuple[str, ...] = ()
    recalled: tuple[str, ...] | None = None
    """In the selector's order; None if it failed or was not asked."""
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Recalled names that are not on disk; they also count as extra."""
    presearched: tuple[str, ...] | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    jaccard: float | None = None
    seconds: float | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """The selector's remarks."""
    fault: str | None = None
    message: str | None = None


def score_tests(folder: RunFolder, suite: Suite) -> tuple[ScoredTest, ...]:
    """All tests asked so far, by name and repeat, and the skipped ones with an empty prompt."""
    results = (result for name in folder.scenarios for result in folder.results(name))
    rows = [row for result in results if (row := _score_trial(result, suite)) is not None]
    rows += [
        ScoredTest(
            test=name,
            category=RECALL if test.expected else NO_RECALL,
            prompt=test.prompt,
            outcome=SelectionOutcome.SKIP,
            expected=test.expected,
        )
        for name, test in suite.skipped.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.test, row.repeat)))


def _score_trial(result: TrialResult, suite: Suite) -> ScoredTest | None:
    """One trial; None while it was not asked."""
    expected = result.item.truth.cited
    row = ScoredTest(
        test=result.item.id,
        repeat=result.trial.repeat,
        category=result.item.truth.category,
        prompt=result.item.text,
        outcome=SelectionOutcome.ERROR,
        expected=expected,
    )
    failure, answered = result.outcome, result.answered
    if isinstance(failure, NotAnswered):
        return row.replace(seconds=failure.seconds, fault=failure.fault, message=failure.message)
    if answered is None:
        return None
    names = (passage.id for passage in answered.answer.passages)
    recalled = tuple(dict.fromkeys(name for name in names if name is not None))
    selection = compare_selection(expected, recalled)
    details = {key: value for call in answered.answer.tool_calls for key, value in call.items()}
    return row.replace(
        outcome=selection.outcome,
        recalled=recalled,
        missing=selection.missing,
        extra=selection.extra,
        unknown=tuple(name for name in recalled if name not in suite.names),
        presearched=_parse_names(details.get("presearched")),
        precision=selection.precision,
        recall=selection.recall,
        f1=selection.f1,
        jaccard=selection.jaccard,
        seconds=answered.seconds,
        usage=answered.answer.usage,
        notes=_parse_names(details.get("notes")) or (),
    )


def _parse_names(value: object) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else None


_MAX_NEAR_MISSES = 10
"""Most near misses listed."""


class SelectionFigure(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A share of the tests, or a mean over those it applies to, as the report's file has it."""

    count: int | None = None
    """How many tests a share is of; None for a mean."""
    of: int
    value: float
    interval: tuple[float, float] | None
    """At 95 %; None for a single test."""


class MemoryGroup(Record, frozen=True, kw_only=True):
    """Memories that were recalled or missed together."""

    names: tuple[str, ...]
    tests: int
    """Number of tests."""


class SelectionSummary(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The summary of one run of a suite."""

    tests: int
    """Different tests, skipped ones included."""
    trials: int
    """Trials of all tests, and skipped tests."""
    perfect: int
    overrecall: int
    underrecall: int
    error: int
    skip: int
    open: int
    """Trials not asked yet."""
    perfect_of_put: SelectionFigure | None
    """PERFECT of all trials asked; a failed selection counts as not perfect."""
    perfect_share: SelectionFigure | None
    """Of the trials with a class; None if there is none."""
    overrecall_share: SelectionFigure | None
    underrecall_share: SelectionFigure | None
    precision: SelectionFigure | None
    recall: SelectionFigure | None
    f1: SelectionFigure | None
    jaccard: SelectionFigure | None
    false_positives: SelectionFigure | None
    """Tests that should recall nothing and recalled something."""
    memories_overrecalled: int
    memories_underrecalled: int
    unknown: dict[str, int]
    """Returned names that are not on disk, with their counts."""
    often_extra: tuple[MemoryGroup, ...]
    extra_together: tuple[MemoryGroup, ...]
    """Pairs that are over-recalled together: one topic, or two similar memories."""
    often_missing: tuple[MemoryGroup, ...]
    steady: SelectionFigure | None
    """Tests with the same class in every repeat; None without repeats."""
    p50_s: float | None
    p95_s: float | None
    usage: Usage | None
    faults: dict[str, int]


def summarise_tests(
    scored: Sequence[ScoredTest], wasted: Usage | None = None, *, still_open: int = 0
) -> SelectionSummary:
    """Summarise all tests; `wasted` is the usage of failed selections."""
    counts = Counter(row.outcome for row in scored)
    not_skipped = [row for row in scored if row.outcome is not SelectionOutcome.SKIP]
    classed = [row for row in scored if row.outcome in CLASSES]
    quiet = [row for row in classed if row.category == NO_RECALL]
    seconds = [row.seconds for row in classed if row.seconds is not None]
    usages = [row.usage for row in scored if row.usage is not None]
    if wasted is not None and wasted != Usage():
        usages.append(wasted)

    def share(rows: Sequence[ScoredTest], outcome: SelectionOutcome) -> SelectionFigure | None:
        return _compute_share(rows, lambda row: row.outcome is outcome)

    return SelectionSummary(
        tests=len({row.test for row in scored}),
        trials=len(scored) + still_open,
        perfect=counts[SelectionOutcome.PERFECT],
        overrecall=counts[SelectionOutcome.OVERRECALL],
        underrecall=counts[SelectionOutcome.UNDERRECALL],
        error=counts[SelectionOutcome.ERROR],
        skip=counts[SelectionOutcome.SKIP],
        open=still_open,
        perfect_of_put=share(not_skipped, SelectionOutcome.PERFECT),
        perfect_share=share(classed, SelectionOutcome.PERFECT),
        overrecall_share=share(classed, SelectionOutcome.OVERRECALL),
        underrecall_share=share(classed, SelectionOutcome.UNDERRECALL),
        precision=_compute_mean(classed, lambda row: row.precision),
        recall=_compute_mean(classed, lambda row: row.recall),
        f1=_compute_mean(classed, lambda row: row.f1),
        jaccard=_compute_mean(classed, lambda row: row.jaccard),
        false_positives=_compute_share(quiet, lambda row: bool(row.recalled)),
        memories_overrecalled=sum(len(row.extra) for row in classed),
        memories_underrecalled=sum(len(row.missing) for row in classed),
        unknown=dict(Counter(name for row in classed for name in row.unknown).most_common()),
        often_extra=_count_often((name,) for row in classed for name in row.extra),
        extra_together=_count_often(
            pair for row in classed for pair in combinations(sorted(row.extra), 2)
        ),
        often_missing=_count_often((name,) for row in classed for name in row.missing),
        steady=_compute_steady(classed),
        p50_s=find_quantile(seconds, 0.5),
        p95_s=find_quantile(seconds, 0.95),
        usage=sum(usages, start=Usage()) if usages else None,
        faults=dict(Counter(row.fault for row in scored if row.fault is not None).most_common()),
    )


def _compute_share(
    rows: Sequence[ScoredTest], has: Callable[[ScoredTest], bool]
) -> SelectionFigure | None:
    """A share with its interval; the repeats of a test count as one observation."""
    if not rows:
        return None
    count = sum(map(has, rows))
    tests, value = len({row.test for row in rows}), count / len(rows)
    interval = compute_wilson(value * tests, tests)
    return SelectionFigure(count=count, of=len(rows), value=value, interval=interval)


def _compute_mean(
    rows: Sequence[ScoredTest], value: Callable[[ScoredTest], float | None]
) -> SelectionFigure | None:
    counted = [(row, number) for row in rows if (number := value(row)) is not None]
    if not counted:
        return None
    values = [number for _, number in counted]
    tests = [row.test for row, _ in counted]
    mean = estimate_mean(values, tests, ["suite"] * len(values))
    interval = None if mean is None else mean.interval
    return SelectionFigure(value=fmean(values), of=len(values), interval=interval)


def _count_often(groups: Iterable[tuple[str, ...]]) -> tuple[MemoryGroup, ...]:
    counted = Counter(groups)
    ranked = sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    least = 2 if any(len(names) > 1 for names in counted) else 1
    return tuple(
        MemoryGroup(names=names, tests=count)
        for names, count in ranked[:_MAX_NEAR_MISSES]
        if count >= least
    )


def _compute_steady(rows: Sequence[ScoredTest]) -> SelectionFigure | None:
    repeated = [
        trials for trials in group_by(rows, lambda row: row.test).values() if len(trials) > 1
    ]
    if not repeated:
        return None
    same = sum(len({row.outcome for row in trials}) == 1 for trials in repeated)
    return SelectionFigure(
        count=same,
        of=len(repeated),
        value=same / len(repeated),
        interval=compute_wilson(same, len(repeated)),
    )


FORMAT = "recall-bench-select/1"
REPORT = "select.json"


class SelectionReport(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The complete report of one run of a suite."""

    format: str
    selector: SystemCard
    eval_version: str
    corpus_digest: str
    tests_digest: str
    memories: int
    repeats: int
    at: WallTime
    plan_digest: str
    code: tuple[str, ...]
    validity: str
    reason: str | None = None
    summary: SelectionSummary
    notes: tuple[str, ...] = ()
    tests: tuple[ScoredTest, ...]


def build_report(suite: Suite, folder: RunFolder, summary: Summary) -> SelectionReport:
    """Report a run that finished or was stopped."""
    plan, validity = folder.plan, summary.validity
    scored = score_tests(folder, suite)
    return SelectionReport(
        format=FORMAT,
        selector=plan.system,
        eval_version=EVAL_VERSION,
        corpus_digest=suite.corpus_digest,
        tests_digest=plan.questions_digest,
        memories=len(suite.memories),
        repeats=plan.repeats,
        at=folder.ended,
        plan_digest=plan.digest,
        code=folder.codes,
        validity=str(validity.status),
        reason=validity.reason,
        summary=summarise_tests(
            scored, folder.service.metered_total, still_open=summary.overall.open
        ),
        notes=suite.notes,
        tests=scored,
    )


def write_json(report: SelectionReport, folder: Path) -> Path:
    """Write the report beside its journal."""
    path = folder / REPORT
    replace_file(path, msgspec.json.format(msgspec.json.encode(report), indent=1))
    return path


def render_text(report: SelectionReport) -> str:
    """The report in plain text."""
    summary = report.summary
    repeats = f", {report.repeats} repeats" if report.repeats > 1 else ""
    tests = format_quantity(summary.tests, "test")
    memories = format_quantity(report.memories, "memory", "memories")
    lines = [f"{format_card(report.selector)}: {tests}, {memories}{repeats}"]
    if report.validity != "valid":
        lines.append(f"These figures are {report.validity}: {report.reason}.")
    failed = "in none of these"
    if summary.error:
        failed += f"; PERFECT of all asked: {_format_figure(summary.perfect_of_put)}"
    rows = [
        ("PERFECT", summary.perfect, _format_figure(summary.perfect_share)),
        ("OVERRECALL", summary.overrecall, _format_figure(summary.overrecall_share)),
        ("UNDERRECALL", summary.underrecall, _format_figure(summary.underrecall_share)),
        ("ERROR", summary.error, failed),
        ("SKIP", summary.skip, "empty prompts, not asked"),
    ]
    if summary.open:
        rows.append(("open", summary.open, "not asked yet"))
    lines += ["", *(f"  {name:<12}{count:>5}  {words}" for name, count, words in rows), ""]
    figures = {
        "precision": summary.precision,
        "recall": summary.recall,
        "F1": summary.f1,
        "Jaccard": summary.jaccard,
        "no-recall, yet recalled": summary.false_positives,
    }
    if summary.steady is not None:
        figures["same class every time"] = summary.steady
    facts = {name: _format_figure(figure) for name, figure in figures.items()}
    if summary.p50_s is not None and summary.p95_s is not None:
        facts["a selection took"] = (
            f"{format_seconds(summary.p50_s)} (half), {format_seconds(summary.p95_s)} (95 %)"
        )
    if summary.usage is not None:
        tokens = summary.usage.input_tokens + summary.usage.output_tokens
        cost = format_number(summary.usage.cost_usd, 4)
        facts["models"] = f"{tokens:,} tokens, ${cost}"
    lines += [f"  {name:<24}{words}" for name, words in facts.items()]
    often = {
        "Recalled and not expected, most often:": summary.often_extra,
        "Over-recalled together:": summary.extra_together,
        "Expected and not recalled, most often:": summary.often_missing,
        "Named and not on disk:": [
            MemoryGroup(names=(name,), tests=count) for name, count in summary.unknown.items()
        ],
    }
    for title, groups in often.items():
        if groups:
            lines += ["", title]
            lines += [f"  {group.tests:>3} × {' + '.join(group.names)}" for group in groups[:5]]
    for fault, count in summary.faults.items():
        first = next(row for row in report.tests if row.fault == fault)
        lines.append(f"  {count} × {fault}: {first.test}: {first.message}")
    return "\n".join(lines)


def _format_figure(figure: SelectionFigure | None) -> str:
    """A share in percent with what it is of, or a mean, with its interval."""
    if figure is None:
        return "–"
    is_share = figure.count is not None
    scale, digits, unit = (100, 1, "%") if is_share else (1, 3, "")
    words = f"{format_number(scale * figure.value, digits)}{unit}"
    if is_share:
        words += f" of {figure.of}"
    if figure.interval is None:
        return words
    ends = (f"{format_number(scale * end, digits)}{unit}" for end in figure.interval)
    return f"{words}  ({' to '.join(ends)})"
