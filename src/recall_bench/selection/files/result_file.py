"""A `.result` file: how every test of a suite went, in three layouts.

Two are those of the known scripts, exact to the byte: `AGENT`, and the later `KIT` with the prompt
and the presearch of each test. They floor their percentages, keep tests that failed in the
denominator without a line for them, and leave tests with an empty prompt out of the list. `RIGHT`
is ours: percentages are of the tests that have a class and add up, errors and skips have their
lines and entries, and a prompt is indented, so that none can be taken for the end of its entry.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from recall_bench.core.history import WallTime
from recall_bench.core.record import Record
from recall_bench.errors import UsageError
from recall_bench.selection.files.bench_file import Pairs, check_header
from recall_bench.selection.scoring import CLASSES, NO_CLASS, SelectionOutcome, compare_selection

TITLE = "# Recall Benchmark Results"
SUMMARY, TESTS = "[summary]", "[tests]"
OWN_HEADERS = ("Date", "Tests", "Presearch")
"""The headers that a result's own fields are written as."""
_BREAKS = re.compile(r"[\r\n]")


class ResultForm(StrEnum):
    """A layout."""

    AGENT = "agent"
    KIT = "kit"
    RIGHT = "right"


class PresearchResult(Record, frozen=True, kw_only=True):
    """What was left to choose from."""

    names: tuple[str, ...]
    total: int
    """Of how many memories."""


class ResultEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How one test went."""

    name: str
    """The file: `bench-001.bench`."""
    expected: tuple[str, ...]
    outcome: SelectionOutcome
    recalled: tuple[str, ...] | None = None
    """None where the selector failed or was not asked."""
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    prompt: str | None = None
    """None where the layout does not tell it."""
    presearch: PresearchResult | None = None
    problem: str | None = None
    """Why there is no selection, in one line. Only our own layout tells it."""


class SuiteResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How every test of a suite went."""

    date: WallTime
    """Written in its own zone, to the second."""
    tests: int
    """All of them, those without an entry included."""
    entries: tuple[ResultEntry, ...]
    presearch: bool | None = None
    """Whether memories were ruled out before the selection; None where the file does not say."""
    headers: Pairs = ()
    """What else heads the file: the selector, the digest of the memories … Only in our layout."""

    @property
    def counts(self) -> Counter[SelectionOutcome]:
        """The tests by outcome. Those without an entry were skipped."""
        counts = Counter(entry.outcome for entry in self.entries)
        counts[SelectionOutcome.SKIP] += self.tests - len(self.entries)
        return counts

    @property
    def overrecalled(self) -> int:
        """Extra memories over all tests."""
        return sum(len(entry.extra) for entry in self.entries)

    @property
    def underrecalled(self) -> int:
        """Missing memories over all tests."""
        return sum(len(entry.missing) for entry in self.entries)


def make_entry(
    name: str,
    *,
    expected: tuple[str, ...],
    recalled: tuple[str, ...],
    prompt: str | None = None,
    presearch: PresearchResult | None = None,
) -> ResultEntry:
    """The entry of a test for which something, or nothing, was selected."""
    compared = compare_selection(expected, recalled)
    return ResultEntry(
        name=name,
        expected=expected,
        outcome=compared.outcome,
        recalled=recalled,
        missing=compared.missing,
        extra=compared.extra,
        prompt=prompt,
        presearch=presearch,
    )


def write_result(result: SuiteResult, *, form: ResultForm = ResultForm.RIGHT) -> str:
    """The file's text. Reading it gives back whatever the layout tells.

    UsageError if a name is more than a line, or if there are more entries than tests.
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
            told = entry if result.presearch else entry.replace(presearch=None)
            lines += ["", f"--- {entry.name} ---", *_format_known_entry(told, form)]
    return "\n".join(lines) + "\n"


def compute_percentages(counts: Sequence[int]) -> list[str]:
    """The shares of a whole to one decimal, which add up to exactly 100.0.

    Every share is rounded down and the tenths that are then left go to those which lost the
    most, the first of equals first. Nothing at all has no shares.
    """
    whole = sum(counts)
    if not whole:
        return []
    tenths = [count * 1000 // whole for count in counts]
    by_loss = sorted(range(len(counts)), key=lambda place: -(counts[place] * 1000 % whole))
    for place in by_loss[: 1000 - sum(tenths)]:
        tenths[place] += 1
    return [f"{each // 10}.{each % 10}" for each in tenths]


def _format_head(result: SuiteResult, form: ResultForm) -> Iterator[str]:
    yield f"# Date: {result.date.isoformat(timespec='seconds')}"
    yield f"# Tests: {result.tests}"
    # The later script says `off` wherever nothing is configured.
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
