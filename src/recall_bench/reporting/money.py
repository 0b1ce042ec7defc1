"""What judging cost, and whom it was paid to."""

from dataclasses import dataclass

from recall_bench.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingCosts:
    """Calls, tokens and money of a run's judging, all processes together."""

    total: Usage
    reviewing: Usage
    """The part of it that went to the appellate judge."""

    @property
    def first(self) -> Usage:
        """The part that went to the first judge."""
        total, reviewing = self.total, self.reviewing
        return Usage(
            calls=total.calls - reviewing.calls,
            input_tokens=total.input_tokens - reviewing.input_tokens,
            output_tokens=total.output_tokens - reviewing.output_tokens,
            cost_usd=max(0.0, total.cost_usd - reviewing.cost_usd),
            unpriced=total.unpriced - reviewing.unpriced,
            cached=total.cached - reviewing.cached,
        )

    @property
    def is_free(self) -> bool:
        """Whether no model was called and no recorded reply was used."""
        return self.total == Usage()


def format_dollars(usage: Usage) -> str:
    """`$1.23`; to a hundredth of a cent below ten cents, where that is all there is."""
    digits = 2 if usage.cost_usd >= 0.1 else 4
    return f"${usage.cost_usd:,.{digits}f}"


def format_round_dollars(usd: float) -> str:
    """Whole dollars from ten on: an estimate knows no cents."""
    return f"${usd:,.0f}" if usd >= 9.995 or usd == 0 else f"${usd:.2f}"
