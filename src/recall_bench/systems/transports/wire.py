"""The messages between the harness and a system in another process, for every transport.

Fourteen requests, each with one reply. Pipes and HTTP send them as JSON as they are defined here;
the second version of the gRPC service has the same fields under the same names. A reply may lack
fields that have a default, and may have fields that are unknown here: a newer server is no fault.
"""

import msgspec

from recall_bench.core.memory import UNDECLARED

PROTOCOL = 2
"""The version of these messages. Version 1 is the public gRPC service, which has its own."""


class WireMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request or a reply."""


class MemoryRequest(WireMessage, frozen=True, kw_only=True):
    """A request about one memory, by its name."""

    memory: str


class HealthRequest(WireMessage, frozen=True, kw_only=True):
    """Asks for the name of the system, and whether it is ready."""


class HealthReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `health`."""

    name: str = ""
    version: str = UNDECLARED
    ready: bool = True
    protocol: int = PROTOCOL
    max_concurrency: int = 1
    """How many questions one memory can answer at once."""
    clock: str = ""
    """`native`, `in-text` or `none`: how the system knows the date. Empty: it does not say."""
    asker: str = ""
    """`honoured`, `told` or `untold`: how it uses the session. Empty is `told`."""
    answers: bool = True
    """False if it only finds passages."""
    snapshots: bool = False
    """Whether it understands `save`, `restore` and `drop`."""
    attests: bool = False
    """Whether it understands `attest`."""
    inspects: bool = False
    """Whether it understands `inspect`."""
    max_shards: int = 0
    """How many workers may have memories open in it at a time. 0: it does not say, which is 1 for
    a server at an address and any number for one that each worker starts for itself."""
    offers: tuple[str, ...] = ()
    """The optional parts that it has: `forget`, `delete`, `delete-session`, `delete-person`,
    `retain`, `stored`, `consolidate`, `reopen`. Nothing else is asked of it."""


class OpenRequest(WireMessage, frozen=True, kw_only=True):
    """Opens an empty memory, or one that goes on with another."""

    scenario: str
    reopen: bool = False
    """Whether to go on with what an earlier memory left. Sent only if `offers` has `reopen`."""
    memory: str = ""
    """The name of that memory, which was closed, or lost with the process that held it."""


class OpenReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `open` and `restore`."""

    memory: str
    """A name that is never given to another memory, even by another process on the same port: a
    server that was started again is recognised by not knowing it."""


class WireTurn(WireMessage, frozen=True, kw_only=True):
    """One utterance of an episode."""

    speaker: str
    text: str


class IngestRequest(MemoryRequest, frozen=True, kw_only=True):
    """Ingests one episode. They come in story order, each once."""

    day: int
    id: str
    """The episode's id; a passage that gives it back can be traced."""
    date: str
    """ISO 8601, as in 2026-01-31."""
    time: str = ""
    """As in 13:56:00, if the story has it."""
    content: str
    arcs: tuple[str, ...] = ()
    turns: tuple[WireTurn, ...] = ()
    """The content as turns, if the dataset has them."""
    session: str = ""
    """The session that the whole episode belongs to, if it belongs to one."""


class SettleRequest(MemoryRequest, frozen=True, kw_only=True):
    """Replied to once everything ingested can be asked about. Comes at every checkpoint."""


class AskRequest(MemoryRequest, frozen=True, kw_only=True):
    """Asks a question."""

    question: str
    id: str
    """Opaque, and the same whenever the same question is asked."""
    date: str
    """Today, in the story."""
    session: str
    """The session it is asked from."""
    choices: tuple[str, ...] = ()
    top_k: int = 0
    """How many passages count; 0 is no limit."""


class WirePassage(WireMessage, frozen=True, kw_only=True):
    """A passage that the system found."""

    text: str
    id: str | None = None
    """The id of the episode it came from."""
    day: int | None = None
    source: str | None = None
    score: float | None = None


class WireUsage(WireMessage, frozen=True, kw_only=True):
    """What a reply cost in language models."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if unknown."""


class AnswerReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `ask`."""

    answer: str | None = None
    """None if the system only finds passages. Empty text is an answer."""
    passages: tuple[WirePassage, ...] = ()
    """Best first."""
    tool_calls: tuple[dict[str, object], ...] = ()
    usage: WireUsage | None = None


class AttestRequest(MemoryRequest, frozen=True, kw_only=True):
    """Asks how many days a memory has ingested."""


class AttestReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `attest`."""

    days: int | None = None
    """None if it cannot say."""


