"""Every command ends with a result or a sentence where no extra is installed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_command_does_without_the_extras(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.base_install", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == ""
    assert (tmp_path / "a" / "report" / "report.html").is_file()
