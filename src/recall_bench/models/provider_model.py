"""A model of a provider: one request, one reply, and no retry of its own."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from anyio.lowlevel import current_token

from recall_bench.core.usage import Usage
from recall_bench.errors import ModelBusy, ModelFault
from recall_bench.models.concessions import Concessions
from recall_bench.models.faults import is_filtered, read_refusal, translate_error, truncate_line
from recall_bench.models.model import Finish, Prompt, Reply
from recall_bench.models.prices import is_price_known, price_usage
from recall_bench.models.secrets import Redactor
from recall_bench.models.spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as Foreign
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

MAX_TOKENS = 8192
"""The most that a reply may take unless the spec says otherwise: models that reason need room."""

_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTERED}


class ProviderModel:
    """Asks a provider's model.

    Close it in the event loop that used it. Asking again opens it again, in whichever loop.
    """

    def __init__(
        self,
        spec: ModelSpec,
        build: "Callable[[], Foreign[Any]]",
        *,
        redact: Redactor,
        redact_reply: Redactor,
        headers: dict[str, str],
        usual_temperature: float = 0.0,
    ) -> None:
        self._spec = spec
        self._usual_temperature = usual_temperature
        self._build = build
        self._foreign = build()
        self._redact = redact
        self._redact_reply = redact_reply
        self._headers = headers
        self._concessions = Concessions()
        self._open_in: object | None = None

    @property
    def name(self) -> str:
        """The spec's, with the temperature if that is not 0 and this model takes one."""
        spec = self._spec
        if spec.temperature is None and self._usual_temperature and self._takes_temperature():
            spec = replace(spec, temperature=self._usual_temperature)
        return spec.name

    @property
    def is_priced(self) -> bool:
        """Whether the spec or the price list knows what a call costs."""
        return is_price_known(self._spec)

    def __repr__(self) -> str:
        return f"ProviderModel({self.name})"

    async def close(self) -> None:
        """Release connections."""
        if self._open_in is not None:
            self._open_in = None
            await self._foreign.__aexit__(None, None, None)

    async def _open(self) -> None:
        loop = current_token()
        if self._open_in == loop:
            return
        if self._open_in is not None:
            # Its connections belong to a loop that ended without closing them.
            self._foreign = self._build()
        self._open_in = loop
        await self._foreign.__aenter__()

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

        await self._open()
        settings = self._build_settings()
        parameters = self._build_parameters(prompt)
        sent = {*settings, *(["schema"] if parameters.output_object else [])}
        request = ModelRequest(parts=[SystemPromptPart(prompt.system), UserPromptPart(prompt.user)])
        outcome: Reply | ModelFault
        try:
            response = await model_request(
                self._foreign,
                [request],
                model_settings=settings,
                model_request_parameters=parameters,
                instrument=False,
            )
        except Exception as error:  # noqa: BLE001 - libraries of many providers, and their servers
            outcome = self._translate_failure(error, sent)
        else:
            outcome = self._read_reply(response)
        # Raised here, where no error of the library is being handled, it has no context to print.
        if isinstance(outcome, ModelFault):
            raise outcome
        return outcome

    def _build_settings(self) -> "ModelSettings":
        spec, conceded = self._spec, self._concessions
        wanted: dict[str, object] = {
            "max_tokens": spec.max_tokens or (None if "max_tokens" in conceded else MAX_TOKENS),
            "temperature": spec.temperature,
            "max_retries": 0,
            "extra_headers": self._headers or None,
            # OpenAI's Responses API keeps what it is told unless it is told not to.
            "openai_store": False if self._is_foreign_kind("OpenAIResponsesModel") else None,
        }
        if spec.temperature is None and "temperature" not in conceded:
            wanted["temperature"] = self._usual_temperature if self._takes_temperature() else None
        unknown = self._foreign.unsupported_settings
        chosen = {
            name: value
            for name, value in wanted.items()
            if value is not None and name not in unknown
        }
        return cast("ModelSettings", chosen)

    def _takes_temperature(self) -> bool:
        is_unknown = "temperature" in self._foreign.unsupported_settings
        return not is_unknown and not takes_no_temperature(self._foreign)

    def _is_foreign_kind(self, kind: str) -> bool:
        return any(base.__name__ == kind for base in type(self._foreign).__mro__)

    def _build_parameters(self, prompt: Prompt) -> "ModelRequestParameters":
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        can = self._foreign.profile.get("supports_json_schema_output", False)
        if prompt.schema is None or not can or "schema" in self._concessions:
            return ModelRequestParameters()
        return ModelRequestParameters(
            output_mode="native",
            output_object=OutputObjectDefinition(
                json_schema=deepcopy(dict(prompt.schema)), name="reply", strict=True
            ),
        )

    def _read_reply(self, response: "ModelResponse") -> Reply | ModelFault:
        if response.finish_reason == "error":
            return ModelFault(f"{self.name}: the provider broke off its reply with an error")
        return Reply(
            text=self._redact_reply.redact_secrets(response.text or ""),
            usage=price_usage(self._spec, response.usage, response.model_name),
            finish=_FINISHES.get(response.finish_reason or "stop", Finish.STOP),
        )

    def _translate_failure(self, error: Exception, sent: set[str]) -> Reply | ModelFault:
        if is_filtered(error):
            return Reply(text="", usage=Usage(calls=1), finish=Finish.FILTERED)
        refusal = read_refusal(error)
        asked_for = {"temperature": self._spec.temperature, "max_tokens": self._spec.max_tokens}
        ours = sent - {name for name, value in asked_for.items() if value is not None}
        if refusal and (left_out := self._concessions.yield_to(refusal, ours)):
            said = truncate_line(self._redact(refusal))
            return ModelBusy(f"{self.name}: it takes no {left_out}; the next call has none: {said}")
        return translate_error(error, self.name, self._redact)


def takes_no_temperature(foreign: "Foreign[Any]") -> bool:
    """Whether the model is known to refuse a temperature, as models that reason do."""
    profile = cast("Mapping[str, Any]", foreign.profile)
    if profile.get("anthropic_disallows_sampling_settings"):
        return True
    if not profile.get("openai_supports_reasoning"):
        return False
    efforts = profile.get("openai_reasoning_efforts")
    can_stop = (
        bool(profile.get("openai_supports_reasoning_effort_none"))
        if efforts is None
        else "none" in efforts
    )
    return bool(profile.get("thinking_enabled_by_default")) or not can_stop
