"""The pass `generate-conversations`: every day as a dialogue of four to twelve turns, or more.

A day of more than three sessions may have four turns a session.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.scenario import Turn
from recall_bench.features.personas.day_log import (
    LogTopic,
    StoryDay,
    find_added_values,
    find_exact_values,
)
from recall_bench.features.personas.day_pass import DayRendition, run_day_pass
from recall_bench.features.personas.model_reply import (
    RejectedReply,
    parse_json_reply,
    remove_unwritable,
)
from recall_bench.features.personas.pass_request import ConversationsRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult
from recall_bench.features.personas.prompts import build_task_prompt
from recall_bench.stories.persona_files import Layout, name_conversation_file
from recall_bench.stories.persona_story import Persona
from recall_bench.systems.models.model import Prompt, fence_blocks

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model

MAX_TURNS = 12
"""The most turns of a dialogue."""
TURNS_A_SESSION = 4
"""The most turns a session, where that is more."""

_LABEL = re.compile(r"^\*\*(User|Assistant)(?::\*\*|\*\*:)[ \t]*$", re.MULTILINE)
"""A line that starts a turn; inside a turn it would start another."""


def count_most_turns(day: StoryDay) -> int:
    """The most turns of a day's dialogue: each session has room for two questions."""
    return max(MAX_TURNS, TURNS_A_SESSION * len(day.sessions))


def format_session_mark(session: str) -> str:
    """The line that names the session of the lines below it."""
    return f"[session: {session}]"


def render_conversation(turns: Sequence[Turn], form: str) -> str:
    """The content of the file."""
    if form == "json":
        messages = [{"role": turn.speaker, "content": turn.text} for turn in turns]
        return json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
    return "\n".join(
        f"**{turn.speaker.capitalize()}:**\n\n{_strip_labels(turn.text)}\n" for turn in turns
    )


def _strip_labels(text: str) -> str:
    """The text without lines that would start another turn."""
    return _LABEL.sub(r"\1:", text)


_MARK = re.compile(r"^\[session: (\S+)\]$", re.MULTILINE)
_MAX_PROBLEMS = 8


def build_conversation_prompt(persona: Persona, day: StoryDay) -> Prompt:
    """The prompt to write a day as a dialogue."""
    who = json.dumps(
        {
            "name": persona.name,
            "role": persona.role,
            "style": persona.communication_style,
            "principal": None if persona.principal is None else persona.principal.name,
        },
        ensure_ascii=False,
    )
    members = {session.id: session.participants for session in persona.sessions}
    sessions = "\n".join(
        f"{name}: {', '.join(members[name])}" for name in day.sessions if members.get(name)
    )
    blocks = fence_blocks(
        {"agent": who, **({"sessions": sessions} if sessions else {}), "log": day.body}
    )
    example = format_session_mark(day.sessions[0] if day.sessions else "principal")
    return build_task_prompt(
        "conversation",
        blocks,
        date=day.date_text,
        example=example,
        speaker=_find_example_speaker(persona, day),
        least=_MIN_TURNS,
        most=count_most_turns(day),
    )


def _find_example_speaker(persona: Persona, day: StoryDay) -> str:
    """The first participant of the day's first group; without a group, the word "Name"."""
    groups = (item for item in persona.sessions if item.id in day.sessions)
    named = (item.participants[0] for item in groups if len(item.participants) > 1)
    return next(named, "Name")


def parse_dialogue(
    text: str, day: StoryDay, isolated: Collection[str] = ()
) -> tuple[Turn, ...] | RejectedReply:
    """The turns in a reply, or what is wrong with them.

    Values of isolated sessions must not be marked as said in other sessions.
    """
    json_reply = parse_json_reply(text, list)
    if isinstance(json_reply, RejectedReply):
        return json_reply
    turns: list[Turn] = []
    for number, item in enumerate(json_reply, start=1):
        role = item.get("role") if isinstance(item, dict) else None
        content = item.get("content") if isinstance(item, dict) else None
        if (
            not isinstance(role, str)
            or role not in {"user", "assistant"}
            or not isinstance(content, str)
            or not remove_unwritable(content)
        ):
            return RejectedReply((f"turn {number} has no role user or assistant with a content",))
        turns.append(Turn(speaker=role, text=remove_unwritable(content)))
    problems = (
        *_find_shape_faults(turns, count_most_turns(day)),
        *_check_sessions(turns, day),
        *_find_invented_values(turns, day),
        *_find_leaks(turns, day, isolated),
    )
    return RejectedReply(problems) if problems else tuple(turns)


def _find_shape_faults(turns: Sequence[Turn], most: int) -> Iterator[str]:
    """Find what is wrong: the number of turns, their order, or one without words."""
    if not _MIN_TURNS <= len(turns) <= most:
        yield f"it has {len(turns)} turns; write {_MIN_TURNS} to {most}"
    if any(turn.speaker != ("user", "assistant")[place % 2] for place, turn in enumerate(turns)):
        yield "the turns do not alternate, user first"
    if any(not turn.text for turn in turns):
        yield "a turn is empty"


