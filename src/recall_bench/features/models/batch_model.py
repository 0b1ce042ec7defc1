"""A provider's batch service as a model, by files in the service's own format.

    batch-0001.jsonl   requests, one a line, as OpenAI or Anthropic takes them
    *.jsonl            any other: what the service returned, output and errors alike

Requests are collected and written when the command ends, at most 50,000 to a file. Results are
matched by `custom_id`, a digest of model and request, in any order and in later runs too. A request
that the service did not run is written again; one that failed as well, up to three times. With a
service that they are sent to, `batch_delivery` sends the files and fetches the results.
"""

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from recall_bench.core.errors import BudgetSpent, ModelFault, ModelPending
from recall_bench.core.plain_text import join_words
from recall_bench.core.usage import estimate_tokens
from recall_bench.features.models.batch_delivery import BatchDelivery
from recall_bench.features.models.batch_files import BatchFiles
from recall_bench.features.models.batch_formats import (
    CANCELLED,
    EXPIRED,
    NO_RESULT,
    BatchFormat,
    ChatFormat,
    MessageFormat,
)
from recall_bench.features.models.batch_senders import SENDERS
from recall_bench.features.models.batch_service import BatchService
from recall_bench.features.models.folder_model import ReplyWait, count_waiting, open_folder
from recall_bench.features.models.model_spec import ModelSpec
from recall_bench.features.models.prices import estimate_cost, is_price_known, price_usage
from recall_bench.systems.models.model import Prompt, Reply, make_request_key

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

MAX_FAILURES = 3
"""Failures of one request after which it is given up."""
MAX_EXPIRIES = 3
"""Batches in which one request was not run after which it is given up, if we send them."""

_NOT_RUN = frozenset({EXPIRED, CANCELLED, NO_RESULT})
_REFUSALS = frozenset({400, 422})


class DirectModel(Protocol):
    """The same model, called at once."""

    @property
    def name(self) -> str:
        """Identifies the model."""

    def build_settings(self) -> "ModelSettings":
        """The settings of the next call."""

    def build_schema(self, prompt: Prompt) -> Mapping[str, object] | None:
        """The JSON schema of the next call as the provider takes it, if it takes one."""

    def redact_reply(self, text: str) -> str:
        """The text without the key that the model was asked with."""

    def drop_setting(self, refusal: str, sent: set[str]) -> str | None:
        """Leave out the setting that the refusal names, if it was a default."""

    async def close(self) -> None:
        """Release connections."""


