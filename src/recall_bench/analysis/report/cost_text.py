"""What a run took, for people."""

from collections.abc import Iterator, Sequence

from recall_bench.analysis.costs.views import Contender, CostMeasure, CostPoint, Pareto, RunCosts
from recall_bench.analysis.costs.words import format_amount, format_cost, format_money, price_usage
from recall_bench.analysis.report.figures import format_points
from recall_bench.core.usage import Usage
from recall_bench.reporting.lines import NO_DATA, clean_text, format_fact, pick_evenly

_MAX_POINTS = 10
_RUN_WIDTH = 30


def render_costs(costs: RunCosts, paretos: Sequence[Pareto]) -> Iterator[str]:
    """Costs over corpus size, then the score against each."""
    yield (
        f"{'at':<9}{'ingest/day':>12}{'query p50':>11}{'p95':>11}{'passages':>10}"
        f"{'tokens in':>12}{'out':>10}{'dollars':>9}{'index':>10}"
    )
    shown = pick_evenly(len(costs.points), _MAX_POINTS)
    for point in (costs.points[place] for place in shown):
        yield _format_cost_point(point)
    if len(shown) < len(costs.points):
        yield f"({len(shown)} of {len(costs.points)} checkpoints shown; --json has all)"
    for note in costs.notes:
        yield from format_fact("Note", note)
    for pareto in paretos:
        yield ""
        yield from _render_pareto(pareto)


def _format_cost_point(point: CostPoint) -> str:
    known = [each for each in (point.ingest_usage, point.query_usage) if each is not None]
    spent = sum(known, Usage()) if known else None
    tokens = NO_DATA if point.delivered_tokens is None else f"{point.delivered_tokens:,.0f}"
    taken = NO_DATA if spent is None else f"{spent.input_tokens:,}"
    given = NO_DATA if spent is None else f"{spent.output_tokens:,}"
    cost = None if spent is None else price_usage(spent)
    paid = NO_DATA if cost is None else format_money(cost)
    return (
        f"{clean_text(point.checkpoint)[:8]:<9}{format_amount(point.ingest_s_a_day, 's'):>12}"
        f"{format_amount(point.query_p50_s, 's'):>11}{format_amount(point.query_p95_s, 's'):>11}{tokens:>10}"
        f"{taken:>12}{given:>10}{paid:>9}{format_amount(point.index_bytes, 'bytes'):>10}"
    )


def _render_pareto(pareto: Pareto) -> Iterator[str]:
    yield f"Score against {pareto.measure.value.replace('-', ' ')}"
    for each in pareto.contenders:
        yield from _render_contender(pareto.measure, each)
    if pareto.unknown:
        yield from format_fact("Unknown", clean_text(", ".join(pareto.unknown)))


def _render_contender(measure: CostMeasure, each: Contender) -> list[str]:
    words = f"{format_points(each.score)} of 6 for {format_cost(measure, each.cost)}"
    if each.dominated_by:
        words += f" · dominated by {', '.join(each.dominated_by)}"
    if each.in_doubt:
        words += f" (intervals overlap with {', '.join(each.in_doubt)}: compare tells)"
    return format_fact("", f"{clean_text(each.name)[:_RUN_WIDTH]}: {words}")
