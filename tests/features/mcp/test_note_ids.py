"""Which note a tool of an MCP server wrote or deleted, from its arguments and its reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.tool_call import MemoryTool, NoteWrite, ToolRole
from recall_bench.features.mcp.agent_tools import read_result
from recall_bench.features.mcp.server_map import ServerMap, read_server_map
from recall_bench.features.mcp.tool_results import ToolReply
from tests.features.mcp.mcp_maps import child_map


@pytest.fixture
def spec(tmp_path: Path) -> ServerMap:
    """A server that chooses the ids of its notes."""
    return read_server_map(
        child_map(
            tmp_path,
            ingest={"tool": "add", "arguments": {"text": "{text}"}},
            delete={"tool": "drop", "arguments": {"memory_id": "{id}"}},
            roles={"change": "update", "purge": "delete"},
        )
    )


def call(
    spec: ServerMap, name: str, role: ToolRole, reply: ToolReply, **arguments: Any
) -> tuple[NoteWrite, ...]:
    tool = MemoryTool(name=name, role=role, description="", schema={})
    return read_result(spec, tool, arguments, reply).writes


OK = ToolReply(texts=("done",))


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (ToolReply(texts=("saved",), structured={"id": 17}), "17"),
        (ToolReply(texts=(json.dumps({"id": "m-3", "text": "bed 7"}),)), "m-3"),
        (ToolReply(texts=("saved as 17",)), None),
        (ToolReply(texts=("saved",), structured={"id": True}), None),
    ],
)
def test_the_id_of_a_new_note_is_read_from_the_reply(
    spec: ServerMap, reply: ToolReply, note: str | None
) -> None:
    assert call(spec, "add", ToolRole.SAVE, reply, text="bed 7") == (
        NoteWrite(note=note, text="bed 7"),
    )


def test_an_id_may_be_a_number_and_stands_where_delete_has_it(spec: ServerMap) -> None:
    dropped = call(spec, "drop", ToolRole.DELETE, OK, memory_id=17)
    purged = call(spec, "purge", ToolRole.DELETE, OK, number=17)
    changed = call(spec, "change", ToolRole.UPDATE, OK, memory_id=17, text="bed 9")

    assert dropped == purged == (NoteWrite(note="17"),)
    assert changed == (NoteWrite(note="17", text="bed 9"),)