class BatchModel:
    """A model whose requests and replies are lines of files."""

    def __init__(
        self, spec: ModelSpec, direct: DirectModel, service: BatchService | None = None
    ) -> None:
        """The settings of `direct` are those of the requests; a service is sent the files."""
        self._spec = spec
        self._direct = direct
        self._path = spec.batch or ""
        folder = open_folder(self._path)
        self._format: BatchFormat
        if spec.provider == "anthropic":
            self._format = MessageFormat()
        else:
            self._format = ChatFormat("max_tokens") if spec.base_url else ChatFormat()
        self._sending: BatchDelivery | None = None
        # Calls to a service do not wait: their requests would not be in one batch.
        self._wait = ReplyWait(0.0 if service else spec.wait or 0.0)
        self._files = BatchFiles(folder, self._path)
        self._waiting: set[str] = set()
        self._budget = _BatchBudget(self._path)
        self._priced = 0
        if service is not None:
            wait_s = math.inf if spec.wait is None else spec.wait
            self._sending = BatchDelivery(folder, self._path, service, self.name, wait_s)
            self._files = BatchFiles(folder, self._path, self._sending.claim)
            SENDERS.add(self)

    @property
    def name(self) -> str:
        """The name of the model, which is the same without a batch."""
        return self._direct.name

    @property
    def wait_s(self) -> float:
        """How long a call may wait for its reply."""
        return self._wait.seconds

    @property
    def is_priced(self) -> bool:
        """Whether the spec or the price list has the price."""
        return is_price_known(self._spec)

    @property
    def is_sending(self) -> bool:
        """Whether the files are sent to a service."""
        return self._sending is not None

    @property
    def delivery(self) -> BatchDelivery:
        """Sends and fetches the files."""
        assert self._sending is not None  # noqa: S101 - it is asked of models that send
        return self._sending

    def list_open_files(self) -> list[str]:
        """The request files without results that hold a request of this process.

        All files of this model if this process made no request, because its workers did.
        """
        files = self.delivery.list_open()
        if not self._waiting:
            return files
        needed = self._files.find_request_files(self._waiting)
        return [name for name in files if name in needed]

    def limit_cost(self, usd: float) -> None:
        """Let all replies of this folder cost at most this much."""
        self._budget.limit_usd = usd

    def __repr__(self) -> str:
        return f"BatchModel({self.name}, {self._path})"

    async def close(self) -> None:
        """Write the collected requests."""
        self._files.write_requests()
        await self._direct.close()

    async def complete(self, prompt: Prompt) -> Reply:
        """Return the reply from a result file; ModelPending if there is none yet."""
        key = sha256(f"{self.name}\0{make_request_key(prompt)}".encode()).hexdigest()[:32]
        reply = self._find_reply(key, prompt)
        if reply is None:

            async def find() -> Reply | None:
                self._files.write_if_quiet()
                return self._find_reply(key, prompt)

            reply = await self._wait.poll(find)
        if reply is None:
            self._waiting.add(key)
            raise ModelPending(self._describe_waiting())
        self._waiting.discard(key)
        return reply

    def _describe_waiting(self) -> str:
        wait = count_waiting(self._waiting)
        if self._sending is not None:
            return f"{wait} for a batch at {self._sending.service.address}"
        words = (
            f"{wait} in {self._path}/batch-*.jsonl; send these files to the batch service, put its "
            f"output and error files into {self._path} and run the same command again"
        )
        if self._files.torn:
            torn = join_words(sorted(self._files.torn))
            words += f"; {torn} in it ends within a line: fetch it again if it is not still growing"
        return words

    def _find_reply(self, key: str, prompt: Prompt) -> Reply | None:
        """Return the reply; without one, collect the request unless it is with the service."""
        self._files.read_new()
        if (body := self._files.bodies.get(key)) is not None:
            return self._read_body(body)
        if self._files.is_awaited(key):
            if self._budget.limit_usd is not None:
                self._budget.add_open(key, self._estimate_usd(prompt))
            return None
        self._refuse_hopeless(key)
        if self._budget.limit_usd is not None and not self._is_affordable(key, prompt):
            return None
        schema, settings = self._direct.build_schema(prompt), dict(self._direct.build_settings())
        line = self._format.build_line(key, self._spec.model, prompt, settings, schema)
        self._files.add_request(key, json.dumps(line).encode())
        return None

    def _refuse_hopeless(self, key: str) -> None:
        """Raise ModelFault for a request that failed too often."""
        failures = self._files.failures[key]
        real = [failure for failure in failures if failure.code not in _NOT_RUN]
        for failure in real:
            if failure.status in _REFUSALS:
                # The next request leaves out the setting that is refused, if it was a default.
                self._direct.drop_setting(failure.message, {"schema", "temperature", "max_tokens"})
        if len(real) >= MAX_FAILURES:
            raise ModelFault(f"{self.name}: {real[-1]} (given up after {len(real)} failures)")
        unrun = len(failures) - len(real)
        if self.is_sending and unrun >= MAX_EXPIRIES:
            raise ModelFault(
                f"{self.name}: {unrun} batches ended without running this request; it is given up "
                f"(the last reason: {failures[-1].message})"
            )

    def _is_affordable(self, key: str, prompt: Prompt) -> bool:
        """Whether the request may be sent now; BudgetSpent if it may not be sent at all."""
        bodies = self._files.bodies
        if self._priced != len(bodies):
            self._priced = len(bodies)
            for own in self._files.find_keys(self.delivery.list_own()) & bodies.keys():
                self._budget.add_paid(own, self._read_body(bodies[own]).usage.cost_usd)
        return self._budget.admit(key, self._estimate_usd(prompt))

    def _estimate_usd(self, prompt: Prompt) -> float:
        """The price of the request if its reply is as long as it may be."""
        cost = estimate_cost(
            self._spec,
            input_tokens=estimate_tokens(prompt.system) + estimate_tokens(prompt.user),
            output_tokens=self._direct.build_settings().get("max_tokens") or 0,
        )
        return cost or 0.0

    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        from pydantic_ai.usage import RequestUsage

        reply = self._format.read_reply(body)
        if reply is None:
            raise ModelFault(f"{self.name}: a result in {self._path} is no {self._format.what}")
        counted = RequestUsage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        return Reply(
            text=self._direct.redact_reply(reply.text),
            usage=price_usage(self._spec, counted, reply.model),
            finish=reply.finish,
        )


class _BatchBudget:
    """Counts what replies cost and what open requests may cost, and says when that is enough.

    A request may cost as much as the most expensive reply so far. Before the first reply it may
    cost as much as its longest reply would.
    """

    def __init__(self, path: str) -> None:
        """`path` names the folder in messages."""
        self.limit_usd: float | None = None
        self._path = path
        self._paid: set[str] = set()
        self._open_usd: dict[str, float] = {}
        self._spent_usd = 0.0
        self._most_usd = 0.0
        """The price of the most expensive reply."""

    def add_paid(self, key: str, cost_usd: float) -> None:
        """Count the reply to a request, once."""
        self._open_usd.pop(key, None)
        if key not in self._paid:
            self._paid.add(key)
            self._spent_usd += cost_usd
            self._most_usd = max(self._most_usd, cost_usd)

    def add_open(self, key: str, longest_usd: float) -> None:
        """Count a request that is with the service, or about to be."""
        self._open_usd.setdefault(key, longest_usd)

    def admit(self, key: str, longest_usd: float) -> bool:
        """Whether one more request may be sent; if so, it is counted.

        BudgetSpent if it may not although no reply is awaited that could cost less than expected.
        """
        self._open_usd.pop(key, None)
        spent_usd, limit_usd = self._spent_usd, self.limit_usd or 0.0
        if self._paid:
            next_usd, open_usd = self._most_usd, self._most_usd * len(self._open_usd)
        else:
            next_usd, open_usd = longest_usd, sum(self._open_usd.values())
        if spent_usd + open_usd + next_usd <= limit_usd:
            self._open_usd[key] = longest_usd
            return True
        if self._open_usd:
            return False
        raise BudgetSpent(
            f"the batches in {self._path} cost {spent_usd:.2f} USD, the next request could "
            f"cost {next_usd:.4f}, and --max-cost allows {limit_usd:.2f}; continue with a "
            "higher limit, or with a lower max-tokens= if there is no reply yet"
        )
