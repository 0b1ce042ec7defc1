"""What prompts for questions show of a story: people, arcs, days, and who may know what.

Text over the token limit is cut evenly: days under an even share stay whole and leave the rest to
the others, and within a day its sessions share alike. A session is cut after a whole line.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recall_bench.core.scenario import PRINCIPAL, compute_story_date
from recall_bench.core.usage import CHARACTERS_A_TOKEN
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.days.day_plan import is_open
from recall_bench.features.personas.questions.quotation import VisibilityRule, split_parts
from recall_bench.features.personas.questions.window import QuestionWindow
from recall_bench.stories.lint.value_index import NO_SESSION
from recall_bench.stories.persona_story import Arc, Persona, Session, Story
from recall_bench.text.languages import LANGUAGE_CODES, Language, get_language


class SessionMembers:
    """The sessions of a story and their participants."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self._sessions = {session.id: session for session in story.sessions}
        self._people = {session.id: frozenset(session.participants) for session in story.sessions}
        if PRINCIPAL not in self._people and persona.principal is not None:
            self._people[PRINCIPAL] = frozenset({persona.principal.name})

    @property
    def names(self) -> tuple[str, ...]:
        """The sessions that can ask."""
        return tuple(dict.fromkeys((PRINCIPAL, *self._sessions)))

    @property
    def isolated(self) -> tuple[Session, ...]:
        """The isolated sessions, in the persona's order."""
        return tuple(session for session in self._sessions.values() if session.isolated)

    @property
    def has_groups(self) -> bool:
        """Whether any session is a group."""
        return any(session.kind == "group" for session in self._sessions.values())

    def is_visible_to(self, asker: str, session: str) -> bool:
        """Whether all participants of the asking session may know the other session's content."""
        other = self._sessions.get(session)
        if other is None or not other.isolated or asker == session:
            return True
        asking = self._people.get(asker, frozenset())
        return bool(asking) and asking <= self._people[session]

    def find_outside_sessions(self, session: str) -> tuple[str, ...]:
        """Sessions with a participant who must not know the content of the session."""
        inside = self._people[session]
        return tuple(
            name
            for name in self.names
            if name != session and self._people.get(name, frozenset()) - inside
        )

    def find_askers(self, session: str, day: int) -> tuple[str, ...]:
        """The outside sessions that are open on a day; those that are not isolated, if any.

        A secret usually leaks where people talk openly.
        """
        closed = {item.id for item in self.isolated}
        askers = [
            name
            for name in self.find_outside_sessions(session)
            if name not in self._sessions or is_open(self._sessions[name], day)
        ]
        return tuple(name for name in askers if name not in closed) or tuple(askers)


_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t\r]*\n.*?\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)

CUT = "[the rest is left out]"


