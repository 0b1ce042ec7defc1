"""A folder as a model: a request is a file, and so is its reply, which any program may write.

    requests/<key>.json   a request that waits; <key>.md is the same for people
    replies/<key>.txt     its reply, or .md or .json; the whole file is the reply
    answered/             requests whose reply was taken
    rejected/             replies that a check rejected, each with its reasons in <key>.reasons.md

The key is a digest of the request, so the same request finds its reply in every later run. A reply
is taken when its file is not empty and has stood still for a second, or was renamed into place
longer ago. A rejected reply stays the reply to its request; a new one in `replies` takes its place.
"""

import json
import os
import stat
import time
from collections.abc import Awaitable, Callable, Sequence, Sized
from pathlib import Path

import anyio

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import ModelFault, ModelPending, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.model_spec import ModelSpec
from recall_bench.systems.models.model import Prompt, Reply, make_request_key

SUFFIXES = (".txt", ".md", ".json")
"""What the name of a reply may end with."""

SETTLE_S = 1.0
"""A younger file may still be growing; it is looked at again after this time."""

POLL_S = 0.5
"""The time between two looks for a reply."""

_LIMIT = 4 * 1024 * 1024
"""The size of the largest reply in bytes."""


def open_folder(path: str) -> Path:
    """Return the absolute path; UsageError if it cannot be a folder."""
    folder = Path(path).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{path}: is not a folder; name another place for requests and replies")
    return folder


def count_waiting(keys: Sized) -> str:
    """How many requests wait, in words."""
    return "1 request waits" if len(keys) == 1 else f"{len(keys):,} requests wait"


class ReplyWait:
    """How long the calls of one model wait for replies.

    A call that got no reply while no other got one ends the waiting of all, also of calls to
    come: otherwise a command with many requests would wait that long for each.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._replies = 0
        self._is_over = not seconds

    async def poll(self, find: Callable[[], Awaitable[Reply | None]]) -> Reply | None:
        """Return what `find` finds, looking again until the time is over; None without waiting."""
        until, before = anyio.current_time() + self.seconds, self._replies
        while not self._is_over:
            if (reply := await find()) is not None:
                self._replies += 1
                return reply
            remaining_s = until - anyio.current_time()
            if remaining_s <= 0:
                self._is_over = self._replies == before
                return None
            await anyio.sleep(min(POLL_S, remaining_s))
        return None


class FolderModel:
    """A model whose replies come as files. Several processes may share a folder."""

    is_priced = False

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.name
        self._wait = ReplyWait(spec.wait or 0.0)
        self._folder = open_folder(spec.model or "")
        self._path = spec.model
        self._waiting: set[str] = set()

    def __repr__(self) -> str:
        return f"FolderModel({self.name})"

    @property
    def wait_s(self) -> float:
        """How long a call may wait for its reply."""
        return self._wait.seconds

    async def close(self) -> None:
        """Nothing to release."""

    async def complete(self, prompt: Prompt) -> Reply:
        """Return the reply from its file; ModelPending if it is not there yet."""
        key = make_request_key(prompt)

        async def find() -> Reply | None:
            return await self._find_reply(key)

        reply = await find()
        if reply is None:
            self._write_request(key, prompt)
            self._waiting.add(key)
            reply = await self._wait.poll(find)
        if reply is None:
            raise ModelPending(self._describe_waiting())
        self._waiting.discard(key)
        for suffix in (".json", ".md"):
            _move(self._folder / "requests" / f"{key}{suffix}", self._folder / "answered")
        return reply

    def record_rejection(self, prompt: Prompt, problems: Sequence[str]) -> None:
        """Move the reply aside, with the reasons beside it."""
        key = make_request_key(prompt)
        moved = [
            _move(self._folder / "replies" / f"{key}{suffix}", self._folder / "rejected")
            for suffix in SUFFIXES
        ]
        if any(moved):
            reasons = "".join(f"- {problem}\n" for problem in problems)
            path = self._folder / "rejected" / f"{key}.reasons.md"
            replace_file(path, reasons.encode(errors="replace"))

    def _describe_waiting(self) -> str:
        return (
            f"{count_waiting(self._waiting)} in {self._path}/requests; put the replies into "
            f"{self._path}/replies and run the same command again"
        )

    async def _find_reply(self, key: str) -> Reply | None:
        for place in ("replies", "rejected"):
            paths = [self._folder / place / f"{key}{suffix}" for suffix in SUFFIXES]
            texts = {path: text for path in paths if (text := await _read_text(path))}
            if len(texts) > 1:
                raise ModelFault(f"{' and '.join(map(str, texts))} are one reply; keep one file")
            for text in texts.values():
                return Reply(text=text, usage=Usage(calls=1, unpriced=1))
        return None

    def _write_request(self, key: str, prompt: Prompt) -> None:
        folder = self._folder / "requests"
        try:
            (self._folder / "replies").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{self._path}/replies: cannot be made ({error.strerror or error})"
            ) from error
        content = {
            "key": key,
            "about": prompt.about,
            "system": prompt.system,
            "user": prompt.user,
            "schema": prompt.schema,
            "reply": f"replies/{key}.txt",
        }
        replace_file(folder / f"{key}.md", _render_request(key, prompt).encode(errors="replace"))
        # Last: a program that serves the folder looks for this one.
        replace_file(folder / f"{key}.json", json.dumps(content, indent=1).encode() + b"\n")


def _render_request(key: str, prompt: Prompt) -> str:
    """The request as a page for people."""
    about = f"This is for {prompt.about}. " if prompt.about else ""
    place = f"Put the reply into `replies/{key}.txt` and nothing else: the file is the reply."
    parts = [
        f"{about}{place}",
        f"# System\n\n{prompt.system}",
        f"# User\n\n{prompt.user}",
    ]
    if prompt.schema is not None:
        schema = json.dumps(prompt.schema, ensure_ascii=False)
        parts.append(f"# JSON schema of the reply\n\n```json\n{schema}\n```")
    return "\n\n".join(parts) + "\n"


def _move(path: Path, folder: Path) -> bool:
    """Move a file; False if it is not there, for instance because another process moved it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.replace(folder / path.name)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be moved to {folder.name} ({error.strerror or error})"
        ) from error
    return True


async def _read_text(path: Path) -> str | None:
    """The text of a file that has stopped growing; None if there is none, or it is empty."""
    before = _stat(path)
    while before is not None and (remaining_s := SETTLE_S - _compute_age(before.st_mtime)) > 0:
        await anyio.sleep(min(remaining_s, SETTLE_S))
        after = _stat(path)
        if after is not None and (after.st_size, after.st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        ):
            # A clock of another machine may be ahead of ours: standing still is enough.
            break
        before = after
    if before is None or before.st_size == 0:
        return None
    if before.st_size > _LIMIT:
        raise ModelFault(f"{path}: is larger than {_LIMIT >> 20} MiB; write a shorter reply")
    try:
        text = path.read_bytes().decode("utf-8-sig").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelFault(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise ModelFault(f"{path}: is not UTF-8 text; write the reply again") from None
    return text or None


def _compute_age(modified: float) -> float:
    return max(0.0, time.time() - modified)


def _stat(path: Path) -> os.stat_result | None:
    """The state of a regular file; None if there is none, ModelFault for anything else."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelFault(f"{path}: cannot be read ({error.strerror or error})") from None
    # A pipe would never end, and a link may lead anywhere.
    if not stat.S_ISREG(state.st_mode):
        raise ModelFault(f"{path}: is not a regular file; write the reply as one")
    return state
