"""An overview of a matrix: every system in every category, setting by setting, in colour."""

from pathlib import Path
from xml.sax.saxutils import escape

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.reporting.heatmap.canvas import (
    Canvas,
    make_box,
    make_text,
    measure_text,
    plain,
    wrap_text,
)
from recall_bench.reporting.heatmap.colours import (
    DASH,
    INK,
    MUTED,
    NO_DATA_FILL,
    RULE,
    choose_ink,
    colour_rate,
    colour_score,
)
from recall_bench.reporting.matrix_report import MatrixReport, SettingReport, SystemFigures
from recall_bench.reporting.matrix_text import format_headline

_MARGIN, _GUTTER, _PIXELS = 28.0, 14.0, 2
_CELL, _ROW, _GAP, _APART = 84.0, 40.0, 2.0, 14.0
_LABEL, _MEAN, _SMALL, _HEAD = 13.0, 13.0, 9.5, 11.0
_STEPS, _LENGTH = 98, 196.0
_OF_100 = 100 / FULL_MARKS
_NAME_LETTERS = 30


def draw_matrix(report: MatrixReport, png: Path, svg: Path) -> None:
    """Write the overview as PNG and as SVG."""
    import vl_convert

    chart = build_specification(report)
    drawing = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    replace_file(png, vl_convert.svg_to_png(drawing, scale=_PIXELS))
    title, _, rest = str(chart["description"]).partition("\n")
    opening, closing, body = drawing.partition(">")
    spoken = (
        f'{opening} role="img"{closing}<title>{escape(title)}</title>'
        f"<desc>{escape(rest)}</desc>{body}"
    )
    replace_file(svg, spoken.encode())


def build_specification(report: MatrixReport) -> dict[str, object]:
    """The Vega-Lite chart of the overview."""
    return _MatrixPicture(report).build_chart()


