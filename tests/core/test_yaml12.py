"""Files mean what YAML 1.2 says they mean, and what cannot be read is said with its line."""

import math
from pathlib import Path

import pytest
import yaml

from recall_bench.core import yaml12
from recall_bench.core.errors import Malformed
from recall_bench.core.yaml12 import Document, load_yaml, read_document
from tests.conftest import shared_data
from tests.loops import loop_over_rows


def parsed(source: str) -> object:
    return Document("file", source).content


TYPED = [
    ("No", "No"),
    ("yes", "yes"),
    ("on", "on"),
    ("Off", "Off"),
    ("6:30", "6:30"),
    ("190:20:30", "190:20:30"),
    ("2026-01-01", "2026-01-01"),
    ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
    ("1_000", "1_000"),
    ("0b11", "0b11"),
    ("<<", "<<"),
    ("=", "="),
    ("tRUE", "tRUE"),
    ("'12'", "12"),
    ('"true"', "true"),
    ("017", 17),
    ("0o17", 15),
    ("0x1F", 31),
    ("+12", 12),
    ("-7", -7),
    ("1e3", 1000.0),
    ("1.", 1.0),
    ("-.5", -0.5),
    (".inf", math.inf),
    ("-.INF", -math.inf),
    ("true", True),
    ("True", True),
    ("FALSE", False),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("~", None),
    ("", None),
]


@loop_over_rows(("word", "value"), TYPED)
def test_a_plain_word_has_the_type_of_the_core_schema(word: str, value: object) -> None:
    content = parsed(f"key: {word}\n")

    assert content == {"key": value}
    assert isinstance(content, dict)
    assert type(content["key"]) is type(value)


def test_not_a_number_is_one() -> None:
    content = parsed("[.nan, .NaN]")

    assert isinstance(content, list)
    assert all(math.isnan(value) for value in content)


@pytest.mark.parametrize(("word", "value"), TYPED)
def test_without_the_c_library_the_types_are_the_same(
    word: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml12._make_loader.cache_clear()
    monkeypatch.setattr(yaml, "__with_libyaml__", False)

    content = parsed(f"key: {word}\n")
    loader = yaml12._make_loader()
    yaml12._make_loader.cache_clear()

    assert content == {"key": value}
    assert issubclass(loader, yaml.BaseLoader)


def test_other_readers_of_yaml_are_left_as_they_were() -> None:
    parsed("a: No")

    assert yaml.safe_load("a: No") == {"a": False}
    assert yaml.safe_dump({"a": "No"}) == "a: 'No'\n"


def test_an_empty_file_holds_nothing() -> None:
    assert parsed("") is None
    assert parsed("# only a comment\n") is None


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert parsed("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n", 3, "the key 'a' is given twice, first on line 1", id="key"
        ),
        pytest.param("- x: {k: 1,\n   k: 2}", 2, "the key 'k' is given twice", id="nested key"),
        pytest.param("a: 1\nb: [1, 2\n", 2, "begins on line 2", id="open list"),
        pytest.param("a: 1\nb: c: d\n", 2, "mapping values are not allowed", id="two colons"),
        pytest.param("a: 1\n---\nb: 2\n", 2, "another document", id="two documents"),
        pytest.param("a: 1\nb: *c\n", 2, "undefined alias", id="lost alias"),
        pytest.param("a:\n  &x [*x]\n", 2, "refers to what contains it", id="endless alias"),
        pytest.param("a: 1\nb: !!binary eA==\n", 2, "the tag !!binary", id="foreign tag"),
        pytest.param("a: 1\nb: !!int 1_0\n", 2, "cannot be read as int", id="false tag"),
        pytest.param("a: 1\n[1]: 2\n", 2, "a key is a list", id="list as key"),
        pytest.param("a: 1\nb: \x07\n", 2, "control character", id="control character"),
    ],
)
def test_a_syntax_error_names_its_line(source: str, line: int, words: str) -> None:
    with pytest.raises(Malformed) as caught:
        parsed(source)

    assert str(caught.value).startswith(f"file, line {line}: ")
    assert words in str(caught.value)
    assert ";" in str(caught.value)


def test_nesting_without_end_is_refused_and_no_crash() -> None:
    with pytest.raises(Malformed, match="nested too deeply"):
        parsed("[" * 100_000 + "]" * 100_000)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"gone\.yaml: the file does not exist"):
        load_yaml(tmp_path / "gone.yaml")


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="cannot be read"):
        load_yaml(tmp_path)


def test_bytes_that_are_not_utf_8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: 1\nb: caf\xe9\n")

    with pytest.raises(Malformed, match=r"latin\.yaml, line 2: byte 0xe9 is not UTF-8"):
        load_yaml(path)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: x\r\n")

    assert load_yaml(path) == {"a": 1, "b": "x"}


def test_a_document_knows_the_line_of_every_part(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("top:\n  - a: 1\n    b:\n      c: 2\n  - 3\n", encoding="utf-8")
    document = read_document(path, name="data/file.yaml")

    assert document.find_line() == 1
    assert document.find_line("top", 0, "b") == 3
    assert document.find_line("top", 0, "b", "c") == 4
    assert document.find_line("top", 1) == 5
    assert document.describe_place("top", 0, "missing") == "data/file.yaml, line 2"
    assert document.find_line("top", 7) == 1


def test_dates_given_as_answers_stay_text() -> None:
    path = shared_data("recall-ea/executive-assistant/qa-180d/questions.yaml")

    content = load_yaml(path)

    assert isinstance(content, list)
    answers = {question["id"][-4:]: question["answer"] for question in content}
    assert {type(answers["q181"]), type(answers["q265"])} == {str}
    assert {type(answer) for answer in answers.values()} == {str}
