"""Runs made up by a rule that is known, to see whether statistics find it again."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from recall_bench.core.plan import Trial
from recall_bench.metrics.survival import AskSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Trials as `mean_estimate` takes them."""

    values: list[float]
    questions: list[str]
    personas: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How hard questions are, and how alike the answers to one are."""

    level: float = 1.2
    persona: float = 0.0
    """How far personas differ."""
    question: float = 0.9
    """How far questions of one persona differ; asks of one question differ by 0.45."""
    is_rate: bool = False

    def marks(self, chance: Generator, *, personas: int, questions: int, asks: int) -> Trials:
        """Marks of 0 to 6, many of them full, or 0 and 1 for a rate; each asked 1 to `asks` times.

        `asks` below 0 asks every question exactly that many times.
        """
        shape = (personas, questions, abs(asks))
        latent = (
            self.level
            + self.persona * chance.normal(size=(personas, 1, 1))
            + self.question * chance.normal(size=(personas, questions, 1))
            + 0.45 * chance.normal(size=shape)
        )
        times = chance.integers(1, abs(asks) + 1, size=(personas, questions, 1))
        put = np.arange(abs(asks)) < (times if asks > 0 else abs(asks))
        put = np.broadcast_to(put, shape)
        persona, question, _ = np.nonzero(put)
        return Trials(
            values=self.marked(latent[put]).tolist(),
            questions=[f"q{number}" for number in question.tolist()],
            personas=[f"p{number}" for number in persona.tolist()],
        )

    def marked(self, latent: np.ndarray) -> np.ndarray:
        if self.is_rate:
            return (latent > 0).astype(np.float64)
        return np.clip(np.floor((latent + 1.5) * 2.4), 0, 6)

    @property
    def truth(self) -> float:
        """What the mean comes to over endlessly many personas and questions."""
        spread = np.sqrt(self.persona**2 + self.question**2 + 0.45**2)
        points = (np.arange(200_000) + 0.5) / 200_000
        from scipy.special import ndtri

        return float(self.marked(self.level + spread * ndtri(points)).mean())


def run(chance: Generator, own: np.ndarray, *, asks: int, shift: float = 0.0) -> dict[Trial, float]:
    """One run over questions, `own` being how each goes in this run at every ask."""
    noise = chance.normal(0.0, 0.3, (len(own), asks))
    return {
        Trial(scenario="p", item=f"q{question}", checkpoint=f"{ask}d"): float(mark)
        for question, marks in enumerate(own[:, np.newaxis] + noise + shift)
        for ask, mark in enumerate(marks)
    }


def decaying(
    chance: Generator, *, facts: int, half_life: float, gap: int, until: int, skipped: float = 0.0
) -> list[AskSeries]:
    """Facts learned all along, lost at a steady rate, asked every `gap` days but for some asks."""
    series = []
    for number in range(facts):
        born = int(chance.integers(0, until // gap)) * gap
        life = chance.exponential(half_life / np.log(2))
        days = np.arange(born, until + 1, gap)
        put = chance.random(len(days)) >= skipped
        put[0] = True
        asks = [(float(day), bool(day - born < life)) for day in days[put]]
        series.append(AskSeries(persona="p", question=f"q{number}", asks=asks))
    return series
