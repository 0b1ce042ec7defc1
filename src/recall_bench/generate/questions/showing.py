"""What a prompt shows of a story: who it is about, what has begun, and the days themselves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.history import story_day
from recall_bench.datasets.identity import Persona
from recall_bench.datasets.story import Arc, Story
from recall_bench.generate.questions.quoting import Visible
from recall_bench.generate.questions.rooms import Rooms
from recall_bench.generate.questions.writer import Window
from recall_bench.generate.told_days import ToldDay

_MOST_EARLIER = 6
"""So many days before the window are shown with it."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A story and its days, read once."""

    persona: Persona
    story: Story
    days: Mapping[int, ToldDay]
    """Every day that is told, in story order."""
    rooms: Rooms

    def within(self, window: Window) -> list[ToldDay]:
        """The days of a window."""
        return [day for number, day in self.days.items() if window.first <= number <= window.last]

    def earlier(self, window: Window) -> list[ToldDay]:
        """A few days before a window, in story order: those that it may take up again.

        When the arcs of the window began, went wrong and had their events, the latest first; and
        always one old day, another for each window.
        """
        past = [number for number in self.days if number < window.first]
        if not past:
            return []
        old = past[(window.number - 1) % len(past)]
        named = sorted((set(self._turns(window)) & set(past)) - {old}, reverse=True)
        return [self.days[number] for number in sorted([old, *named[: _MOST_EARLIER - 1]])]

    def _turns(self, window: Window) -> Sequence[int]:
        """The days on which something turned in the arcs that go on in the window."""
        found: list[int] = []
        for arc in self.story.arcs:
            if arc.start_day <= window.last and arc.end_day >= window.first:
                found += [arc.start_day, *(each.day for each in arc.directives)]
                found += [day for day in (arc.wrong_day, arc.corrected_day) if day is not None]
        return found

    def date(self, day: int) -> str:
        """The calendar date of a story day, in words."""
        at = story_day(self.story.epoch, day)
        return f"{at:%A} {at.day} {at:%B %Y}"

    def who(self) -> str:
        """The agent and the people around it, as JSON."""
        persona = self.persona
        described = {
            "agent": persona.name,
            "role": persona.role,
            "domain": persona.domain,
            "works_for": persona.affiliation,
            "principal": None if persona.principal is None else persona.principal.name,
            "people": [f"{each.name}, {each.role}" for each in persona.cast],
            "sessions": {each.id: list(each.participants) for each in self.story.sessions},
        }
        return json.dumps(described, ensure_ascii=False, indent=1)

    def arcs(self, day: int, is_visible: Visible) -> str:
        """What has begun by a day, a line each: nothing that is still to come.

        The title of a correction tells how it ends, so it waits until it has.
        """
        return "\n".join(
            self._arc(arc, day)
            for arc in self.story.arcs
            if arc.start_day <= day
            and (arc.corrected_day is None or arc.corrected_day <= day)
            and is_visible(arc.primary_session or "")
        )

    def _arc(self, arc: Arc, day: int) -> str:
        began = f"{arc.title}, since {self.date(arc.start_day)}"
        return f"{began}, until {self.date(arc.end_day)}" if arc.end_day <= day else began
