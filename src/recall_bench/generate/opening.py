"""The model of a pass, opened before anything is written."""

from typing import TYPE_CHECKING

from recall_bench.errors import UsageError
from recall_bench.generate.request import PassRequest

if TYPE_CHECKING:
    from recall_bench.models.model import Model


def open_model(request: PassRequest, *, usual_temperature: float = 0.7) -> "Model":
    """The model that the request names; UsageError if it names none or cannot be asked."""
    from recall_bench.models.tuning import Tuning
    from recall_bench.resolve.models import resolve_model
    from recall_bench.settings import Settings

    tuning = Tuning(
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        usual_temperature=usual_temperature,
    )
    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings, tuning=tuning, own_code=True)
    if model is None:
        # Not repeated: it may be a key that was put in the wrong place.
        raise UsageError(
            "--model: that is no model we know; say offline, provider:model, a base URL, file.py, "
            "command:PROGRAM, claude, codex or copilot"
        )
    return model
