"""The data of a heatmap picture, from a run folder or from files of the public format."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recall_bench.core.memory import Asker
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.estimate import FEW_QUESTIONS, IntervalMethod
from recall_bench.reporting.formats import format_card
from recall_bench.runs.estimates import Heatmap, RunEstimates
from recall_bench.runs.estimates import HeatmapCell as Measured
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import PersonaSummary, RunStatus, Summary, summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCell:
    """One measurement."""

    score: float | None
    """Mean points of six, or percent of judged answers; None if nothing was measured."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """Everything that a picture shows."""

    title: str
    subtitle: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    """Checkpoint labels, by days."""
    cells: tuple[tuple[PictureCell, ...], ...]
    """One row for each category, one cell for each column."""
    overall: tuple[PictureCell, ...]
    hallucination: tuple[PictureCell, ...]
    """In percent of judged answers."""
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    visits: int
    """Checkpoints there are to visit, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
    intervals: str | None = None
    """How intervals were computed; None if there are none."""

    @property
    def all_cells(self) -> tuple[PictureCell, ...]:
        """Every cell of every row."""
        rows = (*self.cells, self.overall, self.hallucination)
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
        return _join_facts(self._describe_setup()), _join_facts(self._describe_dataset())

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
            yield f"at most {self.sample} older questions a checkpoint"
        groups = f"group questions {'on' if self.groups_enabled else 'off'}"
        if self.groups_enabled and not self.knows_asker:
            groups += ", boundaries not applicable: the system cannot know who asks"
        yield groups
        if self.is_dry_run:
            yield "dry run: first checkpoint only"


def _join_facts(facts: Iterable[str]) -> str:
    return " · ".join(facts)


def build_run_heatmap(folder: RunFolder, summary: Summary | None = None) -> HeatmapData:
    """The heatmap of a run as far as it is done, over all personas."""
    counted = summarise(folder) if summary is None else summary
    return build_heatmap(folder, counted, RunEstimates.get(folder).build_heatmap())


def build_heatmap(folder: RunFolder, counted: Summary, measured: Heatmap) -> HeatmapData:
    """A heatmap of one persona, or of all together."""
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
    """How intervals were computed, in a few words; None if there are none."""
    if set(methods) <= {IntervalMethod.NONE}:
        return None
    drawn = "personas" if IntervalMethod.PERSONAS in methods else "questions"
    return f"95 % bootstrap interval over {drawn} (seed {seed})"
