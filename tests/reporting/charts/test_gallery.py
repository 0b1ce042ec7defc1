"""Every chart becomes two files, whole and without the network."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.reporting.charts import gallery
from recall_bench.reporting.charts.gallery import build_charts, draw_charts, freeze_chart
from recall_bench.reporting.charts.theme import PAPERS, ChartColours, ChartTheme, build_config
from recall_bench.reporting.pictures import write_picture
from recall_bench.reporting.run_report import RunReport
from tests.reporting.charts.sample_report import empty_report, sampled_report
from tests.thoroughness import IS_EXHAUSTIVE

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def report() -> RunReport:
    """Two charts: where misses come from."""
    return empty_report().replace(attribution=sampled_report(3).attribution)


def test_each_chart_is_a_png_and_an_svg_and_drawn_again_the_same(
    report: RunReport, tmp_path: Path
) -> None:
    written = draw_charts(report, tmp_path / "charts")

    names = [
        f"{chart.name}{suffix}" for chart in build_charts(report) for suffix in (".png", ".svg")
    ]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == sorted(names)
    for path in written:
        start = b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else b"<svg"
        assert path.read_bytes().startswith(start)
    for chart in build_charts(report):
        root = ElementTree.fromstring((tmp_path / "charts" / f"{chart.name}.svg").read_bytes())
        assert root.attrib["role"] == "img"
        assert [root[0].tag, root[0].text] == [f"{SVG}title", chart.title]
        assert [root[1].tag, root[1].text] == [f"{SVG}desc", chart.summary]
    again = draw_charts(report, tmp_path / "again")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]


def test_a_drawing_has_the_ground_and_the_colours_asked_for(
    report: RunReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = [chart for chart in build_charts(report) if chart.name == "failures-by-category"]
    monkeypatch.setattr(gallery, "build_charts", lambda _: one)
    looks = [
        (ChartTheme.LIGHT, ChartColours.STANDARD),
        (ChartTheme.DARK, ChartColours.COLOUR_BLIND),
    ]
    drawings = []
    for theme, colours in looks:
        draw_charts(report, tmp_path, theme=theme, colours=colours)
        drawings.append((tmp_path / "failures-by-category.svg").read_text())

    for (theme, _), drawing in zip(looks, drawings, strict=True):
        assert f'fill="{PAPERS[theme].background}"' in drawing
    assert "#5e3dd6" not in drawings[0]
    assert "#5e3dd6" in drawings[1]


def test_nothing_to_draw_writes_nothing(tmp_path: Path) -> None:
    assert draw_charts(empty_report(), tmp_path / "charts") == ()
    assert not (tmp_path / "charts").exists()


def test_a_folder_that_is_a_file_is_said_in_a_sentence(report: RunReport, tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("")

    with pytest.raises(UsageError, match=r"[a-z-]+\.png: cannot be written"):
        draw_charts(report, tmp_path / "charts")


@pytest.mark.slow
def test_charts_of_a_long_run_can_be_drawn(tmp_path: Path) -> None:
    """Those that are as long as the run: the others are those of any run."""
    short = {chart.name: len(chart.rows) for chart in build_charts(sampled_report(3))}
    charts = [
        chart
        for chart in build_charts(sampled_report(143))
        if IS_EXHAUSTIVE or len(chart.rows) > 10 * short[chart.name]
    ]
    config = build_config(ChartTheme.LIGHT, ChartColours.STANDARD)
    assert len(charts) > 5
    for chart in charts:
        path = tmp_path / f"{chart.name}.svg"
        write_picture(
            freeze_chart(chart), path, title=chart.title, summary=chart.summary, config=config
        )
        assert path.read_bytes().startswith(b"<svg")
