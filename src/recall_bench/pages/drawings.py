"""Charts as the page shows them: their titles are headings of the page, which has one style."""

from collections.abc import Mapping
from typing import Final

from recall_bench.charts import Chart, Colours, Theme, config_of

LISTED_CHARTS: Final = frozenset({"failure-tree"})
"""Charts of what the page shows as a list, with cases to open."""


def extract_note(chart: Chart) -> str:
    """What stands below the title of a chart, as one text: there it is broken into lines."""
    title = chart.spec.get("title")
    found = title.get("subtitle") if isinstance(title, Mapping) else None
    lines = [found] if isinstance(found, str) else found if isinstance(found, list | tuple) else []
    note = ""
    for line in map(str, lines):
        # A line that starts a sentence follows the end of one.
        is_new = line[:1].isupper() and note and note[-1] not in ".:;,"
        note += f"{'.' if is_new else ''}{' ' if note else ''}{line}"
    return note


def is_grid(chart: Chart) -> bool:
    """Whether it has several panels, which need the whole width to be read."""
    return chart.spec.get("width") != "container"


def strip_title(chart: Chart) -> dict[str, object]:
    """The chart without its title, and its figures."""
    spec = {key: value for key, value in chart.spec.items() if key != "title"}
    return {"spec": spec, "columns": chart.columns, "rows": chart.rows}


def build_configs() -> dict[str, object]:
    """How charts look, by theme and colours: on the page's own ground, without a margin."""
    return {
        f"{theme.value} {colours.value}": {
            **config_of(theme, colours),
            "background": "transparent",
            "padding": 5,
        }
        for theme in Theme
        for colours in Colours
    }
