"""Days for the passes that retell them, and a model's view of one."""

import json
import re
from datetime import date, datetime

from recall_bench.features.personas.conversations import build_dialogue
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.tool_calls import list_calls
from recall_bench.systems.models.model import Prompt

_LOG = re.compile(r"<<log (\w+)>>\n(.*)\n<<end of log \1>>", re.DOTALL)
_DATE = re.compile(r"its log of (\w+, \d+ \w+ \d{4})")


def told_day(asked: Prompt) -> StoryDay:
    """The day that a prompt shows."""
    found, dated = _LOG.search(asked.user), _DATE.search(asked.user)
    assert found is not None
    assert dated is not None
    at = datetime.strptime(dated[1], "%A, %d %B %Y").date()  # noqa: DTZ007 - story time is naive
    return StoryDay(1, at, found[2])


def a_day(*, sessions: int, topics: int) -> StoryDay:
    """A day with so many sessions, each with so many topics."""
    text = "---\ntype: daily\n---\n"
    for session in range(sessions):
        text += f"\n# session: s{session}\n"
        for topic in range(topics):
            text += (
                f"\n### Topic {session}-{topic}\nWe paid ${session}{topic}50 for item {topic}.\n"
            )
    return StoryDay(12, date(2025, 3, 14), text)


def write_dialogue(asked: Prompt) -> str:
    """A sound dialogue for the day that the prompt shows."""
    turns = build_dialogue(told_day(asked))
    return json.dumps([{"role": turn.speaker, "content": turn.text} for turn in turns])


def write_calls(asked: Prompt) -> str:
    """Sound calls for the day that the prompt shows."""
    calls = [
        {"session": call.session, "content": call.content.partition(": ")[2]}
        for call in list_calls(told_day(asked))
    ]
    return json.dumps({"calls": calls})
