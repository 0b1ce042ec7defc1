"""The batch services of providers, over HTTP: make a batch, look at it, fetch its results.

    OpenAI     POST /files, POST /batches, GET /batches/ID, GET /files/ID/content
    Anthropic  POST /v1/messages/batches, GET /v1/messages/batches/ID and its /results

A request is sent once. ModelBusy says that it may be sent again, ModelGone that it may not.
"""

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone
from recall_bench.core.redaction import Redactor
from recall_bench.core.retry import parse_retry_after
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.features.models.batch_formats import CHAT_URL
from recall_bench.features.models.faults import classify_status, truncate_line

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 300.0
"""For one request, such as the upload of a file."""
_CONNECT_TIMEOUT_S = 30.0
_PAGE = 100
_MAX_PAGES = 10
"""Of the list of batches, newest first."""
_CLOCK_SKEW = timedelta(minutes=5)
_VERSION = "2023-06-01"
"""Of Anthropic's interface."""


class BatchStage(StrEnum):
    """How far the service has come with a batch."""

    WORKING = "working"
    ENDED = "ended"
    """Every request has a result, or expired."""
    REFUSED = "refused"
    """The requests were found wrong, and none was run."""
    CANCELLED = "cancelled"


class BatchStatus(NamedTuple):
    """What the service says of a batch."""

    stage: BatchStage
    total: int
    done: int
    """Requests with a result, failures included."""
    places: tuple[str, ...]
    """The paths of its results."""
    problem: str = ""
    """Why it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequests:
    """The requests of one file, and what is known of the attempt to send them."""

    name: str
    content: bytes
    count: int
    begun: datetime
    """When it was first tried."""
    file: str | None = None
    """The service's name of the uploaded file."""
    others: frozenset[str] = frozenset()
    """Batches that are known not to be of these requests."""


