"""All transcripts of a story, for tests."""

from pathlib import Path

from recall_bench.stories.persona_files import Layout
from recall_bench.stories.transcripts import (
    DayConversation,
    ToolDay,
    list_conversation_files,
    list_tool_call_files,
    read_conversation,
    read_tool_calls,
)


def load_tool_calls(folder: Path, arcs: str) -> list[ToolDay]:
    return [read_tool_calls(file) for file in list_tool_call_files(Layout(folder, arcs))]


def load_conversations(folder: Path, arcs: str) -> list[DayConversation]:
    return [read_conversation(file) for file in list_conversation_files(Layout(folder, arcs))]
