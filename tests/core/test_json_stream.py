"""The elements of a document come one by one, wherever its blocks end."""

import io
import json

import msgspec
import pytest

from recall_bench.core import json_stream
from recall_bench.core.json_stream import stream_elements
from tests.loops import loop_over_rows

ARRAY = [1, 'a]b\\"{', {"x": [1, {"y": "}"}]}, None, True, [[]], "", -2.5, "ü"]
OBJECT = {"a": [1, 2, {"z": 3}], "b": {"c": [1]}, "d": "x,y", "e": 5, "f": []}


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("indent", [None, 1])
def test_elements_are_as_written(
    block: int, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "_BLOCK", block)
    array, members = (
        io.BytesIO(json.dumps(content, indent=indent, ensure_ascii=False).encode())
        for content in (ARRAY, OBJECT)
    )

    assert [json.loads(raw) for _, raw in stream_elements(array)] == ARRAY
    assert [(key, json.loads(raw)) for key, raw in stream_elements(members, ("a", "f"))] == [
        ("a", 1),
        ("a", 2),
        ("a", {"z": 3}),
        ("b", {"c": [1]}),
        ("d", "x,y"),
        ("e", 5),
    ]


@loop_over_rows(
    "content", ["", "  ", "5", "[1,", '["a', '{"a" 1}', '{"a":}', '{"a"', "[1] x", "[}", "{1: 2}"]
)
def test_what_is_no_document_is_refused(content: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        list(stream_elements(io.BytesIO(content.encode()), ("a",)))


def test_an_element_without_end_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_BLOCK", 100)
    monkeypatch.setattr(json_stream, "MAX_ELEMENT_BYTES", 1000)
    file = io.BytesIO(b'["' + b"x" * 100_000)

    with pytest.raises(msgspec.DecodeError, match="more than 1,000 bytes"):
        list(stream_elements(file))

    assert file.tell() < 5000
