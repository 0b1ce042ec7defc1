"""How often answers are made up: by category and by persona."""

from collections.abc import Sequence

from recall_bench.analysis.hallucination.views import HallucinationViews
from recall_bench.charts import words
from recall_bench.charts.bars import Bar, rate_bars
from recall_bench.charts.chart import Chart
from recall_bench.charts.plane import single, whole


def rates_by_category(views: HallucinationViews) -> Chart | None:
    """One bar a category, those that tempt most to invent first."""
    if not any(each.rate for each in views.categories):
        return None
    title = "Hallucination by category"
    names = words.distinct([words.spelt(each.name) for each in views.categories])
    bars = [
        Bar(
            name=name,
            rate=each.rate,
            said=words.rate(each.rate),
            is_first=True,
        )
        for name, each in zip(names, views.categories, strict=True)
    ]
    notes = (
        (
            "Share of judged answers that state something made up, with "
            f"{words.level([bar.rate for bar in bars])} intervals. Negative recall and synthesis, "
            "which tempt most to invent, come first."
        ),
    )
    layers, height = rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-category",
        section="hallucination",
        title=title,
        summary=_told("Answers that hallucinate, by category", bars),
        spec=whole(title, notes, single(layers, height)),
        columns=("category", "rate", "low", "high", "trials"),
        rows=tuple((bar.name, *words.figures(bar.rate)) for bar in bars),
    )


def rates_by_persona(views: HallucinationViews) -> Chart | None:
    """One bar a persona, with the pattern of each."""
    if not any(each.rate for each in views.personas):
        return None
    title = "Hallucination by persona"
    courses = [views.overall, *views.personas]
    names = words.distinct([words.named(each.name or "All personas") for each in courses])
    bars = [
        Bar(
            name=name,
            rate=each.rate,
            said=f"{words.rate(each.rate)} · {each.pattern}",
            is_first=each.name is None,
        )
        for name, each in zip(names, courses, strict=True)
    ]
    notes = (
        (
            f"Share of judged answers, with {words.level([bar.rate for bar in bars])} intervals, "
            "and what happens to it while recall changes with corpus size."
        ),
    )
    layers, height = rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-persona",
        section="hallucination",
        title=title,
        summary=_told("Answers that hallucinate, by persona", bars),
        spec=whole(title, notes, single(layers, height)),
        columns=("persona", "rate", "low", "high", "trials", "pattern"),
        rows=tuple(
            (bar.name, *words.figures(bar.rate), str(each.pattern))
            for bar, each in zip(bars, courses, strict=True)
        ),
    )


def _told(what: str, bars: Sequence[Bar]) -> str:
    return f"{what}: " + "; ".join(f"{bar.name.lower()} {bar.said}" for bar in bars) + "."
