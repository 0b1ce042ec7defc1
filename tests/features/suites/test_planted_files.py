"""Planted strings are found in files of every common encoding, and times that only exceed."""

import base64
import gzip
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.features.suites.planted_files import search_bytes, search_folder
from recall_bench.features.suites.quantiles import estimate_quantile

_VALUE = "Tavenholt"


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


def test_quantile_counts_what_came_too_late() -> None:
    times = [0.1, 0.2, 0.3, None]
    half = estimate_quantile(times, ["a", "b", "c", "d"], 0.5)
    assert half is not None
    assert half.value == pytest.approx(0.2)
    assert estimate_quantile(times, ["a", "b", "c", "d"], 0.95) is None
    assert estimate_quantile([], [], 0.5) is None
