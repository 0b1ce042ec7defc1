"""What products that are services share: pieces of a day, errors, and the base of their adapters.

A service is given pieces: all that one session said on one day, split only where the service takes
no more at once. It cuts or condenses them itself.

Every memory has a place of its own in the service, under a unique name. So any number of workers
may share one service, and no adapter declares `max_shards`; the run limits how much they ask of it
together.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any, ClassVar, Self
from uuid import uuid4

import anyio

from recall_bench.core.errors import SystemBusy, SystemFault
from recall_bench.core.record import group_by
from recall_bench.core.redaction import Redactor
from recall_bench.core.retry import parse_retry_after
from recall_bench.features.products.product import Passages, ProductAdapter
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.endpoint_client import BUSY_STATUSES
from recall_bench.systems.notes import NO_SESSION, DayNote, list_visible_sessions, split_notes
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

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
        """The session as a tag that is never empty."""
        return label_session(self.session)

    @property
    def at(self) -> datetime:
        """Midnight in UTC: services require a time zone, and a story has none."""
        return datetime.fromisoformat(self.date).replace(tzinfo=UTC)

    @property
    def metadata(self) -> dict[str, str | int]:
        """What a service stores beside the text, in types that any service can hold."""
        return {"piece": self.id, "day": self.day, "date": self.date, "session": self.label}


def split_pieces(day: int, content: str, metadata: DayMetadata, *, most: int) -> list[SessionPiece]:
    """A day by sessions, each piece at most `most` characters; no sentence is left out."""
    sessions = group_by(split_notes(day, content, metadata), lambda note: note.session)
    texts = [
        (session, text) for session, notes in sessions.items() for text in _pack_texts(notes, most)
    ]
    return [
        SessionPiece(
            id=f"{day:04}-{number:02}", day=day, date=metadata.date, session=session, text=text
        )
        for number, (session, text) in enumerate(texts, start=1)
    ]


def label_session(session: str | None) -> str:
    """The tag of a session."""
    return f"session:{session or NO_SESSION}"


def list_visible_labels(context: QueryContext) -> list[str] | None:
    """The tags of the sessions that a question may see; None if it may see all."""
    sessions = list_visible_sessions(context)
    return None if sessions is None else [label_session(session) for session in sessions]


def build_service_passage(
    text: str, metadata: Mapping[str, object], score: float | None, *, result_id: str | None = None
) -> dict[str, object]:
    """A passage as an adapter returns it, from the metadata a service stored beside it."""
    session = str(metadata.get("session", label_session(None))).removeprefix(label_session(None))
    day = metadata.get("day")
    on = metadata.get("date")
    return {
        "text": format_quote(text, date.fromisoformat(str(on)), session) if on else text,
        "id": result_id,
        # Some services make a float or a text of a number.
        "day": int(str(day).partition(".")[0]) if day is not None else None,
        "source": metadata.get("piece"),
        "score": score,
    }


def make_unique_name() -> str:
    """A name for what a memory keeps in a service; no other memory has it, now or later."""
    return f"recall-bench-{uuid4().hex}"


def read_api_key(product: str, variable: str) -> str:
    """The key in an environment variable, or RuntimeError."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise RuntimeError(f"{product} needs a key; put it into the variable {variable}")
    return key


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceErrors:
    """Translates the errors of a service's SDK into those of an adapter, without the key."""

    product: str
    key: str | None
    timeouts: tuple[type[Exception], ...]
    """Raised if no reply came in time."""
    connection_errors: tuple[type[Exception], ...]
    """Raised if the service cannot be reached."""
    status_errors: tuple[type[Exception], ...]
    """Raised if the service refused, with its HTTP status."""

    @classmethod
    def read_sdk(cls, sdk: Any, product: str, key: str | None) -> Self:  # noqa: ANN401  a module
        """The errors of an SDK that has the classes of OpenAI's."""
        return cls(
            product=product,
            key=key,
            timeouts=(sdk.APITimeoutError,),
            connection_errors=(sdk.APIConnectionError,),
            status_errors=(sdk.APIStatusError,),
        )

    @contextmanager
    def translate(self) -> Iterator[None]:
        """Inside, a busy service raises SystemBusy, an unreachable one ConnectionError.

        Other refusals are RuntimeError. None is chained to the SDK's own error, which holds the
        request and with it the key.
        """
        try:
            yield
        except self.timeouts as error:
            raise TimeoutError(self._redact_key(f"{self.product} did not reply: {error}")) from None
        except self.connection_errors as error:
            reason = str(error) or type(error).__name__
            raise ConnectionError(
                self._redact_key(f"{self.product} cannot be reached: {reason}")
            ) from None
        except self.status_errors as error:
            raise self._translate_refusal(error) from None

    def _translate_refusal(self, error: Exception) -> Exception:
        status = int(getattr(error, "status_code", 0) or getattr(error, "status", 0) or 0) or None
        body = getattr(error, "body", None)
        text = self._redact_key(str(error if body is None else body))[:_QUOTE_CHARS]
        if status not in BUSY_STATUSES:
            return RuntimeError(f"{self.product} refused (HTTP {status}): {text}")
        message = f"{self.product} is busy (HTTP {status}): {text}"
        return SystemBusy(message, _read_retry_after(error))

    def _redact_key(self, text: str) -> str:
        return Redactor((self.key,)).redact_secrets(text) if self.key else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuery:
    """A question, and what limits the passages that may be found for it."""

    question: str
    limit: int
    labels: list[str] | None
    """The tags of the sessions that it may see; None for all."""
    today: date


