"""Files mean what YAML 1.2 says they mean, and what cannot be read is said with its line."""

import math
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from recall_bench.core import plain_yaml, yaml12
from recall_bench.core.errors import Malformed
from recall_bench.core.plain_yaml import NotPlain, build_plain
from recall_bench.core.yaml12 import Document, load_yaml, read_document
from tests.conftest import shared_data
from tests.loops import loop_over_rows


def parsed(source: str) -> object:
    """Read the values alone and with their lines, which are two ways to the same values."""
    content = Document("file", source).content
    with_lines = Document("file", source, keeps_lines=True).content
    assert repr(content) == repr(with_lines)
    return content


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


@loop_over_rows(
    "source",
    [
        "- a\n- b: 1\n  c:\n  - 2\n  - {d: 3, e: []}\n- {}\n",
        "? a\n: 1\n? b\n",
        "text\n",
        "a: |\n  1\nb: >-\n  true\nc: 'null'\n",
        "2: two\ntrue: yes\n~: nothing\n",
        "a: ! 1\nb: !!str 2\n",
        "[" * 64 + "]" * 64,
    ],
)
def test_values_do_not_depend_on_whether_lines_are_kept(source: str) -> None:
    assert parsed(source) is not None


@loop_over_rows(
    ("source", "is_plain"),
    [
        ("a: [1, {b: c}]\n", True),
        ("a: [1, {b: [c]}, 2]\nd: {e: {}}\nf: 3\n", True),
        ("a: &x 1\n", False),
        ("a: !!str 1\n", False),
        ("a: 1\na: 2\n", False),
        ("[1]: 2\n", False),
        ("a: 1\n---\nb: 2\n", False),
        ("a: [1\n", False),
        ("1" * 1001, False),
        ("[" * 65 + "]" * 65, False),
    ],
)
def test_what_is_not_plain_is_left_to_the_reader_of_nodes(source: str, is_plain: bool) -> None:
    with nullcontext() if is_plain else pytest.raises(NotPlain):
        assert build_plain(source) == Document("file", source, keeps_lines=True).content


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


def test_a_document_that_is_read_again_has_values_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Contents are kept: what one reader does with them, another must not see."""
    source = "".join(f"- {{name: 'entry {number}', size: {number}.5}}\n" for number in range(100))
    first = build_plain(source)
    assert isinstance(first, list)
    wanted = repr(first)
    first[0]["name"] = "changed"
    monkeypatch.setattr(plain_yaml, "_parse", lambda _: pytest.fail("it was read already"))

    second = build_plain(source)
    assert isinstance(second, list)
    second.clear()

    assert repr(build_plain(source)) == wanted


def test_no_more_contents_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = plain_yaml._KeptContents()
    monkeypatch.setattr(kept, "_MOST", 50_000)
    asked = []

    def parse(source: str) -> object:
        asked.append(source)
        return [source]

    sources = [f"{number}".zfill(2_000) for number in range(40)]
    for source in (*sources, *sources[-5:], sources[0], "x" * 20_000, "x" * 20_000):
        assert kept.read(source, parse) == [source]

    assert asked == [*sources, sources[0], "x" * 20_000, "x" * 20_000]
    assert sum(map(len, kept._packed.values())) == kept._size <= 50_000
