"""The data exports of ChatGPT and of Claude.

ChatGPT: `conversations.json`, in newer exports `conversations-000.json` and so on, is an array of
conversations. `mapping` is a tree of messages: an edited question or a second answer is another
child of the same node, and `current_node` is the end of the branch that the user saw last. Claude:
`conversations.json` is an array too, and `chat_messages` a list.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.histories.history_message import (
    ASSISTANT_ROOM,
    USER,
    HistoryMessage,
    ReadingLog,
    decode_element,
    find_time,
    get_dict,
    get_list,
    get_text,
    parse_time,
    read_json_file,
)
from recall_bench.features.histories.history_source import HistoryFile, HistorySource

_CONVERSATIONS = r"conversations(?:-\d+)?\.json"


def stream_file(file: HistoryFile, *arrays: str) -> Iterator[tuple[str, bytes, str]]:
    """The elements of a JSON file: key, content, and where it is for messages."""
    try:
        content: list[msgspec.Raw] | dict[str, msgspec.Raw] = decode_untrusted_json(
            file.read(),
            list[msgspec.Raw] | dict[str, msgspec.Raw],  # type: ignore[arg-type]
        )
        elements = [("", raw) for raw in content] if isinstance(content, list) else []
        for key, value in content.items() if isinstance(content, dict) else ():
            is_array = key in arrays and bytes(value).lstrip().startswith(b"[")
            parts = decode_untrusted_json(value, list[msgspec.Raw]) if is_array else [value]
            elements += [(key, raw) for raw in parts]
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{file.shown} cannot be read as JSON ({error}); export it again"
        ) from error
    for number, (key, raw) in enumerate(elements, start=1):
        yield key, bytes(raw), f"{file.shown}, element {number}"


def read_chatgpt(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message of the branch that the user saw last."""
    _read_account(source, log, "user.json")
    for file in source.choose_files(
        _CONVERSATIONS, "conversations.json; name the export of ChatGPT"
    ):
        for key, raw, where in stream_file(file, "conversations"):
            if key in ("", "conversations"):
                yield from _read_chatgpt_chat(decode_element(raw, where), where, log)


def _read_chatgpt_chat(chat: object, where: str, log: ReadingLog) -> Iterator[HistoryMessage]:
    if not isinstance(chat, dict) or not isinstance(chat.get("mapping"), dict):
        raise UsageError(f"{where} has no mapping of messages; it is not an export of ChatGPT")
    nodes = chat["mapping"]
    branch = _find_branch(nodes, chat.get("current_node"))
    written = sum(1 for node in nodes.values() if _is_written(node))
    log.skip("on other branches", written - sum(_is_written(nodes[name]) for name in branch))
    started = find_time(chat, ("create_time", "update_time"))
    name = get_text(chat, "conversation_id", "id") or where
    for node in branch:
        message = get_dict(nodes[node], "message")
        role = get_text(message.get("author"), "role")
        speaker = log.add_chat_speaker(role, "ChatGPT") if _is_written(nodes[node]) else None
        if speaker is None:
            if role == "tool":
                log.skip("by tools")
            continue
        text = _join_parts(get_dict(message, "content"))
        at = parse_time(message.get("create_time")) or started
        if at is None or not text:
            log.skip("without text" if at else "without a date")
            continue
        started = at
        yield HistoryMessage(
            at=at,
            speaker=speaker,
            text=text,
            room=ASSISTANT_ROOM,
            conversation=name,
            title=get_text(chat, "title"),
        )


def _is_written(node: object) -> bool:
    """Whether a node holds something that the user or the model said."""
    message = get_dict(node, "message")
    hidden = get_dict(message, "metadata").get("is_visually_hidden_from_conversation")
    addressed = message.get("recipient") in (None, "all")
    return get_text(message.get("author"), "role") in ("user", "assistant") and (
        addressed and not hidden
    )


def _find_branch(nodes: dict[str, Any], last: object) -> list[str]:
    """The nodes from the first to the last one seen; without a mark, to the newest leaf."""
    if not isinstance(last, str) or last not in nodes:
        leaves = [name for name, node in nodes.items() if not get_list(node, "children")]
        last = max(leaves, key=lambda name: _get_order(nodes[name]), default=None)
    branch: list[str] = []
    visited: set[str] = set()
    while isinstance(last, str) and last in nodes and last not in visited:
        visited.add(last)
        branch.append(last)
        node = nodes[last]
        last = node.get("parent") if isinstance(node, dict) else None
    return branch[::-1]


def _get_order(node: object) -> datetime:
    created = parse_time(get_dict(node, "message").get("create_time"))
    return created or datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _join_parts(content: dict[str, Any]) -> str:
    """The text of a message; pictures and files are left out, spoken words are kept."""
    if content.get("content_type") in ("thoughts", "reasoning_recap", "user_editable_context"):
        return ""
    parts = [
        part if isinstance(part, str) else get_text(part, "text")
        for part in get_list(content, "parts")
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) or get_text(content, "text")


def _read_account(source: HistorySource, log: ReadingLog, name: str) -> None:
    """Note who the user is, where the export says so."""
    for file in source.files:
        if source.is_file or file.base != name:
            continue
        content = read_json_file(file)
        for account in content if isinstance(content, list) else [content]:
            person = log.add_person(
                USER, log.options.users[0] if log.options.users else get_text(account, "full_name")
            )
            full = get_text(account, "full_name", "name")
            person.handles.update({full} - {"", person.name})
            person.addresses.update({get_text(account, "email", "email_address")} - {""})
            person.phones.update(
                {get_text(account, "phone_number", "verified_phone_number")} - {""}
            )


def read_claude(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message; the export has no other branches."""
    _read_account(source, log, "users.json")
    for file in source.choose_files(
        _CONVERSATIONS, "conversations.json; name the export of Claude"
    ):
        for key, raw, where in stream_file(file, "conversations"):
            if key in ("", "conversations"):
                yield from _read_claude_chat(decode_element(raw, where), where, log)


def _read_claude_chat(chat: object, where: str, log: ReadingLog) -> Iterator[HistoryMessage]:
    if not isinstance(chat, dict) or not isinstance(chat.get("chat_messages"), list):
        raise UsageError(f"{where} has no chat_messages; it is not an export of Claude")
    started = find_time(chat, ("created_at", "updated_at"))
    for message in chat["chat_messages"]:
        speaker = log.add_chat_speaker(get_text(message, "sender"), "Claude")
        at = find_time(message, ("created_at", "updated_at")) or started
        text = _join_claude_parts(message)
        if speaker is None or at is None or not text:
            log.skip("without text" if at else "without a date")
            continue
        yield HistoryMessage(
            at=at,
            speaker=speaker,
            text=text,
            room=ASSISTANT_ROOM,
            conversation=get_text(chat, "uuid") or where,
            title=get_text(chat, "name"),
        )


def _join_claude_parts(message: object) -> str:
    """The text, and that of files that were pasted or attached."""
    parts = [
        get_text(part, "text").strip()
        for part in get_list(message, "content")
        if get_text(part, "type") == "text"
    ]
    text = (
        "\n\n".join(text_part for text_part in parts if text_part)
        or get_text(message, "text").strip()
    )
    attached = [
        f"[{get_text(text_part, 'file_name') or 'attached'}]\n{content}"
        for text_part in get_list(message, "attachments")
        if (content := get_text(text_part, "extracted_content").strip())
    ]
    return "\n\n".join(text_part for text_part in (text, *attached) if text_part)
