"""A report as a real run has it, made up from fixed curves: six personas, ten categories."""

from math import sin

from recall_bench.core.plan import Checkpoint, Trial
from recall_bench.core.scenario import BOUNDARY, CATEGORIES
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.heatmap_rows import Row, RowKind, RowTable
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.metrics.bootstrap import ResampledUnit
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.metrics.scale import POINTS, SHARE, Scale
from recall_bench.metrics.survival import HalfLife, Survival, SurvivalPoint
from recall_bench.metrics.trend import MAX_FORECAST_SPAN, Coefficient, Prediction, Trend
from recall_bench.reporting.analyses.attribution import Attribution, FailureLeaf, LeafCount
from recall_bench.reporting.analyses.canaries import CanaryWatch
from recall_bench.reporting.analyses.costs import (
    Contender,
    CostMeasure,
    CostPoint,
    Pareto,
    RunCosts,
)
from recall_bench.reporting.analyses.degradation import CohortCard, CurvePoint, Degradation
from recall_bench.reporting.analyses.fact_survival import GroupSurvival, SurvivalGroup
from recall_bench.reporting.analyses.hallucination import (
    CategoryRate,
    CheckpointRates,
    HallucinationPattern,
    HallucinationViews,
    RateCourse,
)
from recall_bench.reporting.run_report import ReportHeader, RunReport

PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
LAST_DAY = 1000


def estimate(value: float, spread: float, *, most: float = 1.0, trials: int = 240) -> Estimate:
    """A mean that is known to within about `spread`."""
    return Estimate(
        value=value,
        low=max(0.0, value - spread),
        high=min(most, value + 1.2 * spread),
        level=0.95,
        method=IntervalMethod.PERSONAS,
        questions=trials // 2,
        personas=6,
        trials=trials,
        missing=0,
    )


def sampled_report(checkpoints: int = 20) -> RunReport:
    """A finished run of six personas, with two older runs beside it."""
    columns = _columns(checkpoints)
    return RunReport(
        header=_header(),
        categories=CATEGORIES,
        heatmaps=(_heatmap(None, columns), *(_heatmap(name, columns) for name in PERSONAS)),
        hallucination=_hallucination(columns),
        degradation=_degradation(columns),
        attribution=_attribution(columns),
        costs=_costs(columns),
        paretos=_paretos(),
        canaries=CanaryWatch(file=None, rule="wrong in every run", watched=()),
        seed=7,
    )


def empty_report() -> RunReport:
    """A run in which nothing was judged, and no cost is known."""
    columns = _columns(3)
    nothing = (None,) * 3
    course = RateCourse(
        name=None,
        rate=None,
        moments=(),
        hallucination=None,
        recall=None,
        pattern=HallucinationPattern.UNKNOWN,
        reason="nothing was judged",
    )
    return sampled_report(3).replace(
        header=_header().replace(
            overall=None, bounds=None, hallucination=None, invented=None, leaked=None
        ),
        heatmaps=(
            RowTable(
                persona=None,
                columns=columns,
                rows=(
                    *(
                        Row(name=name, kind=RowKind.CATEGORY, scale=POINTS, cells=nothing)
                        for name in CATEGORIES
                    ),
                    Row(name="overall", kind=RowKind.TOTAL, scale=POINTS, cells=nothing),
                    *(
                        Row(name=name, scale=SHARE, cells=nothing)
                        for name in ("invented", "leaked")
                    ),
                ),
            ),
        ),
        hallucination=HallucinationViews(categories=(), overall=course, personas=()),
        degradation=Degradation(
            mixed=tuple(CurvePoint(checkpoint=c.label, days=c.days, mean=None) for c in columns),
            mixed_trend=None,
            fixed=(),
            fixed_trend=None,
            cohort=None,
            survivals=(),
            never_known=0,
            failures=2,
            reason="nothing was judged",
        ),
        attribution=Attribution(
            answered=0,
            misses=0,
            leaves=tuple(
                LeafCount(leaf=leaf, trials=0, questions=0, points_lost=0, examples=())
                for leaf in FailureLeaf
            ),
            categories={},
            checkpoints={},
            notes=(),
        ),
        costs=RunCosts(points=(), measures={}, notes=("nothing was timed",)),
        paretos=(),
    )


