"""Datasets come from where they were published, from a mirror, or from what the user has."""

import gzip
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from recall_bench.core.errors import DataError, DownloadFailed, Problems, UsageError
from recall_bench.features.datasets.download import DownloadOptions, download
from recall_bench.stories.catalogue import DatasetSource, SourceFile
from recall_bench.stories.dataset_folder import find_download, find_layer_file
from tests.features.datasets.download.server import Served, Server
from tests.fixtures.datasets_download import BODY, Listener, Publish, get, pinned

TALKS = pinned("talks.json", BODY)
AUDIT = pinned("audit.json", b"{}", layer="audit")


def source(server: Server, *files: SourceFile) -> DatasetSource:
    return DatasetSource(licence="MIT", places=(f"{server.url}/pub",), files=files)


def test_all_files_are_fetched_layers_too(server: Server, publish: Publish, cache: Path) -> None:
    publish(talks=source(server, TALKS, AUDIT))
    server.files |= {"/pub/talks.json": Served(BODY), "/pub/audit.json": Served(b"{}")}

    watch = get("talks")

    assert find_download("talks") == cache / "talks/talks.json"
    assert find_layer_file("talks", "audit") == cache / "talks/audit.json"
    assert "talks.json: 102.4 kB, as pinned" in watch.lines
    assert watch.lines[-1] == f"talks: complete in {cache}/talks/talks.json"


def test_what_is_here_is_not_fetched_again(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))
    server.files["/pub/talks.json"] = Served(BODY)
    get("talks")

    get("talks")

    assert len(server.asked) == 1


def test_a_file_that_differs_from_its_pin_is_replaced(
    server: Server, publish: Publish, cache: Path
) -> None:
    publish(talks=source(server, TALKS))
    server.files["/pub/talks.json"] = Served(BODY)
    (cache / "talks").mkdir(parents=True)
    (cache / "talks/talks.json").write_bytes(b"tampered with")

    watch = get("talks")

    assert (cache / "talks/talks.json").read_bytes() == BODY
    assert "is not the file that was pinned; replacing it" in watch.lines[0]


def test_a_mirror_is_asked_first(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))
    server.files["/copy/talks/talks.json"] = Served(BODY)

    get("talks", mirror=f"{server.url}/copy/")

    assert [asked.target for asked in server.asked] == ["/copy/talks/talks.json"]


def test_a_mirror_that_has_nothing_is_no_obstacle(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))
    server.files["/pub/talks.json"] = Served(BODY)

    get("talks", mirror=f"{server.url}/copy")

    assert find_download("talks") is not None


def test_a_file_as_a_mirror_is_refused(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))

    with pytest.raises(UsageError, match="give it with --from"):
        get("talks", mirror="file:///data")


def test_an_unknown_name_is_refused_before_anything_is_fetched(
    server: Server, publish: Publish
) -> None:
    publish(talks=source(server, TALKS))

    with pytest.raises(UsageError, match="no dataset named 'tlaks'; did you mean 'talks'"):
        get("talks", "tlaks")

    assert server.asked == []


def test_all_tries_everything_and_tells_every_failure(server: Server, publish: Publish) -> None:
    publish(
        gone=source(server, pinned("gone.json", b"1")),
        wild=source(server, SourceFile(name="wild.json")),
        talks=source(server, TALKS),
        own=DatasetSource(licence="yours"),
    )
    server.files["/pub/talks.json"] = Served(BODY)
    watch = Listener()

    with pytest.raises(Problems) as failed:
        download(("all",), DownloadOptions(), watch)

    assert find_download("talks") is not None
    assert [type(problem) for problem in failed.value.problems] == [DownloadFailed, UsageError]
    assert failed.value.exit_code == 9
    assert "gone: failed" in watch.lines
    assert "wild: failed" in watch.lines
    assert "own: has no download; its files are your own" in watch.lines


