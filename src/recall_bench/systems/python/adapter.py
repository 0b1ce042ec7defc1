"""What an in-process adapter is, and how its methods are called.

An adapter is any object with these methods, each plain or `async`:

    setup()                                 optional: leave no memory of anything before
    ingest_day(day, content, metadata)      take in one day; metadata is a DayMetadata
    finalize_ingestion()                    optional: return once all of it can be asked about
    query(question)                         answer; see `reply` for what may be returned
    query_detail(question)                  the same, and preferred where there is one
    teardown()                              optional: release what this memory holds
    days_ingested()                         optional: how many days the memory has taken in
    stored_days()                           optional: the days it holds anything of, any iterable
    stored_bytes()                          optional: what it takes to keep them, index and all

and, if it likes, these attributes: `name`, `version`, `max_concurrency`, `state_dir`; `max_shards`,
how many processes may have memories of it open at a time, if they share a service or a path;
`clock`, how it knows the date ("native", "in-text" or "none"); `honours_sessions`, True if it keeps
what one session said from another; `answers`, False if it only ever finds passages.

A query method that has a parameter `context`, or a second one it cannot do without, is given a
QueryContext with it.

An adapter says that it is out of reach by raising ConnectionError, and that it should be asked
again later by raising TimeoutError; any other exception is a failure that costs it the question.
"""

import datetime
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from recall_bench.core.history import Episode
from recall_bench.core.memory import Asker, Clock
from recall_bench.core.question import Question
from recall_bench.errors import BenchError, SystemBusy, SystemFault, SystemGone, UsageError
from recall_bench.foreign_code import describe_error, locate_error
from recall_bench.systems.python.reply import AdapterReply, parse_reply

NEEDS = "an adapter needs ingest_day(day, content, metadata) and query(question)"

ASYNC_CONCURRENCY = 64
"""How many questions an asynchronous adapter is asked at once, unless it declares a number."""


_NO_DEFAULT = inspect.Parameter.empty
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, kw_only=True, eq=False)
class _FieldMapping(Mapping[str, object]):
    """Fields that can be had as attributes and, by those used to dictionaries, as items."""

    def __getitem__(self, name: str) -> object:
        if name not in list(self):
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


@dataclass(frozen=True, kw_only=True, eq=False)
class DayMetadata(_FieldMapping):
    """What a system is told about a day besides its text."""

    day_number: int
    date: str
    """ISO 8601, as in 2026-01-31."""
    persona_id: str
    active_arcs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryContext(_FieldMapping):
    """The circumstances in which a question is asked."""

    date: datetime.date
    """Today, in the story."""
    session: str
    """Where it is asked from; what was said elsewhere may be none of the asker's business."""
    persona: str
    question_id: str
    choices: tuple[str, ...] = ()
    """The answers to choose from, if it is that kind of question."""
    top_k: int | None = None
    """How many passages of the reply are looked at, best first; None is no limit."""


def is_adapter(subject: object) -> bool:
    """Whether it has the methods an adapter cannot do without, a class as well as an object."""
    return callable(getattr(subject, "ingest_day", None)) and any(
        callable(getattr(subject, name, None)) for name in ("query_detail", "query")
    )