class InspectRequest(MemoryRequest, frozen=True, kw_only=True):
    """Asks what a memory holds. Comes at every checkpoint, after `settle`."""


class InspectReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `inspect`."""

    days: tuple[int, ...] | None = None
    """The story days that it holds anything of; None if it cannot say."""
    bytes: int | None = None
    """The size of everything, index included; None if it cannot say."""


class EraseRequest(MemoryRequest, frozen=True, kw_only=True):
    """Erases from a memory. Sent only if `offers` has the part for this scope."""

    scope: str
    """`forget`: everything about a subject, `delete`: an episode, `session`, `person`, or `days`:
    from now on, everything older than this many days before the latest."""
    value: str
    """The subject in words, the id, the session, the name, or the number of days."""


class ErasedReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `erase`."""

    confirmed: bool | None = None
    """Whether it erased something; None if it does not know."""
    count: int | None = None
    """How many entries, if that is known."""


class StoredRequest(MemoryRequest, frozen=True, kw_only=True):
    """Asks for every entry that a memory holds. Sent only if `offers` has `stored`."""


class WireEntry(WireMessage, frozen=True, kw_only=True):
    """An entry that a memory holds."""

    text: str
    id: str | None = None
    """The id of the episode it came from."""
    day: int | None = None


class StoredReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `stored`."""

    entries: tuple[WireEntry, ...] = ()


class ConsolidateRequest(MemoryRequest, frozen=True, kw_only=True):
    """Replied to once the memory has done what it does from time to time, such as summaries.

    Sent only if `offers` has `consolidate`.
    """


class SaveRequest(MemoryRequest, frozen=True, kw_only=True):
    """Saves the memory's present state."""


class SaveReply(WireMessage, frozen=True, kw_only=True):
    """The reply to `save`."""

    snapshot: str
    """A name that is never given to another state, even by another process on the same port:
    another worker may restore by it."""


class RestoreRequest(WireMessage, frozen=True, kw_only=True):
    """Opens a new memory in a saved state."""

    snapshot: str


class DropRequest(WireMessage, frozen=True, kw_only=True):
    """Drops a saved state."""

    snapshot: str


class CloseRequest(MemoryRequest, frozen=True, kw_only=True):
    """Closes a memory."""


class DoneReply(WireMessage, frozen=True, kw_only=True):
    """The reply to requests that return nothing."""


class WireFault(WireMessage, frozen=True, kw_only=True):
    """Sent instead of a reply if something went wrong."""

    kind: str = "fault"
    """`fault`: this failed and counts. `busy`: ask again later. `timeout`: it took too long.
    `gone`: the memory is lost, or never was here. `unsupported`: this request is not understood."""
    message: str = ""
    retry_after_s: float = 0.0


Request = (
    HealthRequest
    | OpenRequest
    | IngestRequest
    | SettleRequest
    | AskRequest
    | AttestRequest
    | InspectRequest
    | EraseRequest
    | StoredRequest
    | ConsolidateRequest
    | SaveRequest
    | RestoreRequest
    | DropRequest
    | CloseRequest
)
Reply = (
    HealthReply
    | OpenReply
    | AnswerReply
    | AttestReply
    | InspectReply
    | ErasedReply
    | StoredReply
    | SaveReply
    | DoneReply
)

VERBS: dict[str, tuple[type[Request], type[Reply]]] = {
    "health": (HealthRequest, HealthReply),
    "open": (OpenRequest, OpenReply),
    "ingest": (IngestRequest, DoneReply),
    "settle": (SettleRequest, DoneReply),
    "ask": (AskRequest, AnswerReply),
    "attest": (AttestRequest, AttestReply),
    "inspect": (InspectRequest, InspectReply),
    "erase": (EraseRequest, ErasedReply),
    "stored": (StoredRequest, StoredReply),
    "consolidate": (ConsolidateRequest, DoneReply),
    "save": (SaveRequest, SaveReply),
    "restore": (RestoreRequest, OpenReply),
    "drop": (DropRequest, DoneReply),
    "close": (CloseRequest, DoneReply),
}
"""Every request and its reply, by verb."""

VERB_OF: dict[type[Request], str] = {request: verb for verb, (request, _) in VERBS.items()}


class Envelope(WireMessage, frozen=True, kw_only=True):
    """One line of the pipe protocol, either way."""

    id: int
    """The reply carries the id of its request; replies may come in any order."""
    do: str | None = None
    """The verb, in a request."""
    body: msgspec.Raw = msgspec.Raw(b"{}")
    """The request, or the reply; read once its type is known."""
    error: WireFault | None = None
    """In place of a reply's body."""