def test_all_is_not_mixed_with_names(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))

    with pytest.raises(UsageError, match="not both"):
        get("all", "talks")


def test_own_files_have_no_download(publish: Publish) -> None:
    publish(own=DatasetSource(licence="yours"))

    with pytest.raises(UsageError, match="own has no download; give your own files with --data"):
        get("own")


def test_an_unpinned_file_is_fetched_only_on_request(server: Server, publish: Publish) -> None:
    wild = SourceFile(name="wild.json", bytes=7)
    publish(wild=source(server, TALKS, wild))
    server.files |= {"/pub/talks.json": Served(BODY), "/pub/wild.json": Served(b"wild")}

    with pytest.raises(UsageError, match=r"no sha-256 of wild\.json"):
        get("wild")
    assert server.asked == []

    watch = get("wild", takes_unpinned=True)
    digest = sha256(b"wild").hexdigest()
    line = f"wild.json: not pinned; 4 bytes, 7 were expected, sha256 = {digest}"
    assert line in watch.lines
    assert find_download("wild") is not None


def test_a_file_the_user_has_is_taken_by_its_bytes(
    server: Server, publish: Publish, cache: Path, tmp_path: Path
) -> None:
    publish(talks=source(server, TALKS, AUDIT))
    mine = tmp_path / "renamed.json"
    mine.write_bytes(BODY)
    (cache / "talks").mkdir(parents=True)
    (cache / "talks/talks.json.part").write_bytes(BODY[:9])

    watch = get("talks", own=mine)

    assert (cache / "talks/talks.json").read_bytes() == BODY
    assert [path.name for path in (cache / "talks").iterdir()] == ["talks.json"]
    assert mine.read_bytes() == BODY
    assert "audit.json: not given, so the layer 'audit' stays absent" in watch.lines
    assert server.asked == []


