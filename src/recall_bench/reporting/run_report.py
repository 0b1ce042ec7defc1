"""The report of a run as numbers, from which page, pictures, text and JSON are rendered."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.engine.runs.estimates import RunEstimates, build_heatmaps
from recall_bench.engine.runs.heatmap_rows import RowTable
from recall_bench.engine.runs.judge_sensitivity import JudgeSensitivity
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import STUB, RunStatus, Summary, summarise
from recall_bench.engine.runs.trials import ScoreScale, TrialTable, identify_answers
from recall_bench.metrics.bootstrap import SEED
from recall_bench.metrics.comparison import compare_each
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA
from recall_bench.reporting.analyses.attribution import Attribution, count_causes
from recall_bench.reporting.analyses.canaries import CanaryWatch, watch_file
from recall_bench.reporting.analyses.costs import (
    Pareto,
    RunCosts,
    build_paretos,
    measure_costs,
)
from recall_bench.reporting.analyses.degradation import Degradation, measure_degradation
from recall_bench.reporting.analyses.hallucination import HallucinationViews, analyse_hallucination
from recall_bench.reporting.analyses.tool_loop import ToolLoopReport, analyse_tool_loop
from recall_bench.reporting.formats import format_card
from recall_bench.reporting.groups import PERSONA, describe_judge, name_histories
from recall_bench.reporting.headlines import describe_labels, describe_unmeasured
from recall_bench.reporting.judge_text import CorrectedHeadline, correct_headline
from recall_bench.reporting.run_pairs import find_differences, list_differences, pair_points
from recall_bench.reporting.run_text import list_run_facts
from recall_bench.reporting.trial_scores import (
    ProtocolFigure,
    explain_missing_scores,
    measure_figures,
    measure_judges,
    read_scores,
)


class ReportHeader(Record, frozen=True, kw_only=True):
    """What was run, and whether it is valid."""

    system: str
    judge: str
    status: RunStatus
    reason: str
    """Why it is not valid; empty if it is."""
    is_stub: bool
    """Whether its judge was the stub, so that scores mean nothing."""
    overall: Estimate | None
    """Of six points."""
    bounds: ScoreRange | None = None
    """Where the score lies between silence and ceiling; None if that was not computed."""
    hallucination: Estimate | None
    """Answers that are invented or leak, as a share of one."""
    invented: Estimate | None = None
    """A share of one."""
    leaked: Estimate | None = None
    """A share of the answers that could leak."""
    facts: tuple[tuple[str, str], ...]
    """Labels and texts, as in the text report."""
    notices: tuple[str, ...]
    """What a reader must know before trusting the report; often empty."""
    corrected: CorrectedHeadline | None = None
    """The share of right answers corrected by labels; None where there are too few."""


class RunReport(Record, frozen=True, kw_only=True):
    """The whole report of a run."""

    header: ReportHeader
    categories: tuple[str, ...]
    heatmaps: tuple[RowTable, ...]
    """All personas together first where there are several, then each."""
    hallucination: HallucinationViews
    degradation: Degradation
    attribution: Attribution
    costs: RunCosts
    paretos: tuple[Pareto, ...]
    """Against other runs; empty if none was named."""
    canaries: CanaryWatch
    seed: int
    score: ScoreScale | None = None
    """What a dataset's protocol scores the run by; None for marks."""
    figures: tuple[ProtocolFigure, ...] = ()
    """The figures of the dataset's protocol, on their own scale; empty for personas."""
    unit: str = PERSONA
    """What one history is called."""
    no_time: str | None = None
    """Why there is nothing over time; None where there is."""
    no_marks: str | None = None
    """Why nothing is known of inventions; None where answers have marks."""
    tool_loop: ToolLoopReport | None = None
    """What an agent did with the memory; None if the system is not under the loop agent."""
    judges: JudgeSensitivity | None = None
    """How much the score depends on the judge; None if there was one judge."""


_COMPARABLE_CONDITIONS: Final = ("ingest", "passages looked at", "reader")
"""Conditions that may differ between runs whose costs are compared."""


def build_report(
    folder: RunFolder,
    table: TrialTable,
    *,
    beside: Sequence[RunFolder] = (),
    canaries: Path | None = None,
    summary: Summary | None = None,
    agreements: Sequence[Path] = (),
) -> RunReport:
    """Everything a report says about a run.

    `beside` are runs to compare its score and costs with, `canaries` is the file to watch, and
    `summary` the run's, if it was computed before. `agreements` are files of `judge-lab agreement`
    to correct the share of right answers by, instead of labels of the run itself. UsageError for a
    run without marks, or for one beside it that cannot be compared with it.
    """
    _require_scores(folder, table)
    summary = summary or summarise(folder)
    means = RunEstimates.get(folder, table)
    _check_others(folder, summary, beside)
    taken = measure_costs(folder, table)
    return RunReport(
        header=_build_header(folder, table, summary, means).replace(
            corrected=correct_headline(folder, agreements)
        ),
        categories=summary.asked_categories,
        heatmaps=build_heatmaps(folder, means)
        if folder.plan.dataset is None
        else (means.build_heatmap(),),
        hallucination=analyse_hallucination(table),
        degradation=measure_degradation(table, seed=SEED),
        attribution=count_causes(table),
        costs=taken,
        paretos=_compare_costs(folder, table, means, taken, beside),
        canaries=_watch_canaries(table, canaries),
        seed=SEED,
        score=table.scale,
        figures=measure_figures(folder, table),
        unit=name_histories(folder.plan),
        no_time=_explain_no_time(folder),
        no_marks=_explain_no_marks(table),
        tool_loop=analyse_tool_loop(folder, table),
        judges=measure_judges(folder, None if table.scale is None else table.scale.name),
    )


