"""The picture shows what was measured, marks what was not, and says what a reader must know."""

import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.errors import UsageError
from recall_bench.reporting.heatmap.canvas import width_of, wrapped
from recall_bench.reporting.heatmap.colour import contrast, score_colour
from recall_bench.reporting.heatmap.drawing import Cell, HeatmapData, draw
from recall_bench.reporting.heatmap.picture import (
    MUTED,
    NO_DATA,
    NOT_YET,
    NOT_YET_BORDER,
    specification,
    thinned,
)

MEASURED = Cell(score=4.5, count=7, eligible=9)
FEW = Cell(score=2.0, count=1, eligible=9)
UNASKED = Cell(score=None, count=0, eligible=9)
NOT_ELIGIBLE = Cell(score=None, count=0, eligible=0)


def heatmap(row: tuple[Cell, ...] = (MEASURED,), **changes: Any) -> HeatmapData:
    data = HeatmapData(
        title="bm25 1: recall by category and checkpoint",
        subtitle=("Persona ada · judge exact 1 · 2026-05-24", "Dataset 0123456789ab"),
        categories=("factual-recall",),
        columns=tuple(f"{7 * (i + 1)}d" for i in range(len(row))),
        cells=(row,),
        overall=(MEASURED,) * len(row),
        hallucination=(12.5,) * len(row),
        done=len(row),
        visits=len(row),
    )
    return replace(data, **changes)


def values(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for layer in chart["layer"] for value in layer["data"]["values"]]


def texts(data: HeatmapData) -> list[str]:
    return [value["text"] for value in values(specification(data)) if "text" in value]


def boxes(data: HeatmapData, fill: str) -> list[dict[str, Any]]:
    """Rectangles of one colour, without those of the legend below everything else."""
    found = [v for v in values(specification(data)) if "x2" in v and v["fill"] == fill]
    axis = next(v["y"] for v in values(specification(data)) if v.get("text") == "checkpoint")
    return [box for box in found if box["y"] < axis]


def test_a_measured_cell_shows_its_mean_and_its_count() -> None:
    data = heatmap()

    assert {"4.5", "n 7"} <= set(texts(data))
    assert len(boxes(data, score_colour(4.5, 6))) == 2


def test_a_cell_never_measured_is_never_painted_with_a_neighbour() -> None:
    data = heatmap((MEASURED, UNASKED, MEASURED))

    assert len(boxes(data, NO_DATA)) == 1
    assert texts(data).count("4.5") == 2 + 3


def test_not_eligible_yet_looks_unlike_not_measured() -> None:
    data = heatmap((NOT_ELIGIBLE, NOT_ELIGIBLE, UNASKED, MEASURED))

    assert len(boxes(data, NOT_YET)) == 1
    assert len(boxes(data, NO_DATA)) == 1
    assert contrast(NOT_YET_BORDER, "#ffffff") > 2
    assert contrast(NO_DATA, NOT_YET) > 1.7


def test_every_cell_keeps_its_own_column() -> None:
    scores = (1.0, 2.0, 3.0, 4.0, 5.0)
    data = heatmap(tuple(Cell(score=score, count=5, eligible=5) for score in scores))

    chart = values(specification(data))

    at = {value["text"]: value["x"] for value in chart if "text" in value}
    assert [at[f"{7 * (i + 1)}d"] for i in range(5)] == [at[f"{score:.1f}"] for score in scores]


def test_hallucination_has_its_own_scale_and_unit() -> None:
    words = texts(heatmap())

    assert {"12.5 %", "% of judged answers", "hallucination", "100 %", "mean score, of 6"} <= set(
        words
    )


def test_the_legend_explains_every_state() -> None:
    assert {"not measured", "no question eligible yet", "n: trials the mean is over"} <= set(
        texts(heatmap())
    )
    assert "mean over 3 trials or fewer" in texts(heatmap((FEW,) * 143))


