"""The report of a selection run as JSON, as text and as `.result` files."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.memory import SystemCard
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.datasets.selection.result_file import (
    PresearchResult,
    ResultEntry,
    ResultForm,
    SuiteResult,
    write_result,
)
from recall_bench.datasets.selection.suite import Suite
from recall_bench.metrics.selection import EVAL_VERSION, SelectionOutcome
from recall_bench.reporting.formats import format_card, format_milliseconds, format_quantity
from recall_bench.reporting.selection_summary import (
    ScoredTest,
    SelectionMean,
    SelectionShare,
    SelectionSummary,
    score_tests,
    summarise_tests,
)
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import Summary

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
        f"{report.memories} {'memory' if report.memories == 1 else 'memories'}{repeats}"
    )
    if report.validity != "valid":
        yield f"These figures are {report.validity}: {report.reason}."
    yield ""
    for name, count, share in (
        ("PERFECT", found.perfect, found.perfect_share),
        ("OVERRECALL", found.overrecall, found.overrecall_share),
        ("UNDERRECALL", found.underrecall, found.underrecall_share),
    ):
        yield f"  {name:<12}{count:>5}  {_format_share(share)}"
    failed = (
        f"; PERFECT of all asked:  {_format_share(found.perfect_of_put).strip()}"
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
    yield f"  {'no-recall, yet recalled':<24}{_format_share(found.false_positives)}"
    if found.steady is not None:
        yield f"  {'same class every time':<24}{_format_share(found.steady)}"
    yield from _render_costs(found)
    yield from _render_near_misses(found)
    for fault, count in found.faults.items():
        first = next(row for row in report.tests if row.fault == fault)
        yield f"  {count} × {fault}: {first.test}: {first.message}"


def _render_costs(found: SelectionSummary) -> Iterator[str]:
    if found.p50_s is not None and found.p95_s is not None:
        times = (
            f"{format_milliseconds(found.p50_s)} (half), {format_milliseconds(found.p95_s)} (95 %)"
        )
        yield f"  {'a selection took':<24}{times}"
    if found.usage is not None:
        yield (
            f"  {'models':<24}{found.usage.input_tokens + found.usage.output_tokens:,} tokens, "
            f"${found.usage.cost_usd:.4f}"
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


def _format_share(share: SelectionShare | None) -> str:
    if share is None:
        return "–"
    return f"{share.value:6.1%} of {share.of}{_format_interval(share.interval, percent=True)}"


def _format_mean(mean: SelectionMean | None) -> str:
    return (
        "–" if mean is None else f"{mean.value:.3f}{_format_interval(mean.interval, percent=False)}"
    )


def _format_interval(interval: tuple[float, float] | None, *, percent: bool) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"  ({low:.1%} to {high:.1%})" if percent else f"  ({low:.3f} to {high:.3f})"


ENDING = ".result"


def write_results(
    report: SelectionReport, folder: Path, name: str, *, is_compat: bool
) -> tuple[Path, ...]:
    """Write `<name>.result`, and `<name>-2.result` and so on for repeats; returns the paths.

    The compatible form is that of the original scripts: the later layout for selectors with a
    presearch setting, the earlier one otherwise.
    """
    paths = []
    for repeat in range(report.repeats):
        number = f"-{repeat + 1}" if repeat else ""
        path = folder / f"{name}{number}{ENDING}"
        replace_file(path, _render_result(report, repeat, is_compat=is_compat).encode())
        paths.append(path)
    return tuple(paths)


def _render_result(report: SelectionReport, repeat: int, *, is_compat: bool) -> str:
    # A skipped test has no repeats and appears in every file.
    rows = [
        row for row in report.tests if row.repeat == repeat or row.outcome is SelectionOutcome.SKIP
    ]
    presearch = report.selector.config.get("presearch")
    is_searched = presearch if isinstance(presearch, bool) else None
    headers = (
        ("Selector", format_card(report.selector)),
        ("Corpus", report.corpus_digest),
        ("Plan", report.plan_digest),
    )
    result = SuiteResult(
        date=report.at.replace(microsecond=0),
        tests=len(rows),
        entries=tuple(_build_entry(row, report.memories) for row in rows),
        presearch=is_searched,
        headers=() if is_compat else headers,
    )
    if not is_compat:
        return write_result(result, form=ResultForm.RIGHT)
    form = ResultForm.AGENT if is_searched is None else ResultForm.KIT
    return write_result(result, form=form)


def _build_entry(row: ScoredTest, memories: int) -> ResultEntry:
    presearch = None
    if row.presearched is not None:
        presearch = PresearchResult(names=row.presearched, total=memories)
    return ResultEntry(
        name=f"{row.test}.bench",
        expected=row.expected,
        outcome=row.outcome,
        recalled=row.recalled,
        missing=row.missing,
        extra=row.extra,
        prompt=row.prompt,
        presearch=presearch,
        problem=None if row.message is None else " ".join(row.message.split()),
    )
