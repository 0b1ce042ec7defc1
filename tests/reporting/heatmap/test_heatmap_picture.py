"""The picture shows what was measured, marks what was not, and says what a reader must know."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.errors import UsageError
from recall_bench.engine.runs.heatmap_rows import RowKind
from recall_bench.metrics.scale import SECONDS, SHARE
from recall_bench.reporting.heatmap.colours import (
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    ColourScale,
    colour_rate,
    colour_score,
    compute_contrast,
)
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.heatmap.heatmap_picture import (
    build_heatmap_spec,
    draw_picture,
    is_fitting,
    select_labels,
)
from recall_bench.reporting.pictures import estimate_width, wrap_lines
from tests.loops import loop_over_rows
from tests.reporting.heatmap.row_tables import (
    Cell,
    estimate_of,
    make_bounds,
    make_row,
    make_table,
)

MEASURED = estimate_of(75.0, (65.0, 83.0), questions=25, trials=27, missing=2)
FEW = estimate_of(33.4, (6.6, 95.0), questions=19, trials=38)
FOREIGN = estimate_of(75.0, None, questions=27, trials=27)
RATE = estimate_of(12.5, (3.6, 28.2), of=SHARE, questions=25, trials=27, missing=2)
UNASKED, NOT_ELIGIBLE = 9, 0
"""The questions of a cell in which nothing was measured."""


def make_heatmap(cells: Sequence[Cell] = (MEASURED,), **changes: Any) -> HeatmapData:
    data = HeatmapData(
        title="bm25 1: recall by category and checkpoint",
        subtitle=("Persona ada · judge exact 1 · 2026-05-24", "Dataset 0123456789ab"),
        table=make_table(
            make_row("factual-recall", cells, kind=RowKind.CATEGORY),
            make_row("overall", (MEASURED,) * len(cells), kind=RowKind.TOTAL),
            make_row("invented", (RATE,) * len(cells), scale=SHARE),
        ),
        done=len(cells),
        planned_checkpoints=len(cells),
        intervals="95 % bootstrap interval over questions (seed 42)",
    )
    return replace(data, **changes)


def with_categories(rows: Mapping[str, Cell]) -> HeatmapData:
    data = make_heatmap()
    categories = (make_row(name, (cell,), kind=RowKind.CATEGORY) for name, cell in rows.items())
    return replace(data, table=make_table(*categories, *data.table.rows[1:]))


def list_views(data: HeatmapData) -> list[dict[str, Any]]:
    views: Any = build_heatmap_spec(data)["vconcat"]
    return list(views)


def list_cells(data: HeatmapData) -> list[dict[str, Any]]:
    values = (value for view in list_views(data) for value in view["data"]["values"])
    return [value for value in values if "row" in value]


def list_texts(data: HeatmapData) -> set[str]:
    """Everything written into cells."""
    cells = list_cells(data)
    means = {cell.get("mean", "") for cell in cells}
    return means | {line for cell in cells for line in cell.get("details", [])}


def list_legend(data: HeatmapData) -> list[str]:
    """The titles of the colour scales and the keys."""
    layers = list_views(data)[-1]["layer"]
    *colours, keys = (layer["encoding"]["fill"] for layer in layers)
    return [*(each["legend"]["title"] for each in colours), *keys["scale"]["domain"]]


def draw_svg(data: HeatmapData, folder: Path) -> ElementTree.Element:
    draw_picture(data, folder / "heatmap.svg")
    return ElementTree.parse(folder / "heatmap.svg").getroot()


def list_tagged(root: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (node for node in root.iter() if node.tag.endswith(f"}}{tag}"))


def test_a_measured_cell_shows_its_mean_its_interval_and_its_questions() -> None:
    data = make_heatmap()

    assert list_texts(data) == {"75", "65–83 · n 25", "13 %", "4–28 · n 25"}
    assert [cell["value"] for cell in list_cells(data)] == [75.0, 75.0, 12.5]


@pytest.mark.parametrize(
    ("columns", "shown", "hidden"),
    [
        (10, {"65–83 · n 25"}, {"n 25"}),
        (20, {"65–83", "n 25"}, {"65–83 · n 25"}),
        (36, {"75", "n 25"}, {"65–83"}),
    ],
)
def test_cells_say_as_much_as_they_have_room_for(
    columns: int, shown: set[str], hidden: set[str]
) -> None:
    words = list_texts(make_heatmap((MEASURED,) * columns))

    assert shown <= words
    assert not hidden & words


def test_narrow_cells_hold_no_text() -> None:
    view = list_views(make_heatmap((MEASURED,) * 143))[0]

    assert not [layer for layer in view["layer"] if layer["mark"]["type"] == "text"]


@loop_over_rows("columns", [1, 4, 10, 20, 36])
def test_what_is_written_into_a_cell_stays_in_it(columns: int) -> None:
    wide = estimate_of(92.0, (85.0, 98.0), questions=4321, trials=9999)
    data = make_heatmap((wide,) * columns)
    width = list_views(data)[0]["width"]["step"]
    words = {line for cell in list_cells(data)[:columns] for line in cell["details"]}

    assert words
    assert is_fitting(words, width) or words == {"4321"}


def test_a_cell_over_few_questions_is_marked_however_many_trials_it_has() -> None:
    enough = FEW.replace(questions=20)
    data = make_heatmap((FEW, enough, MEASURED))

    assert {"7–95 · n 19!", "7–95 · n 20"} <= list_texts(data)
    assert [cell["is_small"] for cell in list_cells(data)[:3]] == [True, False, False]


def test_where_questions_were_not_counted_few_trials_are_few_questions() -> None:
    data = make_heatmap((FOREIGN, FOREIGN.replace(questions=19)), intervals=None)

    assert {"n 27", "n 19!"} <= list_texts(data)
    assert [cell["is_small"] for cell in list_cells(data)[:2]] == [False, True]


def test_where_there_is_no_text_a_cell_over_few_questions_is_half_as_high(tmp_path: Path) -> None:
    root = draw_svg(make_heatmap((FEW, MEASURED, UNASKED) * 47), tmp_path)

    def find_height(start: str) -> float:
        titles = (
            node for node in root.iter() if len(node) and (node[0].text or "").startswith(start)
        )
        path = next(titles).attrib["d"]
        return float(path.split("v")[1].split("h")[0])

    few, full = find_height("Factual recall, 7d"), find_height("Factual recall, 14d")

    assert few == pytest.approx(full / 2, abs=0.1)


def test_pointing_at_a_cell_tells_all_there_is_to_know() -> None:
    row = (MEASURED, FEW, UNASKED, NOT_ELIGIBLE)
    sure, unsure = "95 % interval 65.0 to 83.0", "95 % interval 6.6 to 95.0"
    few = "fewer than 20 questions: the interval is unreliable"

    said = [cell["description"] for cell in list_cells(make_heatmap(row))]

    assert said[:4] == [
        f"Factual recall, 7d: 75.0 of 100 · {sure} · 25 questions · 27 trials · 2 missing",
        (
            f"Factual recall, 14d: 33.4 of 100 · {unsure} · 19 questions · 38 trials · 0 missing · "
            f"{few}"
        ),
        "Factual recall, 21d: not measured",
        "Factual recall, 28d: no question eligible yet",
    ]
    assert said[-1].startswith("Invented, 28d: 12.5 % · 95 % interval 3.6 to 28.2 %")
    foreign = list_cells(make_heatmap((FOREIGN,), counts_trials=True))
    assert foreign[0]["description"] == "Factual recall, 7d: 75.0 of 100 · 27 trials"


def test_every_cell_of_a_drawing_has_its_colour_and_its_tooltip(tmp_path: Path) -> None:
    row = (MEASURED, MEASURED.replace(value=1.5), UNASKED, NOT_ELIGIBLE)
    data = make_heatmap(row)
    hostile = data.table.rows[0].replace(name='a<"b"')
    table = make_table(hostile, *data.table.rows[1:])
    root = draw_svg(replace(data, table=table), tmp_path)

    found = {
        (node[0].text or "").split(":")[0]: node.attrib["fill"]
        for node in list_tagged(root, "path")
        if len(node)
    }

    assert len(found) == 4 * 3
    assert find_distance(found['A<"b", 7d'], colour_score(75, 100)) < 6
    assert find_distance(found['A<"b", 14d'], colour_score(1.5, 6)) < 6
    assert found['A<"b", 21d'] == NO_DATA_FILL
    assert found['A<"b", 28d'] == NOT_YET
    assert find_distance(found["Invented, 7d"], colour_rate(0.125)) < 6


def find_distance(drawn: str, wanted: str) -> int:
    """The largest difference of a channel: a scale is drawn between a few exact colours."""
    channels = [int(part) for part in drawn.removeprefix("rgb(").removesuffix(")").split(",")]
    exact = [int(wanted[place : place + 2], 16) for place in (1, 3, 5)]
    return max(abs(one - other) for one, other in zip(channels, exact, strict=True))


def test_the_other_colours_are_used_throughout() -> None:
    specs = {scale: str(build_heatmap_spec(make_heatmap(), scale)) for scale in ColourScale}

    for scale, other in zip(ColourScale, reversed(ColourScale), strict=True):
        for colour in (colour_score(1, 1, scale), colour_rate(1, scale)):
            assert colour in specs[scale]
            assert colour not in specs[other]


def test_a_cell_never_measured_has_no_value_and_no_text() -> None:
    cells = list_cells(make_heatmap((MEASURED, UNASKED, NOT_ELIGIBLE, MEASURED)))[:4]

    assert [cell.get("state") for cell in cells] == [None, "empty", "early", None]
    assert [cell.get("mean") for cell in cells] == ["75", None, None, "75"]
    assert compute_contrast(NOT_YET_BORDER, "#ffffff") > 2
    assert compute_contrast(NO_DATA_FILL, NOT_YET) > 1.7


def test_every_cell_keeps_its_own_row_and_column() -> None:
    scores = (10.0, 30.0, 50.0, 70.0, 90.0)
    row = [estimate_of(score, None, questions=5, trials=5) for score in scores]

    cells = list_cells(make_heatmap(row))[:5]

    assert [cell["column"] for cell in cells] == ["7d", "14d", "21d", "28d", "35d"]
    assert [cell["value"] for cell in cells] == pytest.approx(scores)


def test_two_categories_that_read_alike_stay_two_rows() -> None:
    data = with_categories({"a-b": MEASURED, "a_b": FEW})

    assert [cell["row"] for cell in list_cells(data)][:2] == ["a-b", "a_b"]


def test_the_legend_explains_every_state() -> None:
    usual = [
        "score, points of 100",
        "invented, %",
        "not measured",
        "no question eligible yet",
    ]
    how = "a–b: 95 % bootstrap interval over questions (seed 42)"
    few = "under 20 questions, interval unreliable"

    assert list_legend(make_heatmap()) == [*usual, "n: different questions", how]
    assert list_legend(make_heatmap((FEW,))) == [*usual, few, "n: different questions", how]
    assert list_legend(make_heatmap((FEW,) * 143)) == [*usual, f"half height: {few}"]
    foreign = list_legend(make_heatmap((FOREIGN,), intervals=None, counts_trials=True))
    assert foreign == [*usual, "n: trials the mean is over"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_stub": True}, "STUB JUDGE: scores mean nothing"),
        ({"invalid": "12 of 90 trials failed"}, "INVALID: 12 of 90 trials failed"),
        ({"done": 10, "planned_checkpoints": 50}, "UNFINISHED: 10 of 50 checkpoints"),
    ],
)
def test_what_a_reader_must_know_is_in_the_picture(changes: dict[str, Any], words: str) -> None:
    data = make_heatmap((MEASURED,) * 4, **changes)

    assert list_views(data)[0]["layer"][1]["mark"]["text"] == [words]
    assert words in str(build_heatmap_spec(data)["description"])
    assert words not in str(build_heatmap_spec(make_heatmap((MEASURED,) * 4)))


@given(st.lists(st.text(max_size=9), min_size=1, max_size=200), st.floats(5, 120))
def test_axis_labels_have_room_and_the_last_is_always_there(labels: list[str], step: float) -> None:
    shown = select_labels(labels, step)

    assert shown[-1] == labels[-1]
    every = len(labels) // len(shown)
    assert len(shown) == 1 or every * step >= min(map(len, labels))


@given(st.text(), st.floats(60, 400))
def test_wrapped_text_fits_and_loses_no_word(text: str, width: float) -> None:
    lines = wrap_lines(text, size=12, width=width)

    assert all(len(line) * 12 * 0.5 <= width for line in lines)
    kept = "".join("".join(lines).split())
    assert len(kept) >= len("".join(text.split())) - text.count("·") or not text.isprintable()


def test_wide_letters_take_more_room() -> None:
    assert estimate_width("日本語", 10) == 2 * estimate_width("abc", 10)


@pytest.mark.parametrize("columns", [0, 1, 143, 1000])
def test_a_picture_grows_with_what_is_in_it_and_not_endlessly(columns: int, tmp_path: Path) -> None:
    root = draw_svg(make_heatmap((MEASURED,) * columns, title="A very long name " * 20), tmp_path)

    assert 600 < float(root.attrib["width"]) < 2800


def test_small_print_can_be_read() -> None:
    assert compute_contrast(MUTED, "#ffffff") >= 4.5


def test_a_png_is_sharp(tmp_path: Path) -> None:
    draw_picture(make_heatmap((MEASURED,) * 5), tmp_path / "deep" / "heatmap.png")

    head = (tmp_path / "deep" / "heatmap.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width >= 1500
    assert height >= 600


def test_an_svg_is_well_formed_whatever_the_names(tmp_path: Path) -> None:
    name = '<script>alert("&")</script> 日本語\0\x1b'

    root = draw_svg(replace(with_categories({"a<b": MEASURED}), title=name), tmp_path)

    assert not list(list_tagged(root, "script"))
    assert any("alert" in (node.text or "") for node in root.iter())


def test_an_svg_can_be_listened_to(tmp_path: Path) -> None:
    root = draw_svg(make_heatmap((MEASURED, UNASKED)), tmp_path)
    title, described = root[0], root[1]

    assert root.attrib["role"] == "img"
    assert title.text == "bm25 1: recall by category and checkpoint"
    assert (described.text or "").endswith("Overall: 7d 75 (65 to 83), 14d 75 (65 to 83)")
    assert not [node for node in root.iter() if "aria-label" in node.attrib]


def test_a_pdf_is_a_pdf(tmp_path: Path) -> None:
    draw_picture(make_heatmap(), tmp_path / "heatmap.PDF")

    assert (tmp_path / "heatmap.PDF").read_bytes().startswith(b"%PDF")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf"):
        draw_picture(make_heatmap(), tmp_path / "heatmap.gif")


def test_the_bundled_font_is_there() -> None:
    """Without a font, pictures come out with no words in them."""
    import vl_convert

    def draw_ink(text: str) -> bytes:
        mark = {"type": "text", "font": "Liberation Sans", "fontSize": 20, "text": text}
        chart = {"data": {"values": [{}]}, "mark": mark, "width": 99, "height": 40}
        return bytes(vl_convert.vegalite_to_png(chart))

    assert draw_ink("Recall") != draw_ink("") != draw_ink("Precision")


def test_silence_and_ceiling_stand_beside_their_rows() -> None:
    category, overall, rate = make_heatmap().table.rows
    data = make_heatmap(
        table=make_table(
            category.replace(bounds=make_bounds(1.0, 2.4)),
            overall.replace(bounds=make_bounds(1.2, 4.8)),
            rate,
        )
    )

    beside = [
        (value.get("row"), value.get("figure") or value["head"])
        for view in list_views(data)
        for layer in view["layer"]
        for value in layer.get("data", {}).get("values", [])
    ]

    assert beside == [
        ("Factual recall", "17"),
        (None, "silence"),
        ("Factual recall", "40^"),
        (None, "ceiling"),
        ("Overall", "20"),
        ("Overall", "80"),
    ]


def test_rows_without_a_measurement_are_left_out() -> None:
    data = with_categories({"factual-recall": MEASURED, "synthesis": UNASKED})
    table = make_table(*data.table.rows, make_row("leaked", (UNASKED,), scale=SHARE))

    cells = list_cells(replace(data, table=table))

    assert [cell["row"] for cell in cells] == ["Factual recall", "Overall", "Invented"]


def test_a_scale_without_an_end_has_the_colours_of_its_own_range() -> None:
    data = make_heatmap((MEASURED,) * 2)
    times = [estimate_of(seconds, None, of=SECONDS) for seconds in (0.5, 2.0)]
    table = make_table(*data.table.rows, make_row("answer time", times, scale=SECONDS))

    view = list_views(replace(data, table=table))[3]
    fill = view["layer"][3]["encoding"]["fill"]["scale"]

    assert [cell["mean"] for cell in view["data"]["values"]] == ["500 ms", "2.0 s"]
    assert fill["domain"][-1] == 2.0
    assert "answer time" in list_legend(replace(data, table=table))
