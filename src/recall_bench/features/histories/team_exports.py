"""Exports of Slack and Discord.

Slack: `users.json`, `channels.json`, `groups.json`, `mpims.json`, `dms.json`, and a folder for each
channel with a file a day; text names people as `<@U024BE7LH>`. Discord: the data package, which
holds the user's own messages only, or the JSON files of DiscordChatExporter, one for each channel.
"""

import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.chat_exports import stream_file
from recall_bench.features.histories.history_message import (
    USER,
    HistoryMessage,
    ReadingLog,
    Room,
    assume_utc,
    decode_element,
    find_time,
    get_dict,
    get_list,
    get_text,
    parse_time,
    read_json_file,
)
from recall_bench.features.histories.history_source import HistoryFile, HistorySource

SLACK_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DAY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_SLACK_MARK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_TALK = frozenset({"", "thread_broadcast", "bot_message", "me_message", "file_share"})
"""The subtypes of messages that a person wrote; others say who joined, or renamed what."""


@dataclass(slots=True)
class _SlackNames:
    """The people and channels of a workspace by id."""

    log: ReadingLog
    channels: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, Room] = field(default_factory=dict)
    """By the name of the channel's folder."""

    def add_user(self, user: object) -> None:
        name = get_text(user, "id")
        profile = get_dict(user, "profile")
        display_name = get_text(profile, "real_name", "display_name") or get_text(
            user, "real_name", "name"
        )
        is_bot = isinstance(user, dict) and user.get("is_bot") is True
        person = self.log.add_person(name, display_name, is_agent=is_bot)
        handles = {get_text(user, "name"), get_text(profile, "display_name")}
        person.handles.update(handles - {"", person.name})
        person.addresses.update({get_text(profile, "email")} - {""})
        person.phones.update({get_text(profile, "phone")} - {""})
        self.log.add_person(name)

    def add_channel(self, channel: object, kind: str) -> None:
        name, title = get_text(channel, "id"), get_text(channel, "name")
        folder = title or name
        self.channels[name] = title
        if kind in ("dms.json", "mpims.json"):
            members = [each for each in get_list(channel, "members") if isinstance(each, str)]
            people = [self.log.people[member] for member in members if member in self.log.people]
            others = [person.label for person in people if not person.is_user] or [folder]
            label = ", ".join(others)
            self.rooms[folder] = Room(f"slack:{name}", label, is_group=kind == "mpims.json")
        else:
            self.rooms[folder] = Room(f"slack:{name}", f"#{title}")

    def render(self, text: str) -> str:
        """The text with names in place of ids, and without Slack's marks."""
        return html.unescape(_SLACK_MARK.sub(self._render_mark, text)).strip()

    def _render_mark(self, found: re.Match[str]) -> str:
        kind, target, label = found[1], found[2], found[3]
        if kind == "@":
            person = self.log.people.get(target)
            return f"@{person.label if person else label or 'someone'}"
        if kind == "#":
            return f"#{label or self.channels.get(target, 'channel')}"
        if kind == "!":
            return label or f"@{target.partition('^')[0]}"
        return f"{label} ({target})" if label and label not in target else target


