"""From a flag that may name a language model to that model."""

import os
import re
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from recall_bench.errors import UsageError
from recall_bench.foreign_code import names_code
from recall_bench.models.tuning import UNTUNED, Tuning
from recall_bench.settings import Settings

if TYPE_CHECKING:
    from recall_bench.models.model import Model
    from recall_bench.models.spec import ModelSpec


def resolve_model(
    target: str,
    flag: str,
    settings: Settings,
    tuning: Tuning = UNTUNED,
    *,
    own_code: bool = False,
) -> "Model | None":
    """The model that the target specifies, ready to be asked; None if it specifies none.

    With `own_code` it may also be the user's own: a server by its address alone, which is asked
    what it serves, a `command:`, or Python. UsageError that names the flag for want of a key, a
    library or a program; or `--max-cost`, if that could not be kept because nobody knows what the
    model costs.
    """
    try:
        model = _opened(target, tuning) if not own_code else _opened_of_any_kind(target, tuning)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if model is not None and settings.max_cost_usd is not None and not model.is_priced:
        raise UsageError(
            f"--max-cost: nobody knows what {model.name} costs; {_remedy(target, model, flag)}"
        )
    return model


def only_looked_at() -> AbstractContextManager[None]:
    """Within it a model is resolved without its key: nobody is going to ask it."""
    from recall_bench.models.secrets import keys_not_needed

    return keys_not_needed()


def expected_cost(
    target: str, *, input_tokens: int, output_tokens: int, calls: int = 1
) -> float | None:
    """US dollars for so many tokens in so many calls; None if nobody knows what the model costs.

    Nobody is asked anything, so a server that is named by its address alone has the price that the
    target says. UsageError for a target that is a spec and wrong.
    """
    from recall_bench.models import prices
    from recall_bench.models.command_model import PREFIX
    from recall_bench.models.served import addressed, is_address
    from recall_bench.models.spec import parse_spec

    if target.startswith(PREFIX):
        return None
    spec = addressed(target) if is_address(target) else parse_spec(target)
    if spec is None:
        return None
    return prices.expected_cost(
        spec, input_tokens=input_tokens, output_tokens=output_tokens, calls=calls
    )


def _opened(target: str, tuning: Tuning) -> "Model | None":
    from recall_bench.models.spec import parse_spec

    spec = parse_spec(target)
    return None if spec is None else _specified(spec, tuning)


def _opened_of_any_kind(target: str, tuning: Tuning) -> "Model | None":
    from recall_bench.models.command_model import PREFIX, open_command
    from recall_bench.models.served import is_address, served_model

    # A command may hold a `;` and an address, so it is no spec before it is a command.
    if target.startswith(PREFIX):
        return open_command(target, tuning)
    if is_address(target):
        return _specified(served_model(target), tuning)
    if is_python := re.match(r"(.*\.py(:\w+)?)\s*;", target):
        raise UsageError(f"{is_python[1]}: Python takes nothing after ';'; write it into the code")
    model = _opened(target, tuning)
    return _python(target, tuning) if model is None and names_code(target) else model


def _specified(spec: "ModelSpec", tuning: Tuning) -> "Model":
    from recall_bench.models.providers import open_model

    return open_model(
        spec.tuned(temperature=tuning.temperature, max_tokens=tuning.max_tokens),
        usual_temperature=tuning.usual_temperature or 0.0,
    )


def _python(target: str, tuning: Tuning) -> "Model":
    from recall_bench.models.python_model import load_model
    from recall_bench.models.secrets import Redactor, environment_secrets

    try:
        return load_model(target, tuning)
    except UsageError as error:
        if near := misspelt(target):
            raise UsageError(
                "there is neither a provider of models nor a module "
                f"{target.partition(':')[0]!r}; did you mean {near}?"
            ) from error
        # It may be a key that was put in the wrong place.
        said = Redactor(environment_secrets(os.environ))(str(error))
        raise UsageError(said) from error


def misspelt(target: str) -> str | None:
    """The provider that `name:name` may mean, where there is no module of the first name."""
    from importlib.util import find_spec

    from recall_bench.models.spec import near_provider

    place, colon, _ = target.partition(":")
    if not colon or not re.fullmatch(r"[\w-]+", place):
        return None
    with suppress(ValueError):
        if find_spec(place) is None:
            return near_provider(place)
    return None


def _remedy(target: str, model: "Model", flag: str) -> str:
    from recall_bench.models.provider_model import ProviderModel

    if isinstance(model, ProviderModel):
        return (
            "add what a million tokens cost in US dollars, in and out, as in "
            f"{flag} '{model.name};price=0.15/0.60'"
        )
    from recall_bench.models.python_model import PythonModel

    if isinstance(model, PythonModel):
        return f"leave --max-cost out, or let {target} say is_priced and what its replies cost"
    return "leave --max-cost out"
