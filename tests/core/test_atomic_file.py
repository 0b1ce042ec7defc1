"""Files and folders of caches are made where they are missing."""

import errno
import os
from pathlib import Path

import pytest

from recall_bench.core.atomic_file import (
    AtomicFile,
    open_cache,
    replace_file,
    write_shared_file,
)
from recall_bench.core.errors import JournalLost, UsageError


def test_a_cache_is_made_with_all_folders_above_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"

    assert open_cache(folder, "verdicts") == folder
    assert open_cache(folder, "verdicts").is_dir(), "a second time nothing is wrong"


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=r"verdicts cannot be kept in .*file"):
        open_cache(tmp_path / "file" / "cache", "verdicts")


def test_a_shared_file_makes_its_folder_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ab" / "entry.json"

    write_shared_file(path, b"1")
    write_shared_file(path, b"2")

    assert path.read_bytes() == b"2"
    assert [each.name for each in path.parent.iterdir()] == ["entry.json"]


def test_new_content_is_on_the_disk_before_it_replaces_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut a file that was renamed too early would be there and empty."""
    path = tmp_path / "result.json"
    path.write_bytes(b"old")
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append((os.fstat(file).st_size, path.read_bytes()))
    )

    with AtomicFile(path) as file:
        file.write(b"newer")
        file.commit()

    assert synced == [(5, b"old")]
    assert path.read_bytes() == b"newer"


def test_a_full_disk_has_a_code_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(JournalLost, match="no space left on the disk") as caught:
        replace_file(tmp_path / "x", b"y")

    assert caught.value.exit_code == 7
    assert list(tmp_path.iterdir()) == []
