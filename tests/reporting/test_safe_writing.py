"""Files are replaced whole or left alone, and what is not theirs is never touched."""

import os
from pathlib import Path

import pytest

from recall_bench.core import atomic_file
from recall_bench.core.errors import JournalLost, UsageError
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.result_files import export_files
from tests.written_runs import Story


def test_a_failing_write_leaves_every_old_file_and_no_litter(
    finished: Story, tmp_path: Path
) -> None:
    (tmp_path / "result.json").write_text("old")
    (tmp_path / "a file").write_text("in the way")

    with pytest.raises(UsageError, match="a file"):
        export_files(
            finished.open(),
            result=tmp_path / "result.json",
            questions=tmp_path / "a file" / "questions.jsonl",
        )

    assert (tmp_path / "result.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a file", "result.json", "run"]


def test_a_full_disk_leaves_the_old_file_and_names_the_new(
    finished: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/dev/full` takes no byte: writing to it is writing to a full disk."""
    target = tmp_path / "result.json"
    target.write_text("old")
    beside = target.with_name(f".{target.name}.part")
    monkeypatch.setattr(atomic_file, "name_beside", lambda _: beside)
    try:
        beside.symlink_to("/dev/full")
    except OSError:
        pytest.skip("no /dev/full here")

    with pytest.raises(JournalLost, match=r"result\.json: no space left"):
        export_files(finished.open(), result=target)

    assert target.read_text() == "old"
    assert not beside.is_symlink()


def test_what_is_not_a_file_is_never_replaced(finished: Story, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(UsageError, match="is not a file"):
        export_files(finished.open(), result=pipe)

    assert pipe.is_fifo()


def test_a_link_is_followed_and_kept(finished: Story, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")

    export_files(finished.open(), result=tmp_path / "link.json")

    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() != "old"


def test_one_path_for_two_files_is_refused(finished: Story, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="something else of this run"):
        export_files(finished.open(), result=tmp_path / "x", progress=tmp_path / "y" / ".." / "x")


def test_the_journal_is_never_written_over(finished: Story) -> None:
    folder = finished.open()
    before = (folder.path / JOURNAL).read_bytes()

    with pytest.raises(UsageError, match="something else of this run"):
        export_files(folder, questions=folder.path / JOURNAL)

    assert (folder.path / JOURNAL).read_bytes() == before
