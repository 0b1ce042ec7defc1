"""Commands on disks that are too small, and again once they are large.

Each command is a fork of a process that may mount: disks are seen by it and its forks alone.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.forking import end_with

LARGE = "64m"
_NEW_MOUNTS, _NEW_USERS = 0x0002_0000, 0x1000_0000


@dataclass(frozen=True)
class DiskCommand:
    """A command, and the disk that is mounted for it."""

    words: list[str]
    disk: str
    size: str
    environ: dict[str, str]


def run_commands(place: Path) -> None:
    """Run each command of `commands.json` twice, and keep what is on its disk in the end."""
    _become_root()
    found = []
    for number, given in enumerate(json.loads((place / "commands.json").read_bytes())):
        command = DiskCommand(**given)
        _mount("-t", "tmpfs", "-o", f"size={command.size}", "tmpfs", command.disk)
        small = _run(command, place / f"small-{number}")
        _mount("-o", f"remount,size={LARGE}", command.disk)
        found.append([small, _run(command, place / f"large-{number}")])
        shutil.copytree(command.disk, f"{command.disk}-kept")
    (place / "outcomes.json").write_text(json.dumps(found))


def _become_root() -> None:
    """Do what `unshare --user --map-root-user --mount` does, in this process."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS | _NEW_USERS):
        raise OSError(ctypes.get_errno(), "this process gets no mounts of its own")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount("--make-rprivate", "/")


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _run(command: DiskCommand, log: Path) -> tuple[int, str]:
    """The exit code and standard error of a fork that is the command."""
    child = os.fork()
    if child == 0:
        os.environ |= command.environ
        tempfile.tempdir = None
        os.chdir(log.parent)
        end_with(command.words, log)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), log.read_text()


def write_commands(place: Path, commands: list[DiskCommand]) -> None:
    """Write the file that `run_commands` reads."""
    (place / "commands.json").write_text(json.dumps([asdict(each) for each in commands]))


if __name__ == "__main__":
    run_commands(Path(sys.argv[1]))
