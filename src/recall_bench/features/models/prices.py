"""The price of a call in US dollars, from the spec or from a price list.

The list comes with the installed `genai-prices`; nothing is downloaded. A price belongs to an
address: a well-known model behind another base URL has no known price.
"""

import math
from typing import TYPE_CHECKING

from recall_bench.core.usage import Usage
from recall_bench.features.models.model_spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage

_BY_SUBSCRIPTION = frozenset({"github-copilot", "openai-codex"})
BATCH_SHARE = 0.5
"""What OpenAI and Groq charge for a batch, as a share of the listed price."""
_LISTED_AS = {"azure-responses": "azure"}


def is_price_known(spec: ModelSpec) -> bool:
    """Whether the price of a call is known in advance."""
    if spec.price is not None:
        return True
    if spec.is_agent or spec.is_folder:
        return False
    from genai_prices import Usage as Counted

    return (
        _look_up_price(spec, spec.model or "", Counted(input_tokens=1, output_tokens=1)) is not None
    )


def price_usage(spec: ModelSpec, counted: "RequestUsage", *answered_as: str | None) -> Usage:
    """Return the usage of one call: tokens and price, or marked as unpriced.

    A provider may name the model more precisely than the spec: the first of `answered_as` with a
    price decides, then the spec's own name.
    """
    cost = _compute_cost(spec, counted, [name for name in (*answered_as, spec.model) if name])
    return Usage(
        calls=1,
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        cost_usd=cost or 0.0,
        unpriced=int(cost is None),
    )


def estimate_cost(
    spec: ModelSpec, *, input_tokens: int, output_tokens: int, calls: int = 1
) -> float | None:
    """Estimate US dollars for tokens in calls of equal size; None if the price is unknown.

    The number of calls matters where tokens of long prompts cost more.
    """
    price = spec.price
    if price is not None:
        return (input_tokens * price.input + output_tokens * price.output) / 1_000_000
    if spec.is_agent or spec.is_folder:
        return None
    try:
        from genai_prices import Usage as Counted
    except ImportError:
        return None  # the list comes with the `llm` extra
    calls = max(calls, 1)
    one = Counted(
        input_tokens=math.ceil(input_tokens / calls), output_tokens=math.ceil(output_tokens / calls)
    )
    cost = _look_up_price(spec, spec.model or "", one)
    return None if cost is None else cost * calls


def _compute_cost(spec: ModelSpec, counted: "RequestUsage", names: list[str]) -> float | None:
    price = spec.price
    if price is not None and price.input == price.output == 0:
        return 0.0
    if not counted.input_tokens and not counted.output_tokens:
        return None  # the server counts no tokens: that is not the same as no cost
    if price is not None:
        spent = counted.input_tokens * price.input + counted.output_tokens * price.output
        return spent / 1_000_000
    costs = (_look_up_price(spec, name, counted) for name in names)
    return next((cost for cost in costs if cost is not None), None)


def _look_up_price(spec: ModelSpec, model: str, counted: object) -> float | None:
    from genai_prices import calc_price

    if spec.provider in _BY_SUBSCRIPTION or (spec.batch and spec.base_url):
        return None
    provider = _LISTED_AS.get(spec.provider, spec.provider)
    try:
        if spec.base_url is not None and provider != "azure":
            price = calc_price(counted, model, provider_api_url=spec.base_url)
        else:
            price = calc_price(counted, model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(price.total_price) * (BATCH_SHARE if spec.batch else 1)
