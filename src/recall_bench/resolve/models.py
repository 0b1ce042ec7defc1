"""From a flag that may name a language model to that model."""

from typing import TYPE_CHECKING

from recall_bench.errors import UsageError
from recall_bench.profile import Settings

if TYPE_CHECKING:
    from recall_bench.models.model import Model


def resolve_model(target: str, flag: str, settings: Settings) -> "Model | None":
    """The model that the target specifies, ready to be asked; None if it specifies none.

    UsageError that names the flag for want of a key, a library or a program; or `--max-cost`, if
    that could not be kept because nobody knows what the model costs.
    """
    from recall_bench.models.providers import open_model
    from recall_bench.models.spec import parse_spec

    try:
        spec = parse_spec(target)
        if spec is None:
            return None
        model = open_model(spec)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if settings.max_cost_usd is not None and not model.is_priced:
        told = (
            "leave --max-cost out"
            if spec.is_agent
            else "add what a million tokens cost in US dollars, in and out, as in "
            f"{flag} '{model.name};price=0.15/0.60'"
        )
        raise UsageError(f"--max-cost: nobody knows what {model.name} costs; {told}")
    return model
