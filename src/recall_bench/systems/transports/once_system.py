"""Systems that are a program, run once for each question over a folder of markdown files.

We write the folder, one file a day; the program searches it. What it writes there itself, an index
say, is kept between questions and is not copied.
"""

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from recall_bench.core.child_process import quote_bytes
from recall_bench.core.errors import NotAnAnswer, SystemGone, UsageError
from recall_bench.core.folders import TemporaryFolders, copy_file
from recall_bench.core.memory import Asker, Clock, Passage, RetrievalReply, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES, decode_untrusted_json
from recall_bench.systems.snapshots import CopiedSnapshots
from recall_bench.systems.transports.child_environment import STATE_DIR, build_environment
from recall_bench.systems.transports.child_sandbox import ProgramSandbox, build_program_sandbox
from recall_bench.systems.transports.command_program import (
    CommandProgram,
    find_program,
    run_program,
)

DEFAULT_ARGUMENTS = ("--home", "{home}", "--query", "{query}", "--k", "{k}")
DEFAULT_K = 10

_PLACEHOLDER = re.compile(r"\{(home|query|k|date|session)\}")
_DAY_FILE = re.compile(r"day-([0-9]{4,9})\.md")


class ProgramHit(msgspec.Struct, frozen=True, kw_only=True):
    """One file that the program found."""

    path: str
    snippet: str
    score: float | None = None


class ProgramReply(msgspec.Struct, frozen=True, kw_only=True):
    """The output of the program, best first."""

    hits: tuple[ProgramHit, ...]


def build_once_system(
    target: str,
    config: Mapping[str, object],
    *,
    settings: Settings | None = None,
    timeout_s: float | None = None,
) -> "OnceSystem":
    """The system behind `once:PROGRAM ARGS…`; UsageError if there is no such program.

    The program gets a twentieth of a second less than `timeout_s`, the time of an answer, so that
    the fault can quote its last output. The settings say what it may use.
    """
    program = find_program(target)
    unknown = set(config) - {"max_concurrency", "max_shards"}
    if unknown:
        raise UsageError(
            f"{program.name} cannot be given the settings {', '.join(sorted(unknown))}; write them "
            "as arguments of the program"
        )
    at_once = _read_count(config.get("max_concurrency", 1), "max_concurrency", "questions at once")
    program_timeout_s = None if timeout_s is None else timeout_s - min(0.05, timeout_s / 10)
    confined = build_program_sandbox(program, settings or Settings(adapter=target))
    system = OnceSystem(program, confined, max_concurrency=at_once, timeout_s=program_timeout_s)
    if (workers := config.get("max_shards")) is not None:
        system.max_shards = _read_count(workers, "max_shards", "workers at a time")
    return system


def _read_count(value: object, name: str, what: str) -> int:
    if not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} is {value!r}; say how many {what}, from 1")
    return value


class OnceSystem:
    """A program that finds files in a folder, and does not answer."""

    def __init__(
        self,
        program: CommandProgram,
        confined: ProgramSandbox,
        *,
        max_concurrency: int = 1,
        timeout_s: float | None = None,
    ) -> None:
        self.program = program
        self.confined = confined
        """What it may open."""
        self.timeout_s = timeout_s
        words = program.command[1:]
        has_places = any(_PLACEHOLDER.search(word) for word in words)
        self.arguments = words if has_places else (*words, *DEFAULT_ARGUMENTS)
        """The program's arguments, with placeholders."""
        knows_asker = any("{session}" in word for word in words)
        self.card = SystemCard(
            name=program.name,
            version=program.version,
            config={"once": list(program.spelled)},
            max_concurrency=max_concurrency,
            clock=Clock.IN_TEXT,
            asker=Asker.TOLD if knows_asker else Asker.UNTOLD,
            answers=False,
            isolation=confined.card,
        )
        self.max_shards: int | None = None
        """None: each worker has folders of its own."""
        self.snapshots = CopiedSnapshots(OnceMemory, OnceMemory.copy)
        self.folders = TemporaryFolders()

    async def open(self, scenario: str) -> "OnceMemory":  # noqa: ARG002
        """A memory in an empty folder."""
        return OnceMemory(self, self.folders.make(), {})

    def build_environment(self, home: Path, private: Path) -> dict[str, str]:
        """The environment of the program for a memory, with its home in a private folder."""
        return build_environment(private, self.confined.card.env) | {STATE_DIR: str(home)}

    async def close(self) -> None:
        """Remove every folder."""
        self.folders.remove_all()