class _MatrixPicture:
    def __init__(self, report: MatrixReport) -> None:
        self._report = report
        self._canvas = Canvas()
        self._shown = [setting for setting in report.settings if setting.systems]
        names = dict.fromkeys(
            place.name
            for setting in self._shown
            for each in setting.systems
            for place in each.categories
            if place.mean is not None
        )
        self._categories = list(names)
        labels = [_cut(each.system) for setting in self._shown for each in setting.systems]
        self._left = _MARGIN + max(measure_text(label, _LABEL) for label in labels) + _GUTTER
        plotted = self._x(len(self._categories) + 1) + _CELL + _MARGIN
        self._width = max(plotted, 2 * _MARGIN + 2 * _LENGTH + 120)
        self._y = _MARGIN

    def build_chart(self) -> dict[str, object]:
        self._draw_heading()
        self._draw_column_heads()
        for setting in self._shown:
            self._draw_setting(setting)
        self._draw_legend()
        return self._canvas.build_chart(self._width, self._y + _MARGIN, self._describe())

    def _x(self, column: int) -> float:
        """The left edge of a column: the score first, the categories, hallucination last."""
        apart = _APART * (column > 0) + _APART * (column > len(self._categories))
        return self._left + column * _CELL + apart

    def _draw_heading(self) -> None:
        room = self._width - 2 * _MARGIN
        for line in wrap_text(self._report.name, 21, room):
            self._canvas.draw_text(
                [make_text(_MARGIN, self._y + 13, line)], (21, True, "left", INK)
            )
            self._y += 26
        self._y += 4
        for line in wrap_text(format_headline(self._report), _LABEL, room):
            self._canvas.draw_text(
                [make_text(_MARGIN, self._y + 9.5, line)], (_LABEL, False, "left", MUTED)
            )
            self._y += 19
        missing = len(self._report.missing)
        if missing:
            said = f"{missing} cell{' is' if missing == 1 else 's are'} missing or not valid"
            self._canvas.draw_text(
                [make_text(_MARGIN, self._y + 9.5, said)], (_LABEL, True, "left", INK)
            )
            self._y += 19
        self._y += 14

    def _draw_column_heads(self) -> None:
        heads = ["Score", *map(_format_slug, self._categories), "Hallucination"]
        lines = [wrap_text(head, _HEAD, _CELL - 6) for head in heads]
        height = 14.0 * max(map(len, lines))
        for column, head in enumerate(lines):
            top = self._y + height - 14 * len(head)
            words = [
                make_text(self._x(column) + _CELL / 2, top + 7 + 14 * n, line)
                for n, line in enumerate(head)
            ]
            self._canvas.draw_text(words, (_HEAD, column == 0, "center", INK))
        self._y += height + 6

    def _draw_setting(self, setting: SettingReport) -> None:
        if len(self._report.settings) > 1:
            self._canvas.draw_text(
                [make_text(_MARGIN, self._y + 14, f"Setting {setting.name}")],
                (_LABEL, True, "left", MUTED),
            )
            self._y += 26
        for rank in setting.ranking:
            each = next(one for one in setting.systems if one.system == rank.system)
            self._draw_system(each)
        self._y += 12

    def _draw_system(self, each: SystemFigures) -> None:
        label = make_text(self._left - _GUTTER, self._y + _ROW / 2, _cut(each.system))
        is_base = each.system == self._report.baseline
        self._canvas.draw_text([label], (_LABEL, is_base, "right", INK))
        self._draw_cell(0, each.score, _OF_100, colour_score(each.score.value, FULL_MARKS))
        means = {place.name: place.mean for place in each.categories}
        for column, name in enumerate(self._categories, start=1):
            mean = means.get(name)
            fill = NO_DATA_FILL if mean is None else colour_score(mean.value, FULL_MARKS)
            self._draw_cell(column, mean, _OF_100, fill)
        rate = each.hallucination
        fill = NO_DATA_FILL if rate is None else colour_rate(rate.value)
        self._draw_cell(len(self._categories) + 1, rate, 100, fill, unit=" %")
        self._y += _ROW

    def _draw_cell(
        self, column: int, found: Estimate | None, scale: float, fill: str, *, unit: str = ""
    ) -> None:
        x, width = self._x(column), _CELL - _GAP
        self._canvas.draw_boxes([make_box(x, self._y, width, _ROW - _GAP, fill)], radius=2)
        middle = x + width / 2
        if found is None:
            dash = make_box(middle - 5, self._y + (_ROW - _GAP) / 2 - 0.8, 10, 1.6, DASH)
            self._canvas.draw_boxes([dash])
            return
        colour = choose_ink(fill)
        mean = make_text(middle, self._y + 13, f"{found.value * scale:.1f}{unit}")
        self._canvas.draw_text([mean], (_MEAN, True, "center", colour))
        self._canvas.draw_text(
            [make_text(middle, self._y + 28, _format_interval(found, scale))],
            (_SMALL, False, "center", colour),
        )
        if found.is_small:
            corner = {"x": round(x + width, 2), "y": round(self._y, 2), "fill": colour}
            self._canvas.draw_corners([corner], side=8)

    def _draw_legend(self) -> None:
        self._y += 6
        self._canvas.draw_boxes(
            [make_box(_MARGIN, self._y, self._width - 2 * _MARGIN, 1, "#d0d7de")]
        )
        self._y += 14
        scores = [(share / 100, str(share)) for share in (0, 25, 50, 75, 100)]
        colours = [colour_score((n + 0.5) / _STEPS, 1) for n in range(_STEPS)]
        self._draw_scale(_MARGIN, "score", scores, colours)
        rates = [((p / 100) ** 0.5, f"{p} %") for p in (0, 5, 25, 50, 100)]
        colours = [colour_rate(((n + 0.5) / _STEPS) ** 2) for n in range(_STEPS)]
        self._draw_scale(_MARGIN + _LENGTH + 44, "hallucination", rates, colours)
        self._y += 70
        said = (
            "Below each figure its 95 % interval and the number of questions. Marked corner: fewer "
            f"than {FEW_QUESTIONS} questions, interval in doubt. Best first; the baseline is bold."
        )
        for line in wrap_text(said, _HEAD, self._width - 2 * _MARGIN):
            self._canvas.draw_text(
                [make_text(_MARGIN, self._y, line)], (_HEAD, False, "left", MUTED)
            )
            self._y += 15

    def _draw_scale(
        self, x: float, caption: str, ticks: list[tuple[float, str]], colours: list[str]
    ) -> None:
        step = _LENGTH / _STEPS
        # Neighbours overlap by half a point: abutting edges would show as hairlines.
        boxes = [
            make_box(x + n * step, self._y + 18, step + (0.5 if n < _STEPS - 1 else 0), 14, colour)
            for n, colour in enumerate(colours)
        ]
        self._canvas.draw_boxes(boxes)
        self._canvas.draw_text([make_text(x, self._y + 7, caption)], (11.5, False, "left", INK))
        marks = [
            make_box(x + share * _LENGTH - 0.5, self._y + 32, 1, 4, RULE) for share, _ in ticks
        ]
        self._canvas.draw_boxes(marks)
        words = [make_text(x + share * _LENGTH, self._y + 43, text) for share, text in ticks]
        self._canvas.draw_text(words, (10.5, False, "center", MUTED))

    def _describe(self) -> str:
        said = [
            f"{setting.name}: "
            + ", ".join(
                f"{rank.system} {rank.score.value * _OF_100:.1f}" for rank in setting.ranking
            )
            for setting in self._shown
        ]
        rest = f"{format_headline(self._report)}. Scores of 100 by setting: {'; '.join(said)}."
        return f"{plain(self._report.name)}\n{plain(rest)}"


def _format_interval(found: Estimate, scale: float) -> str:
    if found.low is None or found.high is None:
        return f"n {found.questions}"
    ends = f"{found.low * scale:.0f}–{found.high * scale:.0f}"
    return f"{ends} · n {found.questions}"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_LETTERS else name[: _NAME_LETTERS - 1] + "…"


def _format_slug(slug: str) -> str:
    words = slug.replace("-", " ").replace("_", " ")
    return words[:1].upper() + words[1:]
