"""A tree of files is what its host lists, and nothing that lies outside of it."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from recall_bench.core.errors import BenchError, DownloadFailed, Malformed, UsageError
from recall_bench.stories.catalogue import DatasetSource, FileListing
from recall_bench.stories.dataset_folder import find_download
from tests.features.datasets.download.server import Served, Server
from tests.fixtures.datasets_download import Publish, get


@pytest.fixture
def tree(server: Server) -> DatasetSource:
    """A tree of two files, listed on two pages, as the hub does it."""
    large = {"type": "file", "path": "data/a/1.json", "size": 3, "oid": "x"}
    large["lfs"] = {"oid": sha256(b"one").hexdigest(), "size": 3, "pointerSize": 9}
    folder = {"type": "directory", "path": "data/a", "size": 0, "oid": "x"}
    small = {"type": "file", "path": "data/b c.json", "size": 3, "oid": "x"}
    following = {"Link": f'<{server.url}/tree?cursor=2>; rel="next"'}
    server.files |= {
        "/tree": Served(json.dumps([folder, small]).encode(), headers=following),
        "/tree?cursor=2": Served(json.dumps([large]).encode()),
        "/at/data/a/1.json": Served(b"one"),
        "/at/data/b%20c.json": Served(b"two"),
    }
    listing = FileListing(url=f"{server.url}/tree", folder="data", place=f"{server.url}/at")
    return DatasetSource(licence="MIT", listing=listing)


def test_a_tree_is_listed_and_fetched(
    tree: DatasetSource, server: Server, publish: Publish, cache: Path
) -> None:
    publish(tree=tree)

    with pytest.raises(UsageError, match="no sha-256 of the files of tree"):
        get("tree")
    get("tree", takes_unpinned=True)

    assert find_download("tree") == cache / "tree"
    assert (cache / "tree/a/1.json").read_bytes() == b"one"
    assert (cache / "tree/b c.json").read_bytes() == b"two"
    asked = len(server.asked)
    get("tree", takes_unpinned=True)
    assert len(server.asked) == asked


def test_a_file_of_a_tree_is_what_its_host_lists(
    tree: DatasetSource, server: Server, publish: Publish
) -> None:
    publish(tree=tree)
    server.files["/at/data/a/1.json"] = Served(b"eno")

    with pytest.raises(DownloadFailed, match="sends other bytes"):
        get("tree", takes_unpinned=True)


@pytest.mark.parametrize("path", ["data/../../x", "/data/x", "other/x", "data/..\\x", "data/c:x"])
def test_a_list_that_leads_out_of_its_folder_is_refused(
    path: str, tree: DatasetSource, server: Server, publish: Publish
) -> None:
    publish(tree=tree)
    server.files["/tree"] = Served(json.dumps([{"type": "file", "path": path}]).encode())

    with pytest.raises(Malformed, match="which is not in data"):
        get("tree", takes_unpinned=True)


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (Served(b"<html>"), "is not a list of files"),
        (Served(status=500), "answers 500"),
        (Served(b"[]"), "lists no file"),
        (Served(b"[", cut_after=0), "the list of files could not be fetched"),
        (Served(b"[]", headers={"Link": '<http://else/x>; rel="next"'}), "at another host"),
        (Served(b"[]", headers={"Link": '</tree>; rel="next"'}), "does not end"),
    ],
    ids=["no list", "an error", "an empty list", "a torn list", "another host", "a circle"],
)
def test_a_list_that_cannot_be_had_is_stated(
    served: Served,
    words: str,
    tree: DatasetSource,
    server: Server,
    publish: Publish,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recall_bench.features.datasets.download._PAGES", 3)
    publish(tree=tree)
    server.files["/tree"] = served

    with pytest.raises(BenchError, match=words):
        get("tree", takes_unpinned=True)


def test_a_tree_the_user_has_is_given_by_path(
    tree: DatasetSource, publish: Publish, tmp_path: Path
) -> None:
    publish(tree=tree)

    with pytest.raises(UsageError, match="give your folder to a command with --data"):
        get("tree", own=tmp_path)
