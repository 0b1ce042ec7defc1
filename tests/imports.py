"""What a statement imports, seen from a fresh process."""

import subprocess
import sys


def imported_by(statement: str) -> set[str]:
    """The packages that are imported when the statement has run."""
    report = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}
