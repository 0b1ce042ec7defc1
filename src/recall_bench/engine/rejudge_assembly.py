"""Assemble a job that judges the recorded answers of a run again."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.core.event_redaction import redact_plan
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import DatasetCard, Plan
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.engine.components import Components
from recall_bench.engine.human_verdicts import read_people
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import (
    choose_run_folder,
    refuse_clashes,
    refuse_unwritable,
)
from recall_bench.engine.runs.recorded_answers import RecordedRun
from recall_bench.engine.score_bounds import plan_bounds
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import resolve_judges
from recall_bench.stories.catalogue import list_datasets
from recall_bench.stories.drawn import BuildProgress
from recall_bench.stories.story_folders import FoundStory, find_stories

JUDGING = frozenset(
    {
        "appellate_base_url",
        "appellate_judge",
        "data",
        "executor",
        "heatmap_png",
        "into",
        "judge",
        "judge_base_url",
        "judge_budget_tokens",
        "judge_cache",
        "judge_memory_window",
        "judge_shows",
        "judge_timeout_ms",
        "judges",
        "max_calls",
        "max_cost_usd",
        "max_tokens",
        "parallelism",
        "ray_address",
        "review",
        "worker_cpus",
        "worker_env",
        "workers",
    }
)
"""The settings that say how recorded answers are judged, and where the result goes."""


@dataclass(frozen=True, slots=True)
class AbsentSystem:
    """The system that gave the answers: known by its card, and not asked again."""

    card: SystemCard
    snapshots: None = None

    async def open(self, scenario: str) -> NoReturn:
        """Raise SystemGone: the system is not asked."""
        raise SystemGone(f"{self.card.name} is not asked about {scenario} when a run is rejudged")

    async def close(self) -> None:
        """Nothing is held."""


def assemble_rejudge(
    run: Path,
    given: Mapping[str, Any],
    building: BuildProgress | None = None,
    *,
    labels: Path | None = None,
    stories: Mapping[str, FoundStory] | None = None,
) -> Job:
    """A job that grades the answers recorded in `run`, its journal begun with them.

    `given` holds settings of judging by name. Window, review and timeout are as the run had
    them unless they are given. Labels of people in the file or run folder `labels` win over the
    judge. `stories` are those of the run, if they were found before. Everything is checked before a
    byte is written.
    """
    if others := sorted(given.keys() - JUDGING):
        raise UsageError(
            f"{others[0].replace('_', '-')}: was decided when the questions were asked, and cannot "
            "change when the answers are judged again; leave it out"
        )
    recorded = RecordedRun.open(run)
    before = recorded.folder.plan
    if before.imported is not None:
        raise UsageError(
            f"{run} is an imported run: its files do not contain the days, which the judge needs. "
            "Only runs made by recall-bench can be rejudged"
        )
    if before.dataset is not None:
        raise _explain_dataset(run, before.dataset)
    settings = apply_overrides(Settings(), {**_copy_settings(before), **given})
    found_stories = stories or find_stories(before, settings.data, building)
    judges = resolve_judges(settings)
    people = None if labels is None else read_people(recorded.folder, labels)
    changed = before.replace(
        judge=judges.judge.card,
        other_judges=tuple(judge.card for judge in judges.others),
        appellate=judges.appellate.card if judges.appellate is not None else None,
        review=settings.review,
        judge_memory_window=settings.judge_memory_window,
        judge_timeout_s=settings.judge_timeout_s,
        answers_from=before.answers_from or before.digest,
        labels=None if people is None else people.card,
    )
    plan = redact_plan(changed)
    refuse_clashes(settings)
    job = Job(
        settings=settings,
        plan=plan,
        folder=_choose_folder(settings, plan, run),
        components=_make_components(plan.system, judges, found_stories, settings),
        factory=partial(_rebuild_components, before, settings),
        questions={scenario: declared for scenario, (_, declared) in found_stories.items()},
        warnings=[*_collect_notes(recorded), *(() if people is None else people.list_notes())],
        asks=False,
        bounds=plan_bounds(plan, judges.judge, None),
    )
    job.check_folder()
    refuse_unwritable(settings)
    recorded.copy_answers(plan, job.folder, None if people is None else people.verdicts)
    return job


def _make_components(
    system: SystemCard, judges: Judges, found: Mapping[str, FoundStory], settings: Settings
) -> Components:
    return Components(
        system=AbsentSystem(system),
        judges=judges,
        load=lambda scenario: found[scenario][0].load(settings),
    )


def _rebuild_components(before: Plan, settings: Settings) -> Components:
    """Build the judges, in any process."""
    judges = resolve_judges(settings)
    return _make_components(
        before.system, judges, find_stories(before, settings.data, None), settings
    )


def _copy_settings(plan: Plan) -> dict[str, Any]:
    return {
        "judge_memory_window": plan.judge_memory_window,
        "judge_timeout_ms": round(plan.judge_timeout_s * 1000),
        "review": plan.review,
        "calendar": plan.calendar,
        "ingest": plan.ingest,
        # The digests say whether these are the days the run was about, gaps and all.
        "allow_gaps": True,
    }


def _explain_dataset(run: Path, dataset: DatasetCard) -> UsageError:
    if dataset.name in (listed.name for listed in list_datasets()):
        return UsageError(
            f"{run} is about the public dataset {dataset.name}; judge its answers again "
            f"with eval --dataset {dataset.name} --answers-from {run}"
        )
    return UsageError(
        f"{run} is counted by {dataset.protocol}, which needs no judge, so there is nothing to "
        "judge again; name a run about personas"
    )


def _choose_folder(settings: Settings, plan: Plan, run: Path) -> Path:
    folder = choose_run_folder(settings, plan)
    if folder.resolve() == run.resolve():
        raise UsageError(
            f"--into: {folder} holds the run that is judged again, and stays as it is; "
            "name another folder"
        )
    return folder


def _collect_notes(recorded: RecordedRun) -> list[str]:
    if not (unasked := recorded.unasked):
        return []
    note = (
        f"{recorded.folder.path} is unfinished, {unasked} questions were never asked; "
        "what it answered is judged, and the rest stays open"
    )
    return [note]
