"""The tools of an MCP server as an agent is given them.

The map says how the server is started and which of its tools saves, searches and deletes. Further
tools have the role that `roles` of the map states; without one, a tool that is declared read-only
searches, and any other one saves.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.errors import NotAnAnswer, UsageError
from recall_bench.core.tool_call import FoundNote, MemoryTool, NoteWrite, ToolResult, ToolRole
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.mcp.server_map import (
    ERASE_PLACES,
    ServerMap,
    Value,
    fill_template,
    find_places,
)
from recall_bench.features.mcp.tool_results import ToolReply, parse_hits, read_new_id

if TYPE_CHECKING:
    from mcp_types import Tool

HIDDEN = "hidden"
_OURS = frozenset({"memory", "state_dir", "here"})
"""Places that we fill in, and no agent."""


def list_agent_tools(spec: ServerMap, offered: "tuple[Tool, ...]") -> tuple[MemoryTool, ...]:
    """The tools that an agent is given; UsageError if the map names one that does not exist."""
    names = {tool.name for tool in offered}
    for name in spec.roles:
        if name not in names:
            raise UsageError(f"roles: the server has no tool {name!r}; take it out of the map")
    return tuple(_describe_tool(spec, tool, role) for tool, role in _list_roles(spec, offered))


def _list_roles(spec: ServerMap, offered: "tuple[Tool, ...]") -> "Iterator[tuple[Tool, ToolRole]]":
    ours = {call.tool for call in (spec.reset, spec.settle, spec.consolidate) if call is not None}
    # The roles of the tools that the map itself calls.
    roles = {
        getattr(spec, key).tool: ToolRole.DELETE
        for key in ERASE_PLACES
        if getattr(spec, key) is not None
    }
    if spec.stored is not None:
        roles[spec.stored.tool] = ToolRole.SEARCH
    named = roles | {spec.search.tool: ToolRole.SEARCH, spec.ingest.tool: ToolRole.SAVE}
    for tool in offered:
        role = spec.roles.get(tool.name) or named.get(tool.name)
        # On a server that several memories share, only the map says how to keep them apart.
        is_apart = not spec.is_named or tool.name in named
        if role == HIDDEN or tool.name in ours or not is_apart:
            continue
        if role is None:
            is_reading = tool.annotations is not None and bool(tool.annotations.read_only_hint)
            role = ToolRole.SEARCH if is_reading else ToolRole.SAVE
        yield tool, ToolRole(role)


def _find_template(spec: ServerMap, tool: str) -> Mapping[str, object]:
    """The arguments with which the map calls a tool; empty if it does not."""
    for key in ("ingest", "search", "stored", *ERASE_PLACES):
        call = getattr(spec, key)
        if call is not None and call.tool == tool:
            arguments: Mapping[str, object] = call.arguments
            return arguments
    return {}


def _list_own_arguments(spec: ServerMap, tool: str) -> dict[str, object]:
    """The arguments of a tool that keep a memory apart, which an agent does not see."""
    template = _find_template(spec, tool)
    return {name: part for name, part in template.items() if find_places(part) & _OURS}


def _describe_tool(spec: ServerMap, tool: "Tool", role: ToolRole) -> MemoryTool:
    own = _list_own_arguments(spec, tool.name)
    schema = dict(tool.input_schema)
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        schema["properties"] = {key: about for key, about in properties.items() if key not in own}
    if isinstance(required, list):
        schema["required"] = [key for key in required if key not in own]
    return MemoryTool(name=tool.name, role=role, description=tool.description or "", schema=schema)


def fill_own_arguments(
    spec: ServerMap, tool: str, arguments: Mapping[str, object], shared: Mapping[str, Value]
) -> dict[str, object]:
    """The agent's arguments with those that keep memories apart."""
    own = _list_own_arguments(spec, tool)
    return {**arguments, **{name: fill_template(part, shared) for name, part in own.items()}}


def read_result(
    spec: ServerMap, tool: MemoryTool, arguments: Mapping[str, object], reply: ToolReply
) -> ToolResult:
    """What a call did, as far as the map says where notes, ids and results are."""
    reply_text = _show_reply(reply)
    if tool.role is ToolRole.SEARCH:
        return ToolResult(text=reply_text, found=_list_found(spec, tool.name, reply, reply_text))
    template = _find_template(spec, tool.name) or {
        **({} if spec.delete is None else spec.delete.arguments),
        **spec.ingest.arguments,
    }
    texts, ids = (list(_follow_place(template, arguments, name)) for name in ("text", "id"))
    if tool.role is ToolRole.DELETE:
        named = ids or list_texts(arguments) or _list_numbers(arguments)
        writes = tuple(NoteWrite(note=note_name) for note_name in named)
    elif texts and len(ids) in (0, len(texts)):
        # A server that chooses the id of a note itself names it in its reply.
        chosen = read_new_id(reply, spec.search) if len(texts) == 1 else None
        names: list[str | None] = [*ids] or [chosen] * len(texts)
        pairs = zip(names, texts, strict=True)
        writes = tuple(NoteWrite(note=note, text=text) for note, text in pairs)
    else:
        writes = (NoteWrite(text="\n".join(list_texts(arguments))),)
    return ToolResult(text=reply_text, writes=writes)


def _show_reply(reply: ToolReply) -> str:
    """The text of a reply, and its structured content where the text does not repeat it."""
    if reply.structured is None:
        return reply.text
    with suppress(msgspec.DecodeError):
        if decode_untrusted_json(reply.text, object) == reply.structured:
            return reply.text
    return f"{reply.text}\n{json.dumps(reply.structured, ensure_ascii=False)}"


def _list_found(spec: ServerMap, tool: str, reply: ToolReply, shown: str) -> tuple[FoundNote, ...]:
    """The results one by one where the map describes them, else the reply as one."""
    listed = next(
        (listing for listing in (spec.search, spec.stored) if listing and listing.tool == tool),
        None,
    )
    if listed is not None:
        try:
            hits = parse_hits(reply, listed)
        except NotAnAnswer:
            # The agent reads the reply, whether or not the map describes it.
            hits = None
        if hits is not None:
            return tuple(FoundNote(text=hit.text, note=hit.id) for hit in hits)
    return (FoundNote(text=shown),) if shown.strip() else ()


def _follow_place(template: object, value: object, place: str) -> Iterator[str]:
    """The texts of the arguments that stand where the template has a place of this name."""
    match template, value:
        case str(), bool():
            return
        case str(), str() | int() if f"{{{place}}}" in template:
            yield str(value)
        case dict(), dict():
            for key in template.keys() & value.keys():
                yield from _follow_place(template[key], value[key], place)
        case list(), list() if len(template) == 1:
            for item in value:
                yield from _follow_place(template[0], item, place)


def _list_numbers(arguments: Mapping[str, object]) -> list[str]:
    """Every whole number among arguments: the id of a note may be one."""
    return [str(argument) for argument in arguments.values() if type(argument) is int]


def list_texts(value: object) -> list[str]:
    """Every text in arguments, in order.

    >>> list_texts({"entities": [{"name": "Ida", "observations": ["likes tea", "is 41"]}]})
    ['Ida', 'likes tea', 'is 41']
    """
    match value:
        case str():
            return [value]
        case dict():
            return [text for part in value.values() for text in list_texts(part)]
        case list():
            return [text for part in value for text in list_texts(part)]
        case _:
            return []
