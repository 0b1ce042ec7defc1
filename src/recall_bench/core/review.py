"""Which verdicts an appellate judge has still to look at."""

from hashlib import sha256
from heapq import nsmallest

from recall_bench.core.plan import Plan, Review, Trial
from recall_bench.core.standing import ScenarioStanding, State

_Place = tuple[int, int, int]
"""Checkpoint row, repeat and item number of a trial."""


def reviews_due(scenario: str, standing: ScenarioStanding, plan: Plan) -> frozenset[int]:
    """The places in the grid of the trials whose verdict is still to be reviewed.

    Failures are due at once. Passes are drawn once every trial of the scenario has its outcome,
    as many as there were failures, by a lot that depends on the seed and the trial alone: whoever
    asks, whenever and in whatever order the verdicts came, draws the same ones.
    """
    failures: list[_Place] = []
    passes: list[_Place] = []
    for row in range(len(standing.sheets)):
        for repeat, item in standing.owed(row):
            failed = standing.failed_at_first(standing.slot(row, repeat, item))
            if failed is not None:
                (failures if failed else passes).append((row, repeat, item))
    drawn: list[_Place] = []
    if plan.review is Review.BALANCED and _is_complete(standing):
        drawn = nsmallest(
            len(failures), passes, key=lambda place: _lot(scenario, standing, plan.seed, place)
        )
    due = (standing.slot(*place) for place in failures + drawn)
    return frozenset(slot for slot in due if slot not in standing.reviewed)


def _is_complete(standing: ScenarioStanding) -> bool:
    return not standing.count(State.OPEN, State.ANSWERED, State.NOT_JUDGED)


def _lot(scenario: str, standing: ScenarioStanding, seed: int, place: _Place) -> bytes:
    row, repeat, item = place
    trial = Trial(
        scenario=scenario,
        item=standing.items[item].id,
        checkpoint=standing.sheets[row].checkpoint.label,
        repeat=repeat,
    )
    return sha256(f"{seed}\0{trial}".encode()).digest()
