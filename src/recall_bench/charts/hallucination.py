"""How often answers are made up: by category and by persona."""

from collections.abc import Sequence

from recall_bench.analysis.hallucination.views import HallucinationViews
from recall_bench.charts import words
from recall_bench.charts.bars import RateBar, draw_rate_bars
from recall_bench.charts.chart import Chart
from recall_bench.charts.plane import build_chart_spec, build_view


def plot_category_rates(views: HallucinationViews) -> Chart | None:
    """One bar a category, those that tempt most to invent first."""
    if not any(each.rate for each in views.categories):
        return None
    title = "Hallucination by category"
    names = words.rename_duplicates([words.format_slug(each.name) for each in views.categories])
    bars = [
        RateBar(
            name=name,
            rate=each.rate,
            said=words.format_rate(each.rate),
            is_first=True,
        )
        for name, each in zip(names, views.categories, strict=True)
    ]
    notes = (
        (
            "Share of judged answers that state something made up, with "
            f"{words.format_level([bar.rate for bar in bars])} intervals. Negative recall and synthesis, "
            "which tempt most to invent, come first."
        ),
    )
    layers, height = draw_rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-category",
        section="hallucination",
        title=title,
        summary=_summarise_bars("Answers that hallucinate, by category", bars),
        spec=build_chart_spec(title, notes, build_view(layers, height)),
        columns=("category", "rate", "low", "high", "trials"),
        rows=tuple((bar.name, *words.list_figures(bar.rate)) for bar in bars),
    )


def plot_persona_rates(views: HallucinationViews) -> Chart | None:
    """One bar a persona, with the pattern of each."""
    if not any(each.rate for each in views.personas):
        return None
    title = "Hallucination by persona"
    courses = [views.overall, *views.personas]
    names = words.rename_duplicates(
        [words.trim_name(each.name or "All personas") for each in courses]
    )
    bars = [
        RateBar(
            name=name,
            rate=each.rate,
            said=f"{words.format_rate(each.rate)} · {each.pattern}",
            is_first=each.name is None,
        )
        for name, each in zip(names, courses, strict=True)
    ]
    notes = (
        (
            f"Share of judged answers, with {words.format_level([bar.rate for bar in bars])} intervals, "
            "and what happens to it while recall changes with corpus size."
        ),
    )
    layers, height = draw_rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-persona",
        section="hallucination",
        title=title,
        summary=_summarise_bars("Answers that hallucinate, by persona", bars),
        spec=build_chart_spec(title, notes, build_view(layers, height)),
        columns=("persona", "rate", "low", "high", "trials", "pattern"),
        rows=tuple(
            (bar.name, *words.list_figures(bar.rate), str(each.pattern))
            for bar, each in zip(bars, courses, strict=True)
        ),
    )


def _summarise_bars(what: str, bars: Sequence[RateBar]) -> str:
    return f"{what}: " + "; ".join(f"{bar.name.lower()} {bar.said}" for bar in bars) + "."
