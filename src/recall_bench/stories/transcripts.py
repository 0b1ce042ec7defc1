"""Transcripts of a day beside its log: tool calls and conversations.

`tools-<suffix>/day-0001.yaml` holds the calls of a day, `conversations-<suffix>/conv-0001` its
dialogue, as `.json` (an array of role and content) or `.md` (bold `User:` and `Assistant:` lines).
Both are optional. With `--ingest` they replace the logs: a day keeps its number, date and arcs.
Its text has no date, since a system gets the date beside the text, as with a log.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec

from recall_bench.core.errors import BenchError, Malformed, UsageError
from recall_bench.core.plan import Ingest
from recall_bench.core.record import Record
from recall_bench.core.scenario import Turn
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.yaml12 import read_document
from recall_bench.stories.persona_files import Layout, format_days, read_file_text
from recall_bench.stories.yaml_fields import Fields, describe_value, raise_problems

_TOOLS = re.compile(r"day-([0-9]{4,})\.ya?ml")
_CONVERSATION = re.compile(r"conv-([0-9]{4,})\.(?:json|md)")
_LABEL = re.compile(r"^\*\*(User|Assistant)(?::\*\*|\*\*:)[ \t]*\r?$", re.MULTILINE)


class ToolCall(Record, frozen=True, kw_only=True):
    """One call the agent made."""

    session: str
    """The session, or `internal`."""
    tool: str
    content: str


class ToolDay(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The calls of one day, in order."""

    day: int
    calls: tuple[ToolCall, ...]
    dated: date | None = None
    """The date in the file, which may differ from that of the log."""
    day_of_week: str | None = None
    persona: str | None = None


class DayConversation(Record, frozen=True, kw_only=True):
    """The dialogue of one day; speakers are `user` and `assistant`."""

    day: int
    turns: tuple[Turn, ...]


class _TranscriptMessage(msgspec.Struct):
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """One day's calls or dialogue on disk."""

    day: int
    path: Path
    name: str
    """The name in messages."""


def list_tool_call_files(layout: Layout) -> list[TranscriptFile]:
    """List the files of tool calls, in story order."""
    return _list_files(layout, layout.tools, _TOOLS)


def list_conversation_files(layout: Layout) -> list[TranscriptFile]:
    """List the files of conversations, in story order."""
    return _list_files(layout, layout.conversations, _CONVERSATION)


def _list_files(layout: Layout, folder: Path, pattern: re.Pattern[str]) -> list[TranscriptFile]:
    by_day: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        match = pattern.fullmatch(path.name)
        if match is None:
            continue
        day = int(match[1])
        if day in by_day:
            raise Malformed(
                layout.name(path), f"{by_day[day].name} is for the same day; remove one of the two"
            )
        by_day[day] = path
    return [TranscriptFile(day, path, layout.name(path)) for day, path in sorted(by_day.items())]


def read_tool_calls(file: TranscriptFile) -> ToolDay:
    """Read the calls of a file; Malformed if it is not in the format."""
    day, document = file.day, read_document(file.path, name=file.name)
    if not isinstance(document.content, dict):
        raise Malformed(
            file.name,
            f"holds {describe_value(document.content)}; write a mapping with a calls list",
        )
    problems: list[BenchError] = []
    fields = Fields(document, (), "the file", problems)
    if fields.read_int("day") != day and fields.is_sound:
        fields.note(f"the day is not {day}, as in the file name; correct one of the two", "day")
    if not fields.has("calls"):
        fields.note("the file has no list named calls; add it")
    tool_day = ToolDay(
        day=day,
        calls=tuple(call.read_record(ToolCall) for call in fields.read_parts("calls", "call")),
        dated=fields.read_optional_date("date"),
        day_of_week=fields.read_optional_text("day_of_week"),
        persona=fields.read_optional_text("persona"),
    )
    raise_problems(problems)
    return tool_day


def read_conversation(file: TranscriptFile) -> DayConversation:
    """Read the dialogue of a file; Malformed if it is not in the format or empty."""
    text = read_file_text(file.path, file.name, "utf-8-sig")
    turns = (_parse_json_turns if file.path.suffix == ".json" else parse_markdown_turns)(
        text, file.name
    )
    if not turns:
        raise Malformed(file.name, "holds no turn; add one or remove the file")
    return DayConversation(day=file.day, turns=turns)


def _parse_json_turns(text: str, name: str) -> tuple[Turn, ...]:
    try:
        messages = decode_untrusted_json(text, list[_TranscriptMessage])
    except msgspec.DecodeError as error:
        raise Malformed(name, f"is not a list of role and content ({error}); correct it") from error
    for index, message in enumerate(messages):
        if message.role not in {"user", "assistant"}:
            raise Malformed(
                name, f"turn {index + 1} is by {message.role!r}; write user or assistant"
            )
    return tuple(Turn(speaker=message.role, text=message.content) for message in messages)


