"""Every writing command writes the same bytes under every hash seed.

Python orders sets by it: floats that are summed over a set differ in their last digits. This
process runs the commands, and one for each other seed. `make soak` kills them at random besides.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.charting import copy_vega_script
from tests.hash_seeds import list_other_hash_seeds
from tests.seeded_commands import prepare_inputs, run_commands

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")
def test_every_writing_command_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, here = tmp_path / "base", tmp_path / "here"
    others = {seed: tmp_path / seed for seed in list_other_hash_seeds()}
    for work in (here, *others.values()):
        copy_vega_script(work / "cache")
    # The commands change all three.
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(here / "cache"))
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.chdir(tmp_path)

    prepare_inputs(base)
    expected = run_commands(base, here)

    assert len(expected) >= 13
    for seed, work in others.items():
        done = subprocess.run(
            [sys.executable, "-m", "tests.seeded_commands", str(base), str(work)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        )
        assert json.loads(done.stdout) == expected, f"hash seed {seed}"
