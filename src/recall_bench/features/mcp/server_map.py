"""Arguments of a tool with places to fill in."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import field

from recall_bench.core.errors import NotAnAnswer, UsageError
from recall_bench.core.memory import Asker, Clock, Offer
from recall_bench.core.user_code import require_libraries
from recall_bench.core.yaml12 import read_document
from recall_bench.systems.transports.server_yaml import YamlSection, parse_section

if TYPE_CHECKING:
    import regex


PATTERN_TIMEOUT_S = 2.0
"""For one reply; an expression without nested repetition needs milliseconds."""

_MAX_LENGTH = 2_000
_MAX_SIZE = 100_000
"""Of an expression with its repetitions written out, as `regex` compiles them."""
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\{\d*,?\d*\}|.", re.DOTALL)


def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """The compiled expression, or ValueError with what is wrong with it."""
    require_libraries("a regular expression in a map", "mcp", "regex")
    import regex

    if len(pattern) > _MAX_LENGTH or _measure_size(pattern) > _MAX_SIZE:
        raise ValueError("it is too large")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error) or "it is too large") from error


def _measure_size(pattern: str) -> int:
    """How many parts the expression has if `a{3}` is written `aaa`."""
    sizes, last = [0], 0
    for part in _PART.findall(pattern):
        if part == "(":
            sizes.append(0)
            last = 0
        elif part == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif len(part) > 1 and part[0] == "{":
            times = max((int(number) for number in re.findall(r"\d+", part)), default=1)
            sizes[-1] += last * (times - 1)
            last *= times
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def find_matches(pattern: str, reply: str, where: str) -> "list[regex.Match[str]]":
    """All matches in a reply; NotAnAnswer, which names the place in the map, after too long."""
    with _refuse_timeout(reply, where):
        return list(compile_pattern(pattern).finditer(reply, timeout=PATTERN_TIMEOUT_S))


def has_match(pattern: str, reply: str, where: str) -> bool:
    """Whether a reply has a match; NotAnAnswer after too long."""
    with _refuse_timeout(reply, where):
        return compile_pattern(pattern).search(reply, timeout=PATTERN_TIMEOUT_S) is not None


@contextmanager
def _refuse_timeout(reply: str, where: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise NotAnAnswer(
            f"{where} of the map takes more than {PATTERN_TIMEOUT_S:g} s on a reply of "
            f"{len(reply):,} characters; write it without repetition within repetition"
        ) from error


Value = str | int

_PLACE = re.compile(r"\{([a-z_]+)\}")


def find_places(template: object) -> set[str]:
    """The names of all places in a template."""
    return {name for text in _iterate_texts(template) for name in _PLACE.findall(text)}


def fill_template(template: object, values: Mapping[str, Value]) -> object:
    """The template with every place it has a value for filled in.

    A text that is nothing but one place becomes the value itself: `"{k}"` becomes a number.
    """
    match template:
        case str():
            whole = _PLACE.fullmatch(template)
            if whole is not None and whole[1] in values:
                return values[whole[1]]
            return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), template)
        case dict():
            return {key: fill_template(part, values) for key, part in template.items()}
        case list():
            return [fill_template(part, values) for part in template]
        case _:
            return template


def fill_arguments(
    template: Mapping[str, object], values: Mapping[str, Value]
) -> dict[str, object]:
    """The same for the arguments of a tool."""
    return {key: fill_template(part, values) for key, part in template.items()}


def fill_for_each(
    template: Mapping[str, object],
    shared: Mapping[str, Value],
    several: Sequence[Mapping[str, Value]],
) -> dict[str, object]:
    """The same, with an entry for each of `several` in the list that is repeated."""
    lists = find_repeated_lists(template, set(several[0]))

    def fill_part(part: object) -> object:
        if any(part is entry for entry in lists) and isinstance(part, list):
            return [fill_template(part[0], {**shared, **one}) for one in several]
        match part:
            case dict():
                return {key: fill_part(inner) for key, inner in part.items()}
            case list():
                return [fill_part(inner) for inner in part]
            case _:
                return fill_template(part, shared)

    return {key: fill_part(part) for key, part in template.items()}


def find_repeated_lists(template: object, names: set[str]) -> list[object]:
    """The outermost lists of one entry that has a place of these names: one entry a note."""
    match template:
        case list() if len(template) == 1 and find_places(template) & names:
            return [template]
        case dict():
            return [
                repeated
                for part in template.values()
                for repeated in find_repeated_lists(part, names)
            ]
        case list():
            return [repeated for part in template for repeated in find_repeated_lists(part, names)]
        case _:
            return []


def _iterate_texts(template: object) -> Iterator[str]:
    match template:
        case str():
            yield template
        case dict():
            for part in template.values():
                yield from _iterate_texts(part)
        case list():
            for part in template:
                yield from _iterate_texts(part)


START_TIMEOUT_S = 60.0

NOTE_PLACES = {"text", "date", "day", "session", "id", "context"}
_QUESTION_PLACES = {"question", "k", "date", "session"}


class McpServerSpec(YamlSection, frozen=True, kw_only=True):
    """How to start a server, or where one runs."""

    command: tuple[str, ...] = ()
    """The program and its arguments, which is started for each memory; no shell is involved."""
    env: dict[str, str] = field(default_factory=dict)
    """Added to its environment, which is a clean one."""
    url: str | None = None
    """The address of a running server with streamable HTTP."""
    headers: dict[str, str] = field(default_factory=dict)
    """For each header of a request the environment variable that holds its value."""
    start_timeout_s: float = START_TIMEOUT_S


class McpToolCall(YamlSection, frozen=True, kw_only=True):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, object] = field(default_factory=dict)


class IngestSpec(YamlSection, frozen=True, kw_only=True):
    """How a day is ingested."""

    tool: str
    arguments: dict[str, object]
    each: Literal["note", "day"] = "note"
    """What one entry is: a few sentences, as for every product here, or a whole day."""
    batch: int = 1
    """How many entries one call takes at most."""
    done: str | None = None
    """A regular expression for the reply of a successful call; without it, `isError` decides."""


class EraseSpec(YamlSection, frozen=True, kw_only=True):
    """How something is erased."""

    tool: str
    arguments: dict[str, object]
    done: str | None = None
    """A regular expression for the reply of a call that erased something; without it, a call that
    does not fail confirms nothing."""


class ListSpec(YamlSection, frozen=True, kw_only=True):
    """How everything that a memory holds is listed, and where the entries are in the reply."""

    section: ClassVar[str] = "stored"
    """Where it is in the map."""

    tool: str
    arguments: dict[str, object] = field(default_factory=dict)
    results: str | None = None
    """The path to the list of results, its steps joined by dots; empty for the whole reply."""
    pattern: str | None = None
    """For a reply in prose: a regular expression with the groups text, and perhaps id and score."""
    nothing: str | None = None
    """The text of a reply in prose if nothing was found."""
    text: str | tuple[str, ...] | None = None
    """The path of the text in each result; several texts are joined by line breaks."""
    id: str | None = None
    score: str | None = None


class SearchSpec(ListSpec, frozen=True, kw_only=True):
    """How a question is asked, and where the results are in the reply."""

    section: ClassVar[str] = "search"

    query: Literal["whole", "keywords"] = "whole"
    """Whether the question is sent as it is, or one call is made for each of its words."""


class ServerMap(YamlSection, frozen=True, kw_only=True):
    """An MCP server as a system."""

    transport: Literal["mcp"]
    server: McpServerSpec
    ingest: IngestSpec
    search: SearchSpec
    settle: McpToolCall | None = None
    """Called at every checkpoint; returns once everything can be found."""
    reset: McpToolCall | None = None
    """Called when a memory is opened; deletes everything."""
    forget: EraseSpec | None = None
    """Erases everything about a {subject}."""
    delete: EraseSpec | None = None
    """Erases the entry with this {id}; called for each entry of an episode."""
    delete_session: EraseSpec | None = None
    """Erases a {session}."""
    delete_person: EraseSpec | None = None
    """Erases everything that a person with this {name} said or that is about them."""
    keep_days: EraseSpec | None = None
    """From then on keeps nothing older than {days} days before the latest."""
    stored: ListSpec | None = None
    """Lists everything."""
    consolidate: McpToolCall | None = None
    """Does at once what the server does from time to time."""
    roles: dict[str, Literal["save", "search", "update", "delete", "hidden"]] = field(
        default_factory=dict
    )
    """What further tools do, for an agent that is given them; `hidden` ones are not offered."""
    name: str | None = None
    """The name of the system; by default that of the server."""
    clock: Clock = Clock.IN_TEXT
    honours_sessions: bool = False
    snapshots: Literal["copy"] | None = None
    """`copy` if the server keeps everything below {state_dir} and finds it there again."""
    max_concurrency: int = 1
    max_shards: int | None = None
    """How many workers may have memories open in it at once; by default 1 if they share a server,
    else any number."""
    k: int = 10
    """How many results are asked for where a run sets no limit."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The name of every tool that is called."""
        every = (getattr(self, key) for key in _SECTIONS if key != "server")
        return tuple(call.tool for call in every if call is not None)

    @property
    def offers(self) -> frozenset[Offer]:
        """The optional parts that the map has a tool for.

        A server whose files can be copied can be started again on them.
        """
        named = {offer for offer, key in OFFER_KEYS.items() if getattr(self, key) is not None}
        return frozenset(named | ({Offer.REOPEN} if self.snapshots == "copy" else set()))

    @property
    def asker(self) -> Asker:
        """What the server does with the session of a question."""
        if "session" not in find_places(self.search.arguments):
            return Asker.UNTOLD
        return Asker.HONOURED if self.honours_sessions else Asker.TOLD

    @property
    def is_named(self) -> bool:
        """Whether memories on one server are separated by name."""
        return all("memory" in find_places(call.arguments) for call in (self.ingest, self.search))

    @property
    def is_shared(self) -> bool:
        """Whether all workers share a server, or files that are not in a folder of their own."""
        if self.server.url is not None:
            return True
        texts = [*self.server.command, *self.server.env.values()]
        return self.reset is not None and "state_dir" not in find_places(texts)


