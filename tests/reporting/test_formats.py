"""Signs, ends and p-values, as all analyses word them."""

import pytest

from recall_bench.metrics.trend import Coefficient
from recall_bench.reporting.formats import format_delta, format_interval, format_number, format_p


@pytest.mark.parametrize(
    ("number", "digits", "with_sign", "without"),
    [
        (-0.001, 2, "0.00", "0.00"),
        (0.001, 2, "0.00", "0.00"),
        (-0.0, 1, "0.0", "0.0"),
        (-0.04, 0, "0", "0"),
        (-0.006, 2, "-0.01", "-0.01"),
        (0.5, 2, "+0.50", "0.50"),
        (-10.0, 0, "-10", "-10"),
    ],
)
def test_nothing_has_no_sign(number: float, digits: int, with_sign: str, without: str) -> None:
    assert format_delta(number, digits) == with_sign
    assert format_number(number, digits) == without


def test_both_ends_have_their_signs() -> None:
    assert format_interval(Coefficient(value=0.0, low=-0.001, high=0.02)) == "0.00 to +0.02"
    assert format_interval(Coefficient(value=0.0, low=-2e-3, high=1e-3), 1, 100) == "-0.2 to +0.1"
    assert format_interval(Coefficient(value=0.0, low=None, high=None)) is None


def test_a_small_p_value_is_no_row_of_zeros() -> None:
    assert [format_p(each) for each in (0.0004, 0.0123, 0.25)] == ["< 0.001", "0.012", "0.25"]
    assert [format_p(each, sign=True) for each in (0.0004, 0.25)] == ["p < 0.001", "p = 0.25"]