class OnceMemory:
    """A folder of days, and the ids of the episodes in it."""

    def __init__(self, system: OnceSystem, home: Path, ids: dict[int, str]) -> None:
        self._system = system
        self.home = home
        """The folder with the days."""
        self.ids = ids
        """The id of each episode, by day."""
        self._private = system.folders.make()
        self._environ = system.build_environment(home, self._private)

    @property
    def state_folder(self) -> Path:
        """The folder with the days, where the program may keep files of its own."""
        return self.home

    async def ingest(self, episode: Episode) -> None:
        """Write one day."""
        path = self.home / f"day-{episode.day:04}.md"
        date = episode.at.date().isoformat()
        text = f"---\ndate: {date}\nday: {episode.day}\n---\n\n{episode.text}"
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise SystemGone(
                f"{path.name} cannot be written for {self._system.program.name} "
                f"({error.strerror}); when that is fixed, run the same command again"
            ) from error
        self.ids[episode.day] = episode.id

    async def settle(self) -> None:
        """Files can be searched at once."""

    async def answer(self, question: Question) -> RetrievalReply:
        """The passages that the program finds."""
        program = self._system.program
        values = {
            "home": str(self.home),
            "query": question.text,
            "k": str(question.top_k or DEFAULT_K),
            "date": question.asked_at.date().isoformat(),
            "session": question.session,
        }
        words = [
            _PLACEHOLDER.sub(lambda place: values[place[1]], word)
            for word in self._system.arguments
        ]
        confined = self._system.confined
        command = (program.command[0], *words)
        ended = await run_program(
            program,
            confined.wrap_command(command, (self._private, self.home)),
            folder=self.home,
            environ=self._environ,
            output_limit=MAX_REPLY_BYTES,
            timeout_s=self._system.timeout_s,
        )
        try:
            hits = decode_untrusted_json(ended.out, ProgramReply).hits
        except msgspec.DecodeError as error:
            raise NotAnAnswer(
                f"{program.name} printed {quote_bytes(ended.out)} where "
                '{"hits": [{"path", "score", "snippet"}]} was expected '
                f"({error}){ended.stderr.format_last()}"
            ) from error
        return RetrievalReply(passages=tuple(map(self._build_passage, hits)))

    async def copy(self) -> "OnceMemory":
        """A memory of copies of the same days."""
        folder = self._system.folders.make()
        for day in self.ids:
            name = f"day-{day:04}.md"
            try:
                copy_file(self.home / name, folder / name)
            except FileNotFoundError as error:
                raise SystemGone(
                    f"{name} was removed from the folder {self._system.program.name} was given; "
                    "run the same command again"
                ) from error
        return OnceMemory(self._system, folder, dict(self.ids))

    async def close(self) -> None:
        """Remove the folders."""
        for folder in (self.home, self._private):
            shutil.rmtree(folder, ignore_errors=True)

    def _build_passage(self, hit: ProgramHit) -> Passage:
        path = Path(hit.path)
        name = _DAY_FILE.fullmatch(path.name)
        day = int(name[1]) if name and int(name[1]) in self.ids else None
        if path.is_absolute():
            # The location of our folder differs from run to run.
            with suppress(ValueError):
                path = path.resolve().relative_to(self.home.resolve())
        return Passage(
            text=hit.snippet,
            id=None if day is None else self.ids[day],
            day=day,
            source=path.as_posix(),
            score=hit.score,
        )
