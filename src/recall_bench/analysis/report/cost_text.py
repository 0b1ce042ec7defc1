"""What a run took, for people."""

from collections.abc import Iterator, Sequence

from recall_bench.analysis.costs.views import Contender, CostPoint, Costs, Measure, Pareto
from recall_bench.analysis.costs.words import figure, in_words, money, price
from recall_bench.analysis.report.figures import points
from recall_bench.core.usage import Usage
from recall_bench.reporting.lines import NO_DATA, fact, plain, selection

_ROWS = 10
_NAME = 30


def cost_lines(costs: Costs, paretos: Sequence[Pareto]) -> Iterator[str]:
    """Costs over corpus size, then the score against each."""
    yield (
        f"{'at':<9}{'ingest/day':>12}{'query p50':>11}{'p95':>11}{'passages':>10}"
        f"{'tokens in':>12}{'out':>10}{'dollars':>9}{'index':>10}"
    )
    shown = selection(len(costs.points), _ROWS)
    for point in (costs.points[place] for place in shown):
        yield _row(point)
    if len(shown) < len(costs.points):
        yield f"({len(shown)} of {len(costs.points)} checkpoints shown; --json has all)"
    for note in costs.notes:
        yield from fact("Note", note)
    for pareto in paretos:
        yield ""
        yield from _pareto(pareto)


def _row(point: CostPoint) -> str:
    known = [each for each in (point.ingest_usage, point.query_usage) if each is not None]
    spent = sum(known, Usage()) if known else None
    tokens = NO_DATA if point.delivered_tokens is None else f"{point.delivered_tokens:,.0f}"
    taken = NO_DATA if spent is None else f"{spent.input_tokens:,}"
    given = NO_DATA if spent is None else f"{spent.output_tokens:,}"
    cost = None if spent is None else price(spent)
    paid = NO_DATA if cost is None else money(cost)
    return (
        f"{plain(point.checkpoint)[:8]:<9}{figure(point.ingest_s_a_day, 's'):>12}"
        f"{figure(point.query_p50_s, 's'):>11}{figure(point.query_p95_s, 's'):>11}{tokens:>10}"
        f"{taken:>12}{given:>10}{paid:>9}{figure(point.index_bytes, 'bytes'):>10}"
    )


def _pareto(pareto: Pareto) -> Iterator[str]:
    yield f"Score against {pareto.measure.value.replace('-', ' ')}"
    for each in pareto.contenders:
        yield from _contender(pareto.measure, each)
    if pareto.unknown:
        yield from fact("Unknown", plain(", ".join(pareto.unknown)))


def _contender(measure: Measure, each: Contender) -> list[str]:
    words = f"{points(each.score)} of 6 for {in_words(measure, each.cost)}"
    if each.dominated_by:
        words += f" · dominated by {', '.join(each.dominated_by)}"
    if each.in_doubt:
        words += f" (intervals overlap with {', '.join(each.in_doubt)}: compare tells)"
    return fact("", f"{plain(each.name)[:_NAME]}: {words}")
