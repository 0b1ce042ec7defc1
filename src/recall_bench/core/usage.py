"""What calling a language model cost."""

from typing import Self

from recall_bench.core.record import Record


def explain_missing_price(whose: str) -> str:
    """Why nothing more is asked of a server that counts no tokens while money is limited."""
    return (
        f"{whose} server does not say how many tokens a call took, so nobody can tell what it cost "
        "and --max-cost cannot be kept; the same command without it goes on, and pays for nothing "
        "twice"
    )


def explain_missing_tokens(whose: str) -> str:
    """Why nothing more is asked of it while tokens are limited, whatever its price."""
    return (
        f"{whose} server does not say how many tokens a call took, so --max-tokens cannot be kept; "
        "the same command without it goes on, and pays for nothing twice"
    )


MISSING_JUDGE_PRICE = explain_missing_price("the judge's")
"""What a judge's is told by."""


class Usage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Calls, tokens and money. Adding two gives what both cost together."""

    calls: int = 0
    """Requests that got a reply, readable or not."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    """The price of the calls whose price is known."""
    unpriced: int = 0
    """Calls whose price nobody knows: `cost_usd` leaves them out."""
    cached: int = 0
    """Replies that were on record already and cost nothing."""

    @property
    def lacks_tokens(self) -> bool:
        """Whether calls were made, and nobody told their tokens. They may have a price."""
        return self.calls > 0 and self.tokens == 0

    @property
    def tokens(self) -> int:
        """Of prompts and replies together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Self) -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced=self.unpriced + other.unpriced,
            cached=self.cached + other.cached,
        )
