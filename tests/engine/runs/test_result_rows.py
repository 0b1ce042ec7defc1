"""A document laid out is the document, however large, and its rows are single lines."""

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.engine.runs.result_records import encode_row, write_document

plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
values = st.recursive(
    plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def laid_out(value: object) -> str:
    pieces: list[bytes] = []
    write_document(value, pieces.append)
    return b"".join(pieces).decode()


@given(values)
def test_laying_out_changes_nothing(value: object) -> None:
    assert json.loads(laid_out(value)) == value


@given(st.lists(st.dictionaries(st.text(), plain)))
def test_an_iterator_becomes_a_list_with_a_line_an_element(rows: list[dict[str, object]]) -> None:
    text = laid_out({"rows": (encode_row(fields) for fields in rows)})

    assert json.loads(text) == {"rows": rows}
    assert text.count("\n") == 2 + (len(rows) + 1 if rows else 0)


def test_an_iterator_is_drawn_on_as_it_is_written() -> None:
    written: list[bytes] = []
    ahead: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(5):
            ahead.append(number - sum(piece.isdigit() for piece in written))
            yield number

    write_document(numbers(), written.append)

    assert ahead == [0, 0, 0, 0, 0]
