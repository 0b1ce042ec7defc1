"""A provider's batch service as a model, by files in OpenAI's batch format.

    batch-0001.jsonl   requests, one a line: custom_id, method, url, body; to be sent to the service
    *.jsonl            any other: what the service returned, output and errors alike

Requests are collected and written when the command ends, at most 50,000 to a file. Results are
matched by `custom_id`, a digest of model and request, in any order and in later runs too. A request
that the service did not run is written again; one that failed as well, up to three times.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from recall_bench.core.errors import ModelFault, ModelPending
from recall_bench.core.plain_text import join_words
from recall_bench.models.batch_files import BatchFiles
from recall_bench.models.folder_model import ReplyWait, open_folder
from recall_bench.models.model import Finish, Prompt, Reply, make_request_key
from recall_bench.models.model_spec import ModelSpec
from recall_bench.models.prices import is_price_known, price_usage, read_token_count

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

MAX_FAILURES = 3
"""Failures of one request after which it is given up."""

_URL = "/v1/chat/completions"
_NOT_RUN = frozenset({"batch_expired", "batch_cancelled"})
_REFUSALS = frozenset({400, 422})
_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTERED}


class DirectModel(Protocol):
    """The same model, called at once."""

    @property
    def name(self) -> str:
        """Identifies the model."""

    def build_settings(self) -> "ModelSettings":
        """The settings of the next call."""

    def build_parameters(self, prompt: Prompt) -> "ModelRequestParameters":
        """The parameters of the next call."""

    def drop_setting(self, refusal: str, sent: set[str]) -> str | None:
        """Leave out the setting that the refusal names, if it was a default."""

    async def close(self) -> None:
        """Release connections."""


class BatchModel:
    """A model whose requests and replies are lines of files."""

    def __init__(self, spec: ModelSpec, direct: "DirectModel") -> None:
        """The settings of `direct` are those of the requests."""
        self._wait = ReplyWait(spec.wait or 0.0)
        self._spec = spec
        self._direct = direct
        self._path = spec.batch or ""
        self._files = BatchFiles(open_folder(self._path), self._path)
        self._waiting: set[str] = set()

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
        count = len(self._waiting)
        wait = "1 request waits" if count == 1 else f"{count:,} requests wait"
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
            return None
        real = [each for each in self._files.failures[key] if each.code not in _NOT_RUN]
        for failure in real:
            if failure.status in _REFUSALS:
                # The next request leaves out the setting that is refused, if it was a default.
                self._direct.drop_setting(failure.message, {"schema", "temperature", "max_tokens"})
        if len(real) >= MAX_FAILURES:
            raise ModelFault(f"{self.name}: {real[-1]} (given up after {len(real)} failures)")
        line = {"custom_id": key, "method": "POST", "url": _URL, "body": self._build_body(prompt)}
        self._files.add_request(key, json.dumps(line).encode())
        return None

    def _build_body(self, prompt: Prompt) -> dict[str, object]:
        settings = self._direct.build_settings()
        body: dict[str, object] = {
            "model": self._spec.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if (temperature := settings.get("temperature")) is not None:
            body["temperature"] = temperature
        if (limit := settings.get("max_tokens")) is not None:
            # OpenAI's models that reason refuse the old name, which compatible servers know.
            body["max_tokens" if self._spec.base_url else "max_completion_tokens"] = limit
        if (wanted := self._direct.build_parameters(prompt).output_object) is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": wanted.json_schema, "strict": True},
            }
        return body

    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        from pydantic_ai.usage import RequestUsage

        match body:
            case {"choices": [{"message": {"content": str() | None as content}, **choice}, *_]}:
                usage = body.get("usage")
                counted = usage if isinstance(usage, dict) else {}
                answered_as = body.get("model")
                return Reply(
                    text=content or "",
                    usage=price_usage(
                        self._spec,
                        RequestUsage(
                            input_tokens=read_token_count(counted.get("prompt_tokens")),
                            output_tokens=read_token_count(counted.get("completion_tokens")),
                        ),
                        answered_as if isinstance(answered_as, str) else None,
                    ),
                    finish=_FINISHES.get(str(choice.get("finish_reason")), Finish.STOP),
                )
        raise ModelFault(f"{self.name}: a result in {self._path} is no chat completion")
