"""Models of providers: one request, one reply, no retry.

Compatible servers differ: one supports no JSON schema, another no temperature, a third finds our
token limit too high. After a refusal that names such a setting, the next call leaves it out if it
was a default; settings of the user stay. A refusal costs one call, which the caller repeats.
"""

import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from anyio.lowlevel import current_token

from recall_bench.core.distribution import format_install
from recall_bench.core.errors import BenchError, ModelBusy, ModelFault, ModelGone, UsageError
from recall_bench.core.redaction import (
    Redactor,
    filter_logs,
    list_environment_secrets,
    list_userinfo_secrets,
)
from recall_bench.core.tool_call import MemoryTool
from recall_bench.core.usage import Usage
from recall_bench.features.models.batch_model import BatchModel
from recall_bench.features.models.batch_service import (
    ChatBatches,
    MessageBatches,
    build_key_headers,
)
from recall_bench.features.models.circuit_breaker import CircuitBreaker
from recall_bench.features.models.faults import (
    is_filtered,
    is_unreachable,
    read_refusal,
    translate_error,
    truncate_line,
)
from recall_bench.features.models.folder_model import FolderModel
from recall_bench.features.models.missing_keys import is_key_necessary
from recall_bench.features.models.model_spec import ModelSpec
from recall_bench.features.models.prices import is_price_known, price_usage
from recall_bench.features.models.program_model import open_agent
from recall_bench.features.models.provider_catalogue import BUNDLED, PROVIDERS, Provider
from recall_bench.systems.models.model import Finish, Model, Prompt, Reply

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as Foreign
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.providers import Provider as ForeignProvider
    from pydantic_ai.settings import ModelSettings

_REFUSABLE = {
    "schema": re.compile(
        r"response_format|json_schema|output_format|output_config|text\.format|structured.output",
        re.IGNORECASE,
    ),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(completion_|output_)?tokens", re.IGNORECASE),
}