def _explain_no_time(folder: RunFolder) -> str | None:
    card = folder.plan.dataset
    if card is None:
        return None
    return f"there is no time axis: {card.name} asks its questions once, after the whole history"


def _explain_no_marks(table: TrialTable) -> str | None:
    if table.scale is None or table.hallucinations:
        return None
    return f"not known: {table.scale.protocol} does not say what is invented"


def _require_scores(folder: RunFolder, table: TrialTable) -> None:
    if why := explain_missing_scores(table):
        is_measured = folder.plan.dataset is not None
        do = "its own result files say how it went" if is_measured else "finish the run first"
        raise UsageError(f"{folder.path}: {why}; {do}")


def _check_others(folder: RunFolder, summary: Summary, beside: Sequence[RunFolder]) -> None:
    """Raise UsageError unless all runs are valid, different and comparable."""
    if not beside:
        return
    _require_valid(folder, summary)
    by_answers = {identify_answers(folder): folder}
    for other in beside:
        if (same := by_answers.get(identify_answers(other))) is not None:
            raise UsageError(
                f"--beside {other.path}: holds the same answers as {same.path}; name another run"
            )
        by_answers[identify_answers(other)] = other
        _require_valid(other, summarise(other))
        differences = [
            difference
            for difference in find_differences(folder.plan, other.plan)
            if difference.what not in _COMPARABLE_CONDITIONS
        ]
        if differences:
            raise UsageError(
                f"--beside {other.path}: differs from {folder.path} in "
                f"{list_differences(differences)}; run both alike to compare them"
            )


def _require_valid(folder: RunFolder, summary: Summary) -> None:
    validity = summary.validity
    if summary.is_stub:
        why = "the stub judge graded nothing; judge it first"
    elif validity.status is not RunStatus.VALID:
        why = f"the run is {validity.status.value} ({validity.reason}); finish or repair it"
    else:
        return
    raise UsageError(f"{folder.path}: {why}, or report without --beside")


def _watch_canaries(table: TrialTable, file: Path | None) -> CanaryWatch:
    if table.plan.judge.name == STUB:
        why = "the stub judge graded nothing"
    elif table.scale is not None and not table.hallucinations:
        why = f"{table.scale.protocol} does not say what is invented"
    else:
        return watch_file(table, file)
    return CanaryWatch(
        file=None if file is None else str(file),
        rule=f"no canaries are looked for: {why}",
        watched=(),
    )


def _build_header(
    folder: RunFolder, table: TrialTable, summary: Summary, means: RunEstimates
) -> ReportHeader:
    plan, validity, has_score = folder.plan, summary.validity, summary.has_score
    return ReportHeader(
        system=format_card(plan.system),
        judge=describe_judge(plan),
        status=validity.status,
        reason=validity.reason or "",
        is_stub=summary.is_stub,
        overall=means.estimate_overall() if has_score else None,
        bounds=means.estimate_range() if has_score else None,
        hallucination=means.estimate_hallucination(),
        invented=means.estimate_invented(),
        leaked=means.estimate_leaked(),
        facts=tuple(list_run_facts(folder, summary, means)),
        notices=tuple(_list_notices(folder, table, summary)),
    )


def _list_notices(folder: RunFolder, table: TrialTable, summary: Summary) -> Iterator[str]:
    if table.scale is None and (missing := describe_unmeasured(summary.unmeasured)):
        yield f"the score is {missing}"
    if table.scale is not None and (
        uncounted := len(table.rows) - len(table.points) - table.missing
    ):
        yield f"{table.scale.label} does not apply to {uncounted:,} trials, which are left out"
    if folder.plan.labels is not None:
        yield describe_labels(folder.plan.labels)
    card = folder.plan.imported
    if card is not None:
        yield f"imported from {card}: what its files do not tell is not known here"
        yield from (repair.said for repair in card.repairs)
    diagnosis = folder.diagnosis
    if diagnosis is not None and diagnosis.health is not SystemHealth.VALID:
        checks = ", ".join(dict.fromkeys(complaint.check for complaint in diagnosis.complaints))
        yield f"recall-bench doctor called this system {diagnosis.health.value}: {checks}"


def _compare_costs(
    folder: RunFolder,
    table: TrialTable,
    means: RunEstimates,
    costs: RunCosts,
    others: Sequence[RunFolder],
) -> tuple[Pareto, ...]:
    if not others:
        return ()
    runs = [(folder, means.estimate_overall(), costs)]
    tables = [table]
    for other in others:
        theirs, estimates = read_scores(other, None if table.scale is None else table.scale.name)
        tables.append(theirs)
        _require_scores(other, theirs)
        runs.append((other, estimates.estimate_overall(), measure_costs(other, theirs)))
    scored = [number for number, (_, score, _) in enumerate(runs) if score is not None]
    p_values = compare_all_pairs([tables[number] for number in scored])
    return build_paretos(
        [
            (format_card(run_folder.plan.system), run_folder.path, score, taken)
            for run_folder, score, taken in runs
            if score is not None
        ],
        lambda one, other: p_values.get((one, other), 1.0) <= ALPHA,
    )


def compare_all_pairs(tables: Sequence[TrialTable]) -> dict[tuple[int, int], float]:
    """The adjusted p-value of every two runs, paired by trial as `compare` pairs them."""
    pairs = {
        (one, other): pair_points(tables[one], tables[other])
        for one, other in combinations(range(len(tables)), 2)
    }
    compared = compare_each(pairs, resamples=_NO_INTERVAL)
    return {key: comparison.final_p for key, comparison in compared.items()}


_NO_INTERVAL = 2
"""The interval is not used, so it takes the fewest resamples."""
