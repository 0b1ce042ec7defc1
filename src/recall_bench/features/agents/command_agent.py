"""Agents on the command line: `agent:PROGRAM ARGS…`, run once for each message.

A memory is a folder with a home, a temporary folder and a project. The program runs in the project.
"""

import os
import shlex
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

import msgspec

from recall_bench.core.errors import NotAnAnswer, SystemGone, UsageError
from recall_bench.core.folders import TemporaryFolders, copy_folder, remove_folder
from recall_bench.core.memory import SystemCard
from recall_bench.core.settings import Settings
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES, open_regular_file
from recall_bench.features.agents.agent_client import make_fault, parse_object, read_usage
from recall_bench.features.agents.agent_system import (
    AgentChannel,
    AgentReply,
    AgentSystem,
    Conversation,
    FolderSlot,
    MemoryPlace,
)
from recall_bench.features.agents.talk_settings import (
    ProgramSettings,
    ReplyFormat,
    Talk,
    fill_places,
    list_changed,
    read_talk_settings,
    refuse_unknown_places,
)
from recall_bench.systems.transports.child_environment import STATE_DIR, build_environment
from recall_bench.systems.transports.child_sandbox import ProgramSandbox, build_program_sandbox
from recall_bench.systems.transports.command_program import (
    CommandProgram,
    find_program,
    run_program,
)

HOME, PROJECT, LAUNCH = "home", "project", "launch"
"""The folders of a memory; the last is for one call and is never copied."""
PLACES = ("prompt", "prompt_file", "reply_file", HOME, PROJECT, "session", "memory", "conversation")
"""What can stand in braces among the program's words."""
CONVERSATION = "{conversation}"


def build_command_agent(settings: Settings) -> AgentSystem:
    """The agent behind `agent:PROGRAM ARGS…`; UsageError if there is no such program."""
    program = find_program(settings.adapter)
    own = read_talk_settings(settings.config, ProgramSettings)
    _check_places(program, own)
    for key in (HOME, PROJECT):
        folder = getattr(own, key)
        if folder is not None and not Path(folder).is_dir():
            raise UsageError(f"--config {key}: there is no folder {folder}")
        if folder is not None and (link := _find_shared_link(Path(folder))) is not None:
            raise UsageError(
                f"--config {key}: {link} leads to {link.readlink()}, which all memories would "
                "share; put a copy there, or a link within the folder"
            )
    confined = build_program_sandbox(program, settings)
    channel = CommandChannel(program, confined, own)
    card = SystemCard(
        name=own.name or program.name,
        version=own.version or program.version,
        config={"agent": list(program.spelled), **list_changed(own)},
        isolation=confined.card,
        caveats=tuple(_list_caveats(program, own, confined)),
    )
    return AgentSystem(channel, own, card, copies=True, max_shards=None)


def _check_places(program: CommandProgram, settings: ProgramSettings) -> None:
    """UsageError if something stands in braces that would reach the program as it is."""
    words = program.spelled[1:]
    refuse_unknown_places("--adapter", list(words), PLACES)
    for key in ("first", "next"):
        inner = [name for name in PLACES if name != "conversation"]
        refuse_unknown_places(f"--config {key}", getattr(settings, key), inner)
    is_named = any(CONVERSATION in word for word in words)
    is_given = bool(settings.first or settings.next)
    if is_named and CONVERSATION not in words:
        raise UsageError(f"--adapter: {CONVERSATION} becomes several words; put spaces around it")
    if is_named and not is_given:
        raise UsageError(
            f"--adapter: {CONVERSATION} becomes the words of first and next, and there are none; "
            "add them, as in --config first='--session-id {session}' "
            "--config next='--resume {session}'"
        )
    if is_given and not is_named:
        key = "first" if settings.first else "next"
        raise UsageError(
            f"--config {key}: --adapter has no {CONVERSATION} for these words; put it where they go"
        )


