"""A dialogue as the file that the harness reads."""

import json
import re
from collections.abc import Sequence

from recall_bench.core.history import Turn

MIN_TURNS = 4
MAX_TURNS = 12
"""Turns of a dialogue."""

_LABEL = re.compile(r"^\*\*(User|Assistant)(?::\*\*|\*\*:)[ \t]*$", re.MULTILINE)
"""A line that begins a turn; inside of one it would begin another."""


def format_session_mark(session: str) -> str:
    """The line that says in which session the lines below it were said."""
    return f"[session: {session}]"


def render_conversation(turns: Sequence[Turn], form: str) -> str:
    """The file's text."""
    if form == "json":
        messages = [{"role": turn.speaker, "content": turn.text} for turn in turns]
        return json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
    return "\n".join(
        f"**{turn.speaker.capitalize()}:**\n\n{_strip_labels(turn.text)}\n" for turn in turns
    )


def _strip_labels(text: str) -> str:
    """The text without a line that would begin another turn."""
    return _LABEL.sub(r"\1:", text)
