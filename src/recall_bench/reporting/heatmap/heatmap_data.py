"""The data of a heatmap picture, and how it comes from a run folder."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from recall_bench.core.memory import Asker
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.estimate import FEW_QUESTIONS, IntervalMethod
from recall_bench.reporting.formats import OF_100, format_card
from recall_bench.reporting.headlines import INVENTED, LEAKED, describe_headline
from recall_bench.runs.estimates import Heatmap, HeatmapCell, RunEstimates
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import (
    PersonaSummary,
    RunStatus,
    Summary,
    summarise,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCell:
    """One measurement."""

    score: float | None
    """Mean points of 100, or percent of answers; None if nothing was measured."""
    count: int
    """How many trials the mean is over."""
    eligible: int | None = None
    """Questions that the story supports by then; None if unknown."""
    low: float | None = None
    high: float | None = None
    """The ends of the 95 % interval, or neither if there is none."""
    questions: int | None = None
    """Different questions asked; None if unknown."""
    missing: int | None = None
    """Trials owed that are not in the mean; None if unknown."""

    @property
    def is_small(self) -> bool:
        """Whether it is over too few questions for a reliable interval.

        Where questions were not counted, the trials are an upper bound.
        """
        asked = self.count if self.questions is None else self.questions
        return self.score is not None and asked < FEW_QUESTIONS


class RowBounds(NamedTuple):
    """Silence and ceiling of a row, over all checkpoints together, in points of 6."""

    floor: float
    ceiling: float | None


class RateRow(NamedTuple):
    """Answers of one kind, in percent."""

    name: str
    cells: tuple[PictureCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """Everything that a picture shows."""

    title: str
    headline: str | None = None
    """The score between silence and ceiling, and what is invented and leaked."""
    subtitle: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    """Checkpoint labels, by days."""
    cells: tuple[tuple[PictureCell, ...], ...]
    """One row for each category, one cell for each column."""
    overall: tuple[PictureCell, ...]
    rates: tuple[RateRow, ...]
    """What is invented and leaked, or both together where a file does not tell them apart."""
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    planned_checkpoints: int
    """Planned checkpoints, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
    intervals: str | None = None
    """How intervals were computed; None if there are none."""
    bounds: Mapping[str, RowBounds] = field(default_factory=dict)
    """By category; empty where they were not computed."""
    overall_bounds: RowBounds | None = None
    same: tuple[PictureCell, ...] = ()
    """The same questions at several checkpoints; empty where that is not known."""

    @property
    def all_cells(self) -> tuple[PictureCell, ...]:
        """Every cell of every row."""
        rows = (*self.cells, self.overall, self.same, *(rate.cells for rate in self.rates))
        return tuple(cell for row in rows for cell in row)


DIGEST_DIGITS = 12
"""Digits of a digest that are shown."""

_MAX_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapCaption:
    """The facts above a picture; None where unknown."""

    system: str
    personas: tuple[str, ...]
    judge: str | None
    appellate: str | None
    at: datetime
    dataset: str | None
    plan: str | None
    questions: int | None
    trials: int
    sample: int | None
    judge_memory_window: int
    groups_enabled: bool
    knows_asker: bool = True
    is_dry_run: bool = False

    @property
    def title(self) -> str:
        """The headline."""
        return f"{self.system}: recall by category and checkpoint"

    @property
    def subtitle(self) -> tuple[str, ...]:
        """Two lines of small print."""
        return " · ".join(self._describe_setup()), " · ".join(self._describe_dataset())

    def _describe_setup(self) -> Iterable[str]:
        names = ", ".join(self.personas[:_MAX_NAMES])
        rest = len(self.personas) - _MAX_NAMES
        yield (
            f"Persona {names}"
            if len(self.personas) == 1
            else (
                f"{len(self.personas)} personas"
                + (f": {names}" if names else "")
                + (f" and {rest} more" if rest > 0 else "")
            )
        )
        yield f"judge {self.judge or 'not stated'}"
        if self.judge_memory_window:
            yield f"shown ±{self.judge_memory_window} days"
        if self.appellate is not None:
            yield f"appellate {self.appellate}"
        yield f"{self.at:%Y-%m-%d}"

    def _describe_dataset(self) -> Iterable[str]:
        yield f"Dataset {self.dataset[:DIGEST_DIGITS] if self.dataset else 'digest not stated'}"
        if self.plan is not None:
            yield f"plan {self.plan[:DIGEST_DIGITS]}"
        if self.questions is not None:
            yield f"{self.questions:,} questions in the dataset"
        yield f"{self.trials:,} trials counted"
        if self.sample is not None:
            yield f"at most {self.sample} older questions per checkpoint"
        groups = f"group questions {'on' if self.groups_enabled else 'off'}"
        if self.groups_enabled and not self.knows_asker:
            groups += ", boundaries not applicable: the system cannot know who asks"
        yield groups
        if self.is_dry_run:
            yield "dry run: first checkpoint only"


