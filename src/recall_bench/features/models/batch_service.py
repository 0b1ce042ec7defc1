"""The batch services of providers, over HTTP: make a batch, look at it, fetch its results.

    OpenAI     POST /files, POST /batches, GET /batches/ID, GET /files/ID/content
    Anthropic  POST /v1/messages/batches, GET /v1/messages/batches/ID and its /results

A request is sent once. ModelBusy says that it may be sent again, ModelGone that it may not.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, Self

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


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """What the service says of a batch."""

    stage: BatchStage
    total: int
    done: int
    """Requests with a result, failures included."""
    problem: str = ""
    """Why it was refused."""
    places: tuple[str, ...] = ()
    """The paths of its results."""


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


class BatchService(Protocol):
    """One provider's interface, with an address and a key. Use it in an `async with` block."""

    address: str
    """Holds no secret."""

    async def __aenter__(self) -> Self:
        """Allow connections."""

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""

    async def upload(self, sent: SentRequests) -> str | None:
        """Upload the requests; the service's name of the file, None if there is no such step."""

    async def create(self, sent: SentRequests) -> str:
        """Have the requests run, which is paid for; the id of the batch."""

    async def find(self, sent: SentRequests) -> str | None:
        """The id of the batch that an earlier `create` may have made; None if it made none."""

    async def fetch_status(self, batch: str) -> BatchStatus:
        """What the service says of the batch now."""

    async def fetch_results(self, place: str) -> bytes:
        """The lines of results in one place."""


class ServiceClient:
    """Sends requests to one address with one key."""

    def __init__(
        self, address: str, headers: Mapping[str, str], name: str, redact: Redactor
    ) -> None:
        """`name` is that of the model, for messages."""
        self.address = address
        self._headers = dict(headers)
        self._name = name
        self._redact = redact
        self._http: httpx.AsyncClient | None = None

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
            found = decode_plain_json(body)
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise ModelBusy(f"{self._name}: the batch service sent no JSON object")
        return found

    async def fetch(self, path: str, *, method: str = "GET", **content: Any) -> bytes:  # noqa: ANN401 - httpx's own
        """Send a request; the whole body that comes back."""
        assert self._http is not None  # noqa: S101 - it is used in its block
        async with self._translate_errors():
            response = await self._http.request(method, f"{self.address}{path}", **content)
        if response.is_success:
            return response.content
        raise self._make_fault(response)

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


class ChatBatches(ServiceClient):
    """OpenAI's interface, which others serve too."""

    async def upload(self, sent: SentRequests) -> str:
        """Upload the file."""
        file = (sent.name, sent.content, "application/jsonl")
        made = await self.call("POST", "/files", data={"purpose": "batch"}, files={"file": file})
        return self._read_id(made)

    async def create(self, sent: SentRequests) -> str:
        """Make a batch of the file that was uploaded."""
        wanted = {
            "input_file_id": sent.file,
            "endpoint": CHAT_URL,
            "completion_window": "24h",
            "metadata": {"recall_bench": sent.name},
        }
        return self._read_id(await self.call("POST", "/batches", json=wanted))

    async def find(self, sent: SentRequests) -> str | None:
        """The batch of the file that was uploaded."""
        after: dict[str, str] = {}
        for _ in range(_MAX_PAGES):
            page = await self.call("GET", "/batches", params={"limit": str(_PAGE), **after})
            batches = _list_objects(page.get("data"))
            for batch in batches:
                if sent.file is not None and batch.get("input_file_id") == sent.file:
                    return self._read_id(batch)
            if not batches or not page.get("has_more"):
                break
            after = {"after": self._read_id(batches[-1])}
        return None

    async def fetch_status(self, batch: str) -> BatchStatus:
        """The status, the counts and the result files."""
        found = await self.call("GET", f"/batches/{batch}")
        stages = {
            "completed": BatchStage.ENDED,
            "expired": BatchStage.ENDED,
            "failed": BatchStage.REFUSED,
            "cancelled": BatchStage.CANCELLED,
        }
        counts = _read_counts(found)
        files = (found.get("output_file_id"), found.get("error_file_id"))
        return BatchStatus(
            stage=stages.get(str(found.get("status")).lower(), BatchStage.WORKING),
            total=counts.get("total", 0),
            done=counts.get("completed", 0) + counts.get("failed", 0),
            problem=truncate_line(self._redact(_list_problems(found.get("errors")))),
            places=tuple(f"/files/{file}/content" for file in files if _is_id(file)),
        )

    async def fetch_results(self, place: str) -> bytes:
        """The content of a file."""
        return await self.fetch(place)

    def _read_id(self, found: Mapping[str, Any]) -> str:
        return _require_id(found, self._name)


