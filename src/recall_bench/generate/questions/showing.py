"""What a prompt shows of a story: who it is about, what has begun, and the days themselves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.history import compute_story_date
from recall_bench.datasets.identity import Persona
from recall_bench.datasets.story import Arc, Story
from recall_bench.generate.questions.quoting import VisibilityRule
from recall_bench.generate.questions.rooms import SessionMembers
from recall_bench.generate.questions.writer import QuestionWindow
from recall_bench.generate.told_days import StoryDay

_MAX_EARLIER_DAYS = 6
"""So many days before the window are shown with it."""


@dataclass(frozen=True, slots=True)
class StoryView:
    """A story and its days, read once."""

    persona: Persona
    story: Story
    days: Mapping[int, StoryDay]
    """Every day that is told, in story order."""
    rooms: SessionMembers

    def list_days(self, window: QuestionWindow) -> list[StoryDay]:
        """The days of a window."""
        return [day for number, day in self.days.items() if window.first <= number <= window.last]

    def list_earlier_days(self, window: QuestionWindow) -> list[StoryDay]:
        """A few days before a window, in story order: those that it may take up again.

        When the arcs of the window began, went wrong and had their events, the latest first; and
        always one old day, another for each window.
        """
        past = [number for number in self.days if number < window.first]
        if not past:
            return []
        old = past[(window.number - 1) % len(past)]
        named = sorted((set(self._list_turning_days(window)) & set(past)) - {old}, reverse=True)
        return [self.days[number] for number in sorted([old, *named[: _MAX_EARLIER_DAYS - 1]])]

    def _list_turning_days(self, window: QuestionWindow) -> Sequence[int]:
        """The days on which something turned in the arcs that go on in the window."""
        found: list[int] = []
        for arc in self.story.arcs:
            if arc.start_day <= window.last and arc.end_day >= window.first:
                found += [arc.start_day, *(each.day for each in arc.directives)]
                found += [day for day in (arc.wrong_day, arc.corrected_day) if day is not None]
        return found

    def format_date(self, day: int) -> str:
        """The calendar date of a story day, in words."""
        at = compute_story_date(self.story.epoch, day)
        return f"{at:%A} {at.day} {at:%B %Y}"

    def describe_people(self) -> str:
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

    def describe_arcs(self, day: int, is_visible: VisibilityRule) -> str:
        """What has begun by a day, a line each: nothing that is still to come.

        The title of a correction tells how it ends, so it waits until it has.
        """
        return "\n".join(
            self._describe_arc(arc, day)
            for arc in self.story.arcs
            if arc.start_day <= day
            and (arc.corrected_day is None or arc.corrected_day <= day)
            and is_visible(arc.primary_session or "")
        )

    def _describe_arc(self, arc: Arc, day: int) -> str:
        began = f"{arc.title}, since {self.format_date(arc.start_day)}"
        return f"{began}, until {self.format_date(arc.end_day)}" if arc.end_day <= day else began
