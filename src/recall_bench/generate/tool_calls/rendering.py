"""A day's tool calls as the file that the harness reads."""

from collections.abc import Sequence

from recall_bench.datasets.transcripts import ToolCall
from recall_bench.generate.told_days import StoryDay
from recall_bench.world.plain_yaml import dump_yaml

SAVE = "memorySave"
"""The tool that puts something into memory."""
INTERNAL = "internal"
"""The session of what the agent did on its own."""


def render_tool_calls(calls: Sequence[ToolCall], day: StoryDay, persona: str) -> str:
    """The file's text."""
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
