"""What an in-process adapter is, how its methods are called, and how its replies are read.

An adapter is any object with these methods, each plain or `async`:

    setup()                                 optional: start empty, whatever was there before
    ingest_day(day, content, metadata)      ingest one day; metadata is a DayMetadata
    finalize_ingestion()                    optional: return once everything can be asked about
    query(question)                         answer; see below for what may be returned
    query_detail(question)                  the same, and preferred if there is one
    teardown()                              optional: release what this memory holds
    days_ingested()                         optional: how many days the memory has ingested
    stored_days()                           optional: the days it holds anything of, any iterable
    stored_bytes()                          optional: the size of everything, index included

and these, all optional, which erase, list and consolidate:

    forget(subject)                         erase everything about a subject given in words
    delete(id)                              erase one episode by the id it was ingested with
    delete_session(session)                 erase a whole session
    delete_person(name)                     erase what a person said, and what is about them
    keep_days(days)                         from now on, keep nothing older than `days` days before
                                            the latest
    stored()                                list every entry: texts, or mappings with `text`, `id`
                                            and `day`
    consolidate()                           do now what is done from time to time: summaries,
                                            merging
    reopen()                                called instead of `setup` if `state_dir` holds what an
                                            earlier process left: go on with it

Of the latter, a method that raises NotImplementedError is not offered. Methods that erase return
None if they do not know, whether they erased something, or how many entries.

Optional attributes: `name`, `version`, `max_concurrency`, `state_dir`; `max_shards`,
how many processes may have memories of it open at a time, if they share a service or a path;
`clock`, how it knows the date ("native", "in-text" or "none"); `honours_sessions`, True if it keeps
what one session said from another; `answers`, False if it only finds passages.

A query method with a parameter `context`, or with a second required parameter, is given a
QueryContext with it.

An adapter that cannot reach its backend raises ConnectionError; one that wants to be asked again
later raises TimeoutError; any other exception is a failure of that question.

A query returns text; a core `Answer` or `RetrievalReply`; or a mapping with `answer`, and
optionally `passages` (or `retrieval`), each with `text` (or `snippet`) and optionally `id`, `day`,
`source` (or `path`) and `score`, `tool_calls` (or `toolCalls`) and `usage`. A mapping with
`passages` and no `answer` is left to a reader. Everything passes through JSON once, so that nothing
is accepted here that the journal could not hold.
"""

import datetime
import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Literal

import msgspec

