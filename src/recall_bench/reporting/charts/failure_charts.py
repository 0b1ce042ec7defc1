"""Where misses come from: the leaves of the failure tree by category."""

from collections.abc import Mapping

from recall_bench.reporting.analyses.attribution import LEAF_TITLES, Attribution, FailureLeaf
from recall_bench.reporting.charts.chart_text import format_slug, rename_duplicates
from recall_bench.reporting.charts.plane import (
    Chart,
    ChartLayer,
    ChartPlane,
    build_name_axis,
    build_quantity_axis,
    build_view,
)

_BAR_STEP = 26.0
_NUMBER_ROOM = 0.032
"""The share of the longest bar that a segment must have to hold its number."""


def plot_failures_by_category(views: Attribution) -> Chart | None:
    """One bar a category, with a segment a leaf; None if there are no misses."""
    missed = {name: leaves for name, leaves in views.categories.items() if sum(leaves.values())}
    if not missed:
        return None
    names = rename_duplicates([format_slug(name) for name in missed])
    counts = dict(zip(names, missed.values(), strict=True))
    words = []
    for name, leaves in counts.items():
        leaf = max(leaves, key=lambda leaf: leaves[leaf])
        words.append(
            f"{name.lower()} {sum(leaves.values()):,}, most often {LEAF_TITLES[leaf].lower()} "
            f"({leaves[leaf]:,})"
        )
    body = build_view(_draw_stacks(counts), _BAR_STEP * len(counts))
    # The colours of numbers are another scale than those of segments.
    body["resolve"] = {"scale": {"color": "independent"}}
    return Chart(
        name="failures-by-category",
        section="failures",
        title="Where misses come from, by category",
        summary=f"Misses by category: {'; '.join(words)}.",
        notes=("Misses of each category by cause; at the end, all of them.",),
        body=body,
        columns=("category", *(LEAF_TITLES[leaf] for leaf in FailureLeaf), "all"),
        rows=tuple(
            (name, *(leaves.get(leaf, 0) for leaf in FailureLeaf), sum(leaves.values()))
            for name, leaves in counts.items()
        ),
    )


def _draw_stacks(counts: Mapping[str, Mapping[FailureLeaf, int]]) -> list[ChartLayer]:
    most = max(sum(leaves.values()) for leaves in counts.values())
    # No ticks between whole numbers.
    plane = ChartPlane(
        build_quantity_axis("Misses (trials)", 0, most, form=",d", ticks=min(5, most)),
        build_name_axis(list(counts)),
    )
    bars: list[dict[str, object]] = []
    numbers: list[dict[str, object]] = []
    totals: list[dict[str, object]] = []
    for name, leaves in counts.items():
        start = 0
        for leaf in FailureLeaf:
            count = leaves.get(leaf, 0)
            part = {"y": name, "category": name, "leaf": LEAF_TITLES[leaf], "misses": f"{count:,}"}
            if count:
                bars.append(part | {"x": start, "x2": start + count})
            if count >= _NUMBER_ROOM * most:
                numbers.append(part | {"x": start + count / 2, "text": f"{count:,}"})
            start += count
        totals.append({"x": start, "y": name, "text": f"{start:,}"})
    legend = {
        "orient": "top",
        "columns": 5,
        "title": None,
        "symbolType": "square",
        "values": [
            LEAF_TITLES[leaf]
            for leaf in FailureLeaf
            if any(leaves.get(leaf) for leaves in counts.values())
        ],
    }
    # The same colour for a leaf in every chart.
    colour = {"field": "leaf", "type": "nominal"}
    domain = [LEAF_TITLES[leaf] for leaf in FailureLeaf]
    fill = colour | {"scale": {"domain": domain, "range": "leaf"}, "legend": legend}
    ink = colour | {"scale": {"domain": domain, "range": "leaf-ink"}, "legend": None}
    text = {"field": "text", "type": "nominal"}
    return [
        *plane.draw_marks(
            "bar",
            "segment",
            bars,
            tells=("category", "leaf", "misses"),
            mark={"height": {"band": 0.68}},
            color=fill,
        ),
        *plane.draw_marks("text", "inside", numbers, text=text, color=ink),
        *plane.draw_text("strong-label", totals, dx=7),
    ]
