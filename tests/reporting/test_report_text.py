"""A report in words: no figure that is unknown, and no sign on a zero."""

from collections.abc import Iterable

from recall_bench.core.plan import Trial
from recall_bench.core.usage import Usage
from recall_bench.metrics.survival import HalfLife
from recall_bench.metrics.trend import Coefficient
from recall_bench.reporting.analyses.hallucination import find_start
from recall_bench.reporting.formats import format_half_life, format_rise, format_slope
from recall_bench.reporting.report_sections import (
    describe_costs,
    describe_degradation,
    describe_failures,
    describe_hallucination,
)
from recall_bench.reporting.report_text import render_report
from recall_bench.reporting.sections import SectionPart, render_parts
from tests.loops import loop_over_rows
from tests.reporting.charts.sample_report import sampled_report

REPORT = sampled_report(3)


def text_of(parts: Iterable[SectionPart]) -> str:
    return " ".join(" ".join(render_parts(parts)).split())


def test_the_report_begins_with_the_headline_and_the_categories() -> None:
    text = " ".join(render_report(REPORT).split())

    assert (
        "Result 65 of 100 (62 to 69) · silence 25 · ceiling 85 · 67 % of the way (62 to 73) · "
        "invented 11 % · leaked 30 % of 300"
    ) in text
    assert "factual-recall 120 83 80–87 25 93 85 % (80 to 91)" in text
    assert text.index("OVERALL") < text.index("Invented and leaked")


def dollars(usage: Usage | None, other: Usage | None) -> str:
    point = REPORT.costs.points[0].replace(ingest_usage=usage, query_usage=other)
    head, row, *_ = render_parts(describe_costs(REPORT.costs.replace(points=(point,)), ()))
    end = head.index("dollars") + len("dollars")
    return row[:end].split()[-1]


def test_calls_without_a_price_are_not_free() -> None:
    paid, unpriced = Usage(calls=1, cost_usd=0.31), Usage(calls=4, unpriced=4)

    assert dollars(paid, None) == "0.31"
    assert dollars(paid, unpriced) == "--"
    assert dollars(unpriced, None) == "--"
    assert dollars(Usage(), Usage()) == "0.00"
    assert dollars(Usage(calls=1, cost_usd=0.004), None) == "0.004"


def test_columns_of_costs_stay_apart() -> None:
    point = REPORT.costs.points[0].replace(
        ingest_s_a_day=1.23e-5, query_p50_s=1.23e-5, query_p95_s=1.23e-5, index_bytes=999
    )
    _, row, *_ = render_parts(describe_costs(REPORT.costs.replace(points=(point,)), ()))

    assert row.split().count("0.0123") == 3
    assert row.endswith(" 999 bytes")


def test_columns_of_rates_stay_apart() -> None:
    """Rates of ten percent and more filled their column to the last space."""
    course = REPORT.hallucination.overall
    wide = course.moments[0].invention
    assert wide is not None
    wide = wide.replace(value=0.125, low=0.101, high=0.987)
    moments = tuple(each.replace(recall=wide, invention=wide, leak=wide) for each in course.moments)
    views = REPORT.hallucination.replace(overall=course.replace(moments=moments))
    lines = [line for line in render_parts(describe_hallucination(views)) if "98.7" in line]

    assert lines
    for line in lines:
        assert line.count("  12.5 % (10.1 to 98.7)") == 3


def test_a_cost_in_a_pareto_has_the_words_of_the_page() -> None:
    shown = text_of(describe_costs(REPORT.costs, REPORT.paretos))

    assert "60.0 (56.7 to 64.0) 900 tokens an answer" in shown
    assert "65.0 (61.7 to 69.0) 410 MB" in shown


@loop_over_rows(
    ("value", "low", "high", "said"),
    [
        (900, 720, 940, "900 days (720 to 940)"),
        (900, 720, None, "900 days (720 to beyond 950)"),
        (None, 720, None, "beyond 950 days (from 720)"),
        (None, None, None, "beyond 950 days"),
        (200, None, None, "200 days (no interval)"),
        (200, None, 210, "200 days (no interval)"),
    ],
)
def test_a_half_life_claims_no_end_that_is_not_known(
    value: float | None, low: float | None, high: float | None, said: str
) -> None:
    found = HalfLife(value=value, low=low, high=high, followed=950)

    assert format_half_life(found, unit=" days") == said
    assert format_half_life(found) == said.replace(" days", "")


def test_the_text_has_the_half_lives() -> None:
    shown = text_of(describe_degradation(REPORT.degradation))

    assert "900 (720 to beyond 950)" in shown
    assert "beyond 950 (from 848)" in shown


def test_a_level_line_has_no_sign() -> None:
    level = Coefficient(value=-1e-9, low=-2e-9, high=2e-9)

    assert format_rise(level, scale=100, digits=2) == "0.00 (0.00 to 0.00)"
    assert (
        format_slope(level, scale=1, digits=2, unit=" points")
        == "0.00 points in 100 days (0.00 to 0.00)"
    )


def test_no_text_has_a_sign_before_nothing() -> None:
    course = REPORT.hallucination.overall
    line = course.inventions
    assert line is not None
    level = Coefficient(value=-1e-9, low=-2e-9, high=2e-9)
    course = course.replace(inventions=line.replace(slope=level, intercept=level))
    text = render_report(REPORT.replace(hallucination=REPORT.hallucination.replace(overall=course)))

    assert "0.0 % at no days · 0.00 points of 100 in 100 days (0.00 to 0.00)" in text
    assert "-0.00" not in text
    assert "+0.00" not in text


def test_a_trend_whose_line_starts_at_no_rate_states_its_slope_alone() -> None:
    course = REPORT.hallucination.overall
    line = course.leaks
    assert line is not None
    below = line.replace(intercept=Coefficient(value=-0.015, low=-0.04, high=0.02))
    views = REPORT.hallucination.replace(overall=course.replace(leaks=below))

    text = text_of(describe_hallucination(views))

    assert "answers that could leak trend: +0.10 points of 100 in 100 days" in text
    assert find_start(below) is None
    assert find_start(line.replace(intercept=Coefficient(value=0.01, low=-0.1, high=1.1))) == (
        Coefficient(value=0.01, low=0.0, high=1.0)
    )


def test_inventions_and_leaks_have_a_trend_each_and_forecasts_that_say_something() -> None:
    text = text_of(describe_hallucination(REPORT.hallucination))

    assert "Invented 13.0 % (10.0 to 16.6) of 240 judged answers trend: 7.0 % at no days" in text
    assert "forecast: 43.0 % at 2,000 days" in text
    assert (
        "Leaked 40.0 % (30.0 to 52.0) of 60 answers that could leak trend: 40.0 % at no days"
        in text
    )
    assert (
        "no forecast for 2,000 and 5,000 days: the band says nothing; nothing was "
        "measured beyond 1,000 days"
    ) in text
    assert "made up" not in text


def test_long_names_keep_to_the_width() -> None:
    trials = tuple(Trial(scenario="a" * 30, item="b" * 40, checkpoint=f"{n}d") for n in (1, 2))
    (first, *others) = REPORT.attribution.leaves
    found = REPORT.attribution.replace(leaves=(first.replace(trials=9, examples=trials), *others))

    lines = list(render_parts(describe_failures(found)))

    assert max(map(len, lines)) <= 100
    assert any("b" * 40 in line for line in lines)
