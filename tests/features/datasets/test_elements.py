"""A large JSON array is read element by element; what is wrong with it is said with its place."""

import gzip
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.datasets.loading import JsonArray, locate_file, open_rows


class Pear(msgspec.Struct):
    weight: int


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["pears.json", "pears.json.gz"])
def test_elements_are_decoded_one_by_one_and_in_any_order(tmp_path: Path, name: str) -> None:
    plain = b'[\n {"weight": 7},\n {"weight": 9}\n]\n'
    path = written(tmp_path / name, gzip.compress(plain) if name.endswith("gz") else plain)

    pears = JsonArray(path, "pear")

    assert len(pears) == 2
    assert pears.decode(1, Pear) == Pear(9)
    assert pears.decode(0, Pear) == Pear(7)
    assert pears.decode(0, dict[str, int]) == {"weight": 7}


def test_an_element_of_another_shape_is_named_by_its_number_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    pears = JsonArray(written(tmp_path / "a.json", b'[{"weight": 7}, {"weight": "9"}]'), "pear")

    with pytest.raises(Malformed, match=r"a\.json, pear 2: .*weight"):
        pears.decode(1, Pear)
    assert pears.decode(0, Pear) == Pear(7)


def test_text_that_is_not_utf_8_is_named_by_its_element(tmp_path: Path) -> None:
    pears = JsonArray(written(tmp_path / "a.json", b'["ok", "\xff"]'), "pear")

    with pytest.raises(Malformed, match="pear 2"):
        pears.decode(1, str)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b'[{"weight": 7}, {"wei', "truncated; 21 bytes in all", id="torn"),
        pytest.param(b"[7, 8", "truncated; 5 bytes in all", id="torn between elements"),
        pytest.param(b'{"weight": 7}', "Expected `array`, got `object`", id="no array"),
        pytest.param(b"[7,, 8]", "byte 3", id="malformed"),
        pytest.param(b"[7] [8]", "trailing characters", id="two arrays"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(gzip.compress(b""), "is empty", id="packed nothing"),
        pytest.param(gzip.compress(b"[7]" * 99)[:20], "cannot be unpacked", id="torn package"),
        pytest.param(b"\x1f\x8b\x08 and no more", "cannot be unpacked", id="no package"),
    ],
)
def test_a_file_that_is_no_whole_array_is_refused(
    tmp_path: Path, content: bytes, said: str
) -> None:
    with pytest.raises(Malformed, match=rf"a\.json: .*{said}"):
        JsonArray(written(tmp_path / "a.json", content), "pear")


def test_a_file_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        JsonArray(tmp_path / "a.json", "pear")


def test_a_file_is_itself_and_a_folder_stands_for_the_file_in_it(tmp_path: Path) -> None:
    packed = written(tmp_path / "a.json.gz", b"")

    assert locate_file(packed, "b.json") == packed
    assert locate_file(tmp_path, "a.json") == packed
    plain = written(tmp_path / "a.json", b"")
    assert locate_file(tmp_path, "a.json") == plain


def test_a_folder_without_the_file_or_with_several_is_not_guessed_about(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no a\.json or b\.json in"):
        locate_file(tmp_path, "a.json", "b.json")
    written(tmp_path / "a.json", b"")
    written(tmp_path / "b.json.gz", b"")
    with pytest.raises(UsageError, match=r"holds a\.json, b\.json\.gz"):
        locate_file(tmp_path, "a.json", "b.json")


@pytest.mark.parametrize("name", ["pears.jsonl", "pears.jsonl.gz"])
@pytest.mark.parametrize(
    "plain", [b'{"weight": 7}\n\n {"weight": 9}', b'[{"weight": 7},\n{"weight": 9}]\n']
)
def test_rows_are_an_array_or_lines(tmp_path: Path, name: str, plain: bytes) -> None:
    path = written(tmp_path / name, gzip.compress(plain) if name.endswith("gz") else plain)

    pears = open_rows(path, "pear")

    assert [pears.decode(number, Pear).weight for number in (1, 0)] == [9, 7]
    assert len(pears) == 2


def test_a_line_of_another_shape_is_named_by_its_number(tmp_path: Path) -> None:
    pears = open_rows(written(tmp_path / "a.jsonl", b'{"weight": 7}\n{"weight": "9"}\n'), "pear")

    with pytest.raises(Malformed, match=r"a\.jsonl, pear 2: .*weight"):
        pears.decode(1, Pear)


def test_rows_that_are_not_there_or_damaged_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        open_rows(tmp_path / "none.jsonl", "pear")
    with pytest.raises(Malformed, match="cannot be unpacked"):
        open_rows(written(tmp_path / "a.gz", gzip.compress(b'{"a": 1}')[:-9]), "pear")