def read_server_map(path: Path) -> ServerMap:
    """The map, `{here}` filled in; UsageError names the file, line and key."""
    document = read_document(path)
    spec = parse_section(document, ServerMap, _SECTIONS, place="{state_dir}")
    try:
        _check_map(spec)
    except _MapProblem as problem:
        key, message = problem.args
        raise UsageError(f"{document.describe_place(*key.split('.'))}: {key} {message}") from None
    here = {"here": str(path.resolve().parent)}
    server = msgspec.structs.replace(
        spec.server,
        command=tuple(str(fill_template(word, here)) for word in spec.server.command),
        env={name: str(fill_template(text, here)) for name, text in spec.server.env.items()},
    )
    return msgspec.structs.replace(
        spec,
        server=server,
        **{
            key: msgspec.structs.replace(call, arguments=fill_arguments(call.arguments, here))
            for key in _SECTIONS
            if key != "server" and (call := getattr(spec, key)) is not None
        },
    )


class _MapProblem(Exception):
    """A key of the file, and what is wrong there that the types do not cover."""


def _check_map(spec: ServerMap) -> None:
    """Raise the first problem."""
    _check_server(spec.server)
    _check_argument("ingest", spec.ingest.arguments, NOTE_PLACES, "text")
    _check_argument("search", spec.search.arguments, _QUESTION_PLACES, "question")
    for key in ("settle", "reset", "stored", "consolidate"):
        if (call := getattr(spec, key)) is not None:
            _check_argument(key, call.arguments, set())
    for key, place in ERASE_PLACES.items():
        if (call := getattr(spec, key)) is not None:
            _check_argument(key, call.arguments, {place}, place)
            _check_pattern(f"{key}.done", call.done)
    _check_ingest(spec.ingest)
    for listed in (spec.search, spec.stored):
        if listed is not None:
            _check_result(listed)
    for key in ("k", "max_concurrency", "max_shards"):
        if (value := getattr(spec, key)) is not None and value < 1:
            raise _MapProblem(key, "is below 1; write a number from 1")
    _check_memory(spec)


