"""Reading a `.result` file, whichever layout it has.

The known layouts put a prompt between the name of a test and its lists without marking where it
ends. It ends where a whole entry follows that is itself followed by another test or by the end of
the file; a prompt that quotes a whole result file is the one that is read too short.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from recall_bench.errors import Malformed
from recall_bench.selection.files.bench_file import header_of
from recall_bench.selection.files.result_file import (
    OWN_HEADERS,
    SUMMARY,
    TESTS,
    TITLE,
    Presearched,
    ResultEntry,
    ResultFile,
)
from recall_bench.selection.scoring import CLASSES, NO_CLASS, Outcome, compare

_NAME = re.compile(r"--- (.+) ---")
_COUNT = re.compile(r"(\w+)=(\d+)(?: \([\d.]+%\))?")
_PRESEARCH = re.compile(r"Presearch \((\d+)/(\d+)\):")
_JOIN = re.compile(r"(?<=\.md) (?=memory/)")
"""A blank between two names: names may hold blanks themselves."""


def parse_result(text: str, where: str) -> ResultFile:
    """The results that a file's text tells; Malformed if it contradicts itself or breaks off.

    A file that one of the scripts or we have written comes out the same when it is written in its
    layout again. Line ends of CR LF are read, and not remembered.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    return _Reading(text.removesuffix("\n").split("\n"), where).result()


@dataclass(frozen=True, slots=True)
class _Tail:
    """An entry after its prompt, and the line where the next one begins."""

    entry: ResultEntry
    end: int


