"""The heatmap of a run of ours, with the interval of every mean."""

from collections.abc import Collection, Sequence

from recall_bench.core.memory import Asker
from recall_bench.core.verdict import JudgeCard
from recall_bench.reporting.estimates import SEED, Estimates, Heatmap
from recall_bench.reporting.estimates import Cell as Measured
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.heatmap.caption import Caption
from recall_bench.reporting.heatmap.cells import Cell, HeatmapData
from recall_bench.reporting.summary import PersonaSummary, Status, Summary, summarise
from recall_bench.statistics.estimate import Method


def heatmap_of_run(folder: RunFolder, summary: Summary | None = None) -> HeatmapData:
    """The heatmap of a run, as far as it has come: all its personas together."""
    counted = summarise(folder) if summary is None else summary
    return heatmap_of(folder, counted, Estimates(folder).heatmap())


def heatmap_of(folder: RunFolder, counted: Summary, measured: Heatmap) -> HeatmapData:
    """One of a run's heatmaps: of a persona, or of all together."""
    invalid = counted.validity.status is Status.INVALID
    parts = [each for each in counted.personas if measured.persona in (None, each.id)]
    caption = _caption(folder, parts, measured.persona)
    return HeatmapData(
        title=caption.title,
        subtitle=caption.subtitle,
        categories=tuple(row.category for row in measured.rows),
        columns=tuple(checkpoint.label for checkpoint in measured.columns),
        cells=tuple(tuple(_drawn(cell) for cell in row.cells) for row in measured.rows),
        overall=tuple(_drawn(cell) for cell in measured.overall),
        hallucination=tuple(_drawn(cell, scale=100) for cell in measured.hallucination),
        done=sum(part.is_done for each in parts for part in each.checkpoints),
        visits=counted.visits if measured.persona is None else len(parts[0].checkpoints),
        is_stub=counted.is_stub,
        invalid=counted.validity.reason if invalid else None,
        intervals=drawn_again({c.mean.method for c in measured.overall if c.mean}, SEED),
    )


def _caption(folder: RunFolder, parts: Sequence[PersonaSummary], persona: str | None) -> Caption:
    plan = folder.plan
    planned = tuple(card.id for card in plan.scenarios)
    return Caption(
        system=f"{plan.system.name} {plan.system.version}",
        personas=planned if persona is None else (persona,),
        judge=_named(plan.judge),
        appellate=None if plan.appellate is None else _named(plan.appellate),
        at=folder.started,
        dataset=plan.dataset_digest,
        plan=plan.digest,
        questions=sum(each.questions for each in parts),
        trials=sum(each.overall.counted for each in parts),
        sample=plan.sample,
        judge_memory_window=plan.judge_memory_window,
        groups_enabled=plan.groups_enabled,
        knows_asker=plan.system.asker is not Asker.UNTOLD,
        is_dry_run=plan.dry_run,
    )


def _named(card: JudgeCard) -> str:
    return f"{card.name} {card.version}" + (f" ({card.model})" if card.model else "")


def _drawn(cell: Measured, *, scale: float = 1) -> Cell:
    found = cell.mean
    if found is None:
        return Cell(score=None, count=0, eligible=cell.eligible)
    return Cell(
        score=scale * found.value,
        count=found.trials,
        eligible=cell.eligible,
        low=None if found.low is None else scale * found.low,
        high=None if found.high is None else scale * found.high,
        questions=found.questions,
        missing=found.missing,
    )


def drawn_again(methods: Collection[Method], seed: int) -> str | None:
    """How intervals were made, in a few words; None where there is none."""
    if set(methods) <= {Method.NONE}:
        return None
    drawn = "personas" if Method.PERSONAS in methods else "questions"
    return f"95 % interval, {drawn} drawn again (seed {seed})"
