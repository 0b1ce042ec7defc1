"""The commands of the page on job arrays do what it says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import Invoke
from tests.thoroughness import IS_EXHAUSTIVE

PAGE = Path(__file__).parents[4] / "docs/how-to/job-arrays.md"
FEWER = () if IS_EXHAUSTIVE else ("--ranges", "5d,10d", "--sample", "2")
"""What is added to each run of the page, whose checkpoints and questions are not its subject."""


@pytest.mark.slow
def test_every_command_of_the_page_runs(invoke: Invoke) -> None:
    text = PAGE.read_text(encoding="utf-8")
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()

    assert len(lines) == 5
    for line in lines:
        command, _, comment = line.partition("#")
        program, *words = shlex.split(command)
        assert program == "recall-bench"
        shown = invoke(*words, *(FEWER if words[0] == "run" else ()))
        assert shown.code == (4 if "ends with 4" in comment else 0), f"{line}: {shown.err}"


def test_the_array_script_names_its_part_as_the_command_reads_it() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert '--shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"' in text
    assert "#SBATCH --array=1-" in text
