"""A file of JSON lines is read whole or refused with the line that is wrong."""

from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import DataError, Malformed
from recall_bench.core.json_lines import read_json_lines


class _Row(msgspec.Struct):
    day: int
    text: str = ""


def _write(folder: Path, content: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    return path


def test_blank_lines_and_a_last_line_without_an_end_are_read(tmp_path: Path) -> None:
    path = _write(tmp_path, b'{"day": 1}\n\n{"day": 2}')
    assert [row.day for row in read_json_lines(path, _Row)] == [1, 2]


def test_a_torn_last_line_is_left_out_only_where_it_may_be_torn(tmp_path: Path) -> None:
    path = _write(tmp_path, b'{"day": 1}\n{"da')
    assert [row.day for row in read_json_lines(path, _Row, may_be_torn=True)] == [1]
    with pytest.raises(Malformed, match="line 2"):
        list(read_json_lines(path, _Row))


def test_a_whole_last_line_is_kept_though_its_end_is_missing(tmp_path: Path) -> None:
    path = _write(tmp_path, b'{"day": 1}\n{"day": 2}')
    assert [row.day for row in read_json_lines(path, _Row, may_be_torn=True)] == [1, 2]


@pytest.mark.parametrize("line", [b"nonsense", b'{"day": "one"}', b'{"day": 1, "text": "\xff"}'])
def test_a_wrong_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = _write(tmp_path, b'{"day": 1}\n' + line + b"\n")
    with pytest.raises(Malformed, match=r"^facts, line 2: "):
        list(read_json_lines(path, _Row, name="facts"))


def test_a_missing_file_is_an_error_of_the_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_json_lines(tmp_path / "none.jsonl", _Row))