def test_where_counts_have_no_room_few_trials_are_marked() -> None:
    chart = specification(heatmap((FEW, MEASURED) * 70))
    layers: Any = chart["layer"]

    dots = [layer for layer in layers if layer["mark"]["type"] == "point"]

    assert len(dots[0]["data"]["values"]) == 70


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_stub": True}, "STUB JUDGE: scores mean nothing"),
        ({"invalid": "12 of 90 trials failed"}, "INVALID: 12 of 90 trials failed"),
        ({"done": 10, "visits": 50}, "UNFINISHED: 10 of 50 checkpoints"),
    ],
)
def test_what_a_reader_must_know_is_in_the_picture(changes: dict[str, Any], words: str) -> None:
    data = heatmap(**changes)

    assert words in texts(data)
    assert words in str(specification(data)["description"])
    assert words not in texts(heatmap())


@given(st.lists(st.floats(5, 60), min_size=1, max_size=200), st.floats(5, 120))
def test_axis_labels_never_touch_and_the_last_is_always_there(
    widths: list[float], step: float
) -> None:
    shown = thinned(widths, step)

    assert shown[-1] == len(widths) - 1
    for left, right in pairwise(shown):
        assert (right - left) * step > (widths[left] + widths[right]) / 2


@given(st.text(), st.floats(60, 400))
def test_wrapped_text_fits_and_loses_no_word(text: str, width: float) -> None:
    lines = wrapped(text, 12, width)

    assert all(width_of(line, 12) <= width for line in lines)
    kept = "".join("".join(lines).split())
    assert kept == "".join(text.split()) or "·" in text


@pytest.mark.parametrize("columns", [0, 1, 5, 26, 143, 1000])
def test_nothing_is_drawn_outside_the_page(columns: int) -> None:
    data = heatmap((MEASURED,) * columns, title="A very long name " * 20)

    chart = specification(data)

    width, height = float(str(chart["width"])), float(str(chart["height"]))
    for value in values(chart):
        assert 0 <= value["x"] <= value.get("x2", value["x"]) <= width
        assert 0 <= value["y"] <= value.get("y2", value["y"]) <= height
    assert width < 2800


def test_small_print_can_be_read() -> None:
    assert contrast(MUTED, "#ffffff") >= 4.5


def test_a_png_is_sharp(tmp_path: Path) -> None:
    draw(heatmap((MEASURED,) * 5), tmp_path / "deep" / "heatmap.png")

    head = (tmp_path / "deep" / "heatmap.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width >= 1500
    assert height >= 600


def test_an_svg_is_well_formed_whatever_the_names(tmp_path: Path) -> None:
    name = '<script>alert("&")</script> 日本語\0\x1b'

    draw(heatmap(title=name, categories=("a<b",)), tmp_path / "heatmap.svg")

    root = ElementTree.parse(tmp_path / "heatmap.svg").getroot()
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    assert any("alert" in (node.text or "") for node in root.iter())


def test_an_svg_can_be_listened_to(tmp_path: Path) -> None:
    draw(heatmap((MEASURED, UNASKED)), tmp_path / "heatmap.svg")

    root = ElementTree.parse(tmp_path / "heatmap.svg").getroot()
    title, described = root[0], root[1]

    assert root.attrib["role"] == "img"
    assert title.text == "bm25 1: recall by category and checkpoint"
    assert (described.text or "").endswith("Overall: 7d 4.5, 14d 4.5")
    assert not [node for node in root.iter() if "aria-label" in node.attrib]


def test_a_pdf_is_a_pdf(tmp_path: Path) -> None:
    draw(heatmap(), tmp_path / "heatmap.PDF")

    assert (tmp_path / "heatmap.PDF").read_bytes().startswith(b"%PDF")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf"):
        draw(heatmap(), tmp_path / "heatmap.gif")


def test_the_bundled_font_is_there(tmp_path: Path) -> None:
    """Without a font, pictures come out with no words in them."""
    import vl_convert

    def ink_of(text: str) -> bytes:
        mark = {"type": "text", "font": "Liberation Sans", "fontSize": 20, "text": text}
        chart = {"data": {"values": [{}]}, "mark": mark, "width": 99, "height": 40}
        return bytes(vl_convert.vegalite_to_png(chart))

    assert ink_of("Recall") != ink_of("") != ink_of("Precision")