class BatchService:
    """One provider's interface, with an address and a key. Use it in an `async with` block."""

    def __init__(
        self, address: str, headers: Mapping[str, str], name: str, redact: Redactor
    ) -> None:
        """`name` is that of the model, for messages; the address holds no secret."""
        self.address = address
        self._headers = dict(headers)
        self._name = name
        self._redact = redact
        self._http: httpx.AsyncClient | None = None

    @abstractmethod
    async def upload(self, sent: SentRequests) -> str | None:
        """Upload the requests; the service's name of the file, None if there is no such step."""

    @abstractmethod
    async def create(self, sent: SentRequests) -> str:
        """Have the requests run, which is paid for; the id of the batch."""

    @abstractmethod
    async def find(self, sent: SentRequests) -> str | None:
        """The id of the batch that an earlier `create` may have made; None if it made none."""

    @abstractmethod
    async def fetch_status(self, batch: str) -> BatchStatus:
        """What the service says of the batch now."""

    async def __aenter__(self) -> Self:
        import httpx

        is_encrypted = not self.address.startswith("http:")
        self._http = httpx.AsyncClient(
            headers=self._headers,
            timeout=httpx.Timeout(_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S),
            # Over plain http a proxy would be one more machine that sees the key.
            trust_env=is_encrypted,
            # Certificates take a while to load, and plain http has none.
            verify=is_encrypted,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def call(self, method: str, path: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's own
        """Send a request; the JSON object that comes back."""
        body = await self.fetch(path, method=method, **content)
        try:
            reply = decode_plain_json(body)
        except msgspec.DecodeError:
            reply = None
        if not isinstance(reply, dict):
            raise ModelBusy(f"{self._name}: the batch service sent no JSON object")
        return reply

    async def fetch(self, path: str, *, method: str = "GET", **content: Any) -> bytes:  # noqa: ANN401 - httpx's own
        """Send a request; the whole body that comes back."""
        assert self._http is not None  # noqa: S101 - it is used in its block
        async with self._translate_errors():
            response = await self._http.request(method, f"{self.address}{path}", **content)
        if response.is_success:
            return response.content
        raise self._make_fault(response)

    async def list_batches(self, path: str, after: str) -> AsyncIterator[dict[str, Any]]:
        """The batches of this key, newest first; `after` is the parameter of a further page."""
        params = {"limit": str(_PAGE)}
        for _ in range(_MAX_PAGES):
            page = await self.call("GET", path, params=params)
            batches = _list_objects(page.get("data"))
            for batch in batches:
                yield batch
            if not batches or not page.get("has_more"):
                return
            params[after] = self.read_id(batches[-1])

    def read_id(self, reply: Mapping[str, Any]) -> str:
        """The id in a reply; ModelGone without one."""
        if _is_id(name := reply.get("id")):
            return str(name)
        raise ModelGone(
            f"{self._name}: the batch service sent no id; see that its address is right"
        )

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        import httpx

        try:
            yield
        except (httpx.TransportError, httpx.DecodingError) as error:
            reason = truncate_line(self._redact(str(error) or type(error).__name__))
            fault = ModelBusy(f"{self._name}: the batch service cannot be reached ({reason})")
        else:
            return
        # Raised here, where no error of the library is being handled, it drags no headers along.
        raise fault

    def _make_fault(self, response: "httpx.Response") -> ModelFault:
        status = response.status_code
        line = truncate_line(self._redact(_read_message(response.content)))
        message = f"{self._name}: the batch service answers {status}: {line}"
        # A call is about a whole batch: a refusal (400, 422) is not the fault of one request.
        if classify_status(status) is ModelBusy:
            return ModelBusy(message, parse_retry_after(response.headers.get("Retry-After")))
        if status in {401, 403}:
            return ModelGone(f"{message}; check the key, then run the same command again")
        if status == 404:
            return ModelGone(f"{message}; see that {self.address} is right and serves batches")
        return ModelGone(message)


class ChatBatches(BatchService):
    """OpenAI's interface, which others serve too."""

    async def upload(self, sent: SentRequests) -> str:
        """Upload the file."""
        file = (sent.name, sent.content, "application/jsonl")
        purpose = {"purpose": "batch"}
        return self.read_id(await self.call("POST", "/files", data=purpose, files={"file": file}))

    async def create(self, sent: SentRequests) -> str:
        """Make a batch of the file that was uploaded."""
        batch = {
            "input_file_id": sent.file,
            "endpoint": CHAT_URL,
            "completion_window": "24h",
            "metadata": {"recall_bench": sent.name},
        }
        return self.read_id(await self.call("POST", "/batches", json=batch))

    async def find(self, sent: SentRequests) -> str | None:
        """The batch of the file that was uploaded."""
        async for batch in self.list_batches("/batches", "after"):
            if sent.file is not None and batch.get("input_file_id") == sent.file:
                return self.read_id(batch)
        return None

    async def fetch_status(self, batch: str) -> BatchStatus:
        """The status, the counts and the result files."""
        reply = await self.call("GET", f"/batches/{batch}")
        stages = {
            "completed": BatchStage.ENDED,
            "expired": BatchStage.ENDED,
            "failed": BatchStage.REFUSED,
            "cancelled": BatchStage.CANCELLED,
        }
        counts = _read_counts(reply)
        files = (reply.get("output_file_id"), reply.get("error_file_id"))
        return BatchStatus(
            stage=stages.get(str(reply.get("status")).lower(), BatchStage.WORKING),
            total=counts.get("total", 0),
            done=counts.get("completed", 0) + counts.get("failed", 0),
            places=tuple(f"/files/{file}/content" for file in files if _is_id(file)),
            problem=truncate_line(self._redact(_list_problems(reply.get("errors")))),
        )


_MESSAGES = "/v1/messages/batches"


class MessageBatches(BatchService):
    """Anthropic's interface."""

    async def upload(self, _: SentRequests) -> None:
        """Nothing: the requests are sent with the batch."""

    async def create(self, sent: SentRequests) -> str:
        """Make a batch of the requests."""
        lines = sent.content.split(b"\n")
        content = b'{"requests":[' + b",".join(line for line in lines if line.strip()) + b"]}"
        headers = {"Content-Type": "application/json"}
        return self.read_id(await self.call("POST", _MESSAGES, content=content, headers=headers))

    async def find(self, sent: SentRequests) -> str | None:
        """The oldest batch since the first try that has as many requests.

        The list does not say which requests: the results do.
        """
        fitting: list[str] = []
        async for batch in self.list_batches(_MESSAGES, "after_id"):
            if not _was_made_since(batch, sent.begun - _CLOCK_SKEW):
                break
            if sum(_read_counts(batch).values()) == sent.count:
                fitting.append(self.read_id(batch))
        return next((name for name in reversed(fitting) if name not in sent.others), None)

    async def fetch_status(self, batch: str) -> BatchStatus:
        """The status and the counts."""
        reply = await self.call("GET", f"{_MESSAGES}/{batch}")
        counts = _read_counts(reply)
        stage = BatchStage.WORKING
        # The address of the results is there as soon as they can be fetched.
        if reply.get("processing_status") == "ended" and reply.get("results_url"):
            was_cancelled = reply.get("cancel_initiated_at") and counts.get("canceled")
            stage = BatchStage.CANCELLED if was_cancelled else BatchStage.ENDED
        total = sum(counts.values())
        done = total - counts.get("processing", 0)
        return BatchStatus(stage, total, done, places=(f"{_MESSAGES}/{batch}/results",))


def build_key_headers(provider: str, key: str | None) -> dict[str, str]:
    """The headers that carry the key to a provider's batch service."""
    if provider == "anthropic":
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_id(name: object) -> bool:
    """Whether it can be an id: it becomes part of an address."""
    return isinstance(name, str) and re.fullmatch(r"[\w.:-]{1,200}", name, re.ASCII) is not None


def _read_counts(batch: Mapping[str, Any]) -> dict[str, int]:
    counts = batch.get("request_counts")
    if not isinstance(counts, dict):
        return {}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _list_objects(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _list_problems(errors: object) -> str:
    """What is wrong with the requests of a batch, the first three of it."""
    problems = _list_objects(errors.get("data")) if isinstance(errors, dict) else []
    sentences = [
        (f"line {problem['line']}: " if isinstance(problem.get("line"), int) else "")
        + str(problem.get("message") or problem.get("code") or "no reason given")
        for problem in problems
    ]
    more = f"; and {len(sentences) - 3} more" if len(sentences) > 3 else ""
    return "; ".join(sentences[:3]) + more if sentences else "no reason given"


def _was_made_since(batch: Mapping[str, Any], moment: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(batch.get("created_at"))) >= moment
    except (ValueError, TypeError):
        return False


def _read_message(body: bytes) -> str:
    try:
        reply = decode_plain_json(body)
    except msgspec.DecodeError:
        return body[:300].decode(errors="replace") or "no reason given"
    for key in ("error", "message"):
        if isinstance(reply, dict) and key in reply:
            reply = reply[key]
    return str(reply) or "no reason given"