def _columns(count: int) -> tuple[Checkpoint, ...]:
    days = [round(LAST_DAY * (n + 1) / count) for n in range(count)]
    return tuple(Checkpoint(label=f"{day}d", days=day) for day in days)


def _header() -> ReportHeader:
    return ReportHeader(
        system="hybrid 1.2",
        judge="rubric 3",
        status=RunStatus.VALID,
        reason="",
        is_stub=False,
        overall=estimate(3.9, 0.2, most=6),
        bounds=_bounds(3.9),
        hallucination=estimate(0.14, 0.03),
        invented=estimate(0.11, 0.03),
        leaked=estimate(0.3, 0.1, trials=300),
        facts=(("personas", "6"),),
        notices=(),
    )


def _bounds(score: float, ceiling: float = 5.1) -> ScoreRange:
    floor = 1.5
    return ScoreRange(
        score=score,
        floor=floor,
        ceiling=ceiling,
        gain=estimate(score - floor, 0.2, most=6),
        share=estimate((score - floor) / (ceiling - floor), 0.05, most=2),
    )


def _row(
    name: str,
    cells: tuple[Estimate | None, ...],
    *,
    kind: RowKind = RowKind.FIGURE,
    scale: Scale = POINTS,
    score: float | None = None,
    ceiling: float = 5.1,
) -> Row:
    return Row(
        name=name,
        kind=kind,
        scale=scale,
        cells=cells,
        eligible=tuple(0 if cell is None else 3000 for cell in cells),
        total=None if score is None else estimate(score, 0.2, most=6),
        bounds=None if score is None else _bounds(score, ceiling),
    )


def _heatmap(persona: str | None, columns: tuple[Checkpoint, ...]) -> RowTable:
    number = 0 if persona is None else 1 + PERSONAS.index(persona)
    overall = tuple(estimate(_recall(each.days) * 6, 0.25, most=6, trials=2400) for each in columns)
    rates = tuple(estimate(_invention(each.days), 0.03, trials=2400) for each in columns)
    return RowTable(
        persona=persona,
        columns=columns,
        rows=(
            *(
                _row(
                    name,
                    tuple(_score(rank, n, each.days, number) for n, each in enumerate(columns)),
                    kind=RowKind.CATEGORY,
                    score=5.0 - 0.3 * rank,
                    ceiling=5.6 - 0.4 * rank,
                )
                for rank, name in enumerate(CATEGORIES)
            ),
            _row("overall", overall, kind=RowKind.TOTAL, score=3.9),
            _row("invented", rates, scale=SHARE),
            _row("leaked", rates, scale=SHARE),
        ),
    )


def _score(rank: int, n: int, days: int, number: int) -> Estimate | None:
    """One category starts late, and two have a hole in the middle."""
    is_late = rank == 8 and days < 250
    is_hole = rank in {2, 6} and 6 <= n <= 7
    if is_late or is_hole:
        return None
    level = 5.4 - 0.38 * rank - 0.0012 * days * (1 + 0.12 * rank)
    value = min(6.0, max(0.0, level + 0.18 * sin(1.7 * n + rank + number)))
    return estimate(value, 0.35 + 0.04 * rank, most=6, trials=40 + 4 * n)


def _recall(days: int) -> float:
    return 0.82 - 0.00024 * days + 0.012 * sin(days / 61)


def _invention(days: int) -> float:
    return 0.07 + 0.00013 * days + 0.012 * sin(days / 47)


def _line(
    level: float, slope: float, *, most: float, width: float, last: float = LAST_DAY
) -> Trend:
    def at(days: float) -> Prediction:
        value, spread = level + slope * days, width * (0.15 + abs(days - 500) / 1000)
        ends = value - spread, value + spread
        cut = [min(most, max(0.0, each)) for each in (value, *ends)]
        return Prediction(
            days=days,
            value=cut[0],
            low=cut[1],
            high=cut[2],
            is_clipped=cut != [value, *ends],
            is_beyond=days > last,
            doubt="the band says nothing"
            if days > last and cut[2] - cut[1] > MAX_FORECAST_SPAN * most
            else None,
        )

    return Trend(
        intercept=Coefficient(value=level, low=level - width, high=level + width),
        slope=Coefficient(value=slope, low=slope * 0.7, high=slope * 1.3),
        predictions=(*(at(day) for day in (50, 300, 550, 800, last)), at(2000), at(5000)),
        level=0.95,
        drawn=ResampledUnit.PERSONAS,
        first_day=50.0,
        last_day=float(last),
        questions=1800,
        personas=6,
        trials=2400,
    )


