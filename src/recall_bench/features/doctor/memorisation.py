"""Does a system know the released stories? It runs on them, and on the same stories drawn afresh.

A fresh seed changes names, figures and dates and asks for the same kinds of things. A system that
has seen the released stories loses its advantage there. The difference is tested against the same
difference of a built-in system, so that stories that are harder by themselves are not mistaken for
memorisation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from recall_bench.core.errors import DataError
from recall_bench.core.plain_text import format_fact, format_quantity
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.core.settings import Settings
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import Experiment, ExperimentCell, require_result
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import move_outputs
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.comparison import PairedComparison, compare
from recall_bench.stories.drawn import BuildProgress

CONTROL: Final = "hybrid"
RELEASED: Final = "released"
SIGNIFICANT: Final = 0.05
_POINTS = 100 / FULL_MARKS
_LIMITS = (0.0, 100.0)


class MemorisationTest(ComputedRecord, frozen=True, kw_only=True):
    """The advantage of a system on the released stories over freshly drawn ones."""

    system: str
    personas: tuple[str, ...]
    seeds: tuple[str, ...]
    """The fresh seeds, so that the test can be repeated."""
    released: float
    """Points of 100 on the released stories, over the questions that all seeds have."""
    fresh: float
    advantage: PairedComparison
    """Released minus fresh, in points of 100."""
    control: PairedComparison
    """The same of the control."""
    beyond_control: PairedComparison
    """How far the system's advantage exceeds that of the control."""

    @property
    def is_memorised(self) -> bool:
        """Whether the advantage is significant, by itself and beyond that of the control."""
        return all(
            difference.difference.value > 0 and difference.p_value < SIGNIFICANT
            for difference in (self.advantage, self.beyond_control)
        )


def run_memorisation(
    settings: Settings,
    seeds: Sequence[str],
    folder: Path,
    on_progress: Callable[[str], None] = lambda _: None,
    building: BuildProgress | None = None,
) -> MemorisationTest:
    """Run system and control on the released stories and on each seed, and test the difference.

    Runs that are already in the folder are not repeated. What stops a run is raised.
    """
    control = replace(
        settings, adapter=CONTROL, agent_model=None, factory=None, config={}, reader=None
    )
    runs = {
        (who, seed): role if seed == RELEASED else replace(role, world_seed=seed, edition=None)
        for who, role in (("system", settings), ("control", control))
        for seed in (RELEASED, *seeds)
    }

    def assemble_run(who: str, seed: str) -> Job:
        on_progress(f"{'the control' if who == 'control' else settings.adapter} on {seed}")
        into = folder / f"{who}-{seed}"
        return assemble(move_outputs(runs[who, seed], into), building=building)

    cells = [
        ExperimentCell(
            label=f"{who}-{seed}",
            folder=folder / f"{who}-{seed}",
            assemble=partial(assemble_run, who, seed),
        )
        for who, seed in runs
    ]
    folders: dict[str, RunFolder] = {}
    for outcome in Experiment(cells=cells).run():
        result = require_result(outcome)
        if result.stopped_by is not None:
            raise result.stopped_by
        folders[outcome.cell.label] = result.folder
    return compute_memorisation(folders, tuple(seeds))


def compute_memorisation(
    folders: Mapping[str, RunFolder], seeds: tuple[str, ...]
) -> MemorisationTest:
    """Compute the test from finished runs, named `system-SEED` and `control-SEED`."""
    marks = {name: _read_marks(folder) for name, folder in folders.items()}
    shared = set.intersection(*(set(mark) for mark in marks.values()))
    if not shared:
        raise DataError("no question was answered and judged in all runs, so there is no test")
    released, fresh = _split_marks(marks, "system", seeds, shared)
    control_released, control_fresh = _split_marks(marks, "control", seeds, shared)
    advantage = {trial: released[trial] - fresh[trial] for trial in shared}
    usual = {trial: control_released[trial] - control_fresh[trial] for trial in shared}
    plan = folders[f"system-{RELEASED}"].plan
    return MemorisationTest(
        system=f"{plan.system.name} {plan.system.version}",
        personas=tuple(card.id for card in plan.scenarios),
        seeds=seeds,
        released=_average(released),
        fresh=_average(fresh),
        advantage=_compare(fresh, released),
        control=_compare(control_fresh, control_released),
        beyond_control=_compare(usual, advantage, (-100.0, 100.0)),
    )


def _read_marks(folder: RunFolder) -> dict[Trial, float]:
    return {trial: marks * _POINTS for trial, marks in read_trials(folder).points.items()}


def _split_marks(
    marks: Mapping[str, Mapping[Trial, float]], who: str, seeds: Sequence[str], trials: set[Trial]
) -> tuple[dict[Trial, float], dict[Trial, float]]:
    """The marks on the released stories, and the mean of those on the fresh ones."""
    released = {trial: marks[f"{who}-{RELEASED}"][trial] for trial in trials}
    fresh = {
        trial: sum(marks[f"{who}-{seed}"][trial] for seed in seeds) / len(seeds) for trial in trials
    }
    return released, fresh


def _average(marks: Mapping[Trial, float]) -> float:
    return sum(marks.values()) / len(marks)


def _compare(
    first: Mapping[Trial, float],
    second: Mapping[Trial, float],
    limits: tuple[float, float] = _LIMITS,
) -> PairedComparison:
    comparison = compare(first, second, limits=limits)
    if comparison is None:
        raise AssertionError("the runs share no question, although seeds keep the questions")
    return comparison


def render_memorisation(found: MemorisationTest) -> str:
    """Render the test as text."""
    count = found.advantage.difference.questions
    quantity = format_quantity(len(found.seeds), "fresh seed")
    facts = {
        "System": found.system,
        "Stories": f"{', '.join(found.personas)}: as released, and drawn from {quantity}",
        "Released": f"{found.released:.1f} of 100, over {count:,} questions",
        "Fresh": f"{found.fresh:.1f} of 100, over the same questions with other values",
        "Advantage": f"{_describe(found.advantage)} on the released stories",
        "Control": f"{_describe(found.control)} for {CONTROL}, which has memorised nothing",
        "Beyond it": _describe(found.beyond_control),
        "Verdict": _conclude(found),
        "Seeds": ", ".join(found.seeds),
    }
    return "\n".join(line for name, text in facts.items() for line in format_fact(name, text))


def _describe(found: PairedComparison) -> str:
    estimate = found.difference
    bounds = estimate.interval
    interval = "" if bounds is None else f" ({bounds[0]:+.1f} to {bounds[1]:+.1f})"
    return f"{estimate.value:+.1f}{interval}, p = {found.p_value:.2g}"


def _conclude(found: MemorisationTest) -> str:
    if found.is_memorised:
        return (
            "memorised: it scores higher on the released stories than what it was fed explains; "
            "quote its score on fresh seeds only"
        )
    tests = (found.advantage.detectable, found.beyond_control.detectable)
    smallest = None if None in tests else max(test for test in tests if test is not None)
    power = (
        "the questions are too few to find any advantage"
        if smallest is None
        else f"an advantage of {smallest:.1f} points would be found with a probability of 80 %"
    )
    return f"no sign of memorisation; {power}"