class RefusedSettings:
    """The default settings that one server refuses."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __contains__(self, what: str) -> bool:
        return what in self._names

    def add(self, refusal: str, sent: set[str]) -> str | None:
        """Return the setting of those sent that the refusal names; it is left out from now on."""
        for what, words in _REFUSABLE.items():
            if what in sent and words.search(refusal):
                self._names.add(what)
                return what.replace("_", " ")
        return None


MAX_TOKENS = 8192
"""The default token limit of a reply: models that reason need room."""

_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTERED}


class ProviderModel:
    """A model of a provider.

    Close it in the event loop that used it. The next call opens it again, in any loop.
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
        self._refused = RefusedSettings()
        self._breaker = CircuitBreaker()
        self._open_in: object | None = None

    @property
    def name(self) -> str:
        """The spec's name, with the temperature if it is not 0 and this model takes one."""
        spec = self._spec
        if spec.temperature is None and self._usual_temperature and self._takes_temperature():
            spec = replace(spec, temperature=self._usual_temperature)
        return spec.name

    @property
    def is_priced(self) -> bool:
        """Whether the spec or the price list has the price."""
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
        """Send one request."""
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

        request = ModelRequest(parts=[SystemPromptPart(prompt.system), UserPromptPart(prompt.user)])
        response = await self._send([request], self.build_parameters(prompt))
        if response is None:
            return Reply(text="", usage=Usage(calls=1), finish=Finish.FILTERED)
        return Reply(
            text=self.redact_reply(response.text or ""),
            usage=price_usage(self._spec, response.usage, response.model_name),
            finish=_FINISHES.get(response.finish_reason or "stop", Finish.STOP),
        )

    async def request(
        self, messages: "Sequence[ModelMessage]", tools: Sequence[MemoryTool]
    ) -> "tuple[ModelResponse, Usage]":
        """Send one request of a conversation; an empty response if the provider withholds it."""
        from pydantic_ai.messages import ModelResponse
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        offered = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=deepcopy(tool.schema),
            )
            for tool in tools
        ]
        response = await self._send(messages, ModelRequestParameters(function_tools=offered))
        if response is None:
            return ModelResponse(parts=[]), Usage(calls=1)
        return response, price_usage(self._spec, response.usage, response.model_name)

    def redact_reply(self, text: str) -> str:
        """Return the text without the key that the model was asked with."""
        return self._redact_reply.redact_secrets(text)

    async def _send(
        self, messages: "Sequence[ModelMessage]", parameters: "ModelRequestParameters"
    ) -> "ModelResponse | None":
        """Send messages; None if a content filter withholds the response."""
        from pydantic_ai.direct import model_request

        await self._open()
        settings = self.build_settings()
        sent = {*settings, *(["schema"] if parameters.output_object else [])}
        fault: ModelFault
        try:
            response = await model_request(
                self._foreign,
                messages,
                model_settings=settings,
                model_request_parameters=parameters,
                instrument=False,
            )
        except Exception as error:  # noqa: BLE001 - libraries of many providers, and their servers
            if is_filtered(error):
                return None
            fault = self._translate_failure(error, sent)
        else:
            self._breaker.note_connection()
            if response.finish_reason != "error":
                return response
            fault = ModelFault(f"{self.name}: the provider broke off its reply with an error")
        # Raised here, where no error of the library is being handled, it has no context to print.
        raise fault

    def build_settings(self) -> "ModelSettings":
        """The settings of the next call."""
        spec, refused = self._spec, self._refused
        settings: dict[str, object] = {
            "max_tokens": spec.max_tokens or (None if "max_tokens" in refused else MAX_TOKENS),
            "temperature": spec.temperature,
            "max_retries": 0,
            "extra_headers": self._headers or None,
            # OpenAI's Responses API stores requests by default.
            "openai_store": False if self._is_foreign_kind("OpenAIResponsesModel") else None,
        }
        if spec.temperature is None and "temperature" not in refused:
            settings["temperature"] = self._usual_temperature if self._takes_temperature() else None
        unknown = self._foreign.unsupported_settings
        chosen = {
            name: value
            for name, value in settings.items()
            if value is not None and name not in unknown
        }
        return cast("ModelSettings", chosen)

    def _takes_temperature(self) -> bool:
        is_unknown = "temperature" in self._foreign.unsupported_settings
        return not is_unknown and not takes_no_temperature(self._foreign)

    def _is_foreign_kind(self, kind: str) -> bool:
        return any(base.__name__ == kind for base in type(self._foreign).__mro__)

    def build_parameters(self, prompt: Prompt) -> "ModelRequestParameters":
        """The parameters of the next call: the schema, if the model supports it."""
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        can = self._foreign.profile.get("supports_json_schema_output", False)
        if prompt.schema is None or not can or "schema" in self._refused:
            return ModelRequestParameters()
        parameters = ModelRequestParameters(
            output_mode="native",
            output_object=OutputObjectDefinition(
                json_schema=deepcopy(dict(prompt.schema)), name="reply", strict=True
            ),
        )
        if self._spell_schema(parameters) is None:
            return ModelRequestParameters()
        return parameters

    def build_schema(self, prompt: Prompt) -> Mapping[str, object] | None:
        """The JSON schema of the next call as the provider takes it, if it takes one."""
        return self._spell_schema(self.build_parameters(prompt))

    def _spell_schema(self, parameters: "ModelRequestParameters") -> Mapping[str, object] | None:
        """The schema in the spelling of the provider; None if there is none."""
        try:
            spelled = self._foreign.customize_request_parameters(deepcopy(parameters))
        except Exception:  # noqa: BLE001 - Anthropic's library does not know every kind of schema
            return None
        return None if spelled.output_object is None else spelled.output_object.json_schema

    def drop_setting(self, refusal: str, sent: set[str]) -> str | None:
        """Return the setting of those sent that the refusal names, to be left out from now on.

        Settings of the user stay.
        """
        asked_for = {"temperature": self._spec.temperature, "max_tokens": self._spec.max_tokens}
        ours = sent - {name for name, value in asked_for.items() if value is not None}
        return self._refused.add(refusal, ours)

    def _translate_failure(self, error: Exception, sent: set[str]) -> ModelFault:
        refusal = read_refusal(error)
        if refusal and (left_out := self.drop_setting(refusal, sent)):
            message = truncate_line(self._redact(refusal))
            return ModelBusy(
                f"{self.name}: it takes no {left_out}; the next call has none: {message}"
            )
        fault = translate_error(error, self.name, self._redact)
        if not is_unreachable(error):
            self._breaker.note_connection()
            return fault
        self._breaker.note_refusal()
        return ModelGone(f"{fault}; {self._breaker.describe()}") if self._breaker.is_open else fault


def takes_no_temperature(foreign: "Foreign[Any]") -> bool:
    """Whether the model refuses a temperature, as models that reason do."""
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


_GROQ = "https://api.groq.com/openai/v1"
"""The address that Groq's own library has."""
_NO_KEY = "no-key"
"""Sent where no key is needed: the libraries require one."""


def open_model(
    spec: ModelSpec,
    environ: Mapping[str, str] | None = None,
    *,
    usual_temperature: float = 0.0,
) -> Model:
    """Return the model, ready to call; UsageError if a package, a program or a key is missing.

    Nothing is sent before the first call. `usual_temperature` is the default for a model that
    takes one.
    """
    environ = os.environ if environ is None else environ
    if spec.is_agent:
        return open_agent(spec, environ)
    if spec.is_folder:
        return FolderModel(spec)
    if spec.batch is not None:
        return _open_batch(spec, environ, usual_temperature)
    key = find_key(spec, PROVIDERS[spec.provider], environ)
    return _open_provider(spec, key, environ, usual_temperature)


