"""The look of charts: fonts, axes and colours, by theme.

Charts name only roles: a `style` for each kind of mark, and the ranges `leaf`, `leaf-ink`, `ramp`.
"""

from dataclasses import dataclass
from enum import StrEnum

from recall_bench.reporting.heatmap.colours import choose_ink
from recall_bench.reporting.pictures import FONT


class ChartTheme(StrEnum):
    """Light or dark background."""

    LIGHT = "light"
    DARK = "dark"


class ChartColours(StrEnum):
    """Standard or colour-blind safe colours."""

    STANDARD = "standard"
    COLOUR_BLIND = "colour-blind"


TITLE_SIZE, NOTE_SIZE, LABEL_SIZE = 15, 12, 11
"""Type sizes of titles, notes, and labels of axes and points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemePaper:
    """Colours of everything that is no data."""

    background: str
    ink: str
    muted: str
    rule: str
    beyond: str
    """The background beyond the measured sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemePalette:
    """Colours with a meaning."""

    score: str
    other: str
    """A second series of scores."""
    invention: str
    """Hallucination: violet as in the heatmap, if that is distinguishable."""
    ramp: tuple[str, ...]
    """From the first checkpoint to the last."""
    leaves: tuple[str, ...]
    """One a leaf, in order; the last two are greys."""


PAPERS = {
    ChartTheme.LIGHT: ThemePaper(
        background="#ffffff", ink="#1b1f24", muted="#4d5762", rule="#dfe3e8", beyond="#f3f5f8"
    ),
    ChartTheme.DARK: ThemePaper(
        background="#14181d", ink="#e8ecf1", muted="#a9b4c0", rule="#323a44", beyond="#1e242c"
    ),
}

# The colour-blind series are those of Okabe and Ito, lightened for a dark background. No published
# palette has eleven colours that are distinguishable with red-green blindness: the leaves are Tol's
# "muted", each shifted until every two are.
PALETTES = {
    (ChartTheme.LIGHT, ChartColours.STANDARD): ThemePalette(
        score="#2764c4",
        other="#c2570c",
        invention="#7a3fc4",
        ramp=("#a9c7f5", "#2764c4", "#0c2a5e"),
        leaves=(
            *("#8c5a2b", "#2764c4", "#3aa6c9", "#1d8a5f", "#d9a321", "#d9731f"),
            *("#7a3fc4", "#c94f93", "#c0322f", "#8b949e", "#c3c9d1"),
        ),
    ),
    (ChartTheme.DARK, ChartColours.STANDARD): ThemePalette(
        score="#6ea8ff",
        other="#f2a15c",
        invention="#b990f5",
        ramp=("#2f4d80", "#6ea8ff", "#dbe8ff"),
        leaves=(
            *("#b98a5c", "#5b93ea", "#62c6e3", "#3fb587", "#e8bd4f", "#ee8d45"),
            *("#a878ee", "#e07fb4", "#e2605a", "#7d8792", "#525c67"),
        ),
    ),
    (ChartTheme.LIGHT, ChartColours.COLOUR_BLIND): ThemePalette(
        score="#0072b2",
        other="#c65500",
        invention="#a84a86",
        ramp=("#9ccdf0", "#0072b2", "#00304d"),
        leaves=(
            *("#732c6d", "#2a00b0", "#6abafa", "#086016", "#c2e270", "#ca6845"),
            *("#934ebf", "#48c295", "#c1a600", "#818994", "#d2d6dc"),
        ),
    ),
    (ChartTheme.DARK, ChartColours.COLOUR_BLIND): ThemePalette(
        score="#56b4e9",
        other="#e69f00",
        invention="#dd93bd",
        ramp=("#22506e", "#56b4e9", "#d9f0ff"),
        leaves=(
            *("#90308c", "#5e3dd6", "#aeddf5", "#008c07", "#ffde90", "#ca957b"),
            *("#ac6cde", "#3ebbca", "#c3bb0d", "#737d88", "#363e48"),
        ),
    ),
}


