"""What is here is complete, partial, absent, or not what was published; and which is known."""

import gzip
import os
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.stories import dataset_folder
from recall_bench.stories.catalogue import DatasetSource, SourceFile
from recall_bench.stories.dataset_folder import (
    Presence,
    check_dataset_presence,
    check_pin,
    find_download,
    find_layer_file,
    format_size,
    read_receipt,
)
from tests.fixtures.datasets_download import BODY, Publish, pinned
from tests.loops import loop_over_rows

ONE = DatasetSource(
    licence="MIT", files=(pinned("talks.json", BODY), pinned("audit.json", b"{}", layer="audit"))
)
TWO = DatasetSource(
    licence="MIT", files=(pinned("a/data.jsonl", b"1"), pinned("b/data.jsonl", b"2"))
)
UNPINNED = DatasetSource(
    licence="MIT", files=(SourceFile(name="x.json"), SourceFile(name="y.json"))
)


@pytest.fixture(autouse=True)
def published(publish: Publish) -> None:
    publish(one=ONE, two=TWO, unpinned=UNPINNED, own=DatasetSource(licence="yours"))


def put(path: Path, body: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def test_nothing_is_here_at_first(cache: Path) -> None:
    assert check_dataset_presence("one") is Presence.ABSENT
    assert find_download("one") is None
    assert not cache.exists()


def test_a_dataset_of_one_file_is_that_file_whatever_its_layers(cache: Path) -> None:
    path = put(cache / "one/talks.json", BODY)

    assert find_download("one") == path
    assert find_layer_file("one", "audit") is None


def test_a_dataset_of_several_files_is_their_folder(cache: Path) -> None:
    put(cache / "two/a/data.jsonl", b"1")
    assert check_dataset_presence("two") is Presence.PART
    assert find_download("two") is None

    put(cache / "two/b/data.jsonl", b"2")
    assert find_download("two") == cache / "two"


def test_a_part_is_not_a_file(cache: Path) -> None:
    put(cache / "one/talks.json.part", BODY)

    assert check_dataset_presence("one") is Presence.PART
    assert find_download("one") is None


def test_a_layer_is_found_by_its_name(cache: Path) -> None:
    path = put(cache / "one/audit.json", b"{}")

    assert find_layer_file("one", "audit") == path
    assert find_layer_file("one", "another") is None
    assert find_download("one") is None


def test_other_bytes_are_never_located(cache: Path) -> None:
    put(cache / "one/talks.json", BODY + b"!")
    put(cache / "one/audit.json", b"[]")

    assert check_dataset_presence("one") is Presence.DIFFERS
    assert find_download("one") is None
    assert find_layer_file("one", "audit") is None


def test_a_file_changed_after_it_was_checked_is_noticed(cache: Path) -> None:
    path = put(cache / "one/talks.json", BODY)
    assert find_download("one") == path

    path.write_bytes(BODY[:-1] + b"!")

    assert check_dataset_presence("one") is Presence.DIFFERS


def test_a_file_is_hashed_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(cache / "one/talks.json", BODY)
    first = read_receipt("one", ONE.files[0])

    def never(_: Path) -> str:
        raise AssertionError("hashed again")

    monkeypatch.setattr(dataset_folder, "digest_file", never)

    assert read_receipt("one", ONE.files[0]) == first
    os.utime(path, ns=(0, 0))
    with pytest.raises(AssertionError, match="hashed again"):
        read_receipt("one", ONE.files[0])


def test_a_cache_that_may_only_be_read_is_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(cache / "one/talks.json", BODY)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "read only")

    monkeypatch.setattr(dataset_folder, "_write_json", refuse)

    assert find_download("one") == path


def test_a_broken_record_is_reported_with_a_remedy(cache: Path) -> None:
    put(cache / "one/talks.json", BODY)
    put(cache / "one.receipts.json", b"{")

    with pytest.raises(Malformed, match=r"one\.receipts\.json: is not as we write it .*delete it"):
        find_download("one")


def test_an_unpinned_dataset_is_complete_when_its_files_are_there(cache: Path) -> None:
    put(cache / "unpinned/x.json", b"1")
    put(cache / "unpinned/y.json", b"2")

    assert find_download("unpinned") == cache / "unpinned"


def test_a_file_given_by_path_is_known_by_its_bytes(tmp_path: Path) -> None:
    renamed = put(tmp_path / "mine.json", BODY)
    variant = put(tmp_path / "talks.json", BODY + b"\n")

    assert check_pin("one", renamed) is True
    assert check_pin("one", variant) is False


def test_a_packed_file_is_known_by_what_it_holds(tmp_path: Path) -> None:
    assert check_pin("one", put(tmp_path / "mine", gzip.compress(BODY))) is True
    assert check_pin("one", put(tmp_path / "mine", gzip.compress(b"x"))) is False


def test_a_torn_gzip_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="cannot be unpacked"):
        check_pin("one", put(tmp_path / "mine.gz", gzip.compress(BODY)[:-20]))


def test_a_folder_is_known_by_all_its_files(tmp_path: Path) -> None:
    put(tmp_path / "mine/a/data.jsonl", b"1")
    assert check_pin("two", tmp_path / "mine") is False

    put(tmp_path / "mine/b/data.jsonl.gz", gzip.compress(b"2"))
    assert check_pin("two", tmp_path / "mine") is True


def test_a_file_of_several_is_known_with_those_beside_it(tmp_path: Path, publish: Publish) -> None:
    """A table of questions given by path is read with the contexts that lie next to it."""
    publish(
        pair=DatasetSource(licence="MIT", files=(pinned("q.csv", b"1"), pinned("c.jsonl", b"2")))
    )
    questions = put(tmp_path / "q.csv", b"1")

    assert check_pin("pair", questions) is True
    put(tmp_path / "c.jsonl", b"3")
    assert check_pin("pair", questions) is False
    put(tmp_path / "c.jsonl", b"2")
    assert check_pin("pair", questions) is True
    assert check_pin("pair", put(tmp_path / "other.csv", b"4")) is False


def test_without_a_pin_it_is_unknown(tmp_path: Path) -> None:
    path = put(tmp_path / "x.json", b"1")

    assert check_pin("unpinned", path) is None
    assert check_pin("own", path) is None


def test_data_that_is_not_there_is_a_mistake_of_the_asker(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        check_pin("one", tmp_path / "nothing")


@loop_over_rows(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (2_805_274, "2.8 MB"),
        (999_949_999, "1.0 GB"),
        (2_737_100_077, "2.7 GB"),
    ],
)
def test_sizes_are_stated_as_people_say_them(size: int, words: str) -> None:
    assert format_size(size) == words
