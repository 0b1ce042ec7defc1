"""The days that are on disk, by session: what later days look back on."""

import re

from anyio import to_thread

from recall_bench.datasets.days import day_name, list_days
from recall_bench.datasets.layout import Layout
from recall_bench.errors import BenchError, Problems
from recall_bench.lint.day import Day
from recall_bench.replacement import replace_file

_TOPIC = re.compile(r"^###[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


class Diary:
    """Every day on disk, whoever wrote it. Problems if one of them is no day."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts: dict[int, dict[str, str]] = {}
        if not layout.memories.is_dir():
            return
        problems: list[BenchError] = []
        files = list_days(layout, problems, [])
        if not files:
            # That the folder holds no day is no problem here.
            problems.pop()
        for file in files:
            try:
                self._note(file.day, file.read())
            except BenchError as problem:
                problems.append(problem)
        if problems:
            raise Problems(problems)

    @property
    def days(self) -> frozenset[int]:
        """The days there are."""
        return frozenset(self._parts)

    def entry(self, day: int, session: str) -> str | None:
        """What a session tells on a day; None if it tells nothing or the day is missing."""
        return self._parts.get(day, {}).get(session)

    def headings(self, day: int, session: str) -> tuple[str, ...]:
        """The topics of a session on a day."""
        return tuple(_TOPIC.findall(self.entry(day, session) or ""))

    async def write(self, day: int, text: str) -> None:
        """Put a day on disk, whole; others can go on while the disk is waited for."""
        path = self._layout.memories / day_name(day)
        await to_thread.run_sync(replace_file, path, text.encode())
        self._note(day, text)

    def sweep(self) -> None:
        """Take away what a killed run was in the middle of writing; only for who holds the log."""
        for left in self._layout.memories.glob(".day-*.md.*.part"):
            left.unlink(missing_ok=True)

    def _note(self, day: int, text: str) -> None:
        told = Day(day, day_name(day), text)
        self._parts[day] = {session: part.strip() for session, part in told.parts()}


def day_text(entries: dict[str, str]) -> str:
    """The file of a day: each session's entry under its heading, in the order given."""
    parts = [f"# session: {session}\n\n{entry.strip()}\n" for session, entry in entries.items()]
    return "---\ntype: daily\n---\n\n" + "\n".join(parts)