def _check_server(server: McpServerSpec) -> None:
    if bool(server.command) == (server.url is not None):
        raise _MapProblem("server", "has both or neither of command and url; write one of them")
    if server.command and not server.command[0]:
        raise _MapProblem("server.command", "is empty; write the program and its arguments")
    _check_place("server.command", list(server.command), set())
    _check_place("server.env", dict(server.env), set())
    if server.url is not None and not server.url.startswith(("http://", "https://")):
        raise _MapProblem(
            "server.url",
            f"is {server.url!r}; write an address that begins with http:// or https://",
        )
    if server.url is None and server.headers:
        raise _MapProblem("server.headers", "are for a url alone; leave them out")
    for header, variable in server.headers.items():
        if variable not in os.environ:
            raise _MapProblem(
                "server.headers",
                f"takes {header} from the environment variable {variable}, which is not set; "
                "set it",
            )
    if not server.start_timeout_s > 0:
        raise _MapProblem("server.start_timeout_s", "is not above 0; write a number of seconds")


def _check_argument(key: str, template: object, allowed: set[str], needed: str = "") -> None:
    _check_place(f"{key}.arguments", template, allowed | {"memory"})
    if needed and needed not in find_places(template):
        raise _MapProblem(f"{key}.arguments", f'have no "{{{needed}}}"; say where it belongs')


def _check_place(key: str, template: object, allowed: set[str]) -> None:
    places = allowed | {"state_dir", "here"}
    for name in sorted(find_places(template) - places):
        there_are = ", ".join(f"{{{place}}}" for place in sorted(places))
        raise _MapProblem(key, f"has a place {{{name}}} that nothing fills; there are {there_are}")


