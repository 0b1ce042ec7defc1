"""What killed processes left is removed, and nothing of a process that runs."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recall_bench.core.atomic_file import (
    AtomicFile,
    TemporaryFolder,
    identify_process,
    is_running,
    name_beside,
    replace_file,
    sweep_folder,
    write_shared_file,
)

DEAD = 2**22 + 1
"""More than the largest number that Linux gives to a process."""


def make(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("half")
    return path


def change_owner(**changes: int | str) -> str:
    pid, start, machine = identify_process().split("-")
    words = {"pid": int(pid, 16), "start": int(start, 16), "machine": machine} | changes
    return f".result.json.{words['pid']:x}-{words['start']:x}-{words['machine']}.0.part"


ENDED = change_owner(pid=DEAD).removeprefix(".result.json.").removesuffix(".0.part")


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)")) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize(
    "name",
    [
        change_owner(pid=DEAD),
        change_owner(start=1),
        f"recall-bench-view-{ENDED}-ab_c12",
        f"recall-bench-{ENDED}-abc12",
    ],
    # The names hold the id of this process, which is another in each test process.
    ids=range(4),
)
def test_what_a_process_left_that_has_ended_is_removed(tmp_path: Path, name: str) -> None:
    make(tmp_path, name)

    sweep_folder(tmp_path)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        change_owner(),
        change_owner(machine="0" * 8, pid=DEAD),
        ".result.json.x.part",
        "result.json",
        f"result.json.{DEAD}.part",
        "recall-bench-notes",
        f"mine-{ENDED}-abc12",
    ],
    ids=range(7),
)
def test_what_may_be_in_use_or_is_not_ours_stays(tmp_path: Path, name: str) -> None:
    path = make(tmp_path, name)

    sweep_folder(tmp_path)

    assert path.exists()


def test_another_process_that_runs_keeps_what_is_its_own(tmp_path: Path, sleeper: int) -> None:
    stat = Path(f"/proc/{sleeper}/stat").read_text()
    start = int(stat.rpartition(")")[2].split()[19])
    kept = make(tmp_path, change_owner(pid=sleeper, start=start))
    gone = make(tmp_path, change_owner(pid=sleeper, start=start - 1))

    sweep_folder(tmp_path)

    assert kept.exists()
    assert not gone.exists(), "the number was given again, to a process that started later"


def test_a_folder_is_removed_with_its_content_and_a_link_is_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    make(kept, "file")
    left = tmp_path / change_owner(pid=DEAD)
    left.mkdir()
    (left / "link").symlink_to(kept)
    (tmp_path / change_owner(pid=DEAD + 1)).symlink_to(kept)

    sweep_folder(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def test_a_folder_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    sweep_folder(tmp_path / "missing")


def test_a_process_that_ended_and_was_not_collected_is_not_running() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

    assert not is_running(child)

    os.waitpid(child, 0)
    assert not is_running(child)


def write_file(folder: Path) -> None:
    with AtomicFile(folder / "result.json") as file:
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


def make_folder(folder: Path) -> None:
    with TemporaryFolder("view", folder):
        os.kill(os.getpid(), signal.SIGKILL)


def share_file(folder: Path) -> None:
    os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    Path.replace = os.replace  # type: ignore[method-assign, assignment]
    write_shared_file(folder / "entry", b"half")


@pytest.mark.parametrize("write", [write_file, make_folder, share_file])
def test_whatever_a_killed_process_was_writing_goes_with_the_next_one(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    child = os.fork()
    if child == 0:
        write(tmp_path)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert list(tmp_path.iterdir()), "nothing was left, so the test shows nothing"

    replace_file(tmp_path / "next", b"whole")

    assert [path.name for path in tmp_path.iterdir()] == ["next"]


def test_two_writers_of_one_file_do_not_share_a_name(tmp_path: Path) -> None:
    assert name_beside(tmp_path / "a") != name_beside(tmp_path / "a")
