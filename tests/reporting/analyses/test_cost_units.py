"""A cost is worded once, in a unit that fits it."""

from itertools import product

from recall_bench.core.usage import Usage
from recall_bench.reporting.analyses.costs import (
    MEASURE_UNITS,
    CostMeasure,
    CostUnit,
    choose_unit,
    format_amount,
    format_cost,
    format_money,
    price_usage,
)
from tests.loops import loop_over_rows


@loop_over_rows(
    ("unit", "value", "said"),
    [
        ("s", 0.0, "0 ms"),
        ("s", 0.000_001_23, "0.00123 ms"),
        ("s", 1e-8, "0.00001 ms"),
        ("s", 0.0123, "12.3 ms"),
        ("s", 0.9994, "999 ms"),
        ("s", 0.9995, "1 s"),
        ("s", 0.9996, "1 s"),
        ("s", 2.5, "2.5 s"),
        ("s", 99.96, "100 s"),
        ("s", 4321.5, "4,322 s"),
        ("bytes", 0, "0 bytes"),
        ("bytes", 999, "999 bytes"),
        ("bytes", 999_600, "1 MB"),
        ("bytes", 90_000_000, "90 MB"),
        ("bytes", 5.678e12, "5,678 GB"),
        ("tokens", 823.4, "823 tokens"),
        ("tokens", 9_999.6, "10,000 tokens"),
        ("tokens", 12_340, "12.3 thousand tokens"),
        ("tokens", 999_600, "1 million tokens"),
        ("tokens", 2_500_000, "2.5 million tokens"),
        ("$", 0, "$0.00"),
        ("$", 0.31, "$0.31"),
        ("$", 0.004, "$0.004"),
        ("$", 0.000_012_34, "$0.0000123"),
        ("$", 1234.5, "$1,234.50"),
    ],
)
def test_figures_have_units_that_fit_them(unit: CostUnit, value: float, said: str) -> None:
    assert format_amount(value, unit) == said


def test_no_figure_is_a_power_of_ten_or_has_four_digits_before_a_larger_unit() -> None:
    for unit, tenth, place in product(("s", "tokens", "bytes"), range(990, 1010), range(-5, 9)):
        value = tenth / 1000 * 10.0**place
        said = format_amount(value, unit)  # type: ignore[arg-type]
        assert "e" not in said.split()[0], said
        if not said.endswith((" s", " GB", " tokens")):
            assert "," not in said, said


def test_a_unit_is_worth_what_it_says() -> None:
    assert [choose_unit("s", 0.5), choose_unit("s", 1), choose_unit("bytes", 5e9)] == [
        ("ms", 1e-3),
        ("s", 1.0),
        ("GB", 1e9),
    ]


def test_an_unknown_amount_is_not_zero() -> None:
    assert format_amount(None, "s") == "--"


def test_a_call_without_a_price_leaves_the_whole_without_one() -> None:
    assert price_usage(Usage(calls=2, cost_usd=0.31)) == 0.31
    assert price_usage(Usage(calls=3, cost_usd=0.31, unpriced=1)) is None
    assert price_usage(Usage()) == 0


def test_every_measure_says_what_it_is_for() -> None:
    said = {
        measure: format_cost(measure, 0.0123 if MEASURE_UNITS[measure] == "s" else 4)
        for measure in CostMeasure
    }

    assert said == {
        CostMeasure.INGEST: "12.3 ms a day",
        CostMeasure.QUERY_P50: "12.3 ms",
        CostMeasure.QUERY_P95: "12.3 ms",
        CostMeasure.TOKENS: "4 tokens an answer",
        CostMeasure.MONEY: "$4.00 a thousand answers",
        CostMeasure.BYTES: "4 bytes",
    }


def test_less_than_a_cent_is_money() -> None:
    assert [format_money(0.004), format_money(0.0999), format_money(0.1)] == [
        "0.004",
        "0.0999",
        "0.10",
    ]
