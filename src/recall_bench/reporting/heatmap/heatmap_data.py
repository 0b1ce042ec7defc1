"""The data of a heatmap picture, and how it comes from a run folder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recall_bench.core.memory import Asker
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.heatmap_rows import RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import (
    PersonaSummary,
    RunStatus,
    Summary,
    summarise,
)
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.estimate import IntervalMethod
from recall_bench.reporting.formats import format_card
from recall_bench.reporting.headlines import describe_headline, describe_unmeasured


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """Everything that a picture shows."""

    title: str
    headline: str | None = None
    """The score between silence and ceiling, and what is invented and leaked."""
    subtitle: tuple[str, ...]
    table: RowTable
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    planned_checkpoints: int
    """Planned checkpoints, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
    intervals: str | None = None
    """How intervals were computed; None if there are none."""
    others: tuple[tuple[str, RowTable], ...] = ()
    """Further tables, each with its title."""
    column_name: str = "checkpoint"
    names_all_columns: bool = False
    """Whether every column is named, over several lines; else as many as have room."""
    counts_trials: bool = False
    """Whether the file has no numbers of questions: those of the cells are numbers of trials."""


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


def build_heatmap(folder: RunFolder, summary: Summary, table: RowTable) -> HeatmapData:
    """A heatmap of one persona, or of all together."""
    invalid = summary.validity.status is RunStatus.INVALID
    parts = [persona for persona in summary.personas if table.persona in (None, persona.id)]
    caption = _build_caption(folder, parts, table.persona)
    return HeatmapData(
        title=caption.title,
        headline=_describe_run(folder, table, summary) if summary.has_score else None,
        subtitle=caption.subtitle,
        table=table,
        done=sum(part.is_done for summary_part in parts for part in summary_part.checkpoints),
        planned_checkpoints=summary.planned_checkpoints
        if table.persona is None
        else len(parts[0].checkpoints),
        is_stub=summary.is_stub,
        invalid=summary.validity.reason if invalid else None,
        intervals=describe_resampling(table, SEED),
    )


def _describe_run(folder: RunFolder, table: RowTable, summary: Summary) -> str | None:
    means, total = RunEstimates.get(folder), table.total
    if total.total is None:
        return None
    rates = means.estimate_invented(table.persona), means.estimate_leaked(table.persona)
    headline = describe_headline(total.total, total.bounds, *rates)
    # A persona lacks categories that others have: its rows show that.
    missing = describe_unmeasured(summary.unmeasured) if table.persona is None else ""
    return " · ".join(filter(None, (headline, missing)))


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
        questions=sum(part.questions for part in parts),
        trials=sum(part.overall.counted for part in parts),
        sample=plan.sample,
        judge_memory_window=plan.judge_memory_window,
        groups_enabled=plan.groups_enabled,
        knows_asker=plan.system.asker is not Asker.UNTOLD,
        is_dry_run=plan.dry_run,
    )


def describe_resampling(table: RowTable, seed: int) -> str | None:
    """How intervals were computed, in a few words; None if there are none."""
    methods = {cell.method for cell in table.total.cells if cell is not None}
    if methods <= {IntervalMethod.NONE}:
        return None
    unit = "personas" if IntervalMethod.PERSONAS in methods else "questions"
    return f"95 % bootstrap interval over {unit} (seed {seed})"