def _check_sessions(turns: list[Turn], day: StoryDay) -> tuple[str, ...]:
    marked = {name for turn in turns for name in _MARK.findall(turn.text)}
    strange = sorted(marked - set(day.sessions))
    absent = [name for name in day.sessions if name not in marked]
    problems = [f"there is no session {name} in the log of that day" for name in strange]
    problems += [f"nothing is marked as said in session {name}" for name in absent]
    return tuple(problems)


def _find_invented_values(turns: list[Turn], day: StoryDay) -> tuple[str, ...]:
    existing = day.known_values | {atom.core for atom in find_exact_values(day.date_text)}
    spoken = (_MARK.sub("", turn.text) for turn in turns)
    added = dict.fromkeys(v for text in spoken for v in find_added_values(text, existing))
    return tuple(f"{value} is not in the log" for value in list(added)[:_MAX_PROBLEMS])


def _find_leaks(turns: list[Turn], day: StoryDay, isolated: Collection[str]) -> tuple[str, ...]:
    """Values of isolated sessions that are said elsewhere; a mark holds until the next one."""
    by_session = day.values_by_session
    secret = frozenset[str]().union(
        *(by_session[name] for name in day.sessions if name in isolated)
    )
    problems: dict[str, None] = {}
    # All turns in one: the reply to a question needs no mark of its own.
    unmarked, *marked = _MARK.split("\n\n".join(turn.text for turn in turns))
    for atom in find_exact_values(unmarked):
        if atom.core in secret:
            problems[f"{atom.shown} is said before any session is marked"] = None
    for name, words in zip(marked[::2], marked[1::2], strict=True):
        for atom in find_exact_values(words):
            if atom.core in secret - day.known_by_session.get(name, secret):
                problems[f"{atom.shown} is not from session {name}"] = None
    return tuple(problems)[:_MAX_PROBLEMS]


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
_MIN_TURNS = 4
"""The fewest turns of a dialogue."""
_MAX_EXCHANGES = MAX_TURNS // 2


def build_dialogue(day: StoryDay) -> tuple[Turn, ...]:
    """The day's log as four to twelve turns, without a model: every sentence under its session."""
    groups = _group_topics(day.topics)
    turns: list[Turn] = []
    for number, group in enumerate(groups):
        opening = (
            _OPENINGS[day.number % len(_OPENINGS)]
            if number == 0
            else _NEXT[(day.number + number) % len(_NEXT)].format(about=_name_group(group))
        )
        turns += [
            Turn(speaker="user", text=opening),
            Turn(speaker="assistant", text=_render_group(group)),
        ]
    if len(turns) < _MIN_TURNS:
        opening, answered = _CLOSINGS[day.number % len(_CLOSINGS)]
        turns += [Turn(speaker="user", text=opening), Turn(speaker="assistant", text=answered)]
    return tuple(turns)


def _group_topics(topics: Sequence[LogTopic]) -> list[list[LogTopic]]:
    """Topics for each exchange: one each if there are few, else by session, else in shares."""
    if len(topics) <= _MAX_EXCHANGES:
        return [[topic] for topic in topics]
    by_session = [list(group) for _, group in groupby(topics, key=lambda topic: topic.session)]
    if len(by_session) <= _MAX_EXCHANGES:
        return by_session
    bounds = [len(topics) * share // _MAX_EXCHANGES for share in range(_MAX_EXCHANGES + 1)]
    return [list(topics[first:last]) for first, last in pairwise(bounds)]


def _name_group(group: Sequence[LogTopic]) -> str:
    """The name of a group in a question: its heading, or its sessions."""
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


_ENDINGS = {"markdown": ("md", "json"), "json": ("json", "md")}


def generate_conversations(
    request: ConversationsRequest,
    on_progress: OnProgress = lambda _: None,
    model: "Model | None" = None,
) -> PassResult:
    """Write the missing dialogues of all days that have a log; see `run_day_pass`."""
    return run_day_pass(request, _ConversationFormat(request.format), on_progress, model)


class _ConversationFormat:
    what = "conversations"
    usual_tokens = 1500
    usual_temperature = 0.7

    def __init__(self, form: str) -> None:
        self._form = form

    def list_paths(self, layout: Layout, day: int) -> Sequence[Path]:
        """In the requested format, or in the other one."""
        names = (name_conversation_file(day, ending) for ending in _ENDINGS[self._form])
        return [layout.conversations / name for name in names]

    def render_offline(self, persona: Persona, day: StoryDay) -> DayRendition:  # noqa: ARG002 - as others need it
        return self._make_rendition(build_dialogue(day))

    def build_prompt(self, persona: Persona, day: StoryDay) -> Prompt:
        return build_conversation_prompt(persona, day)

    def parse_reply(
        self, reply: str, persona: Persona, day: StoryDay
    ) -> DayRendition | RejectedReply:
        isolated = {session.id for session in persona.sessions if session.isolated}
        turns = parse_dialogue(reply, day, isolated)
        return turns if isinstance(turns, RejectedReply) else self._make_rendition(turns)

    def _make_rendition(self, turns: tuple[Turn, ...]) -> DayRendition:
        return DayRendition(
            render_conversation(turns, self._form), "\n\n".join(turn.text for turn in turns)
        )
