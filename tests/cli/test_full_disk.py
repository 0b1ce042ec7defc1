"""A full disk ends a command with 7 and a sentence; with more room the same command ends well.

The disks are real: small ones are mounted for a process of its own, where the system allows that.
"""

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from tests.cli.disk_commands import DiskCommand, write_commands
from tests.gardener import write_persona
from tests.warm_commands import start_command

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c")
RUN = "run --adapter bm25 --judge stub --no-heatmap-png --no-page".split()
ADAPTER = """
class Memory:
    version = "1"
    def ingest_day(self, day, text, meta): pass
    def query(self, question, context): return "Bed 7."
"""


def can_mount(folder: Path) -> bool:
    script = f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}"
    try:
        return subprocess.run([*UNSHARE, script], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@dataclass(frozen=True)
class Outcome:
    """The exit code and stderr on the small disk, and again once it is large."""

    disk: Path
    full: tuple[int, str]
    mended: tuple[int, str]
    kept: Path
    """What is on the disk in the end."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All commands are forks of one copy: to import everything takes longer than a run."""
    place = tmp_path_factory.mktemp("disks")
    write_persona(place / "data")
    (place / "memory.py").write_text(ADAPTER)
    disks = {name: place / name for name in ("journal", "views", "cache", "temporary")}
    for disk in disks.values():
        disk.mkdir()
    if not can_mount(disks["journal"]):
        pytest.skip("no disk can be mounted here")
    data, long = ["--data", f"{place}/data"], ["--ranges", "5d,10d"]
    short = ["--ranges", "5d"]
    cache, temporary = str(disks["cache"]), str(disks["temporary"])
    adapter = ["--adapter", f"{place}/memory.py"]
    commands = {
        "journal": ([*data, *long, "--into", f"{disks['journal']}/r"], "8k", {}),
        "views": ([*data, *long, "--into", f"{disks['views']}/r"], "32k", {}),
        "cache": (
            ["--personas", "bakery-de", *short, "--into", "r"],
            "100k",
            {"RECALL_BENCH_CACHE": cache},
        ),
        "temporary": ([*data, *short, "--into", "q", *adapter], "8k", {"TMPDIR": temporary}),
    }
    write_commands(
        place,
        [
            DiskCommand([*RUN, *words], str(disks[name]), size, environ)
            for name, (words, size, environ) in commands.items()
        ],
    )
    copy = start_command([place], module="tests.cli.disk_commands")
    _, err = copy.communicate()
    assert copy.returncode == 0, err.decode()
    found = json.loads((place / "outcomes.json").read_bytes())
    return {
        name: Outcome(disks[name], full, mended, disks[name].with_name(f"{name}-kept"))
        for name, (full, mended) in zip(commands, found, strict=True)
    }


@pytest.mark.parametrize("name", ["journal", "views"])
def test_under_the_journal_and_its_views(outcomes: dict[str, Outcome], name: str) -> None:
    found = outcomes[name]

    assert found.full[0] == 7, found.full[1]
    assert "free some" in found.full[1]
    assert str(found.disk) in found.full[1]
    assert "Traceback" not in found.full[1]
    assert found.mended[0] == 0, found.mended[1]
    folder = RunFolder.open(found.kept / "r")
    assert folder.is_finished
    assert not list(folder.path.glob(".*.part"))


def test_under_the_cache(outcomes: dict[str, Outcome]) -> None:
    found = outcomes["cache"]

    assert found.full[0] == 7, found.full[1]
    assert "bakery-de: no space left on the disk" in found.full[1]
    assert found.mended[0] == 0, found.mended[1]
    assert list(found.kept.iterdir())
    assert not list(found.kept.rglob(".*.part"))


def test_under_temporary_files(outcomes: dict[str, Outcome]) -> None:
    found = outcomes["temporary"]

    assert found.full[0] == 7, found.full[1]
    assert "no space left on the disk" in found.full[1]
    assert "Traceback" not in found.full[1]
    assert found.mended[0] == 0, found.mended[1]
