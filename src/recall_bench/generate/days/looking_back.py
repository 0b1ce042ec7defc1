"""What the author of an entry sees of the days before it.

A day sees the text of days that stand the lag or more before it in the plan, so that the days
between can be written at the same time; of those it is told what was planned for them.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date

from recall_bench.core.history import compute_story_date
from recall_bench.datasets.story import Arc
from recall_bench.generate.days.diary import Diary
from recall_bench.generate.days.known import format_date
from recall_bench.generate.days.plan import PlannedDay, SessionPlan
from recall_bench.lint.words import collect_topics

_MAX_ENTRY_CHARACTERS = 1500
"""Characters of an earlier entry that are shown."""
_MAX_HEADINGS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEntries:
    """The past of one session, as the author of its next entry sees it."""

    entries: tuple[str, ...] = ()
    """The session's last entries, oldest first, each with its date."""
    headings: tuple[tuple[str, ...], ...] = ()
    """For each arc told, its own first: what older entries say of it, by their headings."""
    between: tuple[str, ...] = ()
    """What was planned for the days whose text is not seen."""


class PastReader:
    """Looks back on a diary along a plan."""

    def __init__(
        self, diary: Diary, plan: tuple[PlannedDay, ...], epoch: date, *, lag: int, window: int
    ) -> None:
        self._diary = diary
        self._plan = plan
        self._epoch = epoch
        self._lag = lag
        self._window = window

    def collect_past(self, planned: PlannedDay, telling: SessionPlan) -> PastEntries:
        """What the author of this entry sees."""
        session = telling.session.id
        seen_up_to = planned.place - self._lag
        # Days that somebody else wrote, and that the plan does not have, are seen as well.
        told = self._diary.list_days(session, self._plan[seen_up_to].day) if seen_up_to >= 0 else []
        shown = told[-self._window :] if self._window else []
        rest = told[: len(told) - len(shown)]
        return PastEntries(
            entries=tuple(self._show_entry(day, session) for day in shown),
            headings=tuple(
                self._find_headings(arc, planned.day, session, rest)
                for arc in (*telling.arcs, *telling.echoes)
            ),
            between=tuple(self._list_outlines(planned, session)),
        )

    def _show_entry(self, day: int, session: str) -> str:
        text = _truncate(self._diary.find_entry(day, session) or "")
        return f"{self._format_day(day)}\n\n{text}"

    def _find_headings(
        self, arc: Arc, today: int, session: str, days: list[int]
    ) -> tuple[str, ...]:
        about = collect_topics(" ".join(_list_arc_texts(arc, today)))
        during = days[bisect_left(days, arc.start_day) : bisect_right(days, arc.end_day)]
        found = [
            f"{self._format_day(day)}: {heading}"
            for day in during
            for heading, words in self._diary.list_headings(day, session)
            if about & words
        ]
        return tuple(found[-_MAX_HEADINGS:])

    def _list_outlines(self, planned: PlannedDay, session: str) -> list[str]:
        first = max(0, planned.place - self._lag + 1)
        found = []
        for each in self._plan[first : planned.place]:
            for telling in each.tellings:
                if telling.session.id != session:
                    continue
                events = [
                    directive.event
                    for arc in (*telling.arcs, *telling.echoes)
                    for directive in arc.directives
                    if directive.day == each.day
                ]
                found.append(f"- {format_date(each.at)}: {'; '.join(events) or 'small steps only'}")
        return found

    def _format_day(self, day: int) -> str:
        return format_date(compute_story_date(self._epoch, day).date())


def _list_arc_texts(arc: Arc, today: int) -> list[str]:
    """The words by which an arc's topics are found; a heading that is written is no secret."""
    return [arc.title, *(each.event for each in arc.directives if each.day <= today)]


def _truncate(text: str) -> str:
    if len(text) <= _MAX_ENTRY_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, _MAX_ENTRY_CHARACTERS)
    return f"{text[: cut if cut > 0 else _MAX_ENTRY_CHARACTERS].rstrip()}\n[…]"
