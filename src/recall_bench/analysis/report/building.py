"""A report from a run folder: every section over the same table of trials."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_bench.analysis.attribution.attribute import attribute
from recall_bench.analysis.canaries.watching import watch
from recall_bench.analysis.costs.costing import costs
from recall_bench.analysis.costs.pareto import Run, paretos
from recall_bench.analysis.costs.views import Costs, Pareto
from recall_bench.analysis.degradation.degrading import degradation
from recall_bench.analysis.hallucination.viewing import hallucination_views
from recall_bench.analysis.report.views import Header, Report
from recall_bench.analysis.trials import Table, read_trials
from recall_bench.core.diagnosis import Health
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import SEED, Estimates, heatmaps, overall_estimate
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import Summary, summarise
from recall_bench.reporting.text import run_facts


def build_report(
    folder: RunFolder,
    table: Table,
    *,
    beside: Sequence[RunFolder] = (),
    canaries: Path | None = None,
) -> Report:
    """Everything there is to say about the run whose table this is.

    `beside` are runs to weigh its score and costs against; `canaries` is the file to watch. A run
    without marks is refused with UsageError.
    """
    _refuse_unmarked(folder, table)
    summary = summarise(folder)
    taken = costs(folder, table)
    return Report(
        header=_header(folder, summary),
        categories=summary.askable,
        heatmaps=heatmaps(folder),
        hallucination=hallucination_views(table),
        degradation=degradation(table, seed=SEED),
        attribution=attribute(table),
        costs=taken,
        paretos=_paretos(folder, [*_weighed_beside(beside)], taken),
        canaries=watch(table, canaries),
        seed=SEED,
    )


def _refuse_unmarked(folder: RunFolder, table: Table) -> None:
    card = folder.plan.dataset
    if card is not None:
        raise UsageError(
            f"{folder.path}: it was measured by {card.protocol}, which gives no marks of "
            f"{FULL_MARKS}; its own result files say how it went"
        )
    if not table.points:
        raise UsageError(f"{folder.path}: none of its answers has marks yet; finish the run first")


def _header(folder: RunFolder, summary: Summary) -> Header:
    plan, validity, means = folder.plan, summary.validity, Estimates(folder)
    return Header(
        system=f"{plan.system.name} {plan.system.version}",
        judge=f"{plan.judge.name} {plan.judge.version}",
        status=validity.status,
        reason=validity.reason or "",
        is_stub=summary.is_stub,
        overall=means.overall(),
        hallucination=means.hallucination(),
        facts=tuple(run_facts(folder, summary, means)),
        notices=tuple(_notices(folder)),
    )


def _notices(folder: RunFolder) -> Iterator[str]:
    card = folder.plan.imported
    if card is not None:
        yield f"imported from {card}: what its files do not tell is not known here"
        yield from (repair.said for repair in card.repairs)
    diagnosis = folder.diagnosis
    if diagnosis is not None and diagnosis.health is not Health.VALID:
        checks = ", ".join(dict.fromkeys(each.check for each in diagnosis.complaints))
        yield f"recall-bench doctor called this system {diagnosis.health.value}: {checks}"


def _paretos(folder: RunFolder, beside: Sequence[Run], taken: Costs) -> tuple[Pareto, ...]:
    if not beside:
        return ()
    return paretos([*_weighed(folder, taken), *beside])


def _weighed_beside(folders: Sequence[RunFolder]) -> Iterator[Run]:
    for folder in folders:
        table = read_trials(folder)
        _refuse_unmarked(folder, table)
        yield from _weighed(folder, costs(folder, table))


def _weighed(folder: RunFolder, taken: Costs) -> Iterator[Run]:
    score = overall_estimate(folder)
    if score is not None:
        card = folder.plan.system
        yield f"{card.name} {card.version}", folder.path, score, taken