def _course(name: str | None, columns: tuple[Checkpoint, ...], shift: float) -> RateCourse:
    return RateCourse(
        name=name,
        rate=estimate(0.15 + shift, 0.03),
        invention=estimate(0.13 + shift, 0.03),
        leak=estimate(0.4 + shift, 0.1, trials=60),
        moments=tuple(
            CheckpointRates(
                checkpoint=each.label,
                days=each.days,
                recall=estimate(_recall(each.days) - shift, 0.03),
                hallucination=estimate(_invention(each.days) + shift + 0.02, 0.025),
                invention=estimate(_invention(each.days) + shift, 0.025),
                leak=estimate(0.4 + shift, 0.1, trials=60),
            )
            for each in columns
        ),
        hallucination=_line(0.09 + shift, 0.00013, most=1.0, width=0.065),
        inventions=_line(0.07 + shift, 0.00018, most=1.0, width=0.04),
        leaks=_line(0.4 + shift, 0.00001, most=1.0, width=0.3),
        recall=_line(0.82 - shift, -0.00024, most=1.0, width=0.05),
        pattern=HallucinationPattern.PATHOLOGICAL if shift >= 0 else HallucinationPattern.HEALTHY,
        reason=(
            "Recall changes by -2.4 points of 100 in 100 days (95 % -3.1 to -1.7), and "
            "invention by 1.3 (0.9 to 1.7)."
        ),
    )


def _hallucination(columns: tuple[Checkpoint, ...]) -> HallucinationViews:
    first = ("negative-recall", "synthesis")
    names = (*first, *(name for name in CATEGORIES if name not in first))
    rates = [0.31, 0.22, 0.05, 0.09, 0.12, 0.16, 0.11, 0.08, None, 0.14]
    return HallucinationViews(
        categories=tuple(
            CategoryRate(
                name=name,
                rate=None if rate is None else estimate(rate + 0.02, 0.02 + rate / 8),
                invention=None if rate is None else estimate(rate, 0.02 + rate / 8),
                leak=estimate(0.4, 0.1) if name == BOUNDARY else None,
            )
            for name, rate in zip(names, rates, strict=True)
        ),
        overall=_course(None, columns, 0.0),
        personas=tuple(
            _course(name, columns, 0.02 * number - 0.05) for number, name in enumerate(PERSONAS)
        ),
    )


