"""How often 95 % intervals contain the truth: personas alone against the widest of all units.

    python benchmarks/interval_coverage.py [ROUNDS]

Runs are simulated by a known rule, ROUNDS of each kind (default 400). A mark depends on the
persona, on the template, on the question and on chance. Templates have two to five questions. A
second run gives the difference, and a floor and a ceiling give the share of the way. The old rule
resamples personas from five on, else questions. The new rule is that of the package: the widest of
personas (from five on), templates and questions. Below five personas the truth is that of these
personas, from five on that of all.

The last columns are about the simulations in which the old interval is narrower than that of
the questions alone: how many there are, and how often each rule contains the truth in them.
"""

import sys
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.special import ndtri

from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS
from recall_bench.metrics.estimate import Estimate, estimate_mean, estimate_ratio

PERSONAS = (2, 5, 6, 12)
PERSONA_SPREADS = (0.0, 0.15, 0.4)
TEMPLATES = 16
"""Templates of a persona."""
TEMPLATE_SPREAD, QUESTION_SPREAD, CHANCE_SPREAD = 0.6, 0.6, 0.5
LEVELS = {"run": 0.2, "other": 0.0, "floor": -1.2, "ceiling": 1.4}
FIGURES = ("mean", "difference", "share")
RESAMPLES = 600

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SimulatedTrials:
    """The marks of four systems on the same trials, and the effects of the personas."""

    marks: dict[str, Floats]
    questions: list[str]
    personas: list[str]
    templates: dict[tuple[str, str], str]
    effects: Floats
    """The effect of each persona on each system, one row a persona."""


def simulate_trials(chance: Generator, personas: int, spread: float) -> SimulatedTrials:
    """Simulate the trials of one experiment, each question asked once."""
    systems = len(LEVELS)
    effects = spread * chance.normal(size=(personas, systems))
    rows: list[Floats] = []
    names: list[tuple[str, str, str]] = []
    for persona in range(personas):
        for template in range(TEMPLATES):
            shared = effects[persona] + TEMPLATE_SPREAD * chance.normal(size=systems)
            for _ in range(int(chance.integers(2, 6))):
                own = QUESTION_SPREAD * chance.normal(size=systems)
                rows.append(shared + own + CHANCE_SPREAD * chance.normal(size=systems))
                names.append((f"p{persona}", f"q{len(names)}", f"t{template}"))
    latent = np.array(rows) + np.array(list(LEVELS.values()))
    return SimulatedTrials(
        marks={name: grade(latent[:, place]) for place, name in enumerate(LEVELS)},
        questions=[question for _, question, _ in names],
        personas=[persona for persona, _, _ in names],
        templates={(persona, question): template for persona, question, template in names},
        effects=effects,
    )


def grade(latent: Floats) -> Floats:
    """Marks of 0 to 6, many of them at an end."""
    return np.clip(np.floor(2.4 * (latent + 1.25)), 0, 6)


def compute_truth(trials: SimulatedTrials, spread: float) -> dict[str, float]:
    """Compute what each figure comes to over endlessly many templates and questions."""
    points = ndtri((np.arange(4_000) + 0.5) / 4_000)
    within = np.sqrt(TEMPLATE_SPREAD**2 + QUESTION_SPREAD**2 + CHANCE_SPREAD**2)
    means = {}
    for place, (name, level) in enumerate(LEVELS.items()):
        if len(trials.effects) >= ENOUGH_PERSONAS:
            total = np.sqrt(within**2 + spread**2)
            means[name] = float(grade(level + total * points).mean())
        else:
            asked = np.array(
                [trials.personas.count(f"p{each}") for each in range(len(trials.effects))]
            )
            by_persona = [
                grade(level + effect + within * points).mean()
                for effect in trials.effects[:, place]
            ]
            means[name] = float(np.average(by_persona, weights=asked))
    return {
        "mean": means["run"],
        "difference": means["run"] - means["other"],
        "share": (means["run"] - means["floor"]) / (means["ceiling"] - means["floor"]),
    }


def estimate_figure(
    trials: SimulatedTrials,
    figure: str,
    questions: list[str],
    templates: dict[tuple[str, str], str] | None = None,
) -> Estimate:
    """Estimate a figure with these questions and templates as the clusters."""
    run, other = trials.marks["run"], trials.marks["other"]
    floor, ceiling = trials.marks["floor"], trials.marks["ceiling"]
    if figure == "share":
        found = estimate_ratio(
            (run - floor).tolist(),
            (ceiling - floor).tolist(),
            questions,
            trials.personas,
            templates=templates,
            resamples=RESAMPLES,
        )
    else:
        values = run - other if figure == "difference" else run
        found = estimate_mean(
            values.tolist(),
            questions,
            trials.personas,
            is_difference=figure == "difference",
            templates=templates,
            resamples=RESAMPLES,
        )
    if found is None:
        raise AssertionError(figure)
    return found


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """Whether each rule contained the truth in one simulation."""

    old: bool
    new: bool
    is_narrow: bool
    """Whether the old interval is narrower than that of the questions."""


def play_round(chance: Generator, personas: int, spread: float, figure: str) -> RoundOutcome:
    """Simulate one experiment, and check the intervals of one figure."""
    trials = simulate_trials(chance, personas, spread)
    truth = compute_truth(trials, spread)[figure]
    # With the personas in the place of the questions nothing else can be resampled.
    whole = personas >= ENOUGH_PERSONAS
    old = estimate_figure(trials, figure, trials.personas if whole else trials.questions)
    new = estimate_figure(trials, figure, trials.questions, trials.templates)
    alone = estimate_figure(trials, figure, trials.questions, {})
    return RoundOutcome(
        old=_contains(old, truth),
        new=_contains(new, truth),
        is_narrow=whole and _compute_width(old) < _compute_width(alone) - 1e-12,
    )


def _contains(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def _compute_width(found: Estimate) -> float:
    return 0.0 if found.low is None or found.high is None else found.high - found.low


def main(rounds: int) -> None:
    """Print one row for each number of personas, spread between them and figure."""
    print(f"{'personas':>8} {'differ by':>9} {'figure':>10} {'old':>6} {'new':>6}", end="")
    print(f" {'narrower':>9} {'old then':>9} {'new then':>9}")
    for personas in PERSONAS:
        for spread in PERSONA_SPREADS:
            for figure in FIGURES:
                chance = default_rng(personas)
                found = [play_round(chance, personas, spread, figure) for _ in range(rounds)]
                narrow = [each for each in found if each.is_narrow]
                cells = [fmean(each.old for each in found), fmean(each.new for each in found)]
                row = f"{personas:>8} {spread:>9} {figure:>10} "
                row += " ".join(f"{100 * cell:>5.1f}%" for cell in cells)
                row += f" {100 * len(narrow) / rounds:>8.1f}%"
                if narrow:
                    row += f" {100 * fmean(each.old for each in narrow):>8.1f}%"
                    row += f" {100 * fmean(each.new for each in narrow):>8.1f}%"
                print(row, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
