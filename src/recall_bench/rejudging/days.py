"""The days a run was about, in the words that evidence points into."""

from pathlib import Path

from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.datasets.persona import read_story_days
from recall_bench.errors import DataError, UsageError
from recall_bench.rejudging.datasets import list_candidates
from recall_bench.shipped import BuildProgress


def load_day_texts(
    plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[str, dict[int, str]]:
    """The text of each day of each persona, below `data` or among the shipped personas.

    UsageError if one is nowhere, DataError if its days are not those the run was about.
    """
    return {card.id: _load_texts(card, plan, data, building) for card in plan.scenarios}


def _load_texts(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[int, str]:
    if plan.imported is not None:
        raise UsageError(f"{card.id}: the run was imported, and no file of it tells its days")
    for story in list_candidates(card, data, building):
        found = read_story_days(
            story.folder, arcs=story.arcs, calendar=plan.calendar, ingest=plan.ingest
        )
        if found.history_digest == card.history_digest:
            return dict(found.texts)
    where = "the package" if data is None else str(data)
    raise DataError(
        f"{card.id}: its days in {where} are not those of the run; name their folder with --data"
    )
