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

from recall_bench.core.errors import UsageError
from recall_bench.reporting.heatmap.canvas import measure_text, wrap_text
from recall_bench.reporting.heatmap.colours import (
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    SMALL_HEIGHT,
    colour_rate,
    colour_score,
    compute_contrast,
)
from recall_bench.reporting.heatmap.heatmap_picture import (
    ColourScale,
    HeatmapData,
    PictureCell,
    build_heatmap_spec,
    draw_picture,
    select_labels,
)

MEASURED = PictureCell(score=4.5, count=27, eligible=30, low=3.9, high=5.0, questions=25, missing=2)
FEW = PictureCell(score=2.0, count=38, eligible=40, low=0.4, high=5.7, questions=19, missing=0)
FOREIGN = PictureCell(score=4.5, count=27, eligible=30)
RATE = PictureCell(score=12.5, count=27, eligible=30, low=3.6, high=28.2, questions=25, missing=2)
UNASKED = PictureCell(score=None, count=0, eligible=9)
NOT_ELIGIBLE = PictureCell(score=None, count=0, eligible=0)


def heatmap(row: tuple[PictureCell, ...] = (MEASURED,), **changes: Any) -> HeatmapData:
    data = HeatmapData(
        title="bm25 1: recall by category and checkpoint",
        subtitle=("Persona ada · judge exact 1 · 2026-05-24", "Dataset 0123456789ab"),
        categories=("factual-recall",),
        columns=tuple(f"{7 * (i + 1)}d" for i in range(len(row))),
        cells=(row,),
        overall=(MEASURED,) * len(row),
        hallucination=(RATE,) * len(row),
        done=len(row),
        visits=len(row),
        intervals="95 % interval, questions drawn again (seed 42)",
    )
    return replace(data, **changes)


def values(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for layer in chart["layer"] for value in layer["data"]["values"]]


def texts(data: HeatmapData) -> list[str]:
    return [value["text"] for value in values(build_heatmap_spec(data)) if "text" in value]


def boxes(data: HeatmapData, fill: str) -> list[dict[str, Any]]:
    """Rectangles of one colour, without those of the legend below everything else."""
    found = [v for v in values(build_heatmap_spec(data)) if "x2" in v and v["fill"] == fill]
    axis = next(v["y"] for v in values(build_heatmap_spec(data)) if v.get("text") == "checkpoint")
    return [box for box in found if box["y"] < axis]


def hovers(data: HeatmapData) -> list[str]:
    meta: Any = build_heatmap_spec(data)["usermeta"]
    return [cell["text"] for cell in meta["hovers"]]


def marks(data: HeatmapData) -> int:
    """Corners of small cells, the legend's aside."""
    layers: Any = build_heatmap_spec(data)["layer"]
    axis = next(v["y"] for v in values(build_heatmap_spec(data)) if v.get("text") == "checkpoint")
    corners = [layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "point"]
    return sum(corner["y"] < axis for row in corners for corner in row)


def test_a_measured_cell_shows_its_mean_its_interval_and_its_questions() -> None:
    data = heatmap()

    assert {"4.5", "3.9–5.0 · n 25", "12.5 %", "4–28 · n 25"} <= set(texts(data))
    assert len(boxes(data, colour_score(4.5, 6))) == 2


@pytest.mark.parametrize(
    ("columns", "shown", "hidden"),
    [
        (10, {"3.9–5.0 · n 25"}, {"n 25"}),
        (20, {"3.9–5.0", "n 25"}, {"3.9–5.0 · n 25"}),
        (36, {"4.5", "n 25"}, {"3.9–5.0"}),
        (143, set[str](), {"4.5", "n 25", "3.9–5.0"}),
    ],
)
def test_cells_say_as_much_as_they_have_room_for(
    columns: int, shown: set[str], hidden: set[str]
) -> None:
    words = set(texts(heatmap((MEASURED,) * columns)))

    assert shown <= words
    assert not hidden & words


@pytest.mark.parametrize("columns", [1, 4, 10, 20, 36])
def test_what_is_written_into_a_cell_stays_in_it(columns: int) -> None:
    wide = PictureCell(
        score=5.5, count=9999, eligible=9999, low=5.1, high=5.9, questions=4321, missing=0
    )
    data = heatmap((wide,) * columns)
    chart = values(build_heatmap_spec(data))
    cell = next(v for v in chart if v.get("fill") == colour_score(5.5, 6))

    words = [v for v in chart if "5.1–5.9" in str(v.get("text")) or "4321" in str(v.get("text"))]

    assert words
    assert all(measure_text(word["text"], 9.5) <= cell["x2"] - cell["x"] for word in words)


