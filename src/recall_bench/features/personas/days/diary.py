"""The written days by session, and what the writer of an entry sees of them.

An entry sees the text of days at least `lag` planned days back, so that the days between can be
written concurrently; of those it sees only what was planned.
"""

import re
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from anyio import to_thread

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import BenchError, Problems
from recall_bench.core.scenario import compute_story_date
from recall_bench.features.personas.day_log import format_date
from recall_bench.features.personas.days.day_plan import PlannedDay, SessionPlan
from recall_bench.stories.lint.value_index import DayLog
from recall_bench.stories.persona_files import Layout, list_days, name_day_file
from recall_bench.stories.persona_story import Arc
from recall_bench.text.text_values import collect_topics

_TOPIC = re.compile(r"^###[ \t]+(\S.*)$", re.MULTILINE)


class Diary:
    """Every day file of a story. Problems if one cannot be read."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts: dict[int, dict[str, str]] = {}
        self._days_of: dict[str, list[int]] = {}
        if not layout.memories.is_dir():
            return
        problems: list[BenchError] = []
        files = list_days(layout, problems, [])
        if not files:
            # An empty folder is no problem here.
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
        """The days that exist."""
        return frozenset(self._parts)

    def find_entry(self, day: int, session: str) -> str | None:
        """The entry of a session; None if there is none."""
        return self._parts.get(day, {}).get(session)

    def list_days(self, session: str, last: int) -> list[int]:
        """The days up to `last` on which the session has an entry."""
        days = self._days_of.get(session, [])
        return days[: bisect_right(days, last)]

    def list_headings(self, day: int, session: str) -> tuple[tuple[str, frozenset[str]], ...]:
        """The headings of a session's entry, each with its topic words."""
        return _parse_headings(self.find_entry(day, session) or "")

    async def write_day(self, day: int, text: str) -> None:
        """Write a day's file in a thread."""
        path = self._layout.memories / name_day_file(day)
        await to_thread.run_sync(replace_file, path, text.encode())
        self._index_day(day, text)

    def remove_leftovers(self) -> None:
        """Remove half-written files of a killed run."""
        sweep_folder(self._layout.memories)

    def _index_day(self, day: int, text: str) -> None:
        log = DayLog(day, name_day_file(day), text)
        for session in self._parts.get(day, ()):
            self._days_of[session].remove(day)
        self._parts[day] = {
            session: stripped
            for session, part in log.split_sessions()
            if (stripped := part.strip())
        }
        for session in self._parts[day]:
            insort(self._days_of.setdefault(session, []), day)


@lru_cache(maxsize=100_000)
def _parse_headings(entry: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Cached: every later day reads them again."""
    results = (heading.rstrip(" \t#") for heading in _TOPIC.findall(entry))
    return tuple((heading, collect_topics(heading)) for heading in results if heading)


def render_day(entries: dict[str, str]) -> str:
    """The content of a day's file, with the sessions in the given order."""
    parts = [f"# session: {session}\n\n{entry.strip()}\n" for session, entry in entries.items()]
    return "---\ntype: daily\n---\n\n" + "\n".join(parts)


_MAX_ENTRY_CHARACTERS = 1500
"""Limit for an earlier entry in a prompt."""
_MAX_HEADINGS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEntries:
    """What the writer of a session's entry sees of the past."""

    entries: tuple[str, ...] = ()
    """The last entries of the session, oldest first, each with its date."""
    headings: tuple[tuple[str, ...], ...] = ()
    """For each arc, own arcs first: the headings of older entries about it."""
    between: tuple[str, ...] = ()
    """The planned events of the days whose text is not shown."""


class PastReader:
    """Collects the past of an entry from the diary and the plan."""

    def __init__(
        self, diary: Diary, plan: tuple[PlannedDay, ...], epoch: date, *, lag: int, window: int
    ) -> None:
        self._diary = diary
        self._plan = plan
        self._epoch = epoch
        self._lag = lag
        self._window = window

    def collect_past(self, planned: PlannedDay, session_plan: SessionPlan) -> PastEntries:
        """What the writer of this entry sees."""
        session = session_plan.session.id
        seen_up_to = planned.place - self._lag
        # Days that are not in the plan are shown too.
        existing = (
            self._diary.list_days(session, self._plan[seen_up_to].day) if seen_up_to >= 0 else []
        )
        past = existing[-self._window :] if self._window else []
        rest = existing[: len(existing) - len(past)]
        return PastEntries(
            entries=tuple(self._show_entry(day, session) for day in past),
            headings=tuple(
                self._find_headings(arc, planned.day, session, rest)
                for arc in (*session_plan.arcs, *session_plan.echoes)
            ),
            between=tuple(self._list_outlines(planned, session)),
        )

    def _show_entry(self, day: int, session: str) -> str:
        text = _truncate(self._diary.find_entry(day, session) or "")
        return f"{self._format_day(day)}\n\n{text}"

    def _find_headings(
        self, arc: Arc, today: int, session: str, days: list[int]
    ) -> tuple[str, ...]:
        about = collect_topics(
            " ".join([arc.title, *(item.event for item in arc.directives if item.day <= today)])
        )
        during = days[bisect_left(days, arc.start_day) : bisect_right(days, arc.end_day)]
        results = [
            f"{self._format_day(day)}: {heading}"
            for day in during
            for heading, words in self._diary.list_headings(day, session)
            if about & words
        ]
        return tuple(results[-_MAX_HEADINGS:])

    def _list_outlines(self, planned: PlannedDay, session: str) -> list[str]:
        first = max(0, planned.place - self._lag + 1)
        outlines = []
        for item in self._plan[first : planned.place]:
            for session_plan in item.session_plans:
                if session_plan.session.id != session:
                    continue
                events = [
                    directive.event.rstrip(".")
                    for arc in (*session_plan.arcs, *session_plan.echoes)
                    for directive in arc.directives
                    if directive.day == item.day
                ]
                outlines.append(
                    f"- {format_date(item.at)}: {'; '.join(events) or 'small steps only'}"
                )
        return outlines

    def _format_day(self, day: int) -> str:
        return format_date(compute_story_date(self._epoch, day).date())


def _truncate(text: str) -> str:
    if len(text) <= _MAX_ENTRY_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, _MAX_ENTRY_CHARACTERS)
    return f"{text[: cut if cut > 0 else _MAX_ENTRY_CHARACTERS].rstrip()}\n[…]"