def _open_batch(
    spec: ModelSpec, environ: Mapping[str, str], usual_temperature: float
) -> BatchModel:
    if not spec.send:
        # Another party, which has the key, sends its files.
        return BatchModel(spec, _open_provider(spec, None, environ, usual_temperature))
    facts = PROVIDERS[spec.provider]
    key = find_key(spec, facts, environ)
    direct = _open_provider(spec, key, environ, usual_temperature)
    headers = build_key_headers(spec.provider, key) | build_basic_authorization(spec.userinfo)
    secrets = (*([key] if key else []), *list_userinfo_secrets(spec.userinfo))
    service_kind = MessageBatches if spec.provider == "anthropic" else ChatBatches
    address = spec.base_url or facts.usual_url or _GROQ
    redact = Redactor((*secrets, *list_environment_secrets(environ)))
    return BatchModel(spec, direct, service_kind(address, headers, spec.name, redact))


def _open_provider(
    spec: ModelSpec, key: str | None, environ: Mapping[str, str], usual_temperature: float
) -> ProviderModel:
    secrets = (*([key] if key else []), *list_userinfo_secrets(spec.userinfo))
    redact = Redactor((*secrets, *list_environment_secrets(environ)))
    filter_logs(secrets)
    return ProviderModel(
        spec,
        lambda: _build_foreign(spec, key, redact),
        redact=redact,
        redact_reply=Redactor(secrets),
        headers=build_basic_authorization(spec.userinfo),
        usual_temperature=usual_temperature,
    )


def find_key(spec: ModelSpec, facts: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the key to send; None if none is needed, UsageError if it is missing.

    The usual key is not sent unencrypted, except with `key-env=`.
    """
    if spec.key_env is not None:
        if named := environ.get(spec.key_env, "").strip():
            return named
        if not is_key_necessary():
            return None
        raise UsageError(f"{spec.name}: the variable {spec.key_env} is not set; put the key in it")
    values = (environ.get(variable, "").strip() for variable in facts.keys)
    key = next(filter(None, values), None)
    is_exposed = spec.base_url is not None and _is_plain_http(spec.base_url)
    if key is not None and not is_exposed:
        return key
    needs_one = facts.needs_key_elsewhere if spec.base_url is not None else True
    if not (facts.needs_key and needs_one) or (key is None and not is_key_necessary()):
        return None
    if key is not None:
        raise UsageError(
            f"{spec.name}: its base URL would show the key to the network; use https, or insist "
            f"with key-env={facts.keys[0]}"
        )
    raise UsageError(
        f"{spec.name}: needs a key; set {' or '.join(facts.keys)}, or name another variable "
        "with key-env="
    )


def _is_plain_http(url: str) -> bool:
    return urlsplit(url).scheme != "https" and not is_on_this_machine(url)


def is_on_this_machine(url: str) -> bool:
    """Whether an address leads back to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def build_basic_authorization(userinfo: str | None) -> dict[str, str]:
    """Return the header for the userinfo of an address; empty without one."""
    if userinfo is None:
        return {}
    return {"Authorization": f"Basic {b64encode(unquote(userinfo).encode()).decode()}"}


def _build_foreign(spec: ModelSpec, key: str | None, redact: Redactor) -> "Foreign[Any]":
    """Build the library's model; its errors become UsageError, without their context."""
    failure: BenchError
    try:
        from pydantic_ai.models import infer_model

        foreign = infer_model(
            f"{_choose_interface(spec)}:{spec.model}", lambda name: _build_provider(spec, name, key)
        )
    except ImportError:
        extra = PROVIDERS[spec.provider].extra
        install = (
            format_install("llm")
            if extra in BUNDLED
            else f"pip install 'pydantic-ai-slim[{extra}]'"
        )
        failure = UsageError(f"{spec.name}: needs packages that are not installed; {install}")
    except Exception as error:  # noqa: BLE001 - constructors of many providers
        message = truncate_line(redact(str(error) or type(error).__name__))
        failure = UsageError(f"{spec.name}: cannot be set up: {message}")
    else:
        if spec.temperature is None or not takes_no_temperature(foreign):
            return foreign
        failure = UsageError(f"{spec.name}: this model takes no temperature; leave it out")
    raise failure


def _choose_interface(spec: ModelSpec) -> str:
    """Return the interface: Chat Completions for compatible servers, Responses for OpenAI's."""
    is_elsewhere = spec.provider == "openai" and spec.base_url is not None
    return "openai-chat" if is_elsewhere else spec.provider


def _build_provider(spec: ModelSpec, name: str, key: str | None) -> "ForeignProvider[Any]":
    facts = PROVIDERS[spec.provider]
    options: dict[str, Any] = {}
    if facts.key_parameter is not None:
        # Always passed, or the library would read the environment itself.
        options[facts.key_parameter] = key or _NO_KEY
    base_url = spec.base_url or facts.usual_url
    if facts.url_parameter is not None and base_url is not None:
        options[facts.url_parameter] = base_url
    if spec.api_version is not None:
        options["api_version"] = spec.api_version
    if name.startswith("gateway/"):
        from pydantic_ai.providers.gateway import gateway_provider

        return gateway_provider(name.removeprefix("gateway/"), **options)
    from pydantic_ai.providers import infer_provider_class

    return infer_provider_class(name)(**options)
