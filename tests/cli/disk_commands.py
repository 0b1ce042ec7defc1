"""Commands on disks that are too small, and again once they are large.

Runs where it may mount, as `unshare --user --map-root-user --mount` allows. Each command is a fork
of this process, which imports everything once.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.command_template import warm_up
from tests.forking import end_with

LARGE = "64m"


@dataclass(frozen=True)
class DiskCommand:
    """A command, and the disk that is mounted for it."""

    words: list[str]
    disk: str
    size: str
    environ: dict[str, str]


def run_commands(place: Path) -> None:
    """Run each command of `commands.json` twice, and keep what is on its disk in the end."""
    warm_up()
    found = []
    for number, given in enumerate(json.loads((place / "commands.json").read_bytes())):
        command = DiskCommand(**given)
        _mount("-t", "tmpfs", "-o", f"size={command.size}", "tmpfs", command.disk)
        small = _run(command, place / f"small-{number}")
        _mount("-o", f"remount,size={LARGE}", command.disk)
        found.append([small, _run(command, place / f"large-{number}")])
        shutil.copytree(command.disk, f"{command.disk}-kept")
    (place / "outcomes.json").write_text(json.dumps(found))


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