def _find_shared_link(folder: Path) -> Path | None:
    """A link that leads to the same place from every copy of the folder; programs may be shared."""
    base = folder.resolve()
    for place, folders, files in os.walk(base):
        for name in (*folders, *files):
            path = Path(place, name)
            if not path.is_symlink() or (path.is_file() and os.access(path, os.X_OK)):
                continue
            target = path.readlink()
            inside = Path(os.path.normpath(path.parent / target))
            if target.is_absolute() or not inside.is_relative_to(base):
                return path
    return None


def _list_caveats(
    program: CommandProgram, settings: ProgramSettings, confined: ProgramSandbox
) -> Iterator[str]:
    if confined.policy is None:
        yield "only what the program keeps in its home and its project is separated"
    if settings.questions != "copies":
        yield "questions are asked one after another, and the program may remember them"
    words = (*program.spelled, settings.first, settings.next)
    if not any("{session}" in word for word in words):
        if settings.conversation is Talk.ONE:
            yield "the program is not given a session id, so each message begins a conversation"
        else:
            yield "each message of a day begins a conversation of its own"
    if settings.max_concurrency > 1:
        yield "each question finds the project under another path"


class CommandChannel(AgentChannel):
    """One process for each message."""

    def __init__(
        self, program: CommandProgram, confined: ProgramSandbox, settings: ProgramSettings
    ) -> None:
        self._program = program
        self._confined = confined
        self._settings = settings
        self._folders = TemporaryFolders()
        self._numbers = count(1)

    async def open_place(self) -> MemoryPlace:
        """A home and a project, empty or as their models are."""
        folder = self._folders.make()
        try:
            for name in (HOME, PROJECT):
                model = getattr(self._settings, name)
                if model is not None:
                    copy_folder(Path(model), folder / name)
                (folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise SystemGone(
                f"the folders of {self._program.name} cannot be made ({error}); when that is "
                "fixed, run the same command again"
            ) from error
        return MemoryPlace(uuid4().hex, folder, self._make_slot())

    async def copy_place(self, place: MemoryPlace) -> MemoryPlace:
        """A copy of the folders, which the program finds at the same path."""
        return MemoryPlace(place.id, self._copy_folder(place), place.slot)

    @asynccontextmanager
    async def open_question_place(self, place: MemoryPlace) -> AsyncIterator[MemoryPlace]:
        """A copy that is removed afterwards, or the folders themselves."""
        if self._settings.questions != "copies":
            yield place
            return
        is_alone = self._settings.max_concurrency == 1
        slot = place.slot if is_alone else self._make_slot()
        copy = MemoryPlace(place.id, self._copy_folder(place), slot)
        try:
            yield copy
        finally:
            await self.close_place(copy)

    async def close_place(self, place: MemoryPlace) -> None:
        """Remove the folders."""
        if place.folder is not None:
            remove_folder(place.folder)

    async def close(self) -> None:
        """Remove everything."""
        self._folders.remove_all()

    async def send(self, conversation: Conversation, text: str) -> AgentReply:
        """Run the program with the message on its standard input, in a file or as an argument."""
        place = conversation.place
        if place.folder is None or place.slot is None:
            raise UsageError("this memory has no folders, so it is none of this agent's")
        async with place.slot.occupy(place.folder) as here:
            return await self._run(here, conversation, text)

    async def _run(self, here: Path, conversation: Conversation, text: str) -> AgentReply:
        launch = here / LAUNCH
        launch.mkdir()
        try:
            reply_file = launch / "reply.txt"
            words, is_given = self._fill_words(here, conversation, text)
            environ = build_environment(here, self._confined.card.env)
            folders = (launch, here / HOME, here / PROJECT, here / "tmp")
            command = (self._program.command[0], *words)
            ended = await run_program(
                self._program,
                self._confined.wrap_command(command, folders),
                folder=here / PROJECT,
                environ=environ | {STATE_DIR: str(here / PROJECT)},
                output_limit=MAX_REPLY_BYTES,
                stdin=b"" if is_given else text.encode("utf-8", "surrogatepass"),
            )
            is_named = any(str(reply_file) in word for word in words)
            came = self._read_file(reply_file) if is_named else ended.out
        finally:
            shutil.rmtree(launch, ignore_errors=True)
        if self._settings.output is ReplyFormat.TEXT:
            return AgentReply(text=came.decode("utf-8", "replace").strip())
        document = parse_object(came)
        self._refuse_error(document)
        answer = find_value(document, self._settings.answer)
        if not isinstance(answer, str):
            raise NotAnAnswer(
                f"{self._program.name} printed no text at {self._settings.answer!r}; say where "
                "it stands with --config answer=PATH"
            )
        # Tokens and cost, where programs print them: in `usage`, or beside it.
        reported = document.get("usage")
        counted = dict(reported) if isinstance(reported, dict) else {}
        program_usage = read_usage({**counted, "total_cost_usd": document.get("total_cost_usd")})
        return AgentReply(text=answer, usage=program_usage)

    def _fill_words(
        self, here: Path, conversation: Conversation, text: str
    ) -> tuple[list[str], bool]:
        """The program's arguments, and whether the message is among them."""
        prompt_file = here / LAUNCH / "prompt.txt"
        places = {
            "home": str(here / HOME),
            "project": str(here / PROJECT),
            "memory": conversation.place.id,
            "session": conversation.id,
            "prompt_file": str(prompt_file),
            "reply_file": str(here / LAUNCH / "reply.txt"),
        }
        talk = self._settings.first if conversation.is_new else self._settings.next
        words: list[str] = []
        for word in self._program.command[1:]:
            words += shlex.split(talk) if word == CONVERSATION else [word]
        is_given = any("{prompt}" in word or "{prompt_file}" in word for word in words)
        if any("{prompt_file}" in word for word in words):
            prompt_file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        # The message last: what stands in it is no place.
        filled = [str(fill_places(word, places)).replace("{prompt}", text) for word in words]
        return filled, is_given

    def _read_file(self, path: Path) -> bytes:
        """The reply that the program wrote; what it printed beside it is its log."""
        try:
            with open_regular_file(path) as file:
                came = file.read(MAX_REPLY_BYTES + 1)
        except OSError as error:
            raise NotAnAnswer(
                f"{self._program.name} left no reply in {{reply_file}}: {error.strerror}"
            ) from error
        if len(came) > MAX_REPLY_BYTES:
            raise NotAnAnswer(f"{self._program.name} wrote more than {MAX_REPLY_BYTES >> 20} MB")
        return came

    def _refuse_error(self, document: Mapping[str, object]) -> None:
        """Raise the error that stands in the reply: some programs end with 0 all the same."""
        stated = find_value(document, self._settings.error)
        kind = document.get("subtype")
        is_error_kind = isinstance(kind, str) and kind.startswith("error")
        if not stated and not is_error_kind:
            return
        texts = (stated, find_value(document, self._settings.answer), kind)
        stated_text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        message = stated_text or msgspec.json.encode(stated).decode()
        raise make_fault(f"{self._program.name} replies with an error: {message[:500]}")

    def _copy_folder(self, place: MemoryPlace) -> Path:
        if place.folder is None:
            raise UsageError("this memory has no folders, so it is none of this agent's")
        folder = self._folders.make()
        try:
            copy_folder(place.folder, folder)
        except OSError as error:
            remove_folder(folder)
            raise SystemGone(
                f"the folders of {self._program.name} cannot be copied ({error}); when that is "
                "fixed, run the same command again"
            ) from error
        return folder

    def _make_slot(self) -> FolderSlot:
        # Beside the folders that are moved there, so that moving is renaming.
        return FolderSlot(self._folders.make() / f"agent-{next(self._numbers)}")


def find_value(document: object, path: str) -> object:
    """The value at a path such as `choices.0.text`; None if there is none."""
    for key in path.split("."):
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document
