"""A strict reader of `.result` files, for tests: what a layout tells can be read back.

The known layouts put a prompt between the name of a test and its lists without marking its end. It
ends where a whole entry follows that is followed by another test or by the end of the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from recall_bench.core.errors import Malformed
from recall_bench.features.selection.bench_file import parse_header
from recall_bench.features.selection.result_file import (
    OWN_HEADERS,
    SUMMARY,
    TESTS,
    TITLE,
    PresearchResult,
    ResultEntry,
    SuiteResult,
)
from recall_bench.features.selection.selection_scores import (
    CLASSES,
    NO_CLASS,
    SelectionOutcome,
    compare_selection,
)

_NAME = re.compile(r"--- (.+) ---")
_COUNT = re.compile(r"(\w+)=(\d+)(?: \([\d.]+%\))?")
_PRESEARCH = re.compile(r"Presearch \((\d+)/(\d+)\):")
_JOIN = re.compile(r"(?<=\.md) (?=memory/)")
"""A blank between two names: names may hold blanks themselves."""


def parse_result(text: str, where: str) -> SuiteResult:
    """The results that a file's text tells; Malformed if it contradicts itself or breaks off.

    A file that one of the scripts or we have written comes out the same when it is written in its
    layout again. Line ends of CR LF are read, and not remembered.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    return _ResultParser(text.removesuffix("\n").split("\n"), where).parse()


@dataclass(frozen=True, slots=True)
class _EntryTail:
    """An entry after its prompt, and the line where the next one begins."""

    entry: ResultEntry
    end: int