class Adapter:
    """An object whose methods were found to be those of an adapter, or UsageError."""

    def __init__(self, subject: object, where: str) -> None:
        self.subject = subject
        self.where = where
        ingest = self._find_method("ingest_day")
        query = self._find_method("query_detail") or self._find_method("query")
        if ingest is None or query is None:
            raise UsageError(f"{where} gives a {type(subject).__name__}, but {NEEDS}")
        self._query = query
        self._context = _detect_context_style(query)
        for method, arguments in ((ingest, 3), (query, 2 if self._context == "second" else 1)):
            named = {"context": None} if method is query and self._context == "named" else {}
            if not _takes_arguments(method, arguments, named):
                raise UsageError(
                    f"{where}: {getattr(method, '__name__', 'a method')} takes other parameters, "
                    f"but {NEEDS}"
                )

    @property
    def is_async(self) -> bool:
        """Whether questions are answered by a coroutine, so that many can be under way at once."""
        return inspect.iscoroutinefunction(self._query)

    @property
    def max_concurrency(self) -> int:
        """How many questions it may be asked at once: as it declares, else 64 or 1."""
        declared = self._read_count("max_concurrency")
        if declared is None:
            return ASYNC_CONCURRENCY if self.is_async else 1
        return declared

    @property
    def max_shards(self) -> int | None:
        """How many workers may have memories of it open at a time, as it declares.

        None where it does not say, for every worker builds adapters of its own.
        """
        return self._read_count("max_shards")

    @property
    def clock(self) -> Clock | None:
        """How it knows the date, as it declares; None where it does not say."""
        declared = getattr(self.subject, "clock", None)
        if declared is None:
            return None
        try:
            return Clock(declared)
        except ValueError:
            raise UsageError(
                f"{self.where} declares clock = {declared!r}, which is none of {', '.join(Clock)}"
            ) from None

    @property
    def asker(self) -> Asker:
        """Whether it can know who asks, by its query method, and minds, as it declares."""
        if self._context == "none":
            return Asker.UNTOLD
        is_minded = getattr(self.subject, "honours_sessions", False) is True
        return Asker.HONOURED if is_minded else Asker.TOLD

    @property
    def answers(self) -> bool:
        """Whether it answers; one that only finds says so."""
        return getattr(self.subject, "answers", True) is not False

    @property
    def declares_folder(self) -> bool:
        """Whether it has an attribute `state_dir`, or only announces one."""
        announced = (vars(kind).get("__annotations__", {}) for kind in type(self.subject).__mro__)
        return hasattr(self.subject, "state_dir") or any(
            "state_dir" in names for names in announced
        )

    def defines(self, name: str) -> bool:
        """Whether the adapter defines an optional method."""
        return self._find_method(name) is not None

    def call(self, name: str, *arguments: object) -> object:
        """Call an optional method; None where there is none."""
        method = self._find_method(name)
        return method(*arguments) if method else None

    def ingest(self, episode: Episode, scenario: str) -> object:
        """Hand over one episode."""
        metadata = DayMetadata(
            day_number=episode.day,
            date=episode.at.date().isoformat(),
            persona_id=scenario,
            active_arcs=episode.arcs,
        )
        return self.call("ingest_day", episode.day, episode.text, metadata)

    def answer(self, question: Question) -> AdapterReply | Awaitable[AdapterReply]:
        """Ask; the answer or what was found, or an awaitable of it."""
        context = QueryContext(
            date=question.asked_at.date(),
            session=question.session,
            persona=question.scenario,
            question_id=question.id,
            choices=question.choices,
            top_k=question.top_k,
        )
        match self._context:
            case "named":
                reply = self._query(question.text, context=context)
            case "second":
                reply = self._query(question.text, context)
            case _:
                reply = self._query(question.text)
        return _read_awaited_reply(reply) if inspect.isawaitable(reply) else parse_reply(reply)

    def _read_count(self, name: str) -> int | None:
        """A number above 0 that it declares; None where it does not."""
        declared = getattr(self.subject, name, None)
        if declared is None:
            return None
        if isinstance(declared, bool) or not isinstance(declared, int) or declared < 1:
            raise UsageError(
                f"{self.where} declares {name} = {declared!r}, which is no number above 0"
            )
        return declared

    def _find_method(self, name: str) -> Callable[..., object] | None:
        found = getattr(self.subject, name, None)
        return found if callable(found) else None


async def _read_awaited_reply(reply: Awaitable[object]) -> AdapterReply:
    return parse_reply(await reply)


def _detect_context_style(query: Callable[..., object]) -> Literal["named", "second", "none"]:
    try:
        parameters = list(inspect.signature(query).parameters.values())[1:]
    except (TypeError, ValueError):
        return "none"
    if any(found.name == "context" and found.kind in _BY_NAME for found in parameters):
        return "named"
    if parameters and parameters[0].kind in _BY_PLACE and parameters[0].default is _NO_DEFAULT:
        return "second"
    return "none"


def _takes_arguments(
    method: Callable[..., object], count: int, named: Mapping[str, object]
) -> bool:
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count), **named)
    except TypeError:
        return False
    return True


def translate_adapter_error(error: BaseException) -> BenchError:
    """What an exception from an adapter means to a run."""
    if isinstance(error, SystemFault | SystemGone):
        return error
    place = locate_error(error)
    text = f"{describe_error(error)} ({place})" if place else describe_error(error)
    if isinstance(error, ConnectionError):
        return SystemGone(f"the adapter is out of reach ({text}); see what it connects to")
    if isinstance(error, TimeoutError):
        return SystemBusy(text)
    return SystemFault(text)