def test_a_file_that_is_not_needed_is_not_passed_over_in_silence(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    publish(talks=source(server, TALKS))
    (tmp_path / "talks.json").write_bytes(BODY)
    get("talks", own=tmp_path)

    watch = get("talks", own=tmp_path)

    assert watch.lines[0] == f"talks: is here already, so {tmp_path} was not looked at"
    with pytest.raises(UsageError, match=r"--from: there is no file or folder .*another"):
        get("talks", own=tmp_path / "another")


def test_a_packed_file_the_user_has_is_unpacked(
    server: Server, publish: Publish, cache: Path, tmp_path: Path
) -> None:
    publish(talks=source(server, TALKS))
    (tmp_path / "talks.json.gz").write_bytes(gzip.compress(BODY))

    get("talks", own=tmp_path)

    assert (cache / "talks/talks.json").read_bytes() == BODY


def test_a_file_pinned_as_packed_stays_packed(
    server: Server, publish: Publish, cache: Path, tmp_path: Path
) -> None:
    packed = gzip.compress(BODY)
    publish(talks=source(server, pinned("talks.json.gz", packed)))
    (tmp_path / "talks.json.gz").write_bytes(packed)

    get("talks", own=tmp_path / "talks.json.gz")

    assert (cache / "talks/talks.json.gz").read_bytes() == packed


def test_a_link_to_a_file_is_taken_for_the_file(
    server: Server, publish: Publish, cache: Path, tmp_path: Path
) -> None:
    """As in the hub's own cache, where every file is a link to one named by its digest."""
    publish(talks=source(server, TALKS))
    (tmp_path / "blob").write_bytes(BODY)
    (tmp_path / "talks.json").symlink_to("blob")

    get("talks", own=tmp_path)

    assert not (cache / "talks/talks.json").is_symlink()
    assert (cache / "talks/talks.json").read_bytes() == BODY


def test_a_file_is_copied_where_it_cannot_be_linked(
    server: Server, publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(talks=source(server, TALKS))
    (tmp_path / "talks.json").write_bytes(BODY)

    def refuse(*_: object) -> None:
        raise OSError(18, "another disk")

    monkeypatch.setattr(Path, "hardlink_to", refuse)

    get("talks", own=tmp_path)

    path = find_download("talks")
    assert path is not None
    assert path.stat().st_nlink == 1


@pytest.mark.parametrize("packs", [False, True])
def test_a_variant_the_user_has_is_refused_and_a_download_under_way_is_kept(
    packs: bool, server: Server, publish: Publish, cache: Path, tmp_path: Path
) -> None:
    publish(talks=source(server, TALKS, AUDIT))
    variant = tmp_path / "talks.json"
    variant.write_bytes(gzip.compress(BODY + b"\n") if packs else BODY + b"\n")
    (cache / "talks").mkdir(parents=True)
    part = cache / "talks/talks.json.part"
    part.write_bytes(BODY[:9])

    with pytest.raises(DataError, match=r"is not talks\.json as it was published") as failed:
        get("talks", own=variant)

    assert failed.value.exit_code == 3
    assert sha256(BODY + b"\n").hexdigest() in str(failed.value)
    assert [path.name for path in part.parent.iterdir()] == [part.name]


def test_a_file_that_is_none_of_the_datasets_is_refused(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    publish(talks=source(server, pinned("a.json", b"1"), pinned("b.json", b"2")))
    (tmp_path / "c.json").write_bytes(b"3")

    with pytest.raises(UsageError, match=r"is not a file of talks, which has a\.json, b\.json"):
        get("talks", own=tmp_path / "c.json")


def test_a_folder_without_the_files_is_refused(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    publish(talks=source(server, TALKS))

    with pytest.raises(UsageError, match=r"nothing of talks is in .*; it needs talks\.json"):
        get("talks", own=tmp_path)
    with pytest.raises(UsageError, match="there is no"):
        get("talks", own=tmp_path / "nothing")


def test_a_folder_with_some_of_the_files_leaves_the_dataset_incomplete(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    publish(talks=source(server, pinned("a.json", b"1"), pinned("b.json", b"2")))
    (tmp_path / "a.json").write_bytes(b"1")

    with pytest.raises(DownloadFailed, match=r"talks: b\.json is still missing"):
        get("talks", own=tmp_path)


def test_a_folder_for_several_datasets_has_a_folder_for_each(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    """Two views may have files of one name: nobody's file is taken for the other's."""
    publish(first=source(server, SourceFile(name="x")), third=source(server, SourceFile(name="x")))
    for place in ("", "first", "third"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "x").write_bytes(place.encode())

    get("first", "third", own=tmp_path, takes_unpinned=True)

    assert [path.read_bytes() for name in ("first", "third") if (path := find_download(name))] == [
        b"first",
        b"third",
    ]


def test_an_unpinned_file_the_user_has_is_taken_only_on_request(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    publish(wild=source(server, SourceFile(name="wild.json")))
    (tmp_path / "wild.json").write_bytes(b"wild")

    with pytest.raises(UsageError, match="--unpinned"):
        get("wild", own=tmp_path)
    get("wild", own=tmp_path, takes_unpinned=True)

    assert find_download("wild") is not None


def test_two_processes_fetch_a_file_once(server: Server, publish: Publish) -> None:
    publish(talks=source(server, TALKS))
    gate, waits = Event(), Event()
    server.files["/pub/talks.json"] = Served(BODY, gate=gate)

    class Second(Listener):
        def note(self, line: str) -> None:
            super().note(line)
            waits.set()

    second = Second()
    threads = [
        Thread(target=download, args=(("talks",), DownloadOptions(), watch))
        for watch in (Listener(), second)
    ]
    threads[0].start()
    while not server.asked:
        sleep(0.001)
    threads[1].start()
    assert waits.wait(60)
    gate.set()
    for thread in threads:
        thread.join(60)

    assert second.lines[0] == "talks: another process is downloading it; waiting"
    assert len(server.asked) == 1
    assert find_download("talks") is not None
