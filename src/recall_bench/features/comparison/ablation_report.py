"""Compare the variants of an ablation with its base, and render the table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from recall_bench.core.plain_text import format_quantity, make_table
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.usage import estimate_tokens
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.comparison import MarkPair, PairedComparison, TrialMarks
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA
from recall_bench.reporting.formats import (
    OF_100,
    format_card,
    format_delta,
    format_number,
    format_score,
)
from recall_bench.reporting.judge_scores import (
    JUDGES_HEAD,
    JudgeMean,
    compare_by_judge,
    describe_judge_column,
    describe_orders,
    format_judge_range,
    list_judge_means,
)
from recall_bench.reporting.sections import SectionPart, SectionTable, render_parts
from recall_bench.reporting.sections import render_markdown as render_markdown_parts


class AblationDifference(ComputedRecord, frozen=True, kw_only=True):
    """The mean difference of a variant to the base."""

    mean: float
    interval: tuple[float, float] | None
    """None for a single question."""
    pairs: int
    """Trials that both have."""
    questions: int

    @classmethod
    def convert(cls, estimate: Estimate) -> Self:
        """Take what an ablation reports from an estimate."""
        return cls(
            mean=estimate.value,
            interval=estimate.interval,
            pairs=estimate.trials,
            questions=estimate.questions,
        )


class AblationRow(ComputedRecord, frozen=True, kw_only=True):
    """One variant."""

    variant: str
    changes: dict[str, object]
    mean: float | None
    """Points of six a trial."""
    trials: int
    """Trials the mean is over."""
    difference: AblationDifference | None
    """To the base, over the trials both have; None of the base itself."""
    excludes_zero: bool
    """Whether its 95 % interval lies on one side of zero."""
    survives: bool
    """Whether its p-value is below 0.05 after Holm's adjustment for the number of variants."""
    hit_share: float | None
    """The part of the questions whose evidence days are known and to which one of them was
    delivered; None where none is known."""
    tokens: float | None
    """Delivered with an answer, on average and about."""
    query_ms: float | None
    """For an answer, on average."""
    judges: tuple[JudgeMean, ...] = ()
    """The score by each judge, the first one first; empty if there is one."""
    caveat: str | None = None
    """Why the scores may not be quoted, if they may not."""


class AblationReport(Record, frozen=True, kw_only=True):
    """Every variant beside the base."""

    adapter: str
    base: dict[str, object]
    """What the base is set to."""
    personas: tuple[str, ...]
    checkpoints: tuple[str, ...]
    judge: str
    questions: int
    comparisons: int
    codes: tuple[str, ...]
    """Versions of the harness that worked on the runs, each once."""
    rows: tuple[AblationRow, ...]
    """The base first."""
    orders: tuple[str, ...] = ()
    """Which differences depend on the judge, in sentences; empty if there is one judge."""


@dataclass(frozen=True, slots=True)
class AblationVariant:
    """A system with some settings changed."""

    name: str
    changes: Mapping[str, object]
    """The settings that differ from the base; the base has none."""


def compare_variants(
    variants: Sequence[AblationVariant],
    folders: Mapping[str, RunFolder],
    *,
    adapter: str,
    base_config: Mapping[str, object],
) -> AblationReport:
    """Compare each variant with the first, which is the base, trial by trial."""
    base = variants[0].name
    plan = folders[base].plan
    tables = {
        variant.name: {
            judge: read_trials(view)
            for judge, view in zip(
                folders[variant.name].plan.judge_names,
                open_judge_views(folders[variant.name]),
                strict=True,
            )
        }
        for variant in variants
    }
    differences = compare_by_judge(
        {
            judge: {
                name: MarkPair(first.points, judged[judge].points, first.templates)
                for name, judged in tables.items()
                if name != base and judge in judged
            }
            for judge, first in tables[base].items()
        }
    )
    rows = []
    for variant in variants:
        # The first judge of the base gives the score.
        comparisons = [
            difference.comparison
            for difference in differences.get(variant.name, ())
            if difference.judge == plan.judge_names[0]
        ]
        row = _measure_run(folders[variant.name], variant)
        points = {judge: table.points for judge, table in tables[variant.name].items()}
        rows.append(_add_scores(row, points, comparisons[0] if comparisons else None))
    orders = describe_orders(differences, base) if len(tables[base]) > 1 else ()
    trials = tables[base][plan.judge_names[0]].points
    return AblationReport(
        adapter=adapter,
        base=dict(base_config),
        personas=tuple(card.id for card in plan.scenarios),
        checkpoints=tuple(checkpoint.label for checkpoint in plan.checkpoints),
        judge=format_card(plan.judge),
        questions=len({(trial.scenario, trial.item) for trial in trials}),
        comparisons=len(variants) - 1,
        codes=tuple(dict.fromkeys(code for folder in folders.values() for code in folder.codes)),
        rows=tuple(rows),
        orders=orders,
    )


def _add_scores(
    row: AblationRow, points: Mapping[str, TrialMarks], comparison: PairedComparison | None
) -> AblationRow:
    """The row with the score, by every judge, and the difference to the base."""
    marks = list(next(iter(points.values())).values())
    estimate = None if comparison is None else comparison.difference
    return row.replace(
        mean=_average(marks),
        trials=len(marks),
        difference=None if estimate is None else AblationDifference.convert(estimate),
        excludes_zero=estimate is not None and estimate.excludes_zero,
        survives=comparison is not None and comparison.final_p < ALPHA,
        judges=list_judge_means(points),
    )


