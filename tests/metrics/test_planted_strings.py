"""Planted strings are found in every common form, and nowhere else."""

import base64
import doctest
import gzip
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.metrics import planted_strings
from recall_bench.metrics.planted_strings import contains, find_planted, search_bytes, search_folder
from recall_bench.metrics.quantiles import estimate_quantile
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


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode().hex().encode(),
        lambda text: base64.b64encode(text.encode()),
        lambda text: base64.urlsafe_b64encode(text.encode()),
        lambda text: json.dumps(text).encode(),
        lambda text: zlib.compress(text.encode()),
        lambda text: b"head" + gzip.compress(text.encode()) + b"tail",
    ],
)
@pytest.mark.parametrize("lead", ["", "a", "ab", "é"])
def test_value_is_found_in_every_encoding(encode: object, lead: str) -> None:
    assert callable(encode)
    content = encode(f"{lead}it is {_VALUE} now")
    assert search_bytes(content, [_VALUE, "Ludenmark"]) == (_VALUE,)


@given(st.binary(max_size=400))
def test_value_is_not_found_where_it_is_not(noise: bytes) -> None:
    assert search_bytes(noise, ["Tavenholt-Corridale"]) == ()


def test_folder_is_searched_and_links_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "data.bin").write_bytes(b"\0\1" + _VALUE.encode() + b"\2")
    outside = tmp_path / "outside"
    outside.write_text("Ludenmark", encoding="utf-8")
    (folder / "link").symlink_to(outside)
    assert search_folder(folder, [_VALUE, "Ludenmark"]) == (_VALUE,)


def test_each_value_is_found_once() -> None:
    assert find_planted("Tavenholt and TAVENHOLT", [_VALUE, _VALUE]) == (_VALUE,)


def test_quantile_counts_what_came_too_late() -> None:
    times = [0.1, 0.2, 0.3, None]
    half = estimate_quantile(times, ["a", "b", "c", "d"], 0.5)
    assert half is not None
    assert half.value == pytest.approx(0.2)
    assert estimate_quantile(times, ["a", "b", "c", "d"], 0.95) is None
    assert estimate_quantile([], [], 0.5) is None
