"""The report of a selection run: scores of every test, summary, JSON, text, `.result` files."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.event import Answered, NotAnswered, TrialResult
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
    SelectionComparison,
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
    rows = [row for name in folder.scenarios for row in _score_scenario(folder, name, suite)]
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


def _score_scenario(folder: RunFolder, scenario: str, suite: Suite) -> Iterator[ScoredTest]:
    for result in folder.results(scenario):
        if isinstance(result.outcome, NotAnswered):
            yield _score_failure(result, result.outcome)
        elif result.answered is not None:
            yield _score_answer(result, result.answered, suite)


def _score_failure(result: TrialResult, failure: NotAnswered) -> ScoredTest:
    return ScoredTest(
        test=result.item.id,
        repeat=result.trial.repeat,
        category=result.item.truth.category,
        prompt=result.item.text,
        outcome=SelectionOutcome.ERROR,
        expected=result.item.truth.cited,
        seconds=failure.seconds,
        fault=failure.fault,
        message=failure.message,
    )


def _score_answer(result: TrialResult, answered: Answered, suite: Suite) -> ScoredTest:
    answer, expected = answered.answer, result.item.truth.cited
    names = (passage.id for passage in answer.passages)
    recalled = tuple(dict.fromkeys(name for name in names if name is not None))
    selection: SelectionComparison = compare_selection(expected, recalled)
    details = {key: value for call in answer.tool_calls for key, value in call.items()}
    return ScoredTest(
        test=result.item.id,
        repeat=result.trial.repeat,
        category=result.item.truth.category,
        prompt=result.item.text,
        outcome=selection.outcome,
        expected=expected,
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
        usage=answer.usage,
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

    @property
    def classed(self) -> int:
        """Trials with a class."""
        return self.perfect + self.overrecall + self.underrecall


def summarise_tests(
    scored: Sequence[ScoredTest], wasted: Usage | None = None, *, still_open: int = 0
) -> SelectionSummary:
    """Summarise all tests; `wasted` is the usage of failed selections."""
    counts = Counter(row.outcome for row in scored)
    put = [row for row in scored if row.outcome is not SelectionOutcome.SKIP]
    classed = [row for row in scored if row.outcome in CLASSES]
    quiet = [row for row in classed if row.category == NO_RECALL]
    seconds = [row.seconds for row in classed if row.seconds is not None]
    return SelectionSummary(
        tests=len({row.test for row in scored}),
        trials=len(scored) + still_open,
        perfect=counts[SelectionOutcome.PERFECT],
        overrecall=counts[SelectionOutcome.OVERRECALL],
        underrecall=counts[SelectionOutcome.UNDERRECALL],
        error=counts[SelectionOutcome.ERROR],
        skip=counts[SelectionOutcome.SKIP],
        open=still_open,
        perfect_of_put=_compute_share(put, lambda row: row.outcome is SelectionOutcome.PERFECT),
        perfect_share=_compute_share(classed, lambda row: row.outcome is SelectionOutcome.PERFECT),
        overrecall_share=_compute_share(
            classed, lambda row: row.outcome is SelectionOutcome.OVERRECALL
        ),
        underrecall_share=_compute_share(
            classed, lambda row: row.outcome is SelectionOutcome.UNDERRECALL
        ),
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
        usage=_sum_usage(scored, wasted),
        faults=dict(Counter(row.fault for row in scored if row.fault is not None).most_common()),
    )


def _sum_usage(scored: Sequence[ScoredTest], wasted: Usage | None) -> Usage | None:
    spent = [row.usage for row in scored if row.usage is not None]
    if wasted is not None and wasted != Usage():
        spent.append(wasted)
    return sum(spent, start=Usage()) if spent else None


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
    repeated = [each for each in group_by(rows, lambda row: row.test).values() if len(each) > 1]
    if not repeated:
        return None
    same = sum(len({row.outcome for row in each}) == 1 for each in repeated)
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
    return "\n".join(_render_lines(report))


def _render_lines(report: SelectionReport) -> Iterator[str]:
    found = report.summary
    repeats = f", {report.repeats} repeats" if report.repeats > 1 else ""
    yield (
        f"{format_card(report.selector)}: {format_quantity(found.tests, 'test')}, "
        f"{format_quantity(report.memories, 'memory', 'memories')}{repeats}"
    )
    if report.validity != "valid":
        yield f"These figures are {report.validity}: {report.reason}."
    yield ""
    for name, count, share in (
        ("PERFECT", found.perfect, found.perfect_share),
        ("OVERRECALL", found.overrecall, found.overrecall_share),
        ("UNDERRECALL", found.underrecall, found.underrecall_share),
    ):
        yield f"  {name:<12}{count:>5}  {format_share(share)}"
    failed = (
        f"; PERFECT of all asked:  {format_share(found.perfect_of_put).strip()}"
        if found.error
        else ""
    )
    yield f"  {'ERROR':<12}{found.error:>5}  in none of these{failed}"
    yield f"  {'SKIP':<12}{found.skip:>5}  empty prompts, not asked"
    if found.open:
        yield f"  {'open':<12}{found.open:>5}  not asked yet"
    yield ""
    for name, mean in (
        ("precision", found.precision),
        ("recall", found.recall),
        ("F1", found.f1),
        ("Jaccard", found.jaccard),
    ):
        yield f"  {name:<24}{_format_mean(mean)}"
    yield f"  {'no-recall, yet recalled':<24}{format_share(found.false_positives)}"
    if found.steady is not None:
        yield f"  {'same class every time':<24}{format_share(found.steady)}"
    yield from _render_costs(found)
    yield from _render_near_misses(found)
    for fault, count in found.faults.items():
        first = next(row for row in report.tests if row.fault == fault)
        yield f"  {count} × {fault}: {first.test}: {first.message}"


def _render_costs(found: SelectionSummary) -> Iterator[str]:
    if found.p50_s is not None and found.p95_s is not None:
        times = f"{format_seconds(found.p50_s)} (half), {format_seconds(found.p95_s)} (95 %)"
        yield f"  {'a selection took':<24}{times}"
    if found.usage is not None:
        yield (
            f"  {'models':<24}{found.usage.input_tokens + found.usage.output_tokens:,} tokens, "
            f"${format_number(found.usage.cost_usd, 4)}"
        )


def _render_near_misses(found: SelectionSummary) -> Iterator[str]:
    for title, groups in (
        ("Recalled and not expected, most often:", found.often_extra),
        ("Over-recalled together:", found.extra_together),
        ("Expected and not recalled, most often:", found.often_missing),
    ):
        if groups:
            yield ""
            yield title
            yield from (f"  {each.tests:>3} × {' + '.join(each.names)}" for each in groups[:5])
    if found.unknown:
        yield ""
        yield "Named and not on disk:"
        yield from (f"  {count:>3} × {name}" for name, count in list(found.unknown.items())[:5])


def format_share(share: SelectionFigure | None) -> str:
    """A share with what it is of, and its interval."""
    if share is None:
        return "–"
    ends = (
        ""
        if share.interval is None
        else f"  ({' to '.join(f'{format_number(100 * end, 1)}%' for end in share.interval)})"
    )
    return f"{format_number(100 * share.value, 1):>5}% of {share.of}{ends}"


def _format_mean(mean: SelectionFigure | None) -> str:
    if mean is None:
        return "–"
    ends = (
        ""
        if mean.interval is None
        else f"  ({' to '.join(format_number(end, 3) for end in mean.interval)})"
    )
    return f"{format_number(mean.value, 3)}{ends}"
