"""The days that are on disk, by session: what later days look back on."""

import re
from bisect import bisect_right, insort
from functools import lru_cache

from anyio import to_thread

from recall_bench.datasets.days import list_days, name_day_file
from recall_bench.datasets.layout import Layout
from recall_bench.errors import BenchError, Problems
from recall_bench.lint.day import DayLog
from recall_bench.lint.words import collect_topics
from recall_bench.replacement import replace_file

_TOPIC = re.compile(r"^###[ \t]+(\S.*)$", re.MULTILINE)


class Diary:
    """Every day on disk, whoever wrote it. Problems if one of them is no day."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts: dict[int, dict[str, str]] = {}
        self._told: dict[str, list[int]] = {}
        if not layout.memories.is_dir():
            return
        problems: list[BenchError] = []
        files = list_days(layout, problems, [])
        if not files:
            # That the folder holds no day is no problem here.
            problems.pop()
        for file in files:
            try:
                self._index_day(file.day, file.read())
            except BenchError as problem:
                problems.append(problem)
        if problems:
            raise Problems(problems)

    @property
    def days(self) -> frozenset[int]:
        """The days there are."""
        return frozenset(self._parts)

    def find_entry(self, day: int, session: str) -> str | None:
        """What a session tells on a day; None if it tells nothing or the day is missing."""
        return self._parts.get(day, {}).get(session)

    def list_days(self, session: str, last: int) -> list[int]:
        """The days up to the last on which a session tells something, in story order."""
        days = self._told.get(session, [])
        return days[: bisect_right(days, last)]

    def list_headings(self, day: int, session: str) -> tuple[tuple[str, frozenset[str]], ...]:
        """The topics of a session on a day, each with the words that it is about."""
        return _parse_headings(self.find_entry(day, session) or "")

    async def write_day(self, day: int, text: str) -> None:
        """Put a day on disk, whole; others can go on while the disk is waited for."""
        path = self._layout.memories / name_day_file(day)
        await to_thread.run_sync(replace_file, path, text.encode())
        self._index_day(day, text)

    def remove_leftovers(self) -> None:
        """Take away what a killed run was in the middle of writing; only for who holds the log."""
        for left in self._layout.memories.glob(".day-*.md.*.part"):
            left.unlink(missing_ok=True)

    def _index_day(self, day: int, text: str) -> None:
        told = DayLog(day, name_day_file(day), text)
        for session in self._parts.get(day, ()):
            self._told[session].remove(day)
        self._parts[day] = {
            session: stripped
            for session, part in told.split_sessions()
            if (stripped := part.strip())
        }
        for session in self._parts[day]:
            insort(self._told.setdefault(session, []), day)


@lru_cache(maxsize=100_000)
def _parse_headings(entry: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Kept, because every later day looks at them again."""
    found = (heading.rstrip(" \t#") for heading in _TOPIC.findall(entry))
    return tuple((heading, collect_topics(heading)) for heading in found if heading)


def render_day(entries: dict[str, str]) -> str:
    """The file of a day: each session's entry under its heading, in the order given."""
    parts = [f"# session: {session}\n\n{entry.strip()}\n" for session, entry in entries.items()]
    return "---\ntype: daily\n---\n\n" + "\n".join(parts)