from recall_bench.core.errors import (
    BenchError,
    NotAnAnswer,
    NotOffered,
    SystemBusy,
    SystemFault,
    SystemGone,
    UsageError,
)
from recall_bench.core.memory import (
    Answer,
    Asker,
    Clock,
    EraseReply,
    EraseScope,
    Offer,
    Passage,
    RetrievalReply,
    StoredEntry,
    parse_kept_days,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.user_code import describe_error, locate_error
from recall_bench.systems.reply_limits import MAX_COUNT, check_entries

_REPLY_FORMS = (
    "an answer is a str, or a mapping with the text under 'answer' or what was found in 'passages'"
)

AdapterReply = Answer | RetrievalReply


def parse_reply(reply: object) -> AdapterReply:
    """The answer or passages in a reply, or NotAnAnswer. Empty text is an answer."""
    try:
        content = _normalise_reply(reply)
        is_answer = isinstance(content, Answer) or (isinstance(content, dict) and "text" in content)
        decoder = _ANSWER_DECODER if is_answer else _PASSAGES_DECODER
        return decoder.decode(_ENCODER.encode(content))
    except UnicodeEncodeError as error:
        raise NotAnAnswer(
            f"the adapter returned text with half a character ({error.reason}); {_REPLY_FORMS}"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise NotAnAnswer(
            f"the adapter returned {_describe_value(reply)} that cannot be read: {error}"
        ) from error


def _normalise_reply(reply: object) -> object:
    if isinstance(reply, str):
        return {"text": reply}
    if isinstance(reply, Answer | RetrievalReply):
        return reply
    if not isinstance(reply, Mapping):
        raise NotAnAnswer(f"the adapter returned {_describe_value(reply)}; {_REPLY_FORMS}")
    passages = _get_first(reply, "passages", "retrieval")
    content: dict[str, object] = {}
    if isinstance(reply.get("answer"), str):
        content["text"] = reply["answer"]
    elif reply.get("answer") is not None or passages is None:
        raise NotAnAnswer(
            f"the adapter returned {_describe_value(reply)} without that; {_REPLY_FORMS}"
        )
    if passages is not None:
        content["passages"] = [*map(_normalise_passage, _require_iterable(passages, "passages"))]
    calls = _get_first(reply, "tool_calls", "toolCalls")
    if calls is not None:
        content["tool_calls"] = list(_require_iterable(calls, "tool_calls"))
    if reply.get("usage") is not None:
        content["usage"] = reply["usage"]
    return content


def _normalise_passage(passage: object) -> object:
    if isinstance(passage, Passage):
        return passage
    if not isinstance(passage, Mapping):
        raise TypeError(f"a passage is a mapping with 'text', not {_describe_value(passage)}")
    content = {
        "text": _get_first(passage, "text", "snippet"),
        "id": passage.get("id"),
        "day": passage.get("day"),
        "source": _get_first(passage, "source", "path"),
        "score": passage.get("score"),
    }
    return {key: value for key, value in content.items() if value is not None}


def _get_first(mapping: Mapping[object, object], *keys: str) -> object:
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


def _require_iterable(value: object, name: str) -> Iterable[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{name} is a list, not {_describe_value(value)}")
    return value


def _describe_value(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with the keys {', '.join(map(str, value)) or 'none'}"
    if isinstance(value, bool | int | float):
        return f"the {type(value).__name__} {value}"
    return f"a {type(value).__name__}"


def _encode_value(value: object) -> object:
    """Numbers of numpy, subclasses of str, and paths, as JSON types."""
    match value:
        case str():
            return str.__str__(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case os.PathLike():
            return os.fspath(value)
        case _:
            raise TypeError(f"JSON has no {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_value)
_ANSWER_DECODER: msgspec.json.Decoder[AdapterReply] = msgspec.json.Decoder(Answer)
_PASSAGES_DECODER: msgspec.json.Decoder[AdapterReply] = msgspec.json.Decoder(RetrievalReply)


NEEDS = "an adapter needs ingest_day(day, content, metadata) and query(question)"

ASYNC_CONCURRENCY = 64
"""How many questions an async adapter is asked at once, unless it declares a number."""

_OFFERED_METHODS = {
    Offer.FORGET: "forget",
    Offer.DELETE: "delete",
    Offer.DELETE_SESSION: "delete_session",
    Offer.DELETE_PERSON: "delete_person",
    Offer.RETAIN: "keep_days",
    Offer.STORED: "stored",
    Offer.CONSOLIDATE: "consolidate",
    Offer.REOPEN: "reopen",
}

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, kw_only=True, eq=False)
class _FieldMapping(Mapping[str, object]):
    """A dataclass whose fields can also be read like those of a dictionary."""

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
    """What an adapter is given about a day beside its text."""

    day_number: int
    date: str
    """ISO 8601, as in 2026-01-31."""
    persona_id: str
    active_arcs: tuple[str, ...] = ()
    episode_id: str = ""
    """The id by which the day can be deleted; a passage that gives it back can be traced."""
    session: str | None = None
    """The session that the whole day belongs to, if it belongs to one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryContext(_FieldMapping):
    """The circumstances in which a question is asked."""

    date: datetime.date
    """Today, in the story."""
    session: str
    """The session it is asked from; other sessions may be confidential."""
    persona: str
    question_id: str
    choices: tuple[str, ...] = ()
    """The answers to choose from, for multiple choice."""
    top_k: int | None = None
    """How many passages of the reply count, best first; None is no limit."""


def is_adapter(subject: object) -> bool:
    """Whether a class or an object has the required methods of an adapter."""
    return callable(getattr(subject, "ingest_day", None)) and any(
        callable(getattr(subject, name, None)) for name in ("query_detail", "query")
    )


class Adapter:
    """An object with the methods of an adapter; UsageError if it lacks them.

    What calls a method returns what it returned, or an awaitable of that.
    """

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
        """Whether its query method is a coroutine, so that many questions can run at once."""
        return inspect.iscoroutinefunction(self._query)

    @property
    def max_concurrency(self) -> int:
        """How many questions it may be asked at once: as declared, else 64 if async, else 1."""
        declared = self._read_count("max_concurrency")
        if declared is None:
            return ASYNC_CONCURRENCY if self.is_async else 1
        return declared

    @property
    def max_shards(self) -> int | None:
        """How many workers may have memories of it open at a time, as declared.

        None if undeclared: every worker builds adapters of its own.
        """
        return self._read_count("max_shards")

    @property
    def clock(self) -> Clock | None:
        """How it knows the date, as declared; None if undeclared."""
        declared = getattr(self.subject, "clock", None)
        if declared is None:
            return None
        try:
            return Clock(declared)
        except ValueError:
            raise UsageError(
                f"{self.where} declares clock = {declared!r}, which is not one of "
                f"{', '.join(Clock)}"
            ) from None

    @property
    def asker(self) -> Asker:
        """Whether its query method is given the session, and whether it declares to honour it."""
        if self._context == "none":
            return Asker.UNTOLD
        is_honoured = getattr(self.subject, "honours_sessions", False) is True
        return Asker.HONOURED if is_honoured else Asker.TOLD

    @property
    def answers(self) -> bool:
        """Whether it answers, as opposed to only finding passages."""
        return getattr(self.subject, "answers", True) is not False

    @property
    def declares_folder(self) -> bool:
        """Whether it has an attribute or annotation `state_dir`."""
        announced = (vars(kind).get("__annotations__", {}) for kind in type(self.subject).__mro__)
        return hasattr(self.subject, "state_dir") or any(
            "state_dir" in names for names in announced
        )

    @property
    def offers(self) -> frozenset[Offer]:
        """The optional parts of which it defines the method."""
        return frozenset(offer for offer, name in _OFFERED_METHODS.items() if self.defines(name))

    def defines(self, name: str) -> bool:
        """Whether the adapter defines an optional method."""
        return self._find_method(name) is not None

    def call(self, name: str, *arguments: object) -> object:
        """Call an optional method; None if there is none."""
        method = self._find_method(name)
        return method(*arguments) if method else None

    def ingest(self, episode: Episode, scenario: str) -> object:
        """Ingest one episode."""
        metadata = DayMetadata(
            day_number=episode.day,
            date=episode.at.date().isoformat(),
            persona_id=scenario,
            active_arcs=episode.arcs,
            episode_id=episode.id,
            session=episode.session,
        )
        return self.call("ingest_day", episode.day, episode.text, metadata)

    def answer(self, question: Question) -> object:
        """The AdapterReply to a question."""
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
        return _parse(reply, parse_reply)

    def read_stored_days(self) -> object:
        """The distinct days that it holds anything of, ascending; None if it does not say."""
        return _parse(self.call("stored_days"), _parse_days)

    def read_stored_bytes(self) -> object:
        """The size of everything that it holds; None if it does not say."""
        return _parse(
            self.call("stored_bytes"),
            lambda value: None if value is None else _parse_count(value, "stored_bytes", MAX_COUNT),
        )

    def erase(self, scope: EraseScope, value: str) -> object:
        """Call the method that erases in this scope, for an EraseReply."""
        argument = parse_kept_days(value) if scope is EraseScope.DAYS else value
        method = _OFFERED_METHODS[scope.offer]
        return self.call_offered(method, lambda reply: _parse_erasure(method, reply), argument)

    def list_stored(self) -> object:
        """Call `stored`, for a tuple of entries."""
        return self.call_offered("stored", _parse_entries)

    def call_offered(
        self, name: str, parse: Callable[[object], object] = lambda _: None, *arguments: object
    ) -> object:
        """Call a method that erases, lists, consolidates or reopens; NotOffered if it does not."""
        missing = NotOffered(f"{self.where} has no {name}()")
        if not self.defines(name):
            raise missing
        try:
            value = self.call(name, *arguments)
        except NotImplementedError as error:
            raise missing from error
        return _parse(value, parse, missing)

    def _read_count(self, name: str) -> int | None:
        """A declared number above 0; None if undeclared."""
        declared = getattr(self.subject, name, None)
        if declared is None:
            return None
        if isinstance(declared, bool) or not isinstance(declared, int) or declared < 1:
            raise UsageError(
                f"{self.where} declares {name} = {declared!r}, which is not a number above 0"
            )
        return declared

    def _find_method(self, name: str) -> Callable[..., object] | None:
        method = getattr(self.subject, name, None)
        return method if callable(method) else None


def _parse(
    value: object, parse: Callable[[object], object], missing: NotOffered | None = None
) -> object:
    """What a method returned, parsed where it was returned: it may be tied to its thread."""
    if not inspect.isawaitable(value):
        return parse(value)

    async def parse_later(value: Awaitable[object]) -> object:
        try:
            return parse(await value)
        except NotImplementedError as error:
            if missing is None:
                raise
            raise missing from error

    return parse_later(value)


def _detect_context_style(query: Callable[..., object]) -> Literal["named", "second", "none"]:
    try:
        parameters = list(inspect.signature(query).parameters.values())[1:]
    except (TypeError, ValueError):
        return "none"
    if any(parameter.name == "context" and parameter.kind in _BY_NAME for parameter in parameters):
        return "named"
    second = parameters[0] if parameters else None
    if second and second.kind in _BY_PLACE and second.default is inspect.Parameter.empty:
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
    """An exception from an adapter as an error of ours."""
    if isinstance(error, SystemFault | SystemGone | NotOffered):
        return error
    place = locate_error(error)
    text = f"{describe_error(error)} ({place})" if place else describe_error(error)
    text += _explain_refusal(error, text)
    if isinstance(error, ConnectionError):
        return SystemGone(f"the adapter is out of reach ({text}); see what it connects to")
    if isinstance(error, TimeoutError):
        return SystemBusy(text)
    return SystemFault(text)


def _explain_refusal(error: BaseException, text: str) -> str:
    """What lifts the sandbox, if an error looks like something that it refuses."""
    from recall_bench.core.sandbox import is_confined

    if not is_confined():
        return ""
    if isinstance(error, KeyError) and error.args and str(error.args[0]).isupper():
        return f"; the sandbox passes no environment: --env {error.args[0]} passes this variable"
    if "Permission denied" in text or "unable to open" in text:
        return "; the sandbox may refuse it: --allow-network, --allow-read PATH, the state folder"
    return ""


_MAX_DAY = 2**31
"""The limit of our wire messages."""


def _parse_days(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise SystemFault(
            f"stored_days() returned a {type(value).__name__}; return the numbers of the days"
        )
    return tuple(sorted({_parse_count(day, "stored_days", _MAX_DAY) for day in value}))


def _parse_count(value: object, method: str, most: int) -> int:
    # numpy's numbers are Integral and no int.
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < most:
        return int(value)
    raise SystemFault(f"{method}() returned {value!r:.80}; return whole numbers from 0")


def _parse_erasure(method: str, value: object) -> EraseReply:
    match value:
        case None:
            return EraseReply()
        case EraseReply():
            return value
        case bool():
            return EraseReply(confirmed=value)
        case Integral() if 0 <= int(value) < MAX_COUNT:
            return EraseReply(confirmed=int(value) > 0, count=int(value))
        case _:
            raise SystemFault(
                f"{method}() returned {value!r:.80}; return None, whether it erased something, or "
                "how many entries"
            )


def _parse_entries(value: object) -> tuple[StoredEntry, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise SystemFault(
            f"stored() returned a {type(value).__name__}; return a list of texts, or of mappings "
            "with 'text'"
        )
    return check_entries(map(_parse_entry, value))


def _parse_entry(value: object) -> StoredEntry:
    match value:
        case StoredEntry():
            return value
        case str():
            return StoredEntry(text=str.__str__(value))
        case Mapping():
            text, name, day = value.get("text"), value.get("id"), value.get("day")
            if isinstance(text, str) and (day is None or isinstance(day, Integral)):
                return StoredEntry(
                    text=str.__str__(text),
                    id=None if name is None else str(name),
                    day=None if day is None else int(day),
                )
    raise SystemFault(
        f"stored() listed {value!r:.80}; an entry is a text, or a mapping with 'text'"
    )
