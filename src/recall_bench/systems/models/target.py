"""From the target of a flag to a language model, which the feature `models` opens."""

from contextlib import AbstractContextManager, nullcontext

from recall_bench.core.feature import find_offer, require_part
from recall_bench.core.settings import Settings
from recall_bench.systems.models.model import NO_TUNING, Model, Tuning


def resolve_model(
    target: str,
    flag: str,
    settings: Settings,
    tuning: Tuning = NO_TUNING,
    *,
    own_code: bool = False,
) -> Model | None:
    """Return the model of the target, ready to call; None if the target is no model.

    With `own_code` the target may also be the address of a server, which is asked for its model,
    a `command:`, or Python. UsageError names the flag if a key, a library or a program is missing,
    and `--max-cost` if the price of the model is unknown.
    """
    resolve = find_offer("parts", "models.resolve")
    if resolve is None:
        return None
    model: Model | None = resolve(target, flag, settings, tuning, own_code=own_code)
    return model


def resolve_without_keys() -> AbstractContextManager[None]:
    """Return a context in which models resolve without their keys, because none is called."""
    allow = find_offer("parts", "models.without_keys")
    context: AbstractContextManager[None] = nullcontext() if allow is None else allow()
    return context


def estimate_target_cost(
    target: str, *, input_tokens: int, output_tokens: int, calls: int = 1
) -> float | None:
    """Estimate US dollars for the tokens and calls; None if the price of the model is unknown."""
    estimate = require_part("models.estimate_cost", target)
    cost: float | None = estimate(
        target, input_tokens=input_tokens, output_tokens=output_tokens, calls=calls
    )
    return cost


def describe_sending(target: str, what: str) -> str:
    """Where the prompts of a target go, in a sentence; nothing is requested."""
    return str(require_part("models.describe_sending", target)(target, what))


def suggest_spelling(target: str) -> str | None:
    """Return the provider that `name:name` may mean, if no module has the first name."""
    suggest = find_offer("parts", "models.suggest")
    near: str | None = None if suggest is None else suggest(target)
    return near
