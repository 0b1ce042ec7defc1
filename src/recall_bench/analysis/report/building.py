"""A report from a run folder: every section over the same table of trials."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from recall_bench.analysis.attribution.attribute import attribute
from recall_bench.analysis.canaries.views import CanaryWatch
from recall_bench.analysis.canaries.watching import watch
from recall_bench.analysis.costs.costing import costs
from recall_bench.analysis.costs.pareto import Run, paretos
from recall_bench.analysis.costs.views import Costs, Pareto
from recall_bench.analysis.degradation.degrading import degradation
from recall_bench.analysis.grounds import answers_of, without_marks
from recall_bench.analysis.hallucination.viewing import hallucination_views
from recall_bench.analysis.likeness import unlike
from recall_bench.analysis.report.views import Header, Report
from recall_bench.analysis.trials import Table, read_trials
from recall_bench.core.diagnosis import Health
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import SEED, Estimates, heatmaps, overall_estimate
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import STUB, Status, Summary, summarise
from recall_bench.reporting.text import run_facts

_WEIGHED: Final = ("ingest", "passages looked at", "reader")
"""Ways of running a system that may be weighed against each other, as systems may."""
_NAMED = 3


def build_report(
    folder: RunFolder,
    table: Table,
    *,
    beside: Sequence[RunFolder] = (),
    canaries: Path | None = None,
) -> Report:
    """Everything there is to say about the run whose table this is.

    `beside` are runs to weigh its score and costs against; `canaries` is the file to watch. A run
    without marks, and one beside it that cannot be weighed against it, is refused with UsageError.
    """
    _refuse_unmarked(folder, table)
    summary = summarise(folder)
    _refuse_beside(folder, summary, beside)
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
        canaries=_canaries(table, canaries),
        seed=SEED,
    )


def _refuse_unmarked(folder: RunFolder, table: Table) -> None:
    if why := without_marks(table):
        is_measured = folder.plan.dataset is not None
        do = "its own result files say how it went" if is_measured else "finish the run first"
        raise UsageError(f"{folder.path}: {why}; {do}")


def _refuse_beside(folder: RunFolder, summary: Summary, beside: Sequence[RunFolder]) -> None:
    """UsageError unless all runs hold, are of different answers, and may be weighed together."""
    if not beside:
        return
    _refuse_unsound(folder, summary)
    seen = {answers_of(folder): folder}
    for other in beside:
        if (same := seen.get(answers_of(other))) is not None:
            raise UsageError(
                f"--beside {other.path}: holds the same answers as {same.path}; name another run"
            )
        seen[answers_of(other)] = other
        _refuse_unsound(other, summarise(other))
        found = [each for each in unlike(folder.plan, other.plan) if each.what not in _WEIGHED]
        if found:
            differs = " and ".join(str(each) for each in found[:_NAMED])
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            raise UsageError(
                f"--beside {other.path}: differs from {folder.path} in {differs}{more}; run both "
                "alike to weigh them"
            )


def _refuse_unsound(folder: RunFolder, summary: Summary) -> None:
    validity = summary.validity
    if summary.is_stub:
        why = "the stub judge graded nothing; judge it first"
    elif validity.status is not Status.VALID:
        why = f"the run is {validity.status.value} ({validity.reason}); finish or repair it"
    else:
        return
    raise UsageError(f"{folder.path}: {why}, or report without --beside")


def _canaries(table: Table, file: Path | None) -> CanaryWatch:
    if table.plan.judge.name != STUB:
        return watch(table, file)
    return CanaryWatch(
        file=None if file is None else str(file),
        rule="no canaries are looked for: the stub judge graded nothing",
        watched=(),
    )


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