def build_excerpts(
    days: Sequence[StoryDay],
    tokens: int,
    is_visible: VisibilityRule,
    *,
    earlier: Sequence[StoryDay] = (),
) -> Mapping[str, str]:
    """The text of each day by its name in the prompt; days without visible text are left out.

    Earlier days get a quarter of the tokens, and what the others leave.
    """
    blocks: dict[int, list[str]] = {}
    for day in (*earlier, *days):
        first, *others = split_parts(day.text)
        before = replace(first, text=_FRONT_MATTER.sub("", first.text, count=1))
        blocks[day.number] = [
            ("" if part.session is None else f"# session: {part.session}\n\n") + part.text.strip()
            for part in (before, *others)
            if is_visible(part.session or NO_SESSION) and part.text.strip()
        ]
    space = tokens * CHARACTERS_A_TOKEN
    excerpts = _fit_days(days, blocks, space - (space // 4 if earlier else 0))
    rest = space - sum(len(part) for parts in excerpts.values() for part in parts)
    excerpts |= _fit_days(earlier, blocks, rest)
    return {
        format_block_name(day): "\n\n".join(excerpts[day.number])
        for day in sorted((*earlier, *days), key=lambda day: day.number)
        if day.number in excerpts
    }


def _fit_days(
    days: Sequence[StoryDay], blocks: Mapping[int, list[str]], space: int
) -> dict[int, list[str]]:
    """The blocks of each day that has any, cut to an even share of the space."""
    numbers = [day.number for day in days if blocks[day.number]]
    shares = divide_room([sum(map(len, blocks[number])) for number in numbers], space)
    fitted = {}
    for number, share in zip(numbers, shares, strict=True):
        limits = divide_room([len(block) for block in blocks[number]], share)
        fitted[number] = [
            block if len(block) <= limit else _truncate(block, limit)
            for block, limit in zip(blocks[number], limits, strict=True)
        ]
    return fitted


def format_block_name(day: StoryDay) -> str:
    """The name of a day's block in the prompt."""
    return f"day {day.number}, {day.date_text}"


def divide_room(sizes: Sequence[int], space: int) -> list[int]:
    """The room for each size: the size itself, or an even share of what is left."""
    shares = [0] * len(sizes)
    rest = space
    for rank, place in enumerate(sorted(range(len(sizes)), key=lambda each: sizes[each])):
        shares[place] = min(sizes[place], max(0, rest) // (len(sizes) - rank))
        rest -= shares[place]
    return shares


def _truncate(block: str, limit: int) -> str:
    head, line_end = block.split("\n", 1)[0], block.rfind("\n", 0, limit)
    beginning = block[: max(line_end, len(head))].rstrip()
    return f"{beginning}\n{CUT}"


_MAX_EARLIER_DAYS = 6
"""Limit for the days before the window in a prompt."""


@dataclass(frozen=True, slots=True)
class StoryView:
    """A story and its days."""

    persona: Persona
    story: Story
    days: Mapping[int, StoryDay]
    """Every day with a log, in story order."""
    members: SessionMembers

    @property
    def language(self) -> Language:
        """The language of the days; English for one that the program does not know."""
        code = self.persona.language
        return get_language(code if code in LANGUAGE_CODES else "en")

    def list_days(self, window: QuestionWindow) -> list[StoryDay]:
        """The days of a window."""
        return [day for number, day in self.days.items() if window.first <= number <= window.last]

    def list_earlier_days(self, window: QuestionWindow) -> list[StoryDay]:
        """A few days before a window that it may refer to, in story order.

        The latest starts, corrections and events of the window's arcs, and always one old day, a
        different one for each window.
        """
        past = [number for number in self.days if number < window.first]
        if not past:
            return []
        old = past[(window.number - 1) % len(past)]
        named = sorted((set(self._list_turning_days(window)) & set(past)) - {old}, reverse=True)
        return [self.days[number] for number in sorted([old, *named[: _MAX_EARLIER_DAYS - 1]])]

    def _list_turning_days(self, window: QuestionWindow) -> Sequence[int]:
        """The days of starts, events and corrections of the window's arcs."""
        turning_days: list[int] = []
        for arc in self.story.arcs:
            if arc.start_day <= window.last and arc.end_day >= window.first:
                turning_days += [arc.start_day, *(directive.day for directive in arc.directives)]
                turning_days += [
                    day for day in (arc.wrong_day, arc.corrected_day) if day is not None
                ]
        return turning_days

    def format_date(self, day: int) -> str:
        """The date of a story day with its weekday."""
        at = compute_story_date(self.story.epoch, day)
        return f"{at:%A} {at.day} {at:%B %Y}"

    def describe_people(self) -> str:
        """The agent and the people around it as JSON."""
        persona = self.persona
        described = {
            "agent": persona.name,
            "role": persona.role,
            "domain": persona.domain,
            "works_for": persona.affiliation,
            "principal": None if persona.principal is None else persona.principal.name,
            "people": [f"{item.name}, {item.role}" for item in persona.cast],
            "sessions": {item.id: list(item.participants) for item in self.story.sessions},
        }
        return json.dumps(described, ensure_ascii=False, indent=1)

    def describe_arcs(self, day: int, is_visible: VisibilityRule) -> str:
        """The visible arcs that have started by a day, one per line.

        A correction is listed from its correction on, because its title may tell the outcome.
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
