"""What a pass will take, said before the first call."""

from recall_bench.core.tokens import estimate_tokens
from recall_bench.generate.outcome import format_count
from recall_bench.models.model import Prompt


def describe_estimate(target: str, calls: int, sample: Prompt, output_tokens: int) -> str:
    """One sentence: calls, tokens and money, if every call is like the sample.

    `output_tokens` is what a reply of this pass usually takes. Rejected replies are asked for
    again and come on top.
    """
    from recall_bench.resolve.models import estimate_target_cost

    tokens_in = calls * (estimate_tokens(sample.system) + estimate_tokens(sample.user))
    tokens_out = calls * output_tokens
    cost = estimate_target_cost(
        target, input_tokens=tokens_in, output_tokens=tokens_out, calls=calls
    )
    price = "at a price nobody knows" if cost is None else f"about {cost:.2f} USD"
    return (
        f"about {format_count(calls, 'call', 'calls')}, {tokens_in:,} tokens in and {tokens_out:,} out, "
        f"{price}; replies that have to be mended come on top"
    )
