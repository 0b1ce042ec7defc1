"""A full disk ends a command with 7 and a sentence; with more room the same command ends well.

The disks are real: a small one is mounted for a process of its own, where the system allows that.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recall_bench.runs.run_folder import RunFolder

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c")
LARGE = "64m"


def can_mount(folder: Path) -> bool:
    script = f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}"
    try:
        return subprocess.run([*UNSHARE, script], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    if not can_mount(folder):
        pytest.skip("no disk can be mounted here")
    return folder


def run_on(disk: Path, size: str, command: str, environ: str = "") -> list[tuple[int, str]]:
    """The exit code and stderr on the small disk, and again once it is large."""
    whole = f"{environ} {sys.executable} -m recall_bench {command} >/dev/null"
    script = (
        f"mount -t tmpfs -o size={size} tmpfs {disk}; "
        f"{whole} 2>first; echo $?; mount -o remount,size={LARGE} {disk}; "
        f"{whole} 2>second; echo $?; cp -r {disk} kept"
    )
    place = disk.parent
    done = subprocess.run(
        [*UNSHARE, script], cwd=place, capture_output=True, text=True, check=False
    )
    codes = [int(line) for line in done.stdout.split()]
    told = [(place / name).read_text() for name in ("first", "second")]
    return list(zip(codes, told, strict=True))


RUN = "run --adapter bm25 --judge stub --no-heatmap-png --no-page"


@pytest.mark.parametrize("size", ["8k", "32k"])
def test_under_the_journal_and_its_views(disk: Path, data: Path, size: str) -> None:
    full, mended = run_on(disk, size, f"{RUN} --data {data} --ranges 5d,10d --into {disk}/r")

    assert full[0] == 7, full[1]
    assert "free some" in full[1]
    assert str(disk) in full[1]
    assert "Traceback" not in full[1]
    assert mended[0] == 0, mended[1]
    folder = RunFolder.open(disk.parent / "kept" / "r")
    assert folder.is_finished
    assert not list(folder.path.glob(".*.part"))


def test_under_the_cache(disk: Path) -> None:
    words = f"{RUN} --personas er-physician --ranges 5d --into r"

    full, mended = run_on(disk, "200k", words, f"RECALL_BENCH_CACHE={disk}")

    assert full[0] == 7, full[1]
    assert "er-physician: no space left on the disk" in full[1]
    assert mended[0] == 0, mended[1]
    assert not list((disk.parent / "kept").rglob(".*.part"))


def test_under_temporary_files(disk: Path, data: Path) -> None:
    adapter = disk.parent / "memory.py"
    adapter.write_text(
        "class Memory:\n"
        "    version = '1'\n"
        "    def ingest_day(self, day, text, meta): pass\n"
        "    def query(self, question, context): return 'Bed 7.'\n"
    )
    words = f"{RUN} --data {data} --ranges 5d --into r --adapter {adapter}"

    full, mended = run_on(disk, "8k", words, f"TMPDIR={disk}")

    assert full[0] == 7, full[1]
    assert "no space left on the disk" in full[1]
    assert "Traceback" not in full[1]
    assert mended[0] == 0, mended[1]