def build_config(theme: ChartTheme, colours: ChartColours) -> dict[str, object]:
    """The Vega-Lite configuration of charts: all fonts and colours."""
    paper, palette = PAPERS[theme], PALETTES[theme, colours]
    words = {"font": FONT, "fontSize": LABEL_SIZE}
    return {
        "background": paper.background,
        "font": FONT,
        # Screen readers get the summary and the table, not a thousand marks.
        "aria": False,
        "padding": 16,
        "view": {"stroke": None},
        **_build_frame(paper),
        "text": {"color": paper.ink, **words},
        "range": {
            "leaf": list(palette.leaves),
            "leaf-ink": [choose_ink(colour) for colour in palette.leaves],
            "ramp": list(palette.ramp),
        },
        "style": _build_styles(paper, palette),
    }


def _build_frame(paper: ThemePaper) -> dict[str, object]:
    """Axes, titles and legends."""
    return {
        "axis": {
            "labelColor": paper.muted,
            "titleColor": paper.muted,
            "gridColor": paper.rule,
            "domain": False,
            "ticks": False,
            "labelFontSize": LABEL_SIZE,
            "titleFontSize": NOTE_SIZE,
            "titleFontWeight": "normal",
            "labelPadding": 6,
            "titlePadding": 8,
            "labelLimit": 260,
        },
        "title": {
            "anchor": "start",
            "color": paper.ink,
            "fontSize": TITLE_SIZE,
            "subtitleColor": paper.muted,
            "subtitleFontSize": NOTE_SIZE,
            "subtitleLineHeight": 16,
            "subtitlePadding": 4,
            "offset": 14,
        },
        "legend": {
            "labelColor": paper.muted,
            "titleColor": paper.muted,
            "labelFontSize": LABEL_SIZE,
            "titleFontSize": LABEL_SIZE,
            "titleFontWeight": "normal",
        },
    }


def _build_styles(paper: ThemePaper, palette: ThemePalette) -> dict[str, object]:
    words = {"font": FONT, "fontSize": LABEL_SIZE, "baseline": "middle"}
    return {
        "panel-title": {"fontSize": NOTE_SIZE, "fontWeight": "bold", "fill": paper.ink},
        "label": {**words, "color": paper.ink},
        "inside": {**words, "align": "center"},
        "strong-label": {**words, "color": paper.ink, "fontWeight": "bold"},
        "note": {**words, "color": paper.muted},
        "reference": {"color": paper.muted, "strokeWidth": 1, "strokeDash": [3, 3]},
        "context": {"color": paper.muted, "strokeWidth": 1.2, "opacity": 0.55},
        "beyond": {"color": paper.beyond},
        "segment": {"stroke": paper.background, "strokeWidth": 1},
        "interval": {"color": paper.ink, "strokeWidth": 1.4},
        "halo": {"color": paper.background, "strokeWidth": 4},
        "dimmed": {"color": paper.muted, "opacity": 0.6, "filled": True},
        "dimmed-interval": {"color": paper.muted, "opacity": 0.6, "strokeWidth": 1.4},
        "ink-point": {"color": paper.ink, "filled": True, "opacity": 1},
        "ramp-point": {"filled": True, "opacity": 1},
        **_build_series_styles("score", palette.score),
        **_build_series_styles("other", palette.other),
        **_build_series_styles("invention", palette.invention),
    }


def _build_series_styles(name: str, colour: str) -> dict[str, object]:
    """The styles of one series."""
    words = {"font": FONT, "fontSize": LABEL_SIZE, "baseline": "middle", "fontWeight": "bold"}
    return {
        f"{name}-line": {"color": colour, "strokeWidth": 2, "strokeJoin": "round"},
        f"{name}-thin": {"color": colour, "strokeWidth": 1.2, "opacity": 0.6},
        f"{name}-beyond": {"color": colour, "strokeWidth": 2, "strokeDash": [5, 4]},
        f"{name}-band": {"color": colour, "fillOpacity": 0.16, "strokeWidth": 0},
        f"{name}-interval": {"color": colour, "strokeWidth": 1.4},
        f"{name}-point": {"color": colour, "filled": True, "opacity": 1},
        f"{name}-bar": {"color": colour, "fillOpacity": 1},
        f"{name}-label": {**words, "color": colour},
    }
