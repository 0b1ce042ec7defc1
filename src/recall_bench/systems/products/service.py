"""A product that is a service: its key, a place of our own in it, its refusals and its readiness.

What a service is given are pieces: all that one session said on one day, cut only where the
service takes no more at once. It cuts or condenses them itself.

Every memory has a place of its own under a name that nobody else has, on whatever machine it was
opened. So any number of workers is kept apart in one service, and none of these declares a
`max_shards`; how much they may ask of it together is for the run to limit.
"""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from http import HTTPStatus
from itertools import groupby
from uuid import uuid4

import anyio

from recall_bench.core.errors import SystemBusy, SystemFault
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.products.notes import (
    NO_SESSION,
    DayNote,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

SERVICE_CONCURRENCY = 8
"""How many questions a service is asked at once."""

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_QUOTE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPiece:
    """What one session said on one day, or as much of it as a service takes at once."""

    id: str
    day: int
    date: str
    """ISO 8601, as in 2026-01-31."""
    session: str | None
    text: str

    @property
    def label(self) -> str:
        """The session as a tag or a value that is never empty."""
        return label_session(self.session)

    @property
    def at(self) -> datetime:
        """The day's beginning in UTC: services want a zone, and none is told of a story."""
        return datetime.fromisoformat(self.date).replace(tzinfo=UTC)

    @property
    def metadata(self) -> dict[str, str | int]:
        """What a service keeps beside the text, in values any can hold."""
        return {"piece": self.id, "day": self.day, "date": self.date, "session": self.label}


def split_pieces(day: int, content: str, metadata: DayMetadata, *, most: int) -> list[SessionPiece]:
    """A day by sessions, no piece of more than so many characters, no sentence left out."""
    said: dict[str | None, list[DayNote]] = {}
    for note in split_notes(day, content, metadata):
        said.setdefault(note.session, []).append(note)
    texts = [
        (session, text) for session, notes in said.items() for text in _pack_texts(notes, most)
    ]
    return [
        SessionPiece(
            id=f"{day:04}-{number:02}", day=day, date=metadata.date, session=session, text=text
        )
        for number, (session, text) in enumerate(texts, start=1)
    ]


def label_session(session: str | None) -> str:
    """A session as pieces are marked with it."""
    return f"session:{session or NO_SESSION}"


def list_visible_labels(context: QueryContext) -> list[str] | None:
    """The marks of the sessions that a question may see; None where it may see all."""
    seen = list_visible_sessions(context)
    return None if seen is None else [label_session(session) for session in seen]


def build_service_passage(
    text: str, kept: Mapping[str, object], score: float | None, *, result_id: str | None = None
) -> dict[str, object]:
    """A passage from what a service kept beside it, as an adapter returns it."""
    session = str(kept.get("session", label_session(None))).removeprefix(label_session(None))
    day = kept.get("day")
    on = kept.get("date")
    return {
        "text": format_quote(text, date.fromisoformat(str(on)), session) if on else text,
        "id": result_id,
        "day": int(str(day).partition(".")[0]) if day is not None else None,
        "source": kept.get("piece"),
        "score": score,
    }


def make_unique_name() -> str:
    """A name nobody else has, now or later, for what a memory keeps in a service."""
    return f"recall-bench-{uuid4().hex}"


def read_api_key(product: str, variable: str) -> str:
    """The key in an environment variable, or RuntimeError."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise RuntimeError(f"{product} wants a key; put it into the variable {variable}")
    return key


@asynccontextmanager
async def undo_on_failure(undo: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Where opening fails, what was created for it is deleted, for nobody else will."""
    try:
        yield
    except (SystemFault, OSError, RuntimeError):
        # Why it failed is what matters, also where deleting fails for the same reason.
        with suppress(SystemFault, OSError, RuntimeError):
            await undo()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceErrors:
    """What the errors of a service's SDK mean to a run. The key is in none of them."""

    product: str
    key: str | None
    late: tuple[type[Exception], ...]
    """Raised where no reply came in time,"""
    unreachable: tuple[type[Exception], ...]
    """where there is nobody to reply,"""
    refused: tuple[type[Exception], ...]
    """and where the reply was a refusal, with its status."""

    @contextmanager
    def translate(self) -> Iterator[None]:
        """Within it, a busy service is SystemBusy, one that is not there ConnectionError.

        Other refusals are RuntimeError. None is chained to the SDK's own error, for that one
        holds the request and with it the key.
        """
        try:
            yield
        except self.late as error:
            raise TimeoutError(self._redact_key(f"{self.product} did not reply: {error}")) from None
        except self.unreachable as error:
            said = str(error) or type(error).__name__
            raise ConnectionError(
                self._redact_key(f"{self.product} cannot be reached: {said}")
            ) from None
        except self.refused as error:
            raise self._translate_refusal(error) from None

    def _translate_refusal(self, error: Exception) -> Exception:
        status = get_http_status(error)
        body = getattr(error, "body", None)
        said = self._redact_key(str(error if body is None else body))[:_QUOTE_CHARS]
        if status not in _BUSY:
            return RuntimeError(f"{self.product} refused (HTTP {status}): {said}")
        busy = SystemBusy(f"{self.product} is busy (HTTP {status}): {said}")
        busy.retry_after_s = _read_retry_after(error)
        return busy

    def _redact_key(self, said: str) -> str:
        return said.replace(self.key, "…") if self.key else said


def get_http_status(error: Exception) -> int | None:
    """The HTTP status an SDK's error is about."""
    status = getattr(error, "status_code", None) or getattr(error, "status", None)
    return int(status) if status else None


async def wait_for_processing(
    product: str, waiting: Callable[[], Awaitable[int]], *, timeout_s: float, poll_s: float
) -> None:
    """Return when nothing is waiting any more; RuntimeError if it takes longer than that.

    A service that is busy is asked again when it said, or at the next poll.
    """
    until = time.monotonic() + timeout_s
    while True:
        try:
            left = await waiting()
            state, pause = f"was still processing {left} of what it was given", poll_s
        except SystemBusy as busy:
            left, state, pause = 1, f"did not say how far it was ({busy})", busy.retry_after_s
        if not left:
            return
        pause = max(pause, poll_s)
        if time.monotonic() + pause > until:
            raise RuntimeError(
                f"{product} {state} after {timeout_s:g} s; give it longer with settle_timeout_s"
            )
        await anyio.sleep(pause)


def _pack_texts(notes: list[DayNote], most: int) -> Iterator[str]:
    text = ""
    for block in _iterate_blocks(notes):
        for part in (block[start : start + most] for start in range(0, len(block), most)):
            if text and len(text) + 1 + len(part) > most:
                yield text
                text = part
            else:
                text = f"{text}\n{part}" if text else part
    if text:
        yield text


def _iterate_blocks(notes: list[DayNote]) -> Iterator[str]:
    """Notes line by line, under headings that are said once for those which share them."""
    for context, group in groupby(notes, lambda note: note.context):
        if context:
            yield context
        for note in group:
            yield note.searched.removeprefix(f"{context}\n") if context else note.searched


def _read_retry_after(error: Exception) -> float:
    headers = getattr(error, "headers", None)
    if headers is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
    for name, value in (headers or {}).items():
        if str(name).lower() == "retry-after" and str(value).isdecimal():
            return float(value)
    return 0.0
