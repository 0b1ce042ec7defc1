"""Files with a JSON value on each line, and plain records of messages in them."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.features.histories.chat_exports import stream_file
from recall_bench.features.histories.history_message import (
    ASSISTANT_ROOM,
    HistoryMessage,
    ReadingLog,
    Room,
    decode_element,
    find_time,
    get_list,
    get_text,
)
from recall_bench.features.histories.history_source import HistoryFile, HistorySource
from recall_bench.features.histories.trace_messages import read_content

_MAX_LINE = 64 * 1024 * 1024
_TIMES = ("timestamp", "time", "at", "date", "created_at", "createdAt", "created", "ts", "sent_at")
_SPEAKERS = ("role", "speaker", "sender", "author", "from", "user", "name")
_CONVERSATIONS = ("conversation_id", "conversation", "session_id", "session", "thread_id", "thread",
                  "chat_id", "id")  # fmt: skip
_TEXTS = ("content", "text", "message", "body")
_TURNS = ("messages", "turns")
_TITLES = ("title", "subject", "topic", "name")
_CHANNELS = ("channel", "room")


def is_json_lines(file: HistoryFile) -> bool:
    """Whether the file has a value on each line, by its name or its first two lines."""
    if file.base.endswith((".jsonl", ".ndjson")):
        return True
    lines = [line for line in file.peek().split(b"\n") if line.strip()]
    if len(lines) < 2 or not lines[0].lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(decode_plain_json(lines[0]), dict)
    except (msgspec.DecodeError, ValueError):
        return False


def iterate_lines(file: HistoryFile) -> Iterator[tuple[bytes, str]]:
    """Each line with content, and where it is for messages."""
    with file.open() as opened:
        number = 0
        while line := opened.readline(_MAX_LINE):
            number += 1
            where = f"{file.shown}, line {number}"
            if len(line) == _MAX_LINE:
                raise UsageError(f"{where}: has more than {_MAX_LINE:,} bytes")
            if line.strip():
                yield line.strip().removeprefix(b"\xef\xbb\xbf"), where


def read_records(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every record with a time, a speaker and a text; or lists of such records."""
    names = r".*\.(?:jsonl|ndjson|json)"
    for file in source.choose_files(names, "JSON lines; name the file that is meant"):
        if is_json_lines(file):
            for raw, where in iterate_lines(file):
                yield from _read_record(decode_element(raw, where), where, log)
        else:
            yield from _read_json_file(file, log)


def _read_json_file(file: HistoryFile, log: ReadingLog) -> Iterator[HistoryMessage]:
    """An array of records, one record, or one conversation with a list of them."""
    row: dict[str, Any] = {}
    has_turns = False
    for key, raw, where in stream_file(file, *_TURNS):
        if key == "":
            yield from _read_record(decode_element(raw, where), where, log)
        elif key in _TURNS:
            has_turns = True
        else:
            row[key] = decode_element(raw, where)
    if row and not has_turns:
        is_record = any(key in row for key in _TEXTS)
        yield from _read_record(row if is_record else None, file.shown, log)
    # Again, and only now: what holds for all messages may be below them.
    for key, raw, where in stream_file(file, *_TURNS):
        if key in _TURNS:
            yield from _read_part(decode_element(raw, where), row, where, file.shown, log)


def _read_part(
    turn: object, row: dict[str, Any], where: str, whole: str, log: ReadingLog
) -> Iterator[HistoryMessage]:
    """A message of a conversation; or a record of its own, if the list holds conversations."""
    if not isinstance(turn, dict) or any(get_list(turn, key) for key in _TURNS):
        yield from _read_record(turn, where, log)
    else:
        yield from _read_turn(turn, row, whole, log)


def _read_record(row: object, where: str, log: ReadingLog) -> Iterator[HistoryMessage]:
    turns = [turn_row for key in _TURNS for turn_row in get_list(row, key)]
    if not isinstance(row, dict):
        raise UsageError(f"{where}: is not an object with a time, a speaker and a text")
    if not turns:
        yield from _read_turn(row, row, "", log)
    for turn in turns:
        if isinstance(turn, dict):
            yield from _read_turn(turn, row, where, log)


def _read_turn(
    turn: dict[str, Any], row: dict[str, Any], whole: str, log: ReadingLog
) -> Iterator[HistoryMessage]:
    """A message; `whole` tells conversations without a name of their own apart."""
    texts = (read_content(turn.get(key)) for key in _TEXTS)
    text = next(filter(None, texts), "")
    at = find_time(turn, _TIMES) or find_time(row, _TIMES)
    if at is None or not text:
        log.skip("without text" if at else "without a date")
        return
    author = get_text(turn, *_SPEAKERS) or "user"
    if author in ("system", "developer", "tool", "function"):
        log.skip("by tools" if author in ("tool", "function") else "notices")
        return
    channel = get_text(turn, *_CHANNELS) or get_text(row, *_CHANNELS)
    speaker = None if channel else log.add_chat_speaker(author.lower())
    if speaker is None:
        speaker = log.add_person(f"name:{author}", author).key
        channel = channel or "chat"
    room = Room(f"jsonl:{channel}", channel, is_group=None) if channel else ASSISTANT_ROOM
    thread = get_text(row, *_CONVERSATIONS)
    title = get_text(row, *(key for key in _TITLES if row is not turn or key != "name"))
    yield HistoryMessage(
        at=at,
        speaker=speaker,
        text=text,
        room=room,
        conversation=thread or whole or room.key,
        title=title or (channel or thread),
    )


_DATED_NAME = re.compile(r"(?<!\d)((?:19|20)\d{2})[-_. ]?(\d{2})[-_. ]?(\d{2})(?!\d)")
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_FRONT_DATE = re.compile(
    r"^(?:date|created|created_at|day):[ \t]*[\"']?(\d{4}-\d{2}-\d{2}[T \d:.+Z-]*)", re.MULTILINE
)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t]*\r?$", re.MULTILINE)
NOTES = Room("notes", "Notes", is_group=False)


def read_markdown(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every note with a date, in its front matter or its name."""
    files = source.choose_files(r".*\.md", ".md file; name the folder of notes")
    speaker = log.add_chat_speaker("user") or ""
    for file in files:
        text = file.read().decode("utf-8", "replace").replace("\0", "")
        front = _FRONT.match(text)
        head, body = (front[1], text[front.end() :]) if front else ("", text)
        dated = _FRONT_DATE.search(head)
        named = _DATED_NAME.search(file.base)
        moment = dated[1].strip() if dated else "-".join(named.groups()) if named else None
        at = find_time({"at": moment}, ("at",))
        if at is None or not body.strip():
            log.skip("without text" if at else "without a date")
            continue
        title = _FRONT_TITLE.search(head) or _HEADING.search(body)
        yield HistoryMessage(
            at=at,
            speaker=speaker,
            text=body.strip(),
            room=NOTES,
            conversation=file.name,
            title=title[1] if title else file.base.removesuffix(".md"),
        )
