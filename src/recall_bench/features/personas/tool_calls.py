"""The pass `generate-tool-calls`: what the agent saved to its memory on every day."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.day_log import LogTopic, StoryDay, find_exact_values
from recall_bench.features.personas.day_pass import DayRendition, run_day_pass
from recall_bench.features.personas.model_reply import (
    RejectedReply,
    parse_json_reply,
    remove_unwritable,
)
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult
from recall_bench.features.personas.prompts import build_task_prompt
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import Persona
from recall_bench.stories.transcripts import ToolCall
from recall_bench.systems.models.model import Prompt, fence_blocks
from recall_bench.text.sentences import split_sentences

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model

SAVE = "memorySave"
"""The tool that saves to memory."""
INTERNAL = "internal"
"""The session of calls outside of any conversation."""


def render_tool_calls(calls: Sequence[ToolCall], day: StoryDay, persona: str) -> str:
    """The content of the file."""
    head = (
        f"# {day.date.isoformat()}: what {persona} put into its memory on day {day.number}.\n"
        "# One entry is one call of a tool; `session` is where the agent was when it called,\n"
        f"# `{INTERNAL}` if nowhere. Each content can be understood on its own.\n\n"
    )
    return head + dump_yaml(
        {
            "day": day.number,
            "date": day.date.isoformat(),
            "day_of_week": day.weekday,
            "persona": persona,
            "calls": [
                {"session": call.session, "tool": call.tool, "content": call.content}
                for call in calls
            ],
        }
    )


FULL_DAY = 8, 18
"""The fewest and the most calls that are asked for of a full day."""
MAX_SENTENCES = 3
"""The most sentences of a call."""


def count_calls(day: StoryDay) -> tuple[int, int]:
    """The fewest and the most calls for a log of this length: one for each one to three sentences.

    A full day has no more than is usual, and every session has one.
    """
    sentences = sum(
        len(split_sentences(line)) for topic in day.topics for line in topic.text.splitlines()
    )
    fewest = max(1, len(day.sessions), min(FULL_DAY[0], -(-sentences // MAX_SENTENCES)))
    return fewest, max(fewest, min(FULL_DAY[1], sentences))


_NEAR_DAYS = 7
"""How far words such as "tomorrow" and names of weekdays reach."""
_MAX_PROBLEMS = 8
_MAX_CAST = 30


def build_tool_calls_prompt(persona: Persona, day: StoryDay) -> Prompt:
    """The prompt to list what was saved of a day."""
    cast = [f"{member.name}, {member.role}" for member in persona.cast[:_MAX_CAST]]
    people = json.dumps(
        {
            "agent": persona.name,
            "role": persona.role,
            "cast": cast,
            "known everywhere": persona.shared_knowledge,
        },
        ensure_ascii=False,
    )
    blocks = fence_blocks({"people": people, "log": day.body})
    least, most = count_calls(day)
    return build_task_prompt(
        "tool-calls",
        blocks,
        least=least,
        most=most,
        date=day.date_text,
        iso=day.date.isoformat(),
        save=SAVE,
        internal=INTERNAL,
    )


def parse_calls(text: str, day: StoryDay) -> tuple[ToolCall, ...] | RejectedReply:
    """The calls in a reply, or what is wrong with them."""
    json_reply = parse_json_reply(text, dict)
    if isinstance(json_reply, RejectedReply):
        return json_reply
    listed = json_reply.get("calls")
    if not isinstance(listed, list) or not listed:
        return RejectedReply(("it has no list `calls` with at least one call",))
    calls: list[ToolCall] = []
    for number, item in enumerate(listed, start=1):
        session = item.get("session") if isinstance(item, dict) else None
        content = item.get("content") if isinstance(item, dict) else None
        if (
            not isinstance(session, str)
            or not isinstance(content, str)
            or not remove_unwritable(content)
        ):
            return RejectedReply((f"call {number} has no session with a content",))
        calls.append(ToolCall(session=session, tool=SAVE, content=remove_unwritable(content)))
    problems = (*_check_sessions(calls, day), *_find_misfiled_values(calls, day))
    return RejectedReply(problems) if problems else tuple(calls)


def _check_sessions(calls: list[ToolCall], day: StoryDay) -> tuple[str, ...]:
    named = {call.session for call in calls} - {INTERNAL}
    problems = [
        f"there is no session {name} in the log of that day"
        for name in sorted(named - {*day.sessions})
    ]
    problems += [
        f"nothing is saved of session {name}" for name in day.sessions if name not in named
    ]
    return tuple(problems)


def _find_misfiled_values(calls: list[ToolCall], day: StoryDay) -> tuple[str, ...]:
    """Values that the call's session does not state: invented, or from another session.

    A date of the week before or after may be worked out from "tomorrow" or "on Thursday", which
    makes a better note than the word does.
    """
    week = (day.date + timedelta(days=item) for item in range(-_NEAR_DAYS, _NEAR_DAYS + 1))
    dated = {atom.core for near in week for atom in find_exact_values(near.isoformat())}
    problems: dict[str, None] = {}
    for call in calls:
        inside = call.session in day.sessions
        existing = dated | (day.known_by_session[call.session] if inside else day.known_values)
        for atom in find_exact_values(call.content):
            if atom.core in existing or atom.kind == "quotation":
                continue
            elsewhere = inside and atom.core in day.values
            why = f"is not from session {call.session}" if elsewhere else "is not in the log"
            problems[f"{atom.shown} {why}"] = None
    return tuple(problems)[:_MAX_PROBLEMS]


def list_calls(day: StoryDay) -> tuple[ToolCall, ...]:
    """One call for each paragraph of each topic, without a model."""
    return tuple(
        ToolCall(
            session=topic.session or INTERNAL, tool=SAVE, content=_format_content(day, topic, part)
        )
        for topic in day.topics
        for part in re.split(r"\n\s*\n", topic.text)
        if part.strip()
    )


def _format_content(day: StoryDay, topic: LogTopic, paragraph: str) -> str:
    """The paragraph with its date and heading, so that it can be understood alone."""
    dated = day.date.isoformat()
    if topic.heading is None:
        about = dated
    elif str(day.date.year) in topic.heading:
        about = topic.heading
    else:
        about = f"{dated}, {topic.heading}"
    return f"{about}: {paragraph.strip()}"


def generate_tool_calls(
    request: PassRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the missing tool calls of all days that have a log; see `run_day_pass`."""
    return run_day_pass(request, _ToolCallFormat(), on_progress, model)


class _ToolCallFormat:
    what = "tool calls"
    usual_tokens = 1200
    # Lower than for the passes that invent: saving is copying.
    usual_temperature = 0.3

    def list_paths(self, layout: Layout, day: int) -> Sequence[Path]:
        return [layout.tools / f"day-{day:04}.{ending}" for ending in ("yaml", "yml")]

    def render_offline(self, persona: Persona, day: StoryDay) -> DayRendition:
        return _make_rendition(list_calls(day), day, persona.id)

    def build_prompt(self, persona: Persona, day: StoryDay) -> Prompt:
        return build_tool_calls_prompt(persona, day)

    def parse_reply(
        self, reply: str, persona: Persona, day: StoryDay
    ) -> DayRendition | RejectedReply:
        calls = parse_calls(reply, day)
        return (
            calls if isinstance(calls, RejectedReply) else _make_rendition(calls, day, persona.id)
        )


def _make_rendition(calls: tuple[ToolCall, ...], day: StoryDay, persona: str) -> DayRendition:
    rendition = "\n\n".join(call.content for call in calls)
    return DayRendition(render_tool_calls(calls, day, persona), rendition)
