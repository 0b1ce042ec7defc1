"""What is packed comes out as it went in, and can end nothing it stands in."""

import gzip
import json
import re
from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.reporting.pages.markup import encode_block, split_chunks

NASTY = "</script><!-- <script> \u2028\u2029 \x00 & 🦉 \"'"


def unpacked(text: str) -> object:
    found = re.fullmatch(
        r'<script type="text/plain" data-block="x">([A-Za-z0-9+/=]*)</script>\n', text
    )
    assert found, text
    return json.loads(gzip.decompress(b64decode(found[1])))


def test_nothing_in_a_block_can_be_markup() -> None:
    assert unpacked(encode_block("x", {"said": [NASTY, None, 1.5]}).render()) == {
        "said": [NASTY, None, 1.5]
    }


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))))
def test_any_text_comes_out_as_it_went_in(texts: list[str]) -> None:
    assert unpacked(encode_block("x", texts).render()) == texts


def test_the_same_content_is_packed_into_the_same_bytes() -> None:
    assert encode_block("x", [NASTY]).render() == encode_block("x", [NASTY]).render()


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_chunks_hold_every_entry_once_and_end_when_full(lengths: list[int], size: int) -> None:
    parts = list(split_chunks(lengths, size))

    assert [place for part in parts for place in range(part.start, part.stop)] == list(
        range(len(lengths))
    )
    assert all(sum(lengths[part]) >= size for part in parts[:-1])
    assert all(sum(lengths[part][:-1]) < size for part in parts)
