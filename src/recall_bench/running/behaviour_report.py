"""The report of a behaviour suite: built from a run folder, and written beside its journal."""

from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.reporting.behaviour.figures import BehaviourReport, SuiteResults, count_failures
from recall_bench.running.behaviour_assembly import find_suite
from recall_bench.runs.run_folder import RunFolder

REPORT = "suite.json"
"""The figures, beside the journal."""


def is_behaviour_run(folder: RunFolder) -> bool:
    """Whether the folder holds a run of a behaviour suite."""
    return folder.plan.behaviour is not None


def build_behaviour_report(folder: RunFolder) -> BehaviourReport:
    """Compute every figure of a run from its journal."""
    plan = folder.plan
    if plan.behaviour is None:
        raise UsageError(
            f"{folder.path} is not a run of a behaviour suite; see `recall-bench suite`"
        )
    suite = find_suite(plan.behaviour.suite)
    return BehaviourReport(
        suite=suite.name,
        version=plan.behaviour.version,
        system=plan.system,
        seed=plan.seed,
        stories=len(plan.scenarios),
        trials=sum(states.owed_count for states in folder.states.scenarios.values()),
        not_answered=count_failures(folder),
        plan_digest=plan.digest,
        is_finished=folder.is_finished,
        figures=suite.build_figures(SuiteResults(folder)),
        not_offered=plan.behaviour.not_offered,
    )


def write_behaviour_report(report: BehaviourReport, folder: Path) -> Path:
    """Write the figures as JSON."""
    path = folder / REPORT
    written = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(path, written + b"\n")
    return path
