"""The runs of one system of a matrix: all its seeds in one table, by each of its judges.

The repeats of a seed follow those of the seed before, so that a question that several seeds ask
stays one question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from recall_bench.core.plan import Plan
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.reporting.protocol_scores import JUDGED
from recall_bench.reporting.trial_scores import read_scored_trials


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """A valid run of a cell, read."""

    seed: int
    folder: RunFolder
    summary: Summary
    table: TrialTable

    @classmethod
    def read(cls, seed: int, folder: RunFolder, summary: Summary) -> "CellRun":
        """With all its trials."""
        return cls(seed=seed, folder=folder, summary=summary, table=read_scored_trials(folder))

    @property
    def plan(self) -> Plan:
        """What was run."""
        return self.folder.plan

    @property
    def ingest_s(self) -> float:
        """Seconds that feeding and settling took."""
        return sum(part.clock.feeding_s for part in self.summary.checkpoints)


def merge_seeds(runs: Mapping[int, CellRun], seeds: Sequence[int]) -> TrialTable:
    """All trials of these runs; the repeats of each seed follow those of the seed before."""
    first = next(iter(runs.values()))
    if len(seeds) == 1:
        return first.table
    repeats = first.plan.repeats
    rows = tuple(
        msgspec.structs.replace(
            row,
            trial=row.trial.replace(repeat=row.trial.repeat + repeats * seeds.index(seed)),
        )
        for seed, run in runs.items()
        for row in run.table.rows
    )
    # A plan has one seed: the first stands for all, in every table alike.
    plan = first.plan.replace(repeats=repeats * len(seeds), seed=seeds[0])
    return TrialTable(plan=plan, rows=rows, items=first.table.items, scale=first.table.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRuns:
    """One system under one setting."""

    system: str
    runs: Mapping[int, CellRun]
    table: TrialTable
    judged: Mapping[str, TrialTable]
    """The same by each judge that all seeds have, by its name; the first gives the score."""

    @classmethod
    def merge(cls, system: str, runs: Mapping[int, CellRun], seeds: Sequence[int]) -> "SystemRuns":
        """With all trials of these runs."""
        table = merge_seeds(runs, seeds)
        return cls(system=system, runs=runs, table=table, judged=_read_judged(runs, seeds, table))


def _read_judged(
    runs: Mapping[int, CellRun], seeds: Sequence[int], table: TrialTable
) -> dict[str, TrialTable]:
    names = next(iter(runs.values())).plan.judge_names
    is_judged = table.scale is None or table.scale.name == JUDGED
    if not is_judged or any(run.plan.judge_names != names for run in runs.values()):
        # Retrieval and the like depend on no judge.
        names = names[:1]
    judged = {names[0]: table}
    for place, name in enumerate(names[1:], start=1):
        views = {seed: _read_view(run, place) for seed, run in runs.items()}
        judged[name] = merge_seeds(views, seeds)
    return judged


def _read_view(run: CellRun, place: int) -> CellRun:
    """The run by one of its other judges."""
    view = open_judge_views(run.folder)[place]
    return replace(run, folder=view, table=read_scored_trials(view))
