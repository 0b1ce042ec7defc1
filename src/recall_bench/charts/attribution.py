"""Where misses come from: the leaves of the failure tree, in all and by category."""

from collections.abc import Mapping, Sequence

from recall_bench.analysis.attribution.views import Attribution, Leaf, LeafCount
from recall_bench.analysis.attribution.words import TITLES
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.plane import Layer, Plane, names, quantity, single, whole

_STEP = 26.0
_ROOM = 0.032
"""Of the longest bar, what a part of one must have to hold its number."""

_THICK = {"height": {"band": 0.68}}
_LEAVES = tuple(TITLES[leaf] for leaf in Leaf)


def failure_tree(views: Attribution) -> Chart | None:
    """One bar a leaf, empty ones too; None where nothing was missed."""
    if not views.misses:
        return None
    title = "Where misses come from"
    said = f"{views.misses:,} misses of {views.answered:,} trials, each put down to one place."
    largest = sorted(views.leaves, key=lambda each: -each.trials)[:3]
    told = [_share(each, views.misses) for each in largest if each.trials]
    body = single(_leaf_bars(views), _STEP * len(views.leaves))
    return Chart(
        name="failure-tree",
        section="attribution",
        title=title,
        summary=f"{said} Most: {'; '.join(told)}.",
        spec=whole(title, [said], body),
        columns=("leaf", "trials", "questions", "points lost"),
        rows=tuple(
            (TITLES[each.leaf], each.trials, each.questions, each.points_lost)
            for each in views.leaves
        ),
    )


def failures_by_category(views: Attribution) -> Chart | None:
    """One bar a category, its parts the leaves; None where nothing was missed."""
    missed = {name: found for name, found in views.categories.items() if sum(found.values())}
    if not missed:
        return None
    names = words.distinct([words.spelt(name) for name in missed])
    counts = dict(zip(names, missed.values(), strict=True))
    title = "Where misses come from, by category"
    note = "Misses of each category by the place they are put down to; at the end, all of them."
    body = single(_stacked(counts), _STEP * len(counts))
    # Numbers in a bar are inked by what they lie on, which is not the colour of the bar.
    body["resolve"] = {"scale": {"color": "independent"}}
    return Chart(
        name="failures-by-category",
        section="attribution",
        title=title,
        summary=_summary(counts),
        spec=whole(title, [note], body),
        columns=("category", *_LEAVES, "all"),
        rows=tuple(
            (name, *(found.get(leaf, 0) for leaf in Leaf), sum(found.values()))
            for name, found in counts.items()
        ),
    )


def _leaf_bars(views: Attribution) -> list[Layer]:
    rows = [
        {
            "x": each.trials,
            "x2": 0,
            "y": TITLES[each.leaf],
            "leaf": TITLES[each.leaf],
            "misses": f"{each.trials:,} of {views.misses:,}",
            "questions": each.questions,
            "points lost": each.points_lost,
            "text": f"{each.trials:,} · {words.share(each.trials / views.misses)}",
        }
        for each in views.leaves
    ]
    plane = _plane(max(each.trials for each in views.leaves), [str(row["y"]) for row in rows])
    tells = ("leaf", "misses", "questions", "points lost")
    filled = [row for row in rows if row["x"]]
    empty = [row | {"text": "0"} for row in rows if not row["x"]]
    colour = _colour("leaf")
    return [
        *plane.marks("bar", "segment", filled, tells=tells, mark=_THICK, color=colour),
        *plane.words("label", [_worded(row) for row in filled], dx=8),
        *plane.words("note", [_worded(row) for row in empty], dx=8),
    ]


def _stacked(counts: Mapping[str, Mapping[Leaf, int]]) -> list[Layer]:
    most = max(sum(found.values()) for found in counts.values())
    plane = _plane(most, list(counts))
    bars: list[dict[str, object]] = []
    numbers: list[dict[str, object]] = []
    for name, found in counts.items():
        start = 0
        for leaf in Leaf:
            count = found.get(leaf, 0)
            part = {"y": name, "category": name}
            part |= {"leaf": TITLES[leaf], "misses": f"{count:,}"}
            if count:
                bars.append(part | {"x": start, "x2": start + count})
            if count >= _ROOM * most:
                numbers.append(part | {"x": start + count / 2, "text": f"{count:,}"})
            start += count
    totals = [
        {"x": sum(found.values()), "y": name, "text": f"{sum(found.values()):,}"}
        for name, found in counts.items()
    ]
    shown = [leaf for leaf in Leaf if any(found.get(leaf) for found in counts.values())]
    tells = ("category", "leaf", "misses")
    colour, ink = _colour("leaf", shown), _colour("leaf-ink")
    text = {"field": "text", "type": "nominal"}
    return [
        *plane.marks("bar", "segment", bars, tells=tells, mark=_THICK, color=colour),
        *plane.marks("text", "inside", numbers, text=text, color=ink),
        *plane.words("strong-label", totals, dx=7),
    ]


def _plane(most: int, order: Sequence[str]) -> Plane:
    # No tick lies between two counts.
    return Plane(quantity("Misses (trials)", 0, most, form=",d", ticks=min(5, most)), names(order))


def _worded(row: Mapping[str, object]) -> dict[str, object]:
    return {"x": row["x"], "y": row["y"], "text": row["text"]}


def _colour(scale: str, shown: Sequence[Leaf] | None = None) -> dict[str, object]:
    """A leaf has the same colour in every chart; a legend names those that are `shown`."""
    legend = {
        "orient": "top",
        "columns": 5,
        "title": None,
        "symbolType": "square",
        "values": [TITLES[leaf] for leaf in shown or ()],
    }
    return {
        "field": "leaf",
        "type": "nominal",
        "scale": {"domain": list(_LEAVES), "range": scale},
        "legend": None if shown is None else legend,
    }


def _share(each: LeafCount, misses: int) -> str:
    spelt = TITLES[each.leaf].lower()
    return f"{spelt} {each.trials:,} ({words.share(each.trials / misses)})"


def _summary(counts: Mapping[str, Mapping[Leaf, int]]) -> str:
    said = []
    for name, found in counts.items():
        leaf = max(found, key=lambda each: found[each])
        said.append(
            f"{name.lower()} {sum(found.values()):,}, most often "
            f"{TITLES[leaf].lower()} ({found[leaf]:,})"
        )
    return "Misses by category: " + "; ".join(said) + "."
