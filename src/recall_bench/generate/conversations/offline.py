"""A day as a dialogue, without a model: somebody asks, and the agent tells what its log holds.

Every sentence of the log is in the dialogue, under its session; nothing else is claimed.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise

from recall_bench.core.history import Turn
from recall_bench.generate.conversations.rendering import MAX_TURNS, MIN_TURNS, format_session_mark
from recall_bench.generate.told_days import LogTopic, StoryDay

_OPENINGS = (
    "What do you have for me today?",
    "Walk me through the day, please.",
    "Take me through what happened.",
    "I was away from the desk. What came in?",
    "Give me the day in order.",
    "Let us go over it.",
)
_NEXT = (
    "And {about}?",
    "What came up on {about}?",
    "Go on: {about}.",
    "Tell me about {about} as well.",
    "Then {about}. What is there?",
    "{about}: where does that stand?",
)
_CLOSINGS = (
    ("Is that everything you have?", "That is all the log has for the day."),
    ("Anything else on record?", "Nothing further for this day."),
    ("Did you note anything more?", "No, the entry ends there."),
)
_MAX_EXCHANGES = MAX_TURNS // 2


def build_dialogue(day: StoryDay) -> tuple[Turn, ...]:
    """The day's log as four to twelve turns."""
    groups = _group_topics(day.topics)
    turns: list[Turn] = []
    for number, group in enumerate(groups):
        asked = (
            _OPENINGS[day.number % len(_OPENINGS)]
            if number == 0
            else _NEXT[(day.number + number) % len(_NEXT)].format(about=_name_group(group))
        )
        turns += [
            Turn(speaker="user", text=asked),
            Turn(speaker="assistant", text=_render_group(group)),
        ]
    if len(turns) < MIN_TURNS:
        asked, answered = _CLOSINGS[day.number % len(_CLOSINGS)]
        turns += [Turn(speaker="user", text=asked), Turn(speaker="assistant", text=answered)]
    return tuple(turns)


def _group_topics(topics: Sequence[LogTopic]) -> list[list[LogTopic]]:
    """Topics that are told together: one each if there are few, else by session, else by share."""
    if len(topics) <= _MAX_EXCHANGES:
        return [[topic] for topic in topics]
    by_session = [list(group) for _, group in groupby(topics, key=lambda topic: topic.session)]
    if len(by_session) <= _MAX_EXCHANGES:
        return by_session
    bounds = [len(topics) * share // _MAX_EXCHANGES for share in range(_MAX_EXCHANGES + 1)]
    return [list(topics[first:last]) for first, last in pairwise(bounds)]


def _name_group(group: Sequence[LogTopic]) -> str:
    """What a question can name it by, which is no answer: its headings, or its session."""
    headings = list(dict.fromkeys(topic.heading for topic in group if topic.heading))
    if len(headings) == 1:
        return f'"{headings[0]}"'
    sessions = list(dict.fromkeys(topic.session for topic in group if topic.session))
    return " and ".join(sessions) or "the rest of the day"


def _render_group(group: Sequence[LogTopic]) -> str:
    parts: list[str] = []
    session: str | None = None
    for topic in group:
        if topic.session is not None and topic.session != session:
            parts.append(format_session_mark(topic.session))
            session = topic.session
        parts.append(f"{topic.heading}: {topic.text}" if topic.heading else topic.text)
    return "\n\n".join(parts)