def test_a_cell_over_few_questions_is_marked_however_many_trials_it_has() -> None:
    enough = replace(FEW, questions=20)
    data = heatmap((FEW, enough, MEASURED))

    assert "0.4–5.7 · n 19!" in texts(data)
    assert "0.4–5.7 · n 20" in texts(data)
    assert marks(data) == 1


def test_where_questions_were_not_counted_few_trials_are_few_questions() -> None:
    data = heatmap((FOREIGN, replace(FOREIGN, count=19)), intervals=None)

    assert {"n 27", "n 19!"} <= set(texts(data))
    assert marks(data) == 1


def test_where_there_are_no_words_a_cell_over_few_questions_is_slim() -> None:
    data = heatmap((FEW, MEASURED, UNASKED) * 47)

    slim, full = (boxes(data, colour_score(cell.score or 0, 6))[0] for cell in (FEW, MEASURED))

    assert slim["y2"] - slim["y"] == pytest.approx(
        SMALL_HEIGHT * (full["y2"] - full["y"]), abs=0.02
    )
    assert (slim["y2"] + slim["y"]) / 2 == pytest.approx((full["y2"] + full["y"]) / 2, abs=0.02)
    assert marks(data) == 0


def test_pointing_at_a_cell_tells_all_there_is_to_know() -> None:
    row = (MEASURED, FEW, UNASKED, NOT_ELIGIBLE, FOREIGN)
    sure, unsure = "95 % interval 3.90 to 5.00", "95 % interval 0.40 to 5.70"
    few = "fewer than 20 questions: the interval is in doubt"

    assert hovers(heatmap(row))[:5] == [
        f"Factual recall, 7d: 4.50 of 6 · {sure} · 25 questions · 27 trials · 2 missing",
        f"Factual recall, 14d: 2.00 of 6 · {unsure} · 19 questions · 38 trials · 0 missing · {few}",
        "Factual recall, 21d: not measured",
        "Factual recall, 28d: no question eligible yet",
        "Factual recall, 35d: 4.50 of 6 · 27 trials",
    ]
    assert hovers(heatmap(row))[-1].startswith("Hallucination, 35d: 12.5 % · 95 % interval 3.6 to")


def test_every_cell_can_be_pointed_at_and_lies_on_its_colour(tmp_path: Path) -> None:
    row = (MEASURED, replace(MEASURED, score=1.5))
    data = heatmap(row, categories=('a<"b"',))
    draw_picture(data, tmp_path / "heatmap.svg")

    root = ElementTree.parse(tmp_path / "heatmap.svg").getroot()
    sheets = root[-1]

    assert len(sheets) == 2 * 3
    assert [(sheet[0].text or "").split(":")[0] for sheet in sheets][:2] == [
        'A<"b", 7d',
        'A<"b", 14d',
    ]
    first = {key: float(value) for key, value in sheets[0].attrib.items()}
    drawn = boxes(data, colour_score(4.5, 6))[0]
    assert (first["x"], first["y"]) == (drawn["x"], drawn["y"])
    assert first["x"] + first["width"] == pytest.approx(drawn["x2"])


def test_the_other_colours_are_used_throughout() -> None:
    standard, other = (
        {value["fill"] for value in values(build_heatmap_spec(heatmap(), scale)) if "fill" in value}
        for scale in ColourScale
    )

    assert colour_score(4.5, 6) in standard - other
    assert colour_rate(0.125) in standard - other
    assert colour_score(4.5, 6, ColourScale.COLOUR_BLIND) in other - standard
    assert colour_rate(0.125, ColourScale.COLOUR_BLIND) in other - standard


def test_a_cell_never_measured_is_never_painted_with_a_neighbour() -> None:
    data = heatmap((MEASURED, UNASKED, MEASURED))

    assert len(boxes(data, NO_DATA_FILL)) == 1
    assert texts(data).count("4.5") == 2 + 3


def test_not_eligible_yet_looks_unlike_not_measured() -> None:
    data = heatmap((NOT_ELIGIBLE, NOT_ELIGIBLE, UNASKED, MEASURED))

    assert len(boxes(data, NOT_YET)) == 1
    assert len(boxes(data, NO_DATA_FILL)) == 1
    assert compute_contrast(NOT_YET_BORDER, "#ffffff") > 2
    assert compute_contrast(NO_DATA_FILL, NOT_YET) > 1.7


def test_every_cell_keeps_its_own_column() -> None:
    scores = (1.0, 2.0, 3.0, 4.0, 5.0)
    data = heatmap(tuple(PictureCell(score=score, count=5, eligible=5) for score in scores))

    chart = values(build_heatmap_spec(data))

    at = {value["text"]: value["x"] for value in chart if "text" in value}
    assert [at[f"{7 * (i + 1)}d"] for i in range(5)] == [at[f"{score:.1f}"] for score in scores]


