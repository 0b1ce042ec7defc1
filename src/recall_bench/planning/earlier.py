"""Which earlier runs tell something about a plan: those named, else the newest there are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.event import RunStarted
from recall_bench.core.plan import Plan
from recall_bench.errors import BenchError
from recall_bench.journal import JOURNAL, read_events
from recall_bench.outputs import RUNS
from recall_bench.planning.measured import MeasuredRun, measure_run

MAX_EARLIER_RUNS = 3
"""So many of the newest runs of a system are read: older ones tell of older machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """Runs that were read."""

    of_system: tuple[MeasuredRun, ...] = ()
    of_judge: tuple[MeasuredRun, ...] = ()


def find_earlier_runs(plan: Plan, folder: Path, named: Sequence[Path] = ()) -> EarlierRuns:
    """The runs named, or those of the same system, and of the same judge, near the run's folder.

    A run that is named is taken to tell of the system whatever its name; of the judge only if it
    had the same.
    """
    if named:
        runs = tuple(measure_run(path) for path in named)
        return EarlierRuns(
            of_system=runs, of_judge=tuple(each for each in runs if is_same_judge(each.plan, plan))
        )
    found = [(path, each) for path, each in _list_plans(folder) if each.imported is None]
    asked = [path for path, each in found if _is_same_system(each, plan)][:MAX_EARLIER_RUNS]
    judged = [path for path, each in found if is_same_judge(each, plan)][:MAX_EARLIER_RUNS]
    known = {path: measure_run(path) for path in dict.fromkeys(asked + judged)}
    return EarlierRuns(
        of_system=tuple(known[path] for path in asked),
        of_judge=tuple(known[path] for path in judged),
    )


def is_same_judge(one: Plan, other: Plan) -> bool:
    """Whether both are judged by the same model, or by the same computation."""
    ours, theirs = one.judge, other.judge
    return not one.unjudged and (ours.name, ours.model) == (theirs.name, theirs.model)


def _is_same_system(one: Plan, other: Plan) -> bool:
    return one.system.name == other.system.name and one.answers_from is None


def _list_plans(folder: Path) -> Iterator[tuple[Path, Plan]]:
    """Every run below `recall-runs` and beside the folder, newest first."""
    journals = {path.resolve(): path for path in _find_journals((RUNS, folder.parent))}
    for path in sorted(journals.values(), key=lambda each: -each.stat().st_mtime):
        try:
            first = next(read_events(path), None)
        except BenchError:
            continue  # no run of this version: it tells nothing, and nobody named it
        if isinstance(first, RunStarted):
            yield path.parent, first.plan


def _find_journals(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from place.glob(f"*/{JOURNAL}")
