"""Ids of strangers name folders and lead nowhere else; links are not followed when removing."""

import os
import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed
from recall_bench.core.folders import copy_folder, join_id, remove_folder
from tests.loops import loop_over_rows


@loop_over_rows(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        "a\\b",
        "C:x",
        ".hidden",
        "a\x00b",
        "a\n",
        "x.",
        "é" * 101,
    ],
)
def test_an_id_that_is_more_than_a_name_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match=r"persona\.yaml: the id .* cannot be the name of a folder"):
        join_id(Path("out"), name, "persona.yaml")


@loop_over_rows("name", ["er-physician", "Ada Lovelace", "naïve_1.2", "日本"])
def test_a_name_is_below_the_folder(name: str) -> None:
    assert join_id(Path("out"), name, "x") == Path("out") / name


def test_removing_a_link_keeps_what_it_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "000001"
    kept.mkdir(parents=True)
    link, folder = tmp_path / "link", tmp_path / "folder" / "below"
    link.symlink_to(tmp_path / "kept")
    folder.mkdir(parents=True)

    for path in (link, folder.parent, tmp_path / "absent"):
        remove_folder(path)

    assert kept.is_dir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes in folders")
def test_a_pipe_is_left_out_of_a_copy_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "notes").write_text("leeks")
    os.mkfifo(tmp_path / "state" / "pipe")

    copy_folder(tmp_path / "state", tmp_path / "copy")

    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["notes"]
    assert "state/pipe is no plain file, and is not copied" in capsys.readouterr().err
