"""The report of a behaviour suite: every figure of a run, computed from its journal."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.reporting.behaviour.erasure_report import build_erasure_figures
from recall_bench.reporting.behaviour.figures import (
    BehaviourReport,
    Figure,
    SuiteResults,
    count_failures,
)
from recall_bench.reporting.behaviour.freshness_report import build_freshness_figures
from recall_bench.reporting.behaviour.load_report import build_load_figures
from recall_bench.reporting.behaviour.poisoning_report import build_poisoning_figures
from recall_bench.reporting.behaviour.tenants_report import build_tenant_figures
from recall_bench.runs.run_folder import RunFolder

REPORT = "suite.json"
"""The figures, beside the journal."""

FIGURE_BUILDERS: Mapping[str, Callable[[SuiteResults], tuple[Figure, ...]]] = {
    "erasure": build_erasure_figures,
    "poisoning": build_poisoning_figures,
    "tenants": build_tenant_figures,
    "freshness": build_freshness_figures,
    "load": build_load_figures,
}
"""By suite, what computes its figures."""


def build_behaviour_report(folder: RunFolder) -> BehaviourReport:
    """Compute every figure of a run from its journal."""
    plan = folder.plan
    if plan.behaviour is None:
        raise UsageError(
            f"{folder.path} is not a run of a behaviour suite; see `recall-bench suite`"
        )
    if plan.behaviour.suite not in FIGURE_BUILDERS:
        raise UsageError(
            f"{folder.path}: this version knows no suite {plan.behaviour.suite!r}; "
            "use the version that ran it"
        )
    return BehaviourReport(
        suite=plan.behaviour.suite,
        version=plan.behaviour.version,
        system=plan.system,
        seed=plan.seed,
        stories=len(plan.scenarios),
        trials=sum(states.owed_count for states in folder.states.scenarios.values()),
        not_answered=count_failures(folder),
        plan_digest=plan.digest,
        is_finished=folder.is_finished,
        figures=FIGURE_BUILDERS[plan.behaviour.suite](SuiteResults(folder)),
        not_offered=plan.behaviour.not_offered,
    )


def write_behaviour_report(report: BehaviourReport, folder: Path) -> Path:
    """Write the figures as JSON."""
    path = folder / REPORT
    written = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(path, written + b"\n")
    return path
