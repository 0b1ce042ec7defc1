"""Planted strings are found in every common form, and nowhere else."""

import doctest

from recall_bench.metrics import planted_strings
from recall_bench.metrics.planted_strings import contains, find_planted
from tests.loops import loop_over_rows

_VALUE = "Tavenholt"


def test_examples_of_the_module_hold() -> None:
    assert doctest.testmod(planted_strings).failed == 0


@loop_over_rows(
    ("text", "value", "is_there"),
    [
        ("the fee is £ 14,318 a year", "£14,318", False),
        ("the fee is £14318 a year", "£14,318", True),
        ("the fee is £14.318 a year", "£14,318", True),
        ("the fee is £114,318 a year", "£14,318", False),
        ("code kx‑2291.", "KX-2291", True),
        ("code KX-22914", "KX-2291", False),
        ("at 07:42", "07:42", True),
        ("at 107:42", "07:42", False),
        ("27 Tavenholt\n Lane", "27 Tavenholt Lane", True),
        ("it was Mira\u2019s idea", "Mira's idea", True),
        ("it was Mira's idea", "Mira\u02bcs idea", True),
        ("ＫＸ－２２９１", "KX-2291", True),
        ("code KX\u00ad-22\u200b91", "KX-2291", True),
        ("in der Weststraße", "WESTSTRASSE", True),
        ("a lakh more: 12,34,567", "1234567", True),
        ("by May 5 120 had left", "120", True),
        ("by May 5 120 had left", "5,120", True),
        ("by May 5 1200 had left", "120", False),
        ("anything", " ", False),
    ],
)
def test_form_does_not_matter_and_words_are_whole(text: str, value: str, is_there: bool) -> None:
    assert contains(text, value) is is_there


def test_each_value_is_found_once() -> None:
    assert find_planted("Tavenholt and TAVENHOLT", [_VALUE, _VALUE]) == (_VALUE,)