def parse_markdown_turns(text: str, name: str) -> tuple[Turn, ...]:
    """The turns of a dialogue in markdown; Malformed if text stands before the first label."""
    before, *parts = _LABEL.split(text)
    if before.strip():
        raise Malformed(
            f"{name}, line 1",
            "there is text before the first **User:** or **Assistant:**; label it",
        )
    return tuple(
        Turn(speaker=speaker.lower(), text=text.strip())
        for speaker, text in zip(parts[::2], parts[1::2], strict=True)
    )


_READABLE = frozenset({".json", ".md", ".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class TranscribedDay:
    """The transcript of one day, as a system gets it."""

    day: int
    text: str
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptForm:
    """One form of transcripts: its files, their reader, and the command that writes them."""

    what: str
    """The noun in messages."""
    command: str
    """The command that writes them."""
    folder: Callable[[Layout], Path]
    list_files: Callable[[Layout], list[TranscriptFile]]
    read: Callable[[TranscriptFile], TranscribedDay]
    """Reads one file; Malformed if it is not in the format or empty."""

    def collect_files(
        self,
        layout: Layout,
        days: Collection[int],
        *,
        allow_gaps: bool,
        problems: list[BenchError],
        warnings: list[str],
    ) -> tuple[TranscriptFile, ...]:
        """Collect the files of days with a log, in story order; others become warnings."""
        folder = self.folder(layout)
        where, remedy = (
            layout.name(folder),
            f"write what is missing with {self._format_command(layout)}",
        )
        if not folder.is_dir():
            problems.append(
                UsageError(f"{where}, the {self.what} of {layout.arcs}, does not exist; {remedy}")
            )
            return ()
        try:
            files = self.list_files(layout)
        except Malformed as problem:
            problems.append(problem)
            return ()
        warnings += _find_unread_files(layout, folder, files)
        relevant = tuple(file for file in files if file.day in days)
        if surplus := [file.day for file in files if file.day not in days]:
            warnings.append(
                f"{where}: what it has for {format_days(surplus)}, without a log, is not fed"
            )
        missing = sorted(set(days) - {file.day for file in relevant})
        if not relevant or (missing and not allow_gaps):
            accepted = ", or accept the gaps with --allow-gaps" if relevant else ""
            problems.append(
                Malformed(where, f"has no file for {format_days(missing)}; {remedy}{accepted}")
            )
        elif missing:
            warnings.append(
                f"{where}: has no file for {format_days(missing)}, so nothing is fed then"
            )
        return relevant

    def _format_command(self, layout: Layout) -> str:
        folder = shlex.quote(str(layout.folder))
        return f"recall-bench {self.command} --persona {folder} --arcs {shlex.quote(layout.arcs)}"


def _find_unread_files(layout: Layout, folder: Path, files: list[TranscriptFile]) -> Iterator[str]:
    listed = {file.path for file in files}
    for path in sorted(folder.iterdir()):
        if path.suffix in _READABLE and path not in listed and not path.name.startswith("."):
            yield f"{layout.name(path)}: is not named like a day of this form and is not read"


def _read_dialogue(file: TranscriptFile) -> TranscribedDay:
    turns = read_conversation(file).turns
    if not any(turn.text.strip() for turn in turns):
        raise Malformed(file.name, "all its turns are empty; correct it or remove the file")
    parts = (f"**{turn.speaker.capitalize()}:**\n\n{turn.text}\n" for turn in turns)
    return TranscribedDay(file.day, "\n".join(parts), turns)


def _read_calls(file: TranscriptFile) -> TranscribedDay:
    calls = read_tool_calls(file).calls
    if not calls:
        raise Malformed(file.name, "holds no call; add one or remove the file")
    return TranscribedDay(file.day, "\n".join(_format_calls(calls)))


def _format_calls(calls: Collection[ToolCall]) -> Iterator[str]:
    """Format calls under the session headings of a log."""
    session = None
    for call in calls:
        if call.session != session:
            session = call.session
            yield f"# session: {session}\n"
        yield f"### {call.tool}\n\n{call.content}\n"


FORMS = {
    Ingest.CONVERSATIONS: TranscriptForm(
        what="conversations",
        command="generate-conversations",
        folder=lambda layout: layout.conversations,
        list_files=list_conversation_files,
        read=_read_dialogue,
    ),
    Ingest.TOOL_CALLS: TranscriptForm(
        what="tool calls",
        command="generate-tool-calls",
        folder=lambda layout: layout.tools,
        list_files=list_tool_call_files,
        read=_read_calls,
    ),
}
"""The forms other than logs."""
