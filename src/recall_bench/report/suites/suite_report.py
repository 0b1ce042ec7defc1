"""The report of a behaviour suite: every figure of a run, computed from its journal."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.plan import BehaviourCard
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.suites.report.erasure_report import build_erasure_figures
from recall_bench.features.suites.report.freshness_report import build_freshness_figures
from recall_bench.features.suites.report.load_report import build_load_figures
from recall_bench.features.suites.report.poisoning_report import build_poisoning_figures
from recall_bench.features.suites.report.procedures_report import build_procedure_figures
from recall_bench.features.suites.report.tenants_report import build_tenant_figures
from recall_bench.report.suites.figures import (
    BehaviourReport,
    Figure,
    SuiteResults,
    count_failures,
)

REPORT = "suite.json"
"""The figures, beside the journal."""

FIGURE_BUILDERS: Mapping[str, Callable[[SuiteResults], tuple[Figure, ...]]] = {
    "erasure": build_erasure_figures,
    "poisoning": build_poisoning_figures,
    "tenants": build_tenant_figures,
    "freshness": build_freshness_figures,
    "load": build_load_figures,
    "procedures": build_procedure_figures,
}
"""By suite, what computes its figures."""


def get_behaviour(folder: RunFolder) -> BehaviourCard:
    """The suite of a run; UsageError if it is a run of none, or of one that is not known."""
    found = folder.plan.behaviour
    if found is None:
        raise UsageError(
            f"{folder.path} is not a run of a behaviour suite; see `recall-bench suite`"
        )
    if found.suite not in FIGURE_BUILDERS:
        raise UsageError(
            f"{folder.path}: this version has no suite {found.suite!r}; use the version that ran it"
        )
    return found


def build_figures(folder: RunFolder) -> tuple[Figure, ...]:
    """Compute every figure of a run from its journal, with its cases."""
    return FIGURE_BUILDERS[get_behaviour(folder).suite](SuiteResults(folder))


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
        figures=tuple(each.replace(cases=()) for each in build_figures(folder)),
        not_offered=card.not_offered,
    )


def write_behaviour_report(report: BehaviourReport, folder: Path) -> Path:
    """Write the figures as JSON."""
    path = folder / REPORT
    written = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(path, written + b"\n")
    return path