def test_hallucination_has_its_own_scale_and_unit() -> None:
    words = texts(heatmap())

    assert {"12.5 %", "% of judged answers", "hallucination", "100 %", "mean score, of 6"} <= set(
        words
    )


def test_the_legend_explains_every_state() -> None:
    always = {"not measured", "no question eligible yet"}
    how = "95 % interval, questions drawn again (seed 42)"
    few, narrow = texts(heatmap((FEW,))), texts(heatmap((FEW,) * 143))

    assert always | {"different questions", how} <= set(texts(heatmap()))
    assert "under 20 questions, interval in doubt" in few
    assert "under 20 questions, interval in doubt" not in texts(heatmap())
    assert always | {"half height: under 20 questions, interval in doubt"} <= set(narrow)
    assert not {"different questions", how} & set(narrow)
    assert "trials the mean is over" in texts(heatmap((FOREIGN,), intervals=None))


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
    assert words in str(build_heatmap_spec(data)["description"])
    assert words not in texts(heatmap())


@given(st.lists(st.floats(5, 60), min_size=1, max_size=200), st.floats(5, 120))
def test_axis_labels_never_touch_and_the_last_is_always_there(
    widths: list[float], step: float
) -> None:
    shown = select_labels(widths, step)

    assert shown[-1] == len(widths) - 1
    for left, right in pairwise(shown):
        assert (right - left) * step > (widths[left] + widths[right]) / 2


@given(st.text(), st.floats(60, 400))
def test_wrapped_text_fits_and_loses_no_word(text: str, width: float) -> None:
    lines = wrap_text(text, 12, width)

    assert all(measure_text(line, 12) <= width for line in lines)
    kept = "".join("".join(lines).split())
    assert kept == "".join(text.split()) or "·" in text


@pytest.mark.parametrize("columns", [0, 1, 5, 26, 143, 1000])
def test_nothing_is_drawn_outside_the_page(columns: int) -> None:
    data = heatmap((MEASURED,) * columns, title="A very long name " * 20)

    chart = build_heatmap_spec(data)

    width, height = float(str(chart["width"])), float(str(chart["height"]))
    for value in values(chart):
        assert 0 <= value["x"] <= value.get("x2", value["x"]) <= width
        assert 0 <= value["y"] <= value.get("y2", value["y"]) <= height
    assert width < 2800


def test_small_print_can_be_read() -> None:
    assert compute_contrast(MUTED, "#ffffff") >= 4.5


def test_a_png_is_sharp(tmp_path: Path) -> None:
    draw_picture(heatmap((MEASURED,) * 5), tmp_path / "deep" / "heatmap.png")

    head = (tmp_path / "deep" / "heatmap.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width >= 1500
    assert height >= 600


def test_an_svg_is_well_formed_whatever_the_names(tmp_path: Path) -> None:
    name = '<script>alert("&")</script> 日本語\0\x1b'

    draw_picture(heatmap(title=name, categories=("a<b",)), tmp_path / "heatmap.svg")

    root = ElementTree.parse(tmp_path / "heatmap.svg").getroot()
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    assert any("alert" in (node.text or "") for node in root.iter())


def test_an_svg_can_be_listened_to(tmp_path: Path) -> None:
    draw_picture(heatmap((MEASURED, UNASKED)), tmp_path / "heatmap.svg")

    root = ElementTree.parse(tmp_path / "heatmap.svg").getroot()
    title, described = root[0], root[1]

    assert root.attrib["role"] == "img"
    assert title.text == "bm25 1: recall by category and checkpoint"
    assert (described.text or "").endswith("Overall: 7d 4.5 (3.9 to 5.0), 14d 4.5 (3.9 to 5.0)")
    assert not [node for node in root.iter() if "aria-label" in node.attrib]


def test_a_pdf_is_a_pdf(tmp_path: Path) -> None:
    draw_picture(heatmap(), tmp_path / "heatmap.PDF")

    assert (tmp_path / "heatmap.PDF").read_bytes().startswith(b"%PDF")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf"):
        draw_picture(heatmap(), tmp_path / "heatmap.gif")


def test_the_bundled_font_is_there(tmp_path: Path) -> None:
    """Without a font, pictures come out with no words in them."""
    import vl_convert

    def ink_of(text: str) -> bytes:
        mark = {"type": "text", "font": "Liberation Sans", "fontSize": 20, "text": text}
        chart = {"data": {"values": [{}]}, "mark": mark, "width": 99, "height": 40}
        return bytes(vl_convert.vegalite_to_png(chart))

    assert ink_of("Recall") != ink_of("") != ink_of("Precision")
