"""Writes `.result` files: the outcome of every test of a suite, as text for people and scripts.

Percentages are of the tests with a class and add up; errors and skips have lines and entries. A
prompt is indented, so that it cannot be read as the end of its entry.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_bench.core.atomic_file import replace_file
from recall_bench.features.selection.selection_report import ScoredTest, SelectionReport
from recall_bench.features.selection.selection_scores import CLASSES, NO_CLASS, SelectionOutcome
from recall_bench.reporting.formats import format_card

ENDING = ".result"


def write_results(report: SelectionReport, folder: Path, name: str) -> tuple[Path, ...]:
    """Write `<name>.result`, and `<name>-2.result` and so on for repeats; returns the paths."""
    paths = []
    for repeat in range(report.repeats):
        number = f"-{repeat + 1}" if repeat else ""
        paths.append(folder / f"{name}{number}{ENDING}")
        replace_file(paths[-1], "\n".join((*_render_result(report, repeat), "")).encode())
    return tuple(paths)


def compute_percentages(counts: Sequence[int]) -> list[str]:
    """Return percentages with one decimal that add up to exactly 100.0.

    Every share is rounded down, and the remaining tenths go to the largest remainders, the first
    of equals first. Without counts there are none.
    """
    whole = sum(counts)
    if not whole:
        return []
    tenths = [count * 1000 // whole for count in counts]
    by_loss = sorted(range(len(counts)), key=lambda place: -(counts[place] * 1000 % whole))
    for place in by_loss[: 1000 - sum(tenths)]:
        tenths[place] += 1
    return [f"{tenth // 10}.{tenth % 10}" for tenth in tenths]


def _render_result(report: SelectionReport, repeat: int) -> Iterator[str]:
    # A skipped test has no repeats and appears in every file.
    skip = SelectionOutcome.SKIP
    rows = [row for row in report.tests if row.repeat == repeat or row.outcome is skip]
    counts = Counter(row.outcome for row in rows)
    yield "# Recall Benchmark Results"
    yield f"# Date: {report.at.replace(microsecond=0).isoformat(timespec='seconds')}"
    yield f"# Tests: {len(rows)}"
    presearch = report.selector.config.get("presearch")
    if isinstance(presearch, bool):
        yield f"# Presearch: {'on' if presearch else 'off'}"
    yield f"# Selector: {format_card(report.selector)}"
    yield f"# Corpus: {report.corpus_digest}"
    yield f"# Plan: {report.plan_digest}"
    yield from ("", "[summary]", f"total_tests={len(rows)}")
    shares = compute_percentages([counts[outcome] for outcome in CLASSES])
    for place, outcome in enumerate(CLASSES):
        share = f" ({shares[place]}%)" if shares else ""
        yield f"{outcome.lower()}={counts[outcome]}{share}"
    yield from (f"{outcome.lower()}={counts[outcome]}" for outcome in NO_CLASS)
    extra, missing = sum(len(row.extra) for row in rows), sum(len(row.missing) for row in rows)
    yield f"total_memories_overrecalled={extra}"
    yield f"total_memories_underrecalled={missing}"
    yield f"total_misrecalled={extra + missing}"
    yield from ("", "[tests]")
    for row in rows:
        yield from ("", f"--- {_join_lines(row.test)}.bench ---")
        yield from _render_test(row, report.memories)


def _render_test(row: ScoredTest, memories: int) -> Iterator[str]:
    yield from _render_list("Prompt", row.prompt.split("\n") if row.prompt else ())
    if row.presearched is not None:
        yield f"Presearch ({len(row.presearched)}/{memories}):"
        yield from (f"  {_join_lines(name)}" for name in row.presearched)
    yield from _render_list("Expected", row.expected)
    if row.recalled is not None:
        yield from _render_list("Recalled", row.recalled)
    yield f"Result: {row.outcome}"
    if row.message is not None:
        yield f"Problem: {_join_lines(row.message)}"
    for title, names in (("Missing", row.missing), ("Extra", row.extra)):
        if names:
            yield from _render_list(title, names)


def _render_list(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"{title} ({len(lines)}):"
    yield from (f"  {_join_lines(line)}".rstrip() for line in lines)


def _join_lines(text: str) -> str:
    return " ".join(text.splitlines())
