"""The runs of one system by several seeds as one table, each seed a further round of repeats.

A question that several seeds put stays one question: what is drawn again for an interval, and what
a p-value flips, are questions with all their trials.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import msgspec

from recall_bench.analysis.trials import TrialTable, read_trials
from recall_bench.core.plan import Plan
from recall_bench.core.standing import TrialState
from recall_bench.core.usage import Usage
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import Summary


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
        return cls(seed=seed, folder=folder, summary=summary, table=read_trials(folder))

    @property
    def plan(self) -> Plan:
        """What was run."""
        return self.folder.plan

    @property
    def usage(self) -> Usage:
        """What judging, reading and our model endpoint cost."""
        service = self.folder.service
        return self.summary.costs.total + service.reader_usage + service.metered_total

    @property
    def ingest_s(self) -> float:
        """Seconds that feeding and settling took."""
        clocks = [part.clock for part in self.summary.checkpoints]
        return sum(clock.ingest_s + clock.settle_s for clock in clocks)


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
    return TrialTable(plan=plan, rows=rows, items=first.table.items)


def compute_latency_s(table: TrialTable, share: float) -> float | None:
    """The seconds within which this share of the answers came; None where there is none."""
    ranked = sorted(
        row.seconds
        for row in table.rows
        if row.seconds is not None and row.state is not TrialState.NOT_ANSWERED
    )
    return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else None
