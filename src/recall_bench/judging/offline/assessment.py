"""The judge's three opinions as numbers, and where they become marks."""

from dataclasses import dataclass

from recall_bench.core.verdict import PASS, SCALES, Finding, Verdict

CORRECTNESS_BARS = (0.15, 0.35, 0.65)
"""The least score for one, two and three points."""
COMPLETENESS_BARS = (0.2, 0.6)
GROUNDED_BARS = (0.5,)
SCORE_BARS = {
    "correctness": CORRECTNESS_BARS,
    "completeness": COMPLETENESS_BARS,
    "grounded": GROUNDED_BARS,
}
CHANCE_DIGITS = 4
LEAST_CHANCE = 0.01
"""No judge is surer than this that a mark is, or is not, a pass."""


@dataclass(frozen=True, slots=True)
class RuleScores:
    """How right, how complete and how well founded an answer is, each from 0 to 1, and why."""

    correctness: float
    completeness: float
    grounded: float
    reason: str
    findings: tuple[Finding, ...] = ()
    is_exact: bool = False
    """Whether the truth says what a right answer contains, so that the rules' word is final."""

    @property
    def verdict(self) -> Verdict:
        """The marks that the scores are worth."""
        marks = {name: _count_points(self._get_score(name), SCORE_BARS[name]) for name in SCALES}
        return Verdict(
            marks=marks,
            reason=self.reason,
            probabilities={
                name: clip_chance(_compute_chance(name, self._get_score(name))) for name in SCALES
            },
            findings=self.findings,
        )

    def _get_score(self, mark: str) -> float:
        return float(getattr(self, mark))


def clip_chance(chance: float) -> float:
    """A chance that nobody takes for certainty."""
    return round(min(max(chance, LEAST_CHANCE), 1.0 - LEAST_CHANCE), CHANCE_DIGITS)


def _compute_chance(mark: str, score: float) -> float:
    """A half where the score is just enough to pass, rising evenly to either side."""
    bar = SCORE_BARS[mark][PASS[mark] - 1]
    if score < bar:
        return 0.5 * score / bar
    return 0.5 + 0.5 * (score - bar) / (1.0 - bar)


def _count_points(score: float, bars: tuple[float, ...]) -> int:
    return sum(score >= bar for bar in bars)