class _Reading:
    def __init__(self, lines: list[str], where: str) -> None:
        self._lines = lines
        self._where = where
        self._is_presearched = False

    def result(self) -> ResultFile:
        """What the lines tell."""
        if self._lines[0].rstrip() != TITLE:
            raise self._fault(0, f"is no result file: it does not begin with {TITLE!r}")
        summary = self._section(SUMMARY, 0)
        tests = self._section(TESTS, summary)
        headers = [
            header for line in self._lines[1:summary] if (header := header_of(line)) is not None
        ]
        own = {key: value for key, value in headers if key in OWN_HEADERS}
        counts = self._counts(summary + 1, tests)
        presearch = self._presearch(own)
        is_right = all(outcome.lower() in counts for outcome in NO_CLASS)
        # Where nothing was presearched, a line that says so is the last of a prompt.
        self._is_presearched = is_right or presearch is True
        result = ResultFile(
            date=self._date(own),
            tests=self._tests(own, counts),
            entries=tuple(self._entries(tests + 1, is_right=is_right)),
            presearch=presearch,
            headers=tuple(pair for pair in headers if pair[0] not in OWN_HEADERS),
        )
        self._agree(result, counts)
        return result

    def _section(self, section: str, after: int) -> int:
        for place in range(after, len(self._lines)):
            if self._lines[place].rstrip() == section:
                return place
        raise self._fault(None, f"has no {section} line; the file is cut short or no result file")

    def _date(self, own: dict[str, str]) -> datetime:
        try:
            date = datetime.fromisoformat(own.get("Date", ""))
        except ValueError:
            date = None
        if date is None or date.tzinfo is None:
            raise self._fault(
                None, "needs a line such as '# Date: 2026-01-31T09:30:00+00:00', with its zone"
            )
        return date

    def _presearch(self, own: dict[str, str]) -> bool | None:
        said = own.get("Presearch")
        if said not in {None, "on", "off"}:
            raise self._fault(None, f"presearch is on or off; got {said!r:.60}")
        return None if said is None else said == "on"

    def _counts(self, start: int, end: int) -> dict[str, int]:
        counts = {}
        for place in range(start, end):
            line = self._lines[place].strip()
            found = _COUNT.fullmatch(line)
            if found:
                counts[found[1]] = int(found[2])
            elif line:
                raise self._fault(place, f"{line!r:.60} is not name=count")
        return counts

    def _tests(self, own: dict[str, str], counts: dict[str, int]) -> int:
        said, counted = own.get("Tests", ""), counts.get("total_tests")
        if not re.fullmatch(r"[0-9]+", said) or int(said) != counted:
            raise self._fault(
                None,
                f"needs the same number as '# Tests:' and total_tests; got {said} and {counted}",
            )
        return int(said)

    def _agree(self, result: ResultFile, counts: dict[str, int]) -> None:
        if len(result.entries) > result.tests:
            raise self._fault(
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
                raise self._fault(
                    None,
                    f"says {key}={counts[key]}, and its entries make {number}; "
                    "it was cut short or edited",
                )

    def _entries(self, start: int, *, is_right: bool) -> Iterator[ResultEntry]:
        place = start
        while place < len(self._lines):
            if not self._lines[place]:
                place += 1
                continue
            header = _NAME.fullmatch(self._lines[place])
            if header is None:
                raise self._fault(place, "a test begins with '--- <file> ---'")
            read = self._marked if is_right else self._unmarked
            prompt, tail = read(place, header[1])
            self._consistent(place, tail.entry)
            yield tail.entry.but(prompt=prompt)
            place = tail.end

    def _marked(self, place: int, name: str) -> tuple[str | None, _Tail]:
        """An entry of our own layout, where a prompt says how many lines it has."""
        prompt, start = None, place + 1
        found = re.fullmatch(r"Prompt \(([0-9]+)\):", self._line(start))
        if found:
            end = start + 1 + int(found[1])
            prompt = "\n".join(line.removeprefix("  ") for line in self._lines[start + 1 : end])
            start = end
        tail = self._tail(start, name)
        if tail is None:
            raise self._unreadable(place, name)
        return prompt, tail

    def _unmarked(self, place: int, name: str) -> tuple[str | None, _Tail]:
        """An entry of a known layout, where the prompt is whatever comes before the lists."""
        for start in range(place + 1, len(self._lines)):
            tail = self._tail(start, name)
            if tail is not None:
                prompt = self._lines[place + 1 : start]
                return "\n".join(prompt) if prompt else None, tail
        raise self._unreadable(place, name)

    def _tail(self, start: int, name: str) -> _Tail | None:
        """The lists and the result that begin here, if they do and nothing else follows."""
        place, presearch = start, None
        found = _PRESEARCH.fullmatch(self._line(place))
        if found and self._is_presearched:
            names = self._names(place, int(found[1]))
            if names is None:
                return None
            presearch = Presearched(names=names, total=int(found[2]))
            place += 1 + len(names)
        tail = self._failed(place, name) or self._listed(place, name, presearch)
        if tail is None or not self._is_end(tail.end):
            return None
        return tail

    def _failed(self, place: int, name: str) -> _Tail | None:
        """The three lines of an error in the known layouts."""
        expected, recalled, result = (self._line(place + more) for more in range(3))
        outcome = Outcome.ERROR
        if (recalled, result) != (f"Recalled: {outcome}", f"Result: {outcome}"):
            return None
        if not expected.startswith("Expected:"):
            return None
        names = expected.removeprefix("Expected:").removeprefix(" ")
        return _Tail(
            entry=ResultEntry(
                name=name, expected=tuple(_JOIN.split(names)) if names else (), outcome=outcome
            ),
            end=place + 3,
        )

    def _listed(self, place: int, name: str, presearch: Presearched | None) -> _Tail | None:
        expected = self._list("Expected", place)
        if expected is None:
            return None
        place += 1 + len(expected)
        recalled = self._list("Recalled", place)
        if recalled is not None:
            place += 1 + len(recalled)
        result = self._line(place).removeprefix("Result: ")
        if self._line(place) == result or result not in {*Outcome}:
            return None
        place += 1
        problem = None
        if self._line(place).startswith("Problem: "):
            problem = self._line(place).removeprefix("Problem: ")
            place += 1
        missing = self._list("Missing", place) or ()
        place += 1 + len(missing) if missing else 0
        extra = self._list("Extra", place) or ()
        place += 1 + len(extra) if extra else 0
        entry = ResultEntry(
            name=name,
            expected=expected,
            outcome=Outcome(result),
            recalled=recalled,
            missing=missing,
            extra=extra,
            presearch=presearch,
            problem=problem,
        )
        return _Tail(entry=entry, end=place)

    def _list(self, title: str, place: int) -> tuple[str, ...] | None:
        found = re.fullmatch(rf"{title} \(([0-9]+)\):", self._line(place))
        return self._names(place, int(found[1])) if found else None

    def _names(self, place: int, count: int) -> tuple[str, ...] | None:
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

    def _consistent(self, place: int, entry: ResultEntry) -> None:
        """The result must be what the lists make it: a figure is read from either."""
        if entry.recalled is None:
            is_right = entry.outcome in NO_CLASS and not entry.missing and not entry.extra
        else:
            compared = compare(entry.expected, entry.recalled)
            told = (entry.outcome, set(entry.missing), set(entry.extra))
            is_right = told == (compared.outcome, set(compared.missing), set(compared.extra))
        if not is_right:
            raise self._fault(
                place, f"the lists of {entry.name} do not make its result; it was edited"
            )

    def _line(self, place: int) -> str:
        return self._lines[place] if place < len(self._lines) else ""

    def _unreadable(self, place: int, name: str) -> Malformed:
        return self._fault(place, f"the entry of {name} breaks off or was edited; run it again")

    def _fault(self, place: int | None, problem: str) -> Malformed:
        where = self._where if place is None else f"{self._where}, line {place + 1}"
        return Malformed(where, problem)