@dataclass(kw_only=True, eq=False)
class ServiceAdapter(ProductAdapter, ABC):
    """Base of the adapters whose product is a service behind an SDK with an API key.

    A subclass connects its client, creates and deletes a place for one memory, and finds passages.
    Its methods run with the SDK's errors translated.
    """

    title: ClassVar[str]
    """The product's name in messages."""
    key_variable: ClassVar[str]
    """The environment variable that holds the API key."""
    place: ClassVar[str]
    """What the product calls the place of one memory."""
    can_snapshot = False
    max_concurrency = 8

    base_url: str | None = None

    def __post_init__(self) -> None:
        self._key = read_api_key(self.title, self.key_variable)
        self._name = make_unique_name()
        self._sent: set[str] = set()
        self._client: Any = None
        self._errors: ServiceErrors | None = None

    async def setup(self) -> None:
        """Create a place for this memory, and check that it is empty."""
        self._errors = self.connect()
        async with _undo_on_failure(self.teardown):
            with self._errors.translate():
                is_empty = await self.create_place()
        if not is_empty:
            raise RuntimeError(f"{self.title}'s {self.place} {self._name} is not empty")

    async def query(self, question: str, context: QueryContext) -> Passages:
        """What the service ranks first."""
        query = ServiceQuery(
            question=question,
            limit=context.top_k or self.k,
            labels=list_visible_labels(context) if self.respect_sessions else None,
            today=context.date,
        )
        with self._translate():
            return {"passages": await self.find_passages(query)}

    async def teardown(self) -> None:
        """Delete the place, and close the client."""
        if self._client is None:
            return
        try:
            with self._translate():
                await self.delete_place()
        finally:
            await self.close_client()

    @abstractmethod
    def connect(self) -> ServiceErrors:
        """Build the client without retries of its own: the run retries, and counts it."""

    @abstractmethod
    async def create_place(self) -> bool:
        """Create the place; whether it is empty."""

    @abstractmethod
    async def find_passages(self, query: ServiceQuery) -> list[dict[str, object]]:
        """The best passages."""

    @abstractmethod
    async def delete_place(self) -> None:
        """Delete the place, if it was created."""

    async def close_client(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    @contextmanager
    def _translate(self) -> Iterator[None]:
        if self._errors is None:
            raise AssertionError("setup comes first")
        with self._errors.translate():
            yield


@dataclass(kw_only=True, eq=False)
class PolledServiceAdapter(ServiceAdapter):
    """Base of those whose service is sent pieces, and processes them later."""

    max_chars: ClassVar[int] = 50_000
    """The longest piece."""

    settle_timeout_s: float = 3600.0
    poll_s: float = 5.0

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add a piece for each session of the day; what was added already is not sent again."""
        for piece in split_pieces(day, content, metadata, most=self.max_chars):
            if piece.id not in self._sent:
                with self._translate():
                    await self.add_piece(piece)
                self._sent.add(piece.id)

    async def finalize_ingestion(self) -> None:
        """Wait until the service has processed everything."""

        async def count() -> int:
            with self._translate():
                return await self.count_waiting()

        await wait_for_processing(
            self.title, count, timeout_s=self.settle_timeout_s, poll_s=self.poll_s
        )

    @abstractmethod
    async def add_piece(self, piece: SessionPiece) -> None:
        """Send one piece."""

    @abstractmethod
    async def count_waiting(self) -> int:
        """How many pieces the service is still processing; RuntimeError if one failed."""


async def wait_for_processing(
    product: str, waiting: Callable[[], Awaitable[int]], *, timeout_s: float, poll_s: float
) -> None:
    """Return when nothing is waiting any more; RuntimeError when time is up.

    A busy service is asked again after the time it names, or at the next poll.
    """
    until = time.monotonic() + timeout_s
    while True:
        try:
            count = await waiting()
            state, pause = f"was still processing {count} of what it was given", poll_s
        except SystemBusy as busy:
            count, state, pause = 1, f"did not say how far it was ({busy})", busy.retry_after_s
        if not count:
            return
        pause = max(pause, poll_s)
        if time.monotonic() + pause > until:
            raise RuntimeError(
                f"{product} {state} after {timeout_s:g} s; give it longer with settle_timeout_s"
            )
        await anyio.sleep(pause)


@asynccontextmanager
async def _undo_on_failure(undo: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    try:
        yield
    except (SystemFault, OSError, RuntimeError):
        # The first failure matters, even if undoing fails for the same reason.
        with suppress(SystemFault, OSError, RuntimeError):
            await undo()
        raise


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
    """Notes line by line, after their headings; notes with the same headings share them."""
    for context, group in groupby(notes, lambda note: note.context):
        if context:
            yield context
        for note in group:
            yield note.search_text.removeprefix(f"{context}\n") if context else note.search_text


def _read_retry_after(error: Exception) -> float:
    headers = getattr(error, "headers", None)
    if headers is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
    for name, value in (headers or {}).items():
        if str(name).lower() == "retry-after":
            return parse_retry_after(str(value))
    return 0.0
