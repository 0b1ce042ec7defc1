"""The days of a story in another form, fed in place of the logs: dialogues or tool calls.

A day told again keeps its number, its date and its arcs. Its text gives no date of its own making:
a system learns it beside the text, as it does with a log.
"""

import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.history import Turn
from recall_bench.core.plan import Ingest
from recall_bench.datasets.days import format_days
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.transcripts import (
    ToolCall,
    TranscriptFile,
    list_conversation_files,
    list_tool_call_files,
    read_conversation,
    read_tool_calls,
)
from recall_bench.errors import BenchError, Malformed, UsageError

_READABLE = frozenset({".json", ".md", ".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class RetoldDay:
    """What a system is given of one day."""

    day: int
    text: str
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptForm:
    """Where the files of one form lie, how they are read, and who writes them."""

    what: str
    """As messages call them."""
    command: str
    """The command that writes them."""
    folder: Callable[[Layout], Path]
    list_files: Callable[[Layout], list[TranscriptFile]]
    read: Callable[[TranscriptFile], RetoldDay]
    """One file told again; Malformed if it departs from its format or tells nothing."""

    def collect_files(
        self,
        layout: Layout,
        days: Collection[int],
        *,
        allow_gaps: bool,
        problems: list[BenchError],
        warnings: list[str],
    ) -> tuple[TranscriptFile, ...]:
        """The files of the days that have a log, in story order; what does not fit is noted."""
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
        found = tuple(file for file in files if file.day in days)
        if surplus := [file.day for file in files if file.day not in days]:
            warnings.append(
                f"{where}: what it has for {format_days(surplus)}, without a log, is not fed"
            )
        missing = sorted(set(days) - {file.day for file in found})
        if not found or (missing and not allow_gaps):
            accepted = ", or accept the gaps with --allow-gaps" if found else ""
            problems.append(
                Malformed(where, f"has no file for {format_days(missing)}; {remedy}{accepted}")
            )
        elif missing:
            warnings.append(
                f"{where}: has no file for {format_days(missing)}, so nothing is fed then"
            )
        return found

    def _format_command(self, layout: Layout) -> str:
        folder = shlex.quote(str(layout.folder))
        return f"recall-bench {self.command} --persona {folder} --arcs {shlex.quote(layout.arcs)}"


def _find_unread_files(layout: Layout, folder: Path, files: list[TranscriptFile]) -> Iterator[str]:
    read = {file.path for file in files}
    for path in sorted(folder.iterdir()):
        if path.suffix in _READABLE and path not in read and not path.name.startswith("."):
            yield f"{layout.name(path)}: is not named like a day of this form and is not read"


def _read_dialogue(file: TranscriptFile) -> RetoldDay:
    turns = read_conversation(file).turns
    if not any(turn.text.strip() for turn in turns):
        raise Malformed(file.name, "nobody says anything in it; correct it or remove the file")
    parts = (f"**{turn.speaker.capitalize()}:**\n\n{turn.text}\n" for turn in turns)
    return RetoldDay(file.day, "\n".join(parts), turns)


def _read_calls(file: TranscriptFile) -> RetoldDay:
    calls = read_tool_calls(file).calls
    if not calls:
        raise Malformed(file.name, "holds no call; add one or remove the file")
    return RetoldDay(file.day, "\n".join(_format_calls(calls)))


def _format_calls(calls: Collection[ToolCall]) -> Iterator[str]:
    """Calls under the headings a log has, so that whoever reads sessions there finds them here."""
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