def read_slack(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message that a person wrote in a channel, a group or a direct message."""
    names = _SlackNames(log)
    lists = {
        candidate.base: candidate
        for candidate in source.files
        if candidate.base in (*SLACK_LISTS, "users.json")
    }
    if "users.json" not in lists:
        raise UsageError(f"{source.path} has no users.json; name the folder or zip file of Slack")
    for user in _read_list(lists["users.json"]):
        names.add_user(user)
    for kind in SLACK_LISTS:
        for channel in _read_list(lists[kind]) if kind in lists else ():
            names.add_channel(channel, kind)
    for file in source.files:
        if _DAY_FILE.fullmatch(file.base):
            room = names.rooms.get(file.parent) or Room(f"slack:{file.parent}", f"#{file.parent}")
            for _, raw, where in stream_file(file):
                message = _read_slack_message(decode_element(raw, where), room, names)
                if message is not None:
                    yield message


def _read_list(file: HistoryFile) -> list[Any]:
    content = read_json_file(file)
    if not isinstance(content, list):
        raise UsageError(f"{file.shown} is not the list that Slack writes; export it again")
    return content


def _read_slack_message(message: object, room: Room, names: _SlackNames) -> HistoryMessage | None:
    log = names.log
    if get_text(message, "subtype") not in _TALK or get_text(message, "type") != "message":
        log.skip("notices")
        return None
    at = find_time(message, ("ts",))
    text = names.render(get_text(message, "text"))
    if at is None or not text:
        log.skip("without text" if at else "without a date")
        return None
    speaker = get_text(message, "user", "bot_id") or get_text(message, "username") or "someone"
    profile = get_dict(message, "user_profile")
    display_name = get_text(profile, "real_name", "name") or get_text(message, "username")
    # What a person posts through an app has the app's bot_id beside the user.
    is_agent = bool(get_text(message, "bot_id")) and not get_text(message, "user")
    log.add_person(speaker, display_name, is_agent=is_agent)
    thread = get_text(message, "thread_ts")
    return HistoryMessage(
        at=at,
        speaker=speaker,
        text=text,
        room=room,
        conversation=f"{room.key}/{thread}" if thread else room.key,
        title=f"{room.label}, thread" if thread else room.label,
    )


_PACKAGE_FILE = re.compile(r"messages\.(?:json|csv)")
_DISCORD_MENTION = re.compile(r"<@[!&]?\d+>")
_DIRECT = ("DM", "1", "DirectTextChat")
_WRITTEN = ("", "Default", "Reply", "0", "19")
_DIRECT_NAME = re.compile(r"Direct Message with (?P<account>.+?)(?:#\d{1,4})?")


def read_discord(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message of the data package, or of the files of DiscordChatExporter."""
    package = [candidate for candidate in source.files if _PACKAGE_FILE.fullmatch(candidate.base)]
    if package and not source.is_file:
        yield from _read_package(source, package, log)
        return
    for file in source.choose_files(r".*\.json", "messages of Discord; name the export"):
        yield from _read_channel_file(file, log)


def _read_package(
    source: HistorySource, package: list[HistoryFile], log: ReadingLog
) -> Iterator[HistoryMessage]:
    by_name = {candidate.name: candidate for candidate in source.files}
    accounts = [
        candidate
        for candidate in source.files
        if candidate.name.lower().endswith("account/user.json")
    ]
    for account in accounts[:1]:
        profile = read_json_file(account)
        person = log.add_person(USER, get_text(profile, "global_name", "username"))
        person.handles.update({get_text(profile, "username")} - {"", person.name})
        person.addresses.update({get_text(profile, "email")} - {""})
        person.phones.update({get_text(profile, "phone")} - {""})
    log.add_person(USER, log.options.users[0] if log.options.users else "User")
    for file in package:
        channel_file = by_name.get(f"{file.name.rpartition('/')[0]}/channel.json")
        channel = read_json_file(channel_file) if channel_file else {}
        name = get_text(channel, "name") or f"channel {file.parent.removeprefix('c')}"
        is_direct = str(channel.get("type")) in _DIRECT if isinstance(channel, dict) else False
        room = Room(
            f"discord:{file.parent}", name if is_direct else f"#{name}", is_group=not is_direct
        )
        if other := _DIRECT_NAME.fullmatch(name):
            # The package lists no members; the recipient is in the name of the chat.
            log.add_person(f"discord:{other['account']}", other["account"])
        for row in _read_package_rows(file):
            at = parse_time(row.get("Timestamp"))
            text = _DISCORD_MENTION.sub("@someone", str(row.get("Contents") or "")).strip()
            if at is None or not text:
                log.skip("without text" if at else "without a date")
                continue
            yield HistoryMessage(
                at=assume_utc(at),
                speaker=USER,
                text=text,
                room=room,
                conversation=room.key,
                title=room.label,
            )


def _read_package_rows(file: HistoryFile) -> Iterator[dict[str, Any]]:
    if file.base.endswith(".json"):
        for _, raw, where in stream_file(file):
            row = decode_element(raw, where)
            if not isinstance(row, dict):
                raise UsageError(f"{where} is not a message of Discord; export it again")
            yield row
        return
    with file.open() as opened:
        rows = csv.DictReader(io.TextIOWrapper(opened, "utf-8-sig", errors="replace", newline=""))
        try:
            yield from rows
        except csv.Error as error:
            raise UsageError(f"{file.shown} cannot be read as CSV ({error})") from error


def _read_channel_file(file: HistoryFile, log: ReadingLog) -> Iterator[HistoryMessage]:
    room: Room | None = None
    for key, raw, where in stream_file(file, "messages"):
        if key == "channel":
            channel = decode_element(raw, where)
            is_direct = get_text(channel, "type") in _DIRECT
            name = get_text(channel, "name") or file.base
            room = Room(
                f"discord:{get_text(channel, 'id') or name}",
                name if is_direct else f"#{name}",
                is_group=not is_direct,
            )
        elif key == "messages":
            if room is None:
                raise UsageError(f"{file.shown} has messages before its channel; export it again")
            message = _read_channel_message(decode_element(raw, where), room, log)
            if message is not None:
                yield message
    if room is None:
        raise UsageError(
            f"{file.shown} names no channel; it is not an export of DiscordChatExporter"
        )


def _read_channel_message(message: object, room: Room, log: ReadingLog) -> HistoryMessage | None:
    at = find_time(message, ("timestamp",))
    text = get_text(message, "content").strip()
    if get_text(message, "type") not in _WRITTEN:
        log.skip("notices")
        return None
    if at is None or not text:
        log.skip("without text" if at else "without a date")
        return None
    author = get_dict(message, "author")
    speaker = _add_discord_person(author, log)
    for mention in get_list(message, "mentions"):
        if isinstance(mention, dict):
            _add_discord_person(mention, log)
    return HistoryMessage(
        at=at, speaker=speaker, text=text, room=room, conversation=room.key, title=room.label
    )


def _add_discord_person(author: dict[str, Any], log: ReadingLog) -> str:
    key = get_text(author, "id") or get_text(author, "name") or "someone"
    person = log.add_person(
        key, get_text(author, "nickname", "name"), is_agent=author.get("isBot") is True
    )
    person.handles.update({get_text(author, "name")} - {"", person.name})
    log.add_person(key)
    return key