def _degradation(columns: tuple[Checkpoint, ...]) -> Degradation:
    known = [each for n, each in enumerate(columns) if n >= len(columns) // 4]
    return Degradation(
        mixed=tuple(
            CurvePoint(
                checkpoint=each.label,
                days=each.days,
                mean=estimate(_recall(each.days) * 6, 0.22, most=6),
            )
            for each in columns
        ),
        mixed_trend=_line(4.9, -0.0014, most=6, width=0.3),
        fixed=tuple(
            CurvePoint(
                checkpoint=each.label,
                days=each.days,
                mean=estimate(5.1 - 0.0022 * each.days, 0.3, most=6, trials=90),
            )
            for each in known
        ),
        fixed_trend=_line(5.1, -0.0022, most=6, width=0.3),
        cohort=CohortCard(
            first=known[0].label,
            last=known[-1].label,
            checkpoints=len(known),
            questions=140,
            personas=6,
            left_out=1660,
        ),
        survivals=_survivals(),
        never_known=212,
        failures=2,
        reason=None,
    )


def _survivals() -> tuple[GroupSurvival, ...]:
    groups = [(SurvivalGroup.ALL, "all", 900.0)]
    groups += [
        (SurvivalGroup.CATEGORY, name, 420.0 + 160 * n) for n, name in enumerate(CATEGORIES[:8])
    ]
    return tuple(
        GroupSurvival(
            by=by,
            name=name,
            survival=_survival(half, facts=90 if by is not SurvivalGroup.ALL else 700),
        )
        for by, name, half in groups
    )


def _survival(half: float, *, facts: int) -> Survival:
    ages = [float(age) for age in range(50, 951, 50)]
    shares = [0.5 ** (age / half) for age in ages]
    is_seen = half <= ages[-1]
    return Survival(
        curve=tuple(
            SurvivalPoint(
                age=age,
                share=share,
                low=max(0.0, share - 0.05 - age / 12000),
                high=min(1.0, share + 0.05 + age / 12000),
                at_risk=facts * (1 - age / 1000),
            )
            for age, share in zip(ages, shares, strict=True)
        ),
        half_life=HalfLife(
            value=half if is_seen else None,
            low=half * 0.8 if half * 0.8 <= ages[-1] else None,
            high=half * 1.3 if half * 1.3 <= ages[-1] else None,
            followed=ages[-1],
        ),
        level=0.95,
        drawn=ResampledUnit.PERSONAS,
        facts=facts,
        lost=facts // 3,
        questions=facts,
        personas=6,
    )


def _attribution(columns: tuple[Checkpoint, ...]) -> Attribution:
    weights = dict(zip(FailureLeaf, (0, 52, 17, 34, 21, 6, 25, 11, 3, 4, 8), strict=True))
    categories = {
        name: {leaf: weight * (1 + (rank + n) % 4) // 3 for n, (leaf, weight) in _ranked(weights)}
        for rank, name in enumerate(CATEGORIES)
    }
    totals = {leaf: sum(each[leaf] for each in categories.values()) for leaf in FailureLeaf}
    return Attribution(
        answered=2400,
        misses=sum(totals.values()),
        leaves=tuple(
            LeafCount(
                leaf=leaf,
                trials=count,
                questions=count * 2 // 3,
                points_lost=count * 4,
                examples=(Trial(scenario=PERSONAS[0], item="q1", checkpoint="50d"),)
                if count
                else (),
            )
            for leaf, count in totals.items()
        ),
        categories=categories,
        checkpoints={columns[0].label: totals},
        notes=(),
    )


def _ranked(weights: dict[FailureLeaf, int]) -> list[tuple[int, tuple[FailureLeaf, int]]]:
    return list(enumerate(weights.items()))


def _costs(columns: tuple[Checkpoint, ...]) -> RunCosts:
    return RunCosts(
        points=tuple(
            CostPoint(
                checkpoint=each.label,
                days=each.days,
                ingest_s_a_day=0.021 + 0.000004 * each.days,
                query_p50_s=0.004 + 0.00001 * each.days,
                query_p95_s=0.009 + 0.00003 * each.days,
                delivered_tokens=None if 5 <= n <= 6 else 820.0 + 0.3 * each.days,
                ingest_usage=Usage(calls=each.days, input_tokens=900 * each.days),
                query_usage=Usage(
                    calls=400, input_tokens=400_000, output_tokens=40_000, cost_usd=0.31
                ),
                index_bytes=90_000 * each.days,
            )
            for n, each in enumerate(columns)
        ),
        measures={
            CostMeasure.INGEST: 0.023,
            CostMeasure.QUERY_P50: 0.009,
            CostMeasure.QUERY_P95: 0.024,
        },
        notes=(),
    )


def _paretos() -> tuple[Pareto, ...]:
    def runs(*costs: float) -> tuple[Contender, ...]:
        return (
            _contender("recency 1.0", 1.9, costs[0]),
            _contender("bm25 1.0", 3.6, costs[1]),
            _contender("full-context 2.1", 3.5, costs[2], "bm25 1.0"),
            _contender("hybrid 1.2", 3.9, costs[3]),
        )

    return (
        Pareto(measure=CostMeasure.QUERY_P95, contenders=runs(0.002, 0.011, 0.2, 0.4), unknown=()),
        Pareto(
            measure=CostMeasure.TOKENS, contenders=runs(300, 900, 5200, 7400), unknown=("dense",)
        ),
        Pareto(measure=CostMeasure.BYTES, contenders=runs(2e5, 8e6, 9e6, 4.1e8), unknown=()),
    )


def _contender(name: str, score: float, cost: float, *betters: str) -> Contender:
    return Contender(
        name=name,
        folder=name.replace(" ", "-"),
        score=estimate(score, 0.2, most=6),
        cost=cost,
        dominated_by=betters,
    )