_MESSAGES = "/v1/messages/batches"


class MessageBatches(ServiceClient):
    """Anthropic's interface."""

    async def upload(self, _: SentRequests) -> None:
        """Nothing: the requests are sent with the batch."""

    async def create(self, sent: SentRequests) -> str:
        """Make a batch of the requests."""
        lines = sent.content.split(b"\n")
        content = b'{"requests":[' + b",".join(line for line in lines if line.strip()) + b"]}"
        headers = {"Content-Type": "application/json"}
        made = await self.call("POST", _MESSAGES, content=content, headers=headers)
        return _require_id(made, self._name)

    async def find(self, sent: SentRequests) -> str | None:
        """The oldest batch since the first try that has as many requests.

        The list does not say which requests: the results do.
        """
        after: dict[str, str] = {}
        fitting: list[str] = []
        for _ in range(_MAX_PAGES):
            page = await self.call("GET", _MESSAGES, params={"limit": str(_PAGE), **after})
            batches = _list_objects(page.get("data"))
            new = [batch for batch in batches if _was_made_since(batch, sent.begun - _CLOCK_SKEW)]
            fitting += [
                _require_id(each, self._name)
                for each in new
                if sum(_read_counts(each).values()) == sent.count
            ]
            if len(new) < len(batches) or not page.get("has_more") or not batches:
                break
            after = {"after_id": _require_id(batches[-1], self._name)}
        return next((each for each in reversed(fitting) if each not in sent.others), None)

    async def fetch_status(self, batch: str) -> BatchStatus:
        """The status and the counts."""
        found = await self.call("GET", f"{_MESSAGES}/{batch}")
        counts = _read_counts(found)
        stage = BatchStage.WORKING
        # The address of the results is there as soon as they can be fetched.
        if found.get("processing_status") == "ended" and found.get("results_url"):
            was_cancelled = found.get("cancel_initiated_at") and counts.get("canceled")
            stage = BatchStage.CANCELLED if was_cancelled else BatchStage.ENDED
        total = sum(counts.values())
        return BatchStatus(
            stage=stage,
            total=total,
            done=total - counts.get("processing", 0),
            places=(f"{_MESSAGES}/{batch}/results",),
        )

    async def fetch_results(self, place: str) -> bytes:
        """The lines of results."""
        return await self.fetch(place)


def build_key_headers(provider: str, key: str | None) -> dict[str, str]:
    """The headers that carry the key to a provider's batch service."""
    if provider == "anthropic":
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_id(found: object) -> bool:
    """Whether it can be an id: it becomes part of an address."""
    return isinstance(found, str) and re.fullmatch(r"[\w.:-]{1,200}", found, re.ASCII) is not None


def _require_id(found: Mapping[str, Any], name: str) -> str:
    if (made := found.get("id")) and _is_id(made):
        return str(made)
    raise ModelGone(f"{name}: the batch service sent no id; see that its address is right")


def _read_counts(found: Mapping[str, Any]) -> dict[str, int]:
    counts = found.get("request_counts")
    if not isinstance(counts, dict):
        return {}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _list_objects(found: object) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _list_problems(errors: object) -> str:
    """What is wrong with the requests of a batch, the first three of it."""
    listed = _list_objects(errors.get("data")) if isinstance(errors, dict) else []
    said = [
        (f"line {each['line']}: " if isinstance(each.get("line"), int) else "")
        + str(each.get("message") or each.get("code") or "no reason given")
        for each in listed
    ]
    more = f"; and {len(said) - 3} more" if len(said) > 3 else ""
    return "; ".join(said[:3]) + more if said else "no reason given"


def _was_made_since(batch: Mapping[str, Any], moment: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(batch.get("created_at"))) >= moment
    except (ValueError, TypeError):
        return False


def _read_message(body: bytes) -> str:
    try:
        found = decode_plain_json(body)
    except msgspec.DecodeError:
        return body[:300].decode(errors="replace") or "no reason given"
    for key in ("error", "message"):
        if isinstance(found, dict) and key in found:
            found = found[key]
    return str(found) or "no reason given"
