"""Writes `.result` files: the results of all tests of a suite, in three layouts.

Two are those of the known scripts, byte for byte: `AGENT`, and the later `KIT` with the prompt and
the presearch of each test. They floor their percentages, keep failed tests in the denominator
without a line for them, and omit tests with an empty prompt. `RIGHT` is ours: percentages are of
the tests with a class and add up, errors and skips have lines and entries, and a prompt is
indented, so that it cannot be read as the end of its entry.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.features.selection.bench_file import Pairs, check_header
from recall_bench.features.selection.selection_scores import CLASSES, NO_CLASS, SelectionOutcome

TITLE = "# Recall Benchmark Results"
SUMMARY, TESTS = "[summary]", "[tests]"
OWN_HEADERS = ("Date", "Tests", "Presearch")
"""The headers of the result's own fields."""
_BREAKS = re.compile(r"[\r\n]")


class ResultForm(StrEnum):
    """A layout."""

    AGENT = "agent"
    KIT = "kit"
    RIGHT = "right"


class PresearchResult(Record, frozen=True, kw_only=True):
    """The memories left after the presearch."""

    names: tuple[str, ...]
    total: int
    """The number of all memories."""


class ResultEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one test."""

    name: str
    """The file name: `bench-001.bench`."""
    expected: tuple[str, ...]
    outcome: SelectionOutcome
    recalled: tuple[str, ...] | None = None
    """None if the selector failed or was not called."""
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    prompt: str | None = None
    """None if the layout does not have it."""
    presearch: PresearchResult | None = None
    problem: str | None = None
    """Why there is no selection, in one line. Only in our own layout."""


class SuiteResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The results of all tests of a suite."""

    date: WallTime
    """Written in its own zone, to the second."""
    tests: int
    """The number of tests, including those without an entry."""
    entries: tuple[ResultEntry, ...]
    presearch: bool | None = None
    """Whether a presearch excluded memories; None if unknown."""
    headers: Pairs = ()
    """Other headers: the selector, the digest of the memories … Only in our layout."""

    @property
    def counts(self) -> Counter[SelectionOutcome]:
        """The tests by outcome. Those without an entry were skipped."""
        counts = Counter(entry.outcome for entry in self.entries)
        counts[SelectionOutcome.SKIP] += self.tests - len(self.entries)
        return counts

    @property
    def overrecalled(self) -> int:
        """The number of extra memories over all tests."""
        return sum(len(entry.extra) for entry in self.entries)

    @property
    def underrecalled(self) -> int:
        """The number of missing memories over all tests."""
        return sum(len(entry.missing) for entry in self.entries)


def write_result(result: SuiteResult, *, form: ResultForm = ResultForm.RIGHT) -> str:
    """Return the text of a file.

    UsageError if a name is more than one line, or if there are more entries than tests.
    """
    _check_result(result)
    lines = [
        TITLE,
        *_format_head(result, form),
        "",
        SUMMARY,
        *_format_summary(result, form),
        "",
        TESTS,
    ]
    for entry in result.entries:
        if form is ResultForm.RIGHT:
            lines += ["", f"--- {entry.name} ---", *_format_right_entry(entry)]
        elif entry.outcome is not SelectionOutcome.SKIP:
            shown = entry if result.presearch else entry.replace(presearch=None)
            lines += ["", f"--- {entry.name} ---", *_format_known_entry(shown, form)]
    return "\n".join(lines) + "\n"


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


def _format_head(result: SuiteResult, form: ResultForm) -> Iterator[str]:
    yield f"# Date: {result.date.isoformat(timespec='seconds')}"
    yield f"# Tests: {result.tests}"
    # The later script writes `off` if nothing is configured.
    is_told = result.presearch is not None if form is ResultForm.RIGHT else form is ResultForm.KIT
    if is_told:
        yield f"# Presearch: {'on' if result.presearch else 'off'}"
    if form is ResultForm.RIGHT:
        yield from (f"# {key}: {value}".rstrip() for key, value in result.headers)


def _format_summary(result: SuiteResult, form: ResultForm) -> Iterator[str]:
    counts = result.counts
    yield f"total_tests={result.tests}"
    if form is ResultForm.RIGHT:
        shares = compute_percentages([counts[outcome] for outcome in CLASSES])
    else:
        shares = [str(counts[outcome] * 100 // (result.tests or 1)) for outcome in CLASSES]
    for place, outcome in enumerate(CLASSES):
        share = f" ({shares[place]}%)" if shares else ""
        yield f"{outcome.lower()}={counts[outcome]}{share}"
    if form is ResultForm.RIGHT:
        yield from (f"{outcome.lower()}={counts[outcome]}" for outcome in NO_CLASS)
    yield f"total_memories_overrecalled={result.overrecalled}"
    yield f"total_memories_underrecalled={result.underrecalled}"
    yield f"total_misrecalled={result.overrecalled + result.underrecalled}"


def _format_right_entry(entry: ResultEntry) -> Iterator[str]:
    if entry.prompt is not None:
        lines = entry.prompt.split("\n") if entry.prompt else []
        yield f"Prompt ({len(lines)}):"
        yield from (f"  {line}" if line else "" for line in lines)
    yield from _format_presearch(entry)
    yield from _format_names("Expected", entry.expected)
    if entry.recalled is not None:
        yield from _format_names("Recalled", entry.recalled)
    yield f"Result: {entry.outcome}"
    if entry.problem is not None:
        yield f"Problem: {entry.problem}"
    yield from _format_differences(entry)


def _format_known_entry(entry: ResultEntry, form: ResultForm) -> Iterator[str]:
    if entry.recalled is None:
        yield f"Expected: {' '.join(entry.expected)}"
        yield f"Recalled: {entry.outcome}"
        yield f"Result: {entry.outcome}"
        return
    if form is ResultForm.KIT:
        if entry.prompt is not None:
            yield entry.prompt
        yield from _format_presearch(entry)
    yield from _format_names("Expected", entry.expected)
    yield from _format_names("Recalled", entry.recalled)
    yield f"Result: {entry.outcome}"
    yield from _format_differences(entry)


def _format_presearch(entry: ResultEntry) -> Iterator[str]:
    if entry.presearch is not None:
        found = entry.presearch
        yield f"Presearch ({len(found.names)}/{found.total}):"
        yield from (f"  {name}" for name in found.names)


def _format_names(title: str, names: tuple[str, ...]) -> Iterator[str]:
    yield f"{title} ({len(names)}):"
    yield from (f"  {name}" for name in names)


def _format_differences(entry: ResultEntry) -> Iterator[str]:
    for title, names in (("Missing", entry.missing), ("Extra", entry.extra)):
        if names:
            yield from _format_names(title, names)


def _check_result(result: SuiteResult) -> None:
    if result.tests < len(result.entries):
        raise UsageError(f"{len(result.entries)} entries cannot be of {result.tests} tests")
    for key, value in result.headers:
        check_header(key, value)
        if key in OWN_HEADERS:
            raise UsageError(f"the header {key} is the result's own; give it as the field")
    for entry in result.entries:
        presearched = entry.presearch.names if entry.presearch else ()
        for text in (
            entry.name,
            entry.problem or "",
            *entry.expected,
            *(entry.recalled or ()),
            *presearched,
        ):
            if _BREAKS.search(text):
                raise UsageError(f"the result of {entry.name!r:.80} needs {text!r:.80} in one line")
