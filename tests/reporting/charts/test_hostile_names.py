"""Names come from systems and datasets: whatever they say, a chart stays a chart."""

from pathlib import Path
from xml.etree import ElementTree

from recall_bench.reporting.analyses.hallucination import CategoryRate, RateCourse
from recall_bench.reporting.charts.chart_text import MAX_NAME_LENGTH, rename_duplicates, trim_name
from recall_bench.reporting.charts.gallery import build_charts, draw_charts
from recall_bench.reporting.run_report import RunReport
from tests.reporting.charts.sample_report import empty_report, estimate, sampled_report
from tests.reporting.charts.spec_reader import everything, views

NASTY = (
    "<script>alert(1)</script>",
    "x" * 500,
    "a\x1b[31mred\x07\x00\u202egnp.exe",
    "line\nbreak\ttab",
    "datum['a'].b \\ \" ' & ]]> {{x}}",
    "https://evil.example/" + "y" * 40,
)


def hostile_report() -> RunReport:
    """A report in which nothing has a decent name."""
    report = sampled_report(3)
    views_ = report.hallucination
    personas: tuple[RateCourse, ...] = tuple(
        each.replace(name=name) for name, each in zip(NASTY, views_.personas, strict=True)
    )
    rate = estimate(0.2, 0.1)
    rates = tuple(CategoryRate(name=name, rate=rate, invention=rate) for name in NASTY)
    first = report.paretos[0]
    runs = tuple(
        each.replace(name=name, dominated_by=NASTY[:1] if each.dominated_by else ())
        for name, each in zip(NASTY, first.contenders, strict=False)
    )
    found = next(iter(report.attribution.categories.values()))
    return report.replace(
        hallucination=views_.replace(
            overall=views_.overall.replace(reason="\n".join(NASTY)),
            personas=personas,
            categories=rates,
        ),
        attribution=report.attribution.replace(categories=dict.fromkeys(NASTY, found)),
        paretos=(first.replace(contenders=runs, unknown=NASTY),),
    )


HOSTILE = {chart.name: chart for chart in build_charts(hostile_report())}


def test_no_word_of_a_chart_holds_what_a_picture_cannot() -> None:
    for chart in HOSTILE.values():
        words = [value for _, value in everything(chart.spec) if isinstance(value, str)]
        words += [chart.title, chart.summary, *(str(cell) for row in chart.rows for cell in row)]

        assert all(word.isprintable() for word in words)


def test_no_label_is_long() -> None:
    for chart in HOSTILE.values():
        texts = [
            value["text"]
            for view in views(chart)
            for layer in view["layer"]
            for value in layer["data"]["values"]
            if "text" in value
        ]

        assert all(len(text) <= MAX_NAME_LENGTH + 40 for text in texts)
        assert all(len(str(cell)) <= 200 for row in chart.rows for cell in row)


def test_names_cut_to_the_same_stay_apart() -> None:
    twins = ["z" * 100 + "1", "z" * 100 + "2"]
    assert len(set(rename_duplicates([trim_name(each) for each in twins]))) == 2
    assert rename_duplicates(["a", "b", "a", "a (2)"]) == ["a", "b", "a (2)", "a (2) (2)"]


def test_a_drawing_of_hostile_names_is_a_drawing(tmp_path: Path) -> None:
    """The SVG is well-formed, holds no script and links nowhere."""
    report = empty_report()
    kept = hostile_report()
    report = report.replace(
        hallucination=kept.hallucination.replace(
            overall=kept.hallucination.overall.replace(moments=()), personas=()
        ),
        paretos=kept.paretos,
    )

    written = draw_charts(report, tmp_path)

    svgs = [path for path in written if path.suffix == ".svg"]
    assert len(svgs) == 2
    for path in svgs:
        root = ElementTree.fromstring(path.read_bytes())
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {
            "svg",
            "g",
            "path",
            "text",
            "tspan",
            "title",
            "desc",
            "rect",
            "line",
            "defs",
        }
        assert not [
            name for element in root.iter() for name in element.attrib if name.endswith("href")
        ]
        assert not [
            name for element in root.iter() for name in element.attrib if name.startswith("on")
        ]