def _check_pattern(key: str, pattern: str | None, group: str | None = None) -> None:
    try:
        groups = {} if pattern is None else compile_pattern(pattern).groupindex
    except ValueError as error:
        raise _MapProblem(key, f"is not a regular expression ({error}); correct it") from error
    if pattern is not None and group is not None and group not in groups:
        raise _MapProblem(key, f"has no group (?P<{group}>…); add it")


def _check_ingest(ingest: IngestSpec) -> None:
    if ingest.batch < 1:
        raise _MapProblem("ingest.batch", "is below 1; say how many entries one call takes")
    lists = find_repeated_lists(ingest.arguments, NOTE_PLACES)
    if ingest.batch > 1 and len(lists) != 1:
        raise _MapProblem(
            "ingest.arguments",
            f"have {len(lists)} lists of one entry with a place like {{text}}, and a batch "
            "repeats one; write one, or leave batch out",
        )
    if ingest.batch > 1 and _count_note_places(ingest.arguments) != _count_note_places(lists[0]):
        raise _MapProblem(
            "ingest.arguments",
            "have a place of a note outside the list that a batch repeats; move it into the "
            "list, or leave batch out",
        )
    _check_pattern("ingest.done", ingest.done)
    if ingest.each == "day" and (odd := find_places(ingest.arguments) & {"session", "context"}):
        raise _MapProblem(
            "ingest.arguments",
            f"have {{{min(odd)}}}, which a whole day has not; take it out, or write each: note",
        )


def _check_result(listed: ListSpec) -> None:
    key = listed.section
    if listed.pattern is not None and listed.results is not None:
        raise _MapProblem(f"{key}.pattern", "stands beside results; write one of them")
    if listed.pattern is not None:
        _check_pattern(f"{key}.pattern", listed.pattern, "text")
        if listed.text or listed.id or listed.score:
            raise _MapProblem(key, "has its text, id and score as groups; leave the keys out")
    elif listed.nothing is not None:
        raise _MapProblem(f"{key}.nothing", "is for a pattern alone; leave it out")
    elif listed.text is None and (listed.results is not None or listed.id or listed.score):
        raise _MapProblem(key, "has no text; say where in each result its text is")


def _check_memory(spec: ServerMap) -> None:
    is_running = spec.server.url is not None
    arguments = (spec.ingest.arguments, spec.search.arguments)
    if is_running and spec.snapshots is not None:
        raise _MapProblem("snapshots", "needs a server of our own; leave it out beside a url")
    if any("memory" in find_places(template) for template in arguments) and not spec.is_named:
        raise _MapProblem(
            "ingest", "has {memory} in one of ingest and search alone; use it in both"
        )
    if spec.is_shared and not spec.is_named and (spec.max_shards or 1) > 1:
        raise _MapProblem(
            "max_shards",
            f"is {spec.max_shards}, but the server holds one memory at a time; use {{memory}} "
            "in the arguments of ingest and search to keep several apart",
        )
    if is_running and any("state_dir" in find_places(template) for template in arguments):
        raise _MapProblem(
            "ingest", "has {state_dir}, which a running server does not have; remove it"
        )
    if spec.honours_sessions and "session" not in find_places(spec.search.arguments):
        raise _MapProblem("honours_sessions", "is declared, but search has no {session}")
    texts = [*spec.server.command, *spec.server.env.values()]
    if spec.snapshots is not None and "state_dir" not in find_places(texts):
        raise _MapProblem(
            "snapshots",
            "is copy, but neither server.command nor server.env has {state_dir}; write where "
            "the server keeps its files",
        )


def _count_note_places(template: object) -> int:
    """The number of places of a note in a template, repeats included."""
    names = (name for text in _iterate_texts(template) for name in _PLACE.findall(text))
    return sum(name in NOTE_PLACES for name in names)


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "server": McpServerSpec,
    "ingest": IngestSpec,
    "search": SearchSpec,
    "settle": McpToolCall,
    "reset": McpToolCall,
    "forget": EraseSpec,
    "delete": EraseSpec,
    "delete_session": EraseSpec,
    "delete_person": EraseSpec,
    "keep_days": EraseSpec,
    "stored": ListSpec,
    "consolidate": McpToolCall,
}

ERASE_PLACES = {
    "forget": "subject",
    "delete": "id",
    "delete_session": "session",
    "delete_person": "name",
    "keep_days": "days",
}
"""The place for the value in the arguments of each tool that erases."""

OFFER_KEYS = {
    Offer.FORGET: "forget",
    Offer.DELETE: "delete",
    Offer.DELETE_SESSION: "delete_session",
    Offer.DELETE_PERSON: "delete_person",
    Offer.RETAIN: "keep_days",
    Offer.STORED: "stored",
    Offer.CONSOLIDATE: "consolidate",
}
"""The key of the map for each optional part."""