def _measure_run(folder: RunFolder, variant: AblationVariant) -> AblationRow:
    """What a run delivered, how fast, and whether its scores may be quoted; no scores yet."""
    hits, tokens, seconds = list[bool](), list[int](), list[float]()
    for result in (result for scenario in folder.scenarios for result in folder.results(scenario)):
        answered, truth = result.answered, result.item.truth
        passages = () if answered is None else answered.answer.passages
        if answered is not None:
            seconds.append(answered.seconds)
            tokens.append(
                sum(estimate_tokens(passage.text) for passage in passages)
                if answered.delivery is None
                else answered.delivery.tokens
            )
        # Of other questions no day is known to support the answer.
        if truth.evidence and truth.is_answerable:
            days = {passage.day for passage in passages}
            hits.append(any(cited.day in days for cited in truth.evidence))
    validity = summarise(folder).validity
    return AblationRow(
        variant=variant.name,
        changes=dict(variant.changes),
        mean=None,
        trials=0,
        difference=None,
        excludes_zero=False,
        survives=False,
        hit_share=_average(hits),
        tokens=_average(tokens),
        query_ms=1000 * fmean(seconds) if seconds else None,
        caveat=None if validity.status is RunStatus.VALID else validity.reason,
    )


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


HEADS = (
    *("variant", "score of 100", "difference", "95 % interval", ""),
    *("right day", "tokens", "ms"),
)
_NOTHING = "–"


def list_heads(comparison: AblationReport) -> tuple[str, ...]:
    """The heads of the table."""
    return (*HEADS, JUDGES_HEAD) if any(row.judges for row in comparison.rows) else HEADS


def format_cells(row: AblationRow, heads: Sequence[str] = HEADS) -> tuple[str, ...]:
    """A row as words, one for each head."""
    difference, interval = _NOTHING, _NOTHING
    if row.difference is not None:
        difference = format_delta(row.difference.mean * OF_100, 1)
        if row.difference.interval is not None:
            ends = (format_delta(end * OF_100, 1) for end in row.difference.interval)
            interval = " to ".join(ends)
    judges = [format_judge_range(row.judges) or _NOTHING] if JUDGES_HEAD in heads else []
    return (
        row.variant + (" !" if row.caveat else ""),
        format_score(row.mean, 1),
        difference,
        interval,
        describe_change(row),
        _NOTHING if row.hit_share is None else f"{format_number(100 * row.hit_share, 1)}%",
        _NOTHING if row.tokens is None else f"{row.tokens:,.0f}",
        _NOTHING if row.query_ms is None else format_number(row.query_ms, 1),
        *judges,
    )


def describe_change(row: AblationRow) -> str:
    """What the interval shows, in a word."""
    if row.difference is None or not row.excludes_zero:
        return ""
    return ("better" if row.difference.mean > 0 else "worse") + ("*" if row.survives else "")


def _format_title(comparison: AblationReport) -> str:
    personas, checkpoints = ", ".join(comparison.personas), " ".join(comparison.checkpoints)
    return (
        f"{comparison.adapter} on {personas} at {checkpoints} · {comparison.questions} questions, "
        f"{comparison.rows[0].trials} trials, judge {comparison.judge}"
    )


def _list_notes(comparison: AblationReport) -> Iterator[str]:
    count, base = comparison.comparisons, comparison.rows[0]
    yield (
        "better, worse: the interval excludes zero; *: p < 0.05 after Holm's adjustment. "
        "Trials are paired, questions or personas resampled. right day: questions with an "
        "evidence day among the passages delivered."
    )
    yield (
        f"{format_quantity(count, 'comparison')}: where nothing makes a difference, "
        f"{0.05 * count:.2g} of them would look like one by chance; believe the stars, or try the "
        "others again on other data."
    )
    if len(comparison.codes) > 1:
        yield (
            f"{len(comparison.codes)} versions of the harness made these runs; "
            "for one version, start again in another folder."
        )
    if base.judges:
        yield describe_judge_column([mean.judge for mean in base.judges])
    yield from comparison.orders
    for row in comparison.rows:
        if row.caveat:
            yield f"! {row.variant}: {row.caveat}; its scores may not be quoted"
        if row.difference is not None and row.difference.pairs < base.trials:
            yield f"{row.variant}: {row.difference.pairs} trials could be paired with the base's"


def _list_parts(comparison: AblationReport) -> list[SectionPart]:
    """The table, and what a reader must know of it."""
    heads = list_heads(comparison)
    rows = [format_cells(row, heads) for row in comparison.rows]
    table = SectionTable(columns=make_table(heads, rows, text=(4,)).columns, rows=rows)
    return [table, *_list_notes(comparison)]


def render_text(comparison: AblationReport) -> str:
    """Columns of letters."""
    title = _format_title(comparison)
    return "\n".join([title, "═" * len(title), *render_parts(_list_parts(comparison))])


def render_markdown(comparison: AblationReport) -> str:
    """A Markdown table."""
    parts = (f"{_format_title(comparison)}.", *_list_parts(comparison))
    return "\n\n".join(render_markdown_parts(parts))
