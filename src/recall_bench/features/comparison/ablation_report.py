"""Compare the variants of an ablation with its base, and render the table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from recall_bench.core import tables
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import Expects
from recall_bench.core.tables import escape_markdown, make_table
from recall_bench.core.usage import estimate_tokens
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.bootstrap import TemplateNames
from recall_bench.metrics.comparison import (
    PairedComparison,
    TrialMarks,
    adjust_p_values,
    compare,
)
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
    JudgedPair,
    JudgeMean,
    compare_by_judge,
    describe_judge_column,
    describe_orders,
    format_judge_range,
    list_judge_means,
)


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


@dataclass(slots=True)
class _VariantMeasures:
    """What a run comes to, trial by trial where trials are paired."""

    judged: dict[str, TrialMarks]
    """The points of each trial by every judge, the first one first."""
    templates: TemplateNames
    hits: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def points(self) -> TrialMarks:
        """Those by the first judge, which give the score."""
        return next(iter(self.judged.values()))


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
    base = folders[variants[0].name]
    measures = {variant.name: _measure_run(folders[variant.name]) for variant in variants}
    compared = _compare_with_base(measures, variants[0].name)
    rows = [
        _build_row(
            variant, folders[variant.name], measures[variant.name], compared.get(variant.name)
        ).replace(judges=list_judge_means(measures[variant.name].judged))
        for variant in variants
    ]
    return AblationReport(
        adapter=adapter,
        base=dict(base_config),
        personas=tuple(card.id for card in base.plan.scenarios),
        checkpoints=tuple(checkpoint.label for checkpoint in base.plan.checkpoints),
        judge=format_card(base.plan.judge),
        questions=len(
            {(trial.scenario, trial.item) for trial in measures[variants[0].name].points}
        ),
        comparisons=len(variants) - 1,
        codes=tuple(dict.fromkeys(code for folder in folders.values() for code in folder.codes)),
        rows=tuple(rows),
        orders=_describe_orders(measures, variants[0].name),
    )


def _describe_orders(measures: Mapping[str, _VariantMeasures], base: str) -> tuple[str, ...]:
    pairs = {
        judge: {
            name: JudgedPair(points, found.judged[judge], measures[base].templates)
            for name, found in measures.items()
            if name != base and judge in found.judged
        }
        for judge, points in measures[base].judged.items()
    }
    return describe_orders(compare_by_judge(pairs), base) if len(pairs) > 1 else ()


def _build_row(
    variant: AblationVariant,
    folder: RunFolder,
    found: _VariantMeasures,
    comparison: PairedComparison | None,
) -> AblationRow:
    validity = summarise(folder).validity
    estimate = None if comparison is None else comparison.difference
    adjusted = None if comparison is None else comparison.p_adjusted
    return AblationRow(
        variant=variant.name,
        changes=dict(variant.changes),
        mean=_compute_mean(list(found.points.values())),
        trials=len(found.points),
        difference=None if estimate is None else AblationDifference.convert(estimate),
        excludes_zero=estimate is not None and estimate.excludes_zero,
        survives=adjusted is not None and adjusted < ALPHA,
        hit_share=_compute_mean(found.hits),
        tokens=_compute_mean(found.tokens),
        query_ms=None if not found.seconds else 1000 * sum(found.seconds) / len(found.seconds),
        caveat=None if validity.status is RunStatus.VALID else validity.reason,
    )


def _compare_with_base(
    measures: Mapping[str, _VariantMeasures], base: str
) -> dict[str, PairedComparison]:
    """Compare each variant with the base, p-values adjusted for the number of variants."""
    found = {}
    for name, measured in measures.items():
        if name != base:
            each = compare(
                measures[base].points,
                measured.points,
                limits=POINTS,
                templates=measures[base].templates,
            )
            if each is not None:
                found[name] = each
    adjusted = adjust_p_values({name: each.p_value for name, each in found.items()})
    return {name: each.replace(p_adjusted=adjusted[name]) for name, each in found.items()}


def _measure_run(folder: RunFolder) -> _VariantMeasures:
    views = zip(folder.plan.judge_names, open_judge_views(folder), strict=True)
    tables = {name: read_trials(view) for name, view in views}
    measures = _VariantMeasures(
        judged={name: table.points for name, table in tables.items()},
        templates=tables[folder.plan.judge_names[0]].templates,
    )
    for result in (result for scenario in folder.scenarios for result in folder.results(scenario)):
        answered, truth = result.answered, result.item.truth
        passages = () if answered is None else answered.answer.passages
        if answered is not None:
            measures.seconds.append(answered.seconds)
            measures.tokens.append(
                sum(estimate_tokens(passage.text) for passage in passages)
                if answered.delivery is None
                else answered.delivery.tokens
            )
        # Of other questions no day is known to support the answer.
        if truth.evidence and truth.expects is Expects.ANSWER:
            days = {passage.day for passage in passages}
            measures.hits.append(any(cited.day in days for cited in truth.evidence))
    return measures


def _compute_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


HEADS = (
    "variant",
    "score of 100",
    "difference",
    "95 % interval",
    "",
    "right day",
    "tokens",
    "ms",
)
_NOTHING = "–"


def list_heads(comparison: AblationReport) -> tuple[str, ...]:
    """The heads of the table."""
    return (*HEADS, JUDGES_HEAD) if any(row.judges for row in comparison.rows) else HEADS


def format_cells(row: AblationRow, heads: Sequence[str] = HEADS) -> tuple[str, ...]:
    """A row as words, one for each head."""
    difference = row.difference
    judges = [format_judge_range(row.judges) or _NOTHING] if JUDGES_HEAD in heads else []
    interval = None if difference is None else difference.interval
    return (
        row.variant + (" !" if row.caveat else ""),
        format_score(row.mean, 1),
        _NOTHING if difference is None else format_delta(difference.mean * OF_100, 1),
        _NOTHING
        if interval is None
        else " to ".join(format_delta(end * OF_100, 1) for end in interval),
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


def format_title(comparison: AblationReport) -> str:
    """What was compared on what."""
    personas, checkpoints = ", ".join(comparison.personas), " ".join(comparison.checkpoints)
    return (
        f"{comparison.adapter} on {personas} at {checkpoints} · {comparison.questions} questions, "
        f"{comparison.rows[0].trials} trials, judge {comparison.judge}"
    )


def list_notes(comparison: AblationReport) -> Iterator[str]:
    """What a reader of the table must know."""
    count = comparison.comparisons
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
    if names := [judge.judge for judge in comparison.rows[0].judges]:
        yield describe_judge_column(names)
    yield from comparison.orders
    for row in comparison.rows:
        if row.caveat:
            yield f"! {row.variant}: {row.caveat}; its scores may not be quoted"
        if row.difference is not None and row.difference.pairs < comparison.rows[0].trials:
            yield f"{row.variant}: {row.difference.pairs} trials could be paired with the base's"


def render_text(comparison: AblationReport) -> str:
    """Columns of letters."""
    lines = [format_title(comparison), "═" * len(format_title(comparison))]
    lines += tables.render_text(_build_table(comparison))
    return "\n".join([*lines, "", *list_notes(comparison)])


def render_markdown(comparison: AblationReport) -> str:
    """A Markdown table."""
    page = [
        f"{escape_markdown(format_title(comparison))}.",
        tables.render_markdown(_build_table(comparison)),
        *map(escape_markdown, list_notes(comparison)),
    ]
    return "\n\n".join(page)


def _build_table(comparison: AblationReport) -> tables.Table:
    rows = [format_cells(row, list_heads(comparison)) for row in comparison.rows]
    return make_table(list_heads(comparison), rows, text=(4,))
