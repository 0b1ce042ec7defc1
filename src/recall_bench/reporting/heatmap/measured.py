"""The heatmap of a run of ours, with the interval of every mean."""

from collections.abc import Collection, Sequence

from recall_bench.core.memory import Asker
from recall_bench.core.verdict import JudgeCard
from recall_bench.reporting.estimates import SEED, Heatmap, RunEstimates
from recall_bench.reporting.estimates import HeatmapCell as Measured
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.heatmap.caption import HeatmapCaption
from recall_bench.reporting.heatmap.cells import HeatmapData, PictureCell
from recall_bench.reporting.summary import PersonaSummary, RunStatus, Summary, summarise
from recall_bench.statistics.estimate import IntervalMethod


def build_run_heatmap(folder: RunFolder, summary: Summary | None = None) -> HeatmapData:
    """The heatmap of a run, as far as it has come: all its personas together."""
    counted = summarise(folder) if summary is None else summary
    return build_heatmap(folder, counted, RunEstimates(folder).build_heatmap())


def build_heatmap(folder: RunFolder, counted: Summary, measured: Heatmap) -> HeatmapData:
    """One of a run's heatmaps: of a persona, or of all together."""
    invalid = counted.validity.status is RunStatus.INVALID
    parts = [each for each in counted.personas if measured.persona in (None, each.id)]
    caption = _build_caption(folder, parts, measured.persona)
    return HeatmapData(
        title=caption.title,
        subtitle=caption.subtitle,
        categories=tuple(row.category for row in measured.rows),
        columns=tuple(checkpoint.label for checkpoint in measured.columns),
        cells=tuple(tuple(_convert_cell(cell) for cell in row.cells) for row in measured.rows),
        overall=tuple(_convert_cell(cell) for cell in measured.overall),
        hallucination=tuple(_convert_cell(cell, scale=100) for cell in measured.hallucination),
        done=sum(part.is_done for each in parts for part in each.checkpoints),
        visits=counted.planned_checkpoints
        if measured.persona is None
        else len(parts[0].checkpoints),
        is_stub=counted.is_stub,
        invalid=counted.validity.reason if invalid else None,
        intervals=describe_resampling({c.mean.method for c in measured.overall if c.mean}, SEED),
    )


def _build_caption(
    folder: RunFolder, parts: Sequence[PersonaSummary], persona: str | None
) -> HeatmapCaption:
    plan = folder.plan
    planned = tuple(card.id for card in plan.scenarios)
    return HeatmapCaption(
        system=f"{plan.system.name} {plan.system.version}",
        personas=planned if persona is None else (persona,),
        judge=_name_judge(plan.judge),
        appellate=None if plan.appellate is None else _name_judge(plan.appellate),
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


def _name_judge(card: JudgeCard) -> str:
    return f"{card.name} {card.version}" + (f" ({card.model})" if card.model else "")


def _convert_cell(cell: Measured, *, scale: float = 1) -> PictureCell:
    found = cell.mean
    if found is None:
        return PictureCell(score=None, count=0, eligible=cell.eligible)
    return PictureCell(
        score=scale * found.value,
        count=found.trials,
        eligible=cell.eligible,
        low=None if found.low is None else scale * found.low,
        high=None if found.high is None else scale * found.high,
        questions=found.questions,
        missing=found.missing,
    )


def describe_resampling(methods: Collection[IntervalMethod], seed: int) -> str | None:
    """How intervals were made, in a few words; None where there is none."""
    if set(methods) <= {IntervalMethod.NONE}:
        return None
    drawn = "personas" if IntervalMethod.PERSONAS in methods else "questions"
    return f"95 % interval, {drawn} drawn again (seed {seed})"
