"""The judge's three opinions as numbers, and where they become marks."""

from dataclasses import dataclass

from recall_bench.core.verdict import Verdict

CORRECTNESS_FROM = (0.15, 0.35, 0.65)
"""The least score for one, two and three points."""
COMPLETENESS_FROM = (0.2, 0.6)
GROUNDED_FROM = (0.5,)


@dataclass(frozen=True, slots=True)
class Assessment:
    """How right, how complete and how well founded an answer is, each from 0 to 1, and why."""

    correctness: float
    completeness: float
    grounded: float
    reason: str

    @property
    def verdict(self) -> Verdict:
        """The marks that the scores are worth."""
        return Verdict.of(
            _points(self.correctness, CORRECTNESS_FROM),
            _points(self.completeness, COMPLETENESS_FROM),
            _points(self.grounded, GROUNDED_FROM),
            self.reason,
        )


def _points(score: float, bars: tuple[float, ...]) -> int:
    return sum(score >= bar for bar in bars)
