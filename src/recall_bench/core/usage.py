"""What calling a language model cost."""

import threading
from dataclasses import dataclass
from typing import Self

from recall_bench.core.record import Record

CHARACTERS_A_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text; 0 only for an empty one."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def explain_missing_price(whose: str) -> str:
    """Explain why a server that reports no tokens stops a run with --max-cost."""
    return (
        f"{whose} server does not report the tokens of a call, so its cost is unknown and "
        "--max-cost cannot be kept; run the same command without it to continue; nothing is "
        "paid for twice"
    )


def explain_missing_tokens(whose: str) -> str:
    """Explain why a server that reports no tokens stops a run with --max-tokens."""
    return (
        f"{whose} server does not report the tokens of a call, so --max-tokens cannot be kept; "
        "run the same command without it to continue; nothing is paid for twice"
    )


class Usage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Calls, tokens and money."""

    calls: int = 0
    """Requests that got a reply, readable or not."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    """The cost of the calls whose price is known."""
    unpriced: int = 0
    """Calls of unknown price, which `cost_usd` leaves out."""
    cached: int = 0
    """Replies from the cache, which cost nothing."""

    @property
    def lacks_tokens(self) -> bool:
        """Whether calls were made without reported tokens. They may still have a price."""
        return self.calls > 0 and self.tokens == 0

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
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

    def __sub__(self, part: Self) -> "Usage":
        return Usage(
            calls=self.calls - part.calls,
            input_tokens=self.input_tokens - part.input_tokens,
            output_tokens=self.output_tokens - part.output_tokens,
            # Sums in another order may differ in the last digit.
            cost_usd=max(0.0, self.cost_usd - part.cost_usd),
            unpriced=self.unpriced - part.unpriced,
            cached=self.cached - part.cached,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingCosts:
    """The usage of a run's judging, over all processes."""

    total: Usage
    reviewing: Usage
    """The part of it that went to the appellate judge."""
    others: tuple[Usage, ...] = ()
    """The parts that went to the other judges of the plan, in their order."""

    @property
    def first(self) -> Usage:
        """The part that went to the first judge."""
        return self.total - sum(self.others, self.reviewing)

    @property
    def is_free(self) -> bool:
        """Whether no model was called and no recorded reply was used."""
        return self.total == Usage()


def format_dollars(usage: Usage) -> str:
    """Format as `$1.23`, with four digits below ten cents."""
    digits = 2 if usage.cost_usd >= 0.1 else 4
    return f"${usage.cost_usd:,.{digits}f}"


def format_round_dollars(usd: float) -> str:
    """Format an estimate: whole dollars from ten on."""
    return f"${usd:,.0f}" if usd >= 9.995 or usd == 0 else f"${usd:.2f}"


class UsageMeter:
    """Counts every request that was served. Thread-safe.

    Calls, tokens and money are those of all requests, cached or not: what a cache saves depends on
    the number of workers and must not make a product look cheaper. `cached` counts texts that came
    from the disk, if a user wants that; latencies are then those of a warm cache.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()
        self._new = Usage()

    def add(self, usage: Usage) -> None:
        """Add a usage."""
        with self._lock:
            self._total += usage
            self._new += usage

    def drain(self) -> Usage:
        """Return what was added since the last call."""
        with self._lock:
            new, self._new = self._new, Usage()
            return new

    @property
    def total(self) -> Usage:
        """Everything that was added, drained or not."""
        with self._lock:
            return self._total


_MOST_TOKENS = 10**12
"""More than any model has read; a larger count is a mistake, and could not be priced."""


def read_token_count(counted: object) -> int:
    """The number of tokens in a provider's reply; 0 if it gives none that can be."""
    return counted if isinstance(counted, int) and 0 < counted <= _MOST_TOKENS else 0