def build_run_heatmap(folder: RunFolder, summary: Summary | None = None) -> HeatmapData:
    """The heatmap of a run as far as it is done, over all personas."""
    return build_heatmap(
        folder, summary or summarise(folder), RunEstimates.get(folder).build_heatmap()
    )


def build_heatmap(folder: RunFolder, summary: Summary, heatmap: Heatmap) -> HeatmapData:
    """A heatmap of one persona, or of all together."""
    invalid = summary.validity.status is RunStatus.INVALID
    parts = [each for each in summary.personas if heatmap.persona in (None, each.id)]
    caption = _build_caption(folder, parts, heatmap.persona)
    return HeatmapData(
        title=caption.title,
        headline=_describe_run(folder, heatmap) if summary.has_score else None,
        subtitle=caption.subtitle,
        categories=tuple(row.category for row in heatmap.rows),
        columns=tuple(checkpoint.label for checkpoint in heatmap.columns),
        cells=tuple(_convert_cells(row.cells, scale=OF_100) for row in heatmap.rows),
        overall=_convert_cells(heatmap.overall, scale=OF_100),
        rates=(
            RateRow(INVENTED, _convert_cells(heatmap.invented, scale=100)),
            RateRow(LEAKED, _convert_cells(heatmap.leaked, scale=100)),
        ),
        done=sum(part.is_done for each in parts for part in each.checkpoints),
        planned_checkpoints=summary.planned_checkpoints
        if heatmap.persona is None
        else len(parts[0].checkpoints),
        is_stub=summary.is_stub,
        invalid=summary.validity.reason if invalid else None,
        intervals=describe_resampling({c.mean.method for c in heatmap.overall if c.mean}, SEED),
        bounds={
            row.category: RowBounds(found.floor, found.ceiling)
            for row in heatmap.rows
            if (found := row.total.bounds) is not None
        },
        overall_bounds=None
        if (whole := heatmap.total.bounds) is None
        else RowBounds(whole.floor, whole.ceiling),
        same=_convert_cells(heatmap.same, scale=OF_100),
    )


def _describe_run(folder: RunFolder, heatmap: Heatmap) -> str | None:
    means, persona = RunEstimates.get(folder), heatmap.persona
    if heatmap.total.mean is None:
        return None
    rates = means.estimate_invented(persona), means.estimate_leaked(persona)
    return describe_headline(heatmap.total.mean, heatmap.total.bounds, *rates)


def _build_caption(
    folder: RunFolder, parts: Sequence[PersonaSummary], persona: str | None
) -> HeatmapCaption:
    plan = folder.plan
    planned = tuple(card.id for card in plan.scenarios)
    return HeatmapCaption(
        system=format_card(plan.system),
        personas=planned if persona is None else (persona,),
        judge=format_card(plan.judge, plan.judge.model),
        appellate=None
        if plan.appellate is None
        else format_card(plan.appellate, plan.appellate.model),
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


def _convert_cells(cells: Iterable[HeatmapCell], *, scale: float) -> tuple[PictureCell, ...]:
    return tuple(_convert_cell(cell, scale) for cell in cells)


def _convert_cell(cell: HeatmapCell, scale: float) -> PictureCell:
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
    """How intervals were computed, in a few words; None if there are none."""
    if set(methods) <= {IntervalMethod.NONE}:
        return None
    drawn = "personas" if IntervalMethod.PERSONAS in methods else "questions"
    return f"95 % bootstrap interval over {drawn} (seed {seed})"