class _ResultParser:
    def __init__(self, lines: list[str], where: str) -> None:
        self._lines = lines
        self._where = where
        self._is_presearched = False

    def parse(self) -> SuiteResult:
        """What the lines tell."""
        if self._lines[0].rstrip() != TITLE:
            raise self._make_error(0, f"is no result file: it does not begin with {TITLE!r}")
        summary = self._find_section(SUMMARY, 0)
        tests = self._find_section(TESTS, summary)
        headers = [
            header for line in self._lines[1:summary] if (header := parse_header(line)) is not None
        ]
        own = {key: value for key, value in headers if key in OWN_HEADERS}
        counts = self._parse_counts(summary + 1, tests)
        presearch = self._parse_presearch(own)
        is_right = all(outcome.lower() in counts for outcome in NO_CLASS)
        # Where nothing was presearched, a line that says so is the last of a prompt.
        self._is_presearched = is_right or presearch is True
        result = SuiteResult(
            date=self._parse_date(own),
            tests=self._parse_tests(own, counts),
            entries=tuple(self._parse_entries(tests + 1, is_right=is_right)),
            presearch=presearch,
            headers=tuple(pair for pair in headers if pair[0] not in OWN_HEADERS),
        )
        self._check_counts(result, counts)
        return result

    def _find_section(self, section: str, after: int) -> int:
        for place in range(after, len(self._lines)):
            if self._lines[place].rstrip() == section:
                return place
        raise self._make_error(
            None, f"has no {section} line; the file is cut short or no result file"
        )

    def _parse_date(self, own: dict[str, str]) -> datetime:
        try:
            date = datetime.fromisoformat(own.get("Date", ""))
        except ValueError:
            date = None
        if date is None or date.tzinfo is None:
            raise self._make_error(
                None, "needs a line such as '# Date: 2026-01-31T09:30:00+00:00', with its zone"
            )
        return date

    def _parse_presearch(self, own: dict[str, str]) -> bool | None:
        said = own.get("Presearch")
        if said not in {None, "on", "off"}:
            raise self._make_error(None, f"presearch is on or off; got {said!r:.60}")
        return None if said is None else said == "on"

    def _parse_counts(self, start: int, end: int) -> dict[str, int]:
        counts = {}
        for place in range(start, end):
            line = self._lines[place].strip()
            found = _COUNT.fullmatch(line)
            if found:
                counts[found[1]] = int(found[2])
            elif line:
                raise self._make_error(place, f"{line!r:.60} is not name=count")
        return counts

    def _parse_tests(self, own: dict[str, str], counts: dict[str, int]) -> int:
        said, counted = own.get("Tests", ""), counts.get("total_tests")
        if not re.fullmatch(r"[0-9]+", said) or int(said) != counted:
            raise self._make_error(
                None,
                f"needs the same number as '# Tests:' and total_tests; got {said} and {counted}",
            )
        return int(said)

    def _check_counts(self, result: SuiteResult, counts: dict[str, int]) -> None:
        if len(result.entries) > result.tests:
            raise self._make_error(
                None,
                f"has {len(result.entries)} entries for {result.tests} tests; "
                "it was edited, or a prompt quotes a result file",
            )
        found = {outcome.lower(): result.counts[outcome] for outcome in CLASSES + NO_CLASS}
        found["total_memories_overrecalled"] = result.overrecalled
        found["total_memories_underrecalled"] = result.underrecalled
        found["total_misrecalled"] = result.overrecalled + result.underrecalled
        for key, number in found.items():
            if counts.get(key, number) != number:
                raise self._make_error(
                    None,
                    f"says {key}={counts[key]}, and its entries make {number}; "
                    "it was cut short or edited",
                )

    def _parse_entries(self, start: int, *, is_right: bool) -> Iterator[ResultEntry]:
        place = start
        while place < len(self._lines):
            if not self._lines[place]:
                place += 1
                continue
            header = _NAME.fullmatch(self._lines[place])
            if header is None:
                raise self._make_error(place, "a test begins with '--- <file> ---'")
            read = self._parse_right_entry if is_right else self._parse_known_entry
            prompt, tail = read(place, header[1])
            self._check_consistency(place, tail.entry)
            yield tail.entry.replace(prompt=prompt)
            place = tail.end

    def _parse_right_entry(self, place: int, name: str) -> tuple[str | None, _EntryTail]:
        """An entry of our own layout, where a prompt says how many lines it has."""
        prompt, start = None, place + 1
        found = re.fullmatch(r"Prompt \(([0-9]+)\):", self._get_line(start))
        if found:
            end = start + 1 + int(found[1])
            prompt = "\n".join(line.removeprefix("  ") for line in self._lines[start + 1 : end])
            start = end
        tail = self._parse_tail(start, name)
        if tail is None:
            raise self._make_unreadable_error(place, name)
        return prompt, tail

    def _parse_known_entry(self, place: int, name: str) -> tuple[str | None, _EntryTail]:
        """An entry of a known layout, where the prompt is whatever comes before the lists."""
        for start in range(place + 1, len(self._lines)):
            tail = self._parse_tail(start, name)
            if tail is not None:
                prompt = self._lines[place + 1 : start]
                return "\n".join(prompt) if prompt else None, tail
        raise self._make_unreadable_error(place, name)

    def _parse_tail(self, start: int, name: str) -> _EntryTail | None:
        """The lists and the result that begin here, if they do and nothing else follows."""
        place, presearch = start, None
        found = _PRESEARCH.fullmatch(self._get_line(place))
        if found and self._is_presearched:
            names = self._read_names(place, int(found[1]))
            if names is None:
                return None
            presearch = PresearchResult(names=names, total=int(found[2]))
            place += 1 + len(names)
        tail = self._parse_failure(place, name) or self._parse_lists(place, name, presearch)
        if tail is None or not self._is_end(tail.end):
            return None
        return tail

    def _parse_failure(self, place: int, name: str) -> _EntryTail | None:
        """The three lines of an error in the known layouts."""
        expected, recalled, result = (self._get_line(place + more) for more in range(3))
        outcome = SelectionOutcome.ERROR
        if (recalled, result) != (f"Recalled: {outcome}", f"Result: {outcome}"):
            return None
        if not expected.startswith("Expected:"):
            return None
        names = expected.removeprefix("Expected:").removeprefix(" ")
        return _EntryTail(
            entry=ResultEntry(
                name=name, expected=tuple(_JOIN.split(names)) if names else (), outcome=outcome
            ),
            end=place + 3,
        )

    def _parse_lists(
        self, place: int, name: str, presearch: PresearchResult | None
    ) -> _EntryTail | None:
        expected = self._parse_list("Expected", place)
        if expected is None:
            return None
        place += 1 + len(expected)
        recalled = self._parse_list("Recalled", place)
        if recalled is not None:
            place += 1 + len(recalled)
        result = self._get_line(place).removeprefix("Result: ")
        if self._get_line(place) == result or result not in {*SelectionOutcome}:
            return None
        place += 1
        problem = None
        if self._get_line(place).startswith("Problem: "):
            problem = self._get_line(place).removeprefix("Problem: ")
            place += 1
        missing = self._parse_list("Missing", place) or ()
        place += 1 + len(missing) if missing else 0
        extra = self._parse_list("Extra", place) or ()
        place += 1 + len(extra) if extra else 0
        entry = ResultEntry(
            name=name,
            expected=expected,
            outcome=SelectionOutcome(result),
            recalled=recalled,
            missing=missing,
            extra=extra,
            presearch=presearch,
            problem=problem,
        )
        return _EntryTail(entry=entry, end=place)

    def _parse_list(self, title: str, place: int) -> tuple[str, ...] | None:
        found = re.fullmatch(rf"{title} \(([0-9]+)\):", self._get_line(place))
        return self._read_names(place, int(found[1])) if found else None

    def _read_names(self, place: int, count: int) -> tuple[str, ...] | None:
        """As many indented lines after this one; None if there are fewer."""
        lines = self._lines[place + 1 : place + 1 + count]
        if len(lines) < count or not all(line.startswith("  ") for line in lines):
            return None
        return tuple(line.removeprefix("  ") for line in lines)

    def _is_end(self, place: int) -> bool:
        following = place
        while following < len(self._lines) and not self._lines[following]:
            following += 1
        if following == len(self._lines):
            return True
        return following > place and _NAME.fullmatch(self._lines[following]) is not None

    def _check_consistency(self, place: int, entry: ResultEntry) -> None:
        """The result must be what the lists make it: a figure is read from either."""
        if entry.recalled is None:
            is_right = entry.outcome in NO_CLASS and not entry.missing and not entry.extra
        else:
            compared = compare_selection(entry.expected, entry.recalled)
            told = (entry.outcome, set(entry.missing), set(entry.extra))
            is_right = told == (compared.outcome, set(compared.missing), set(compared.extra))
        if not is_right:
            raise self._make_error(
                place, f"the lists of {entry.name} do not make its result; it was edited"
            )

    def _get_line(self, place: int) -> str:
        return self._lines[place] if place < len(self._lines) else ""

    def _make_unreadable_error(self, place: int, name: str) -> Malformed:
        return self._make_error(
            place, f"the entry of {name} breaks off or was edited; run it again"
        )

    def _make_error(self, place: int | None, problem: str) -> Malformed:
        where = self._where if place is None else f"{self._where}, line {place + 1}"
        return Malformed(where, problem)
