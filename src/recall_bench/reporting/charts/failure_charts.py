"""Where misses come from: the leaves of the failure tree by category."""

from collections.abc import Mapping, Sequence

from recall_bench.reporting.analyses.attribution import LEAF_TITLES, Attribution, FailureLeaf
from recall_bench.reporting.charts import chart_text
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

_BAR_SIZE = {"height": {"band": 0.68}}
_LEAF_NAMES = tuple(LEAF_TITLES[leaf] for leaf in FailureLeaf)


def plot_failures_by_category(views: Attribution) -> Chart | None:
    """One bar a category, with a segment a leaf; None if there are no misses."""
    missed = {name: found for name, found in views.categories.items() if sum(found.values())}
    if not missed:
        return None
    names = chart_text.rename_duplicates([chart_text.format_slug(name) for name in missed])
    counts = dict(zip(names, missed.values(), strict=True))
    title = "Where misses come from, by category"
    note = "Misses of each category by cause; at the end, all of them."
    body = build_view(_draw_stacks(counts), _BAR_STEP * len(counts))
    # The colours of numbers are another scale than those of segments.
    body["resolve"] = {"scale": {"color": "independent"}}
    return Chart(
        name="failures-by-category",
        section="failures",
        title=title,
        summary=_summarise_failures(counts),
        notes=(note,),
        body=body,
        columns=("category", *_LEAF_NAMES, "all"),
        rows=tuple(
            (name, *(found.get(leaf, 0) for leaf in FailureLeaf), sum(found.values()))
            for name, found in counts.items()
        ),
    )


def _draw_stacks(counts: Mapping[str, Mapping[FailureLeaf, int]]) -> list[ChartLayer]:
    most = max(sum(found.values()) for found in counts.values())
    plane = _build_plane(most, list(counts))
    bars: list[dict[str, object]] = []
    numbers: list[dict[str, object]] = []
    for name, found in counts.items():
        start = 0
        for leaf in FailureLeaf:
            count = found.get(leaf, 0)
            part = {"y": name, "category": name}
            part |= {"leaf": LEAF_TITLES[leaf], "misses": f"{count:,}"}
            if count:
                bars.append(part | {"x": start, "x2": start + count})
            if count >= _NUMBER_ROOM * most:
                numbers.append(part | {"x": start + count / 2, "text": f"{count:,}"})
            start += count
    totals = [
        {"x": sum(found.values()), "y": name, "text": f"{sum(found.values()):,}"}
        for name, found in counts.items()
    ]
    shown = [leaf for leaf in FailureLeaf if any(found.get(leaf) for found in counts.values())]
    tells = ("category", "leaf", "misses")
    colour, ink = _encode_colour("leaf", shown), _encode_colour("leaf-ink")
    text = {"field": "text", "type": "nominal"}
    return [
        *plane.draw_marks("bar", "segment", bars, tells=tells, mark=_BAR_SIZE, color=colour),
        *plane.draw_marks("text", "inside", numbers, text=text, color=ink),
        *plane.draw_text("strong-label", totals, dx=7),
    ]


def _build_plane(most: int, order: Sequence[str]) -> ChartPlane:
    # No ticks between whole numbers.
    return ChartPlane(
        build_quantity_axis("Misses (trials)", 0, most, form=",d", ticks=min(5, most)),
        build_name_axis(order),
    )


def _encode_colour(scale: str, shown: Sequence[FailureLeaf] | None = None) -> dict[str, object]:
    """The same colour for a leaf in every chart; the legend names those `shown`."""
    legend = {
        "orient": "top",
        "columns": 5,
        "title": None,
        "symbolType": "square",
        "values": [LEAF_TITLES[leaf] for leaf in shown or ()],
    }
    return {
        "field": "leaf",
        "type": "nominal",
        "scale": {"domain": list(_LEAF_NAMES), "range": scale},
        "legend": None if shown is None else legend,
    }


def _summarise_failures(counts: Mapping[str, Mapping[FailureLeaf, int]]) -> str:
    said = []
    for name, found in counts.items():
        leaf = max(found, key=lambda each: found[each])
        said.append(
            f"{name.lower()} {sum(found.values()):,}, most often "
            f"{LEAF_TITLES[leaf].lower()} ({found[leaf]:,})"
        )
    return "Misses by category: " + "; ".join(said) + "."
