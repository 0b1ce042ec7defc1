"""Every writing command writes the same bytes under every hash seed.

Python orders sets by it: floats that are summed over a set differ in their last digits. One process
for each seed runs the commands. `make soak` kills them at random besides.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.charting import copy_vega_script

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "soak_kills.py"
SEEDS = ("0", "4242")
CELLS = ("ablate", "matrix")
"""Left to `make soak`: they are several runs, and nothing else."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")
def test_every_writing_command_gives_the_same_bytes(tmp_path: Path) -> None:
    found = {}
    for seed in SEEDS:
        copy_vega_script(tmp_path / seed / "cache")
        words = [str(SCRIPT), "--work", str(tmp_path / seed), "--base", str(tmp_path / "base")]
        done = subprocess.run(
            [sys.executable, *words, "--kills", "0", "--without", *CELLS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        )
        found[seed] = json.loads(done.stdout)

    assert all(not report["violations"] for report in found.values())
    first = found[SEEDS[0]]["digests"]
    assert len(first) >= 13
    for seed in SEEDS[1:]:
        assert found[seed]["digests"] == first, f"hash seed {seed}"
