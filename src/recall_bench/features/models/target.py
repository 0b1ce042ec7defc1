"""From the target of a flag to a language model."""

import re
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recall_bench.core.errors import UsageError
from recall_bench.core.redaction import redact_message
from recall_bench.core.settings import Settings
from recall_bench.core.user_code import is_code_target
from recall_bench.features.models.model_spec import (
    COMMAND_PREFIX,
    ModelSpec,
    parse_spec,
    suggest_provider,
)
from recall_bench.systems.models.model import NO_TUNING, Tuning

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model


def resolve_model(
    target: str,
    flag: str,
    settings: Settings,
    tuning: Tuning = NO_TUNING,
    *,
    own_code: bool = False,
) -> "Model | None":
    """Return the model of the target, ready to call; None if the target is no model.

    With `own_code` the target may also be the address of a server, which is asked for its model,
    a `command:`, or Python. UsageError names the flag if a key, a library or a program is missing,
    and `--max-cost` if the price of the model is unknown.
    """
    try:
        model = _open_target(target, tuning, own_code=own_code)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if model is None or settings.max_cost_usd is None:
        return model
    if _is_sent_later(target):
        raise UsageError(
            "--max-cost: a batch is paid for when you send it, so no limit can be kept; leave it "
            "out and read the estimate first, or let us send it with send=yes"
        )
    if not model.is_priced:
        remedy = _suggest_remedy(target, model, flag)
        raise UsageError(f"--max-cost: the price of {model.name} is unknown; {remedy}")
    if isinstance(model, CostLimited):
        model.limit_cost(settings.max_cost_usd)
    return model


@runtime_checkable
class CostLimited(Protocol):
    """A model that is paid for before its replies are there, and keeps the limit itself."""

    def limit_cost(self, usd: float) -> None:
        """Let all replies together cost at most this much."""


def _is_sent_later(target: str) -> bool:
    """Whether the target writes its requests to files that the user sends to a batch service."""
    with suppress(UsageError):
        spec = parse_spec(target)
        return spec is not None and spec.batch is not None and not spec.send
    return False


def _parse_target(target: str) -> ModelSpec | None:
    """The spec of a target, without a request; None for a command or Python code."""
    from recall_bench.features.models.compatible_server import is_address, parse_address

    # A command may hold a `;` and an address, so it is no spec before it is a command.
    if target.startswith(COMMAND_PREFIX):
        return None
    return parse_address(target) if is_address(target) else parse_spec(target)


def estimate_target_cost(
    target: str, *, input_tokens: int, output_tokens: int, calls: int = 1
) -> float | None:
    """Estimate US dollars for the tokens and calls; None if the price of the model is unknown.

    Nothing is requested: a server named by its address alone has the price in the target.
    UsageError for a wrong spec.
    """
    from recall_bench.features.models.prices import estimate_cost

    spec = _parse_target(target)
    if spec is None:
        return None
    return estimate_cost(spec, input_tokens=input_tokens, output_tokens=output_tokens, calls=calls)


def describe_sending(target: str, what: str) -> str:
    """Where the prompts of a target go, in a sentence; nothing is requested."""
    from recall_bench.features.models.provider_model import is_on_this_machine

    if (spec := _parse_target(target)) is None:
        code = "a program" if target.startswith(COMMAND_PREFIX) else "Python code"
        return f"hands {what} to {code} on this machine, which may send it on"
    if spec.is_folder or (spec.batch is not None and not spec.send):
        return f"writes {what} to files in {spec.batch or spec.model}; nothing is sent"
    if spec.is_agent:
        return f"hands {what} to the program {spec.provider}, which sends it to its provider"
    if spec.base_url is not None and is_on_this_machine(spec.base_url):
        return f"sends {what} to {spec.base_url}, on this machine"
    return f"sends {what} to {spec.base_url or spec.head}; nothing else leaves this machine"


def _open_target(target: str, tuning: Tuning, *, own_code: bool) -> "Model | None":
    from recall_bench.features.models.compatible_server import find_served_model, is_address
    from recall_bench.features.models.program_model import open_command
    from recall_bench.features.models.provider_model import open_model

    if own_code and target.startswith(COMMAND_PREFIX):
        return open_command(target, tuning)
    if own_code and (python := re.match(r"(.*\.py(:\w+)?)\s*;", target)) and not is_address(target):
        raise UsageError(f"{python[1]}: Python takes nothing after ';'; write it into the code")
    is_served = own_code and is_address(target)
    spec = find_served_model(target) if is_served else parse_spec(target)
    if spec is not None:
        return open_model(
            spec.apply_tuning(temperature=tuning.temperature, max_tokens=tuning.max_tokens),
            usual_temperature=tuning.usual_temperature or 0.0,
        )
    return _load_python(target, tuning) if own_code and is_code_target(target) else None


def _load_python(target: str, tuning: Tuning) -> "Model":
    from recall_bench.features.models.python_model import load_model

    try:
        return load_model(target, tuning)
    except UsageError as error:
        if near := suggest_spelling(target):
            raise UsageError(
                "there is neither a provider of models nor a module "
                f"{target.partition(':')[0]!r}; did you mean {near}?"
            ) from error
        # It may be a key that was put in the wrong place.
        raise UsageError(redact_message(str(error))) from error


def suggest_spelling(target: str) -> str | None:
    """Return the provider that `name:name` may mean, if no module has the first name."""
    place, colon, _ = target.partition(":")
    if colon and re.fullmatch(r"[\w-]+", place):
        with suppress(ValueError):
            if find_spec(place) is None:
                return suggest_provider(place)
    return None


def _suggest_remedy(target: str, model: "Model", flag: str) -> str:
    from recall_bench.features.models.provider_model import ProviderModel
    from recall_bench.features.models.python_model import PythonModel

    if isinstance(model, ProviderModel):
        return (
            "add what a million tokens cost in US dollars, in and out, as in "
            f"{flag} '{model.name};price=0.15/0.60'"
        )
    if isinstance(model, PythonModel):
        return f"leave --max-cost out, or let {target} say is_priced and what its replies cost"
    return "leave --max-cost out"
