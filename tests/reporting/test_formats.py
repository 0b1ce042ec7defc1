"""Signs, ends and p-values, as all analyses word them."""

import ast
import re
from pathlib import Path

import recall_bench.reporting
from recall_bench.metrics.trend import Coefficient
from recall_bench.reporting.formats import (
    format_delta,
    format_interval,
    format_number,
    format_p,
    format_seconds,
)
from tests.loops import loop_over_rows

REPORTING = Path(recall_bench.reporting.__file__).parent


@loop_over_rows(
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


@loop_over_rows(
    ("number", "digits", "expected"),
    [
        (12.5, 0, "13"),
        (13.5, 0, "14"),
        (-12.5, 0, "-13"),
        (0.75 * 100 / 6, 0, "13"),
        (1.005, 2, "1.01"),
        (0.285 * 100, 0, "29"),
        (12.4999, 0, "12"),
        (float("nan"), 1, "nan"),
    ],
)
def test_halves_go_away_from_zero(number: float, digits: int, expected: str) -> None:
    assert format_number(number, digits) == expected


def test_no_report_rounds_by_itself() -> None:
    """A figure that Python rounds to even is another one than the page shows."""
    found = [
        f"{path.relative_to(REPORTING)}:{node.lineno}"
        for path in sorted(REPORTING.rglob("*.py"))
        if path.name != "formats.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FormattedValue)
        and node.format_spec is not None
        and re.search(r"\.\d[f%]", ast.unparse(node.format_spec))
        and not _is_constant(node.value)
        and not _is_drawing(path, node)
    ]

    assert found == []


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id.isupper()


def _is_drawing(path: Path, node: ast.FormattedValue) -> bool:
    """Whether it is a count with separators, a style of the page, or a time."""
    line = path.read_text(encoding="utf-8").splitlines()[node.lineno - 1]
    spec = "" if node.format_spec is None else ast.unparse(node.format_spec)
    return "," in spec or "style=" in line or "clock." in ast.unparse(node.value)


def test_both_ends_have_their_signs() -> None:
    assert format_interval(Coefficient(value=0.0, low=-0.001, high=0.02)) == "0.00 to +0.02"
    assert format_interval(Coefficient(value=0.0, low=-2e-3, high=1e-3), 1, 100) == "-0.2 to +0.1"
    assert format_interval(Coefficient(value=0.0, low=None, high=None)) is None


def test_a_small_p_value_is_no_row_of_zeros() -> None:
    assert [format_p(each) for each in (0.0004, 0.0123, 0.25)] == ["< 0.001", "0.012", "0.25"]
    assert [format_p(each, sign=True) for each in (0.0004, 0.25)] == ["p < 0.001", "p = 0.25"]


@loop_over_rows(
    ("seconds", "expected"),
    [
        (None, "--"),
        (0.0, "0.0 ms"),
        (0.000_021, "0.021 ms"),
        (0.000_93, "0.9 ms"),
        (0.099_96, "100 ms"),
        (0.3314, "331 ms"),
        (0.9996, "1.0 s"),
        (12.34, "12.3 s"),
        (3600.0, "60 min"),
    ],
)
def test_a_time_has_the_unit_that_fits(seconds: float | None, expected: str) -> None:
    assert format_seconds(seconds) == expected
