"""The day files of a story: `day-0001.md`, one for each day something is told.

The public format ignores what it cannot use: a file named `day-10.md`, an empty file, a
missing day. Each of these changes what a system lives through, so here each is said.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recall_bench.datasets.layout import Layout
from recall_bench.errors import BenchError, Malformed
from recall_bench.yaml12 import decode_text

_NAME = re.compile(r"day-([0-9]{4}|[1-9][0-9]{4,})\.md")
_ALMOST = re.compile(r"day[-_ ]?([0-9]+)\.(?:md|markdown|txt)", re.IGNORECASE)
_FRONTMATTER_ONLY = re.compile(r"\s*---\s*\n(?:.*\n)*?---\s*")


@dataclass(frozen=True, slots=True)
class DayFile:
    """One day's log on disk."""

    day: int
    path: Path
    name: str
    """As messages show it."""

    def read(self) -> str:
        """The log, unchanged; Malformed if it is empty or not text."""
        text = read_file_text(self.path, self.name)
        if not text.strip().strip("\ufeff"):
            raise Malformed(self.name, "is empty; restore it, or remove it if nothing happened")
        return text


def read_file_text(path: Path, name: str, encoding: str = "utf-8") -> str:
    """What a file holds, unchanged; Malformed, by its name, if it cannot be read as text."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Malformed(name, f"cannot be read ({error.strerror}); restore the file") from error
    if (nul := raw.find(b"\0")) >= 0:
        line = raw.count(b"\n", 0, nul) + 1
        raise Malformed(
            f"{name}, line {line}", "holds a NUL byte, so it is not text; restore the file"
        )
    return decode_text(raw, name, encoding)


def name_day_file(day: int) -> str:
    """What the file of a day is called."""
    return f"day-{day:04}.md"


def list_days(
    layout: Layout, problems: list[BenchError], warnings: list[str]
) -> tuple[DayFile, ...]:
    """The day files of a story in story order; files that are almost one are noted."""
    found = []
    names = sorted(path.name for path in layout.memories.iterdir())
    for name in names:
        path = layout.memories / name
        shown = layout.name(path)
        if match := _NAME.fullmatch(name):
            found.append(DayFile(int(match[1]), path, shown))
        elif match := _ALMOST.fullmatch(name):
            problems.append(_describe_wrong_name(shown, int(match[1]), names))
        elif path.suffix == ".md" and not name.startswith("."):
            warnings.append(f"{shown}: is not named like a day and is not read")
    if found and found[0].day == 0:
        problems.append(Malformed(found[0].name, "the first story day is 1; rename or remove it"))
    if not found:
        where = layout.name(layout.memories)
        problems.append(Malformed(where, "holds no day file; add day-0001.md and so on"))
    return tuple(sorted(found, key=lambda file: file.day))


def _describe_wrong_name(shown: str, day: int, names: Collection[str]) -> Malformed:
    right = name_day_file(day)
    if day == 0:
        return Malformed(shown, "the first story day is 1; rename or remove it")
    if right in names:
        return Malformed(shown, f"is not a day file and {right} exists; remove one of the two")
    return Malformed(shown, f"would not be read, for days have four digits; rename it to {right}")


def is_bare(text: str) -> bool:
    """Whether the text is frontmatter and nothing else."""
    return len(text) < 4096 and _FRONTMATTER_ONLY.fullmatch(text) is not None


def find_gaps(days: Collection[int], is_active: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Runs of days up to the last told one on which an arc is active and nothing is told."""
    told = frozenset(days)
    missing = (day for day in range(1, max(told)) if day not in told and is_active(day))
    return find_runs(missing)


def find_runs(days: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each stretch of consecutive days; the days ascend."""
    first = last = None
    for day in days:
        if first is None or last is None or day != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = day
        last = day
    if first is not None and last is not None:
        yield first, last


def format_days(days: Iterable[int]) -> str:
    """Days as people write them: `day 4`, `days 1–3, 7`."""
    parts = [f"{first}–{last}" if last > first else f"{first}" for first, last in find_runs(days)]
    return f"{'day' if len(parts) == 1 and '–' not in parts[0] else 'days'} {', '.join(parts)}"
