"""The report of a behaviour suite: every figure of a run, computed from its journal."""

from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.feature import find_offer, list_offers
from recall_bench.core.plan import BehaviourCard
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.suites.figures import (
    BehaviourReport,
    Figure,
    SuiteResults,
    count_failures,
)

REPORT = "suite.json"
"""The figures, beside the journal."""


def get_behaviour(folder: RunFolder) -> BehaviourCard:
    """The suite of a run; UsageError if it is a run of none, or of one that is not known."""
    card = folder.plan.behaviour
    if card is None:
        raise UsageError(
            f"{folder.path} is not a run of a behaviour suite; see `recall-bench suite`"
        )
    if card.suite not in list_offers("figures"):
        raise UsageError(
            f"{folder.path}: this version has no suite {card.suite!r}; use the version that ran it"
        )
    return card


def build_figures(folder: RunFolder) -> tuple[Figure, ...]:
    """Compute every figure of a run from its journal, with its cases."""
    build = find_offer("figures", get_behaviour(folder).suite)
    figures: tuple[Figure, ...] = build(SuiteResults(folder))
    return figures


def build_behaviour_report(folder: RunFolder) -> BehaviourReport:
    """Compute the report of a run from its journal."""
    plan, card = folder.plan, get_behaviour(folder)
    return BehaviourReport(
        suite=card.suite,
        version=card.version,
        system=plan.system,
        seed=plan.seed,
        stories=len(plan.scenarios),
        trials=sum(states.owed_count for states in folder.states.scenarios.values()),
        not_answered=count_failures(folder),
        plan_digest=plan.digest,
        is_finished=folder.is_finished,
        figures=tuple(figure.replace(cases=()) for figure in build_figures(folder)),
        not_offered=card.not_offered,
    )


def write_behaviour_report(report: BehaviourReport, folder: Path) -> Path:
    """Write the figures as JSON."""
    path = folder / REPORT
    written = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(path, written + b"\n")
    return path
