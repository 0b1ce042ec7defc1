"""Which verdicts an appellate judge has still to look at."""

from hashlib import sha256
from heapq import nsmallest

from recall_bench.core.plan import Plan, ReviewMode, Trial
from recall_bench.core.standing import ScenarioStates, TrialState

_TrialPlace = tuple[int, int, int]
"""Checkpoint row, repeat and item number of a trial."""


def find_due_reviews(scenario: str, standing: ScenarioStates, plan: Plan) -> frozenset[int]:
    """The places in the grid of the trials whose verdict is still to be reviewed.

    Failures are due at once. Passes are drawn once every trial of the scenario has its outcome,
    as many as there were failures, by a lot that depends on the seed and the trial alone: whoever
    asks, whenever and in whatever order the verdicts came, draws the same ones.
    """
    failures: list[_TrialPlace] = []
    passes: list[_TrialPlace] = []
    for row in range(len(standing.checkpoint_plans)):
        for repeat, item in standing.list_owed_trials(row):
            failed = standing.is_first_verdict_failure(standing.compute_slot(row, repeat, item))
            if failed is not None:
                (failures if failed else passes).append((row, repeat, item))
    drawn: list[_TrialPlace] = []
    if plan.review is ReviewMode.BALANCED and _is_scenario_complete(standing):
        drawn = nsmallest(
            len(failures), passes, key=lambda place: _draw_lot(scenario, standing, plan.seed, place)
        )
    due = (standing.compute_slot(*place) for place in failures + drawn)
    return frozenset(slot for slot in due if slot not in standing.reviews)


def _is_scenario_complete(standing: ScenarioStates) -> bool:
    return not standing.count_states(TrialState.OPEN, TrialState.ANSWERED, TrialState.NOT_JUDGED)


def _draw_lot(scenario: str, standing: ScenarioStates, seed: int, place: _TrialPlace) -> bytes:
    row, repeat, item = place
    trial = Trial(
        scenario=scenario,
        item=standing.items[item].id,
        checkpoint=standing.checkpoint_plans[row].checkpoint.label,
        repeat=repeat,
    )
    return sha256(f"{seed}\0{trial}".encode()).digest()
