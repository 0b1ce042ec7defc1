"""Runs every writing command once, for a comparison of what they wrote under different hash seeds.

    PYTHONHASHSEED=1 python -m tests.seeded_commands BASE WORK

`BASE` holds the inputs. It prints a digest of the output of each command, as JSON.
"""

import json
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import patch
from xml.sax.saxutils import escape

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CELLS = ("ablate", "matrix")
"""Left to `make soak`: they are several runs, and nothing else."""


def sketch_chart(spec: Mapping[str, object], **options: object) -> str:
    """Write all that a chart is drawn from, in its order: to draw it takes longer than the rest."""
    text = escape(json.dumps([spec, options]))
    return f'<svg xmlns="http://www.w3.org/2000/svg"><text>{text}</text></svg>'


@contextmanager
def load_commands() -> Iterator[ModuleType]:
    """The module of the commands, whose charts are sketched meanwhile."""
    with patch("sys.path", [str(BENCHMARKS), *sys.path]):
        commands = import_module("soak_kills")
    with patch("vl_convert.vegalite_to_svg", sketch_chart):
        yield commands


def prepare_inputs(base: Path) -> None:
    """Write what the commands read."""
    with load_commands() as commands:
        commands.prepare_inputs(base, commands.run_here)


def run_commands(base: Path, work: Path) -> dict[str, str]:
    """Run the commands in this process; a digest of what each has written."""
    with load_commands() as commands:
        commands.use_own_cache(work)
        names = tuple(each.name for each in commands.COMMANDS if each.name not in CELLS)
        report = commands.kill_commands(
            base, work, commands.run_here, kills=0, chance=random.Random(0), names=names
        )
    assert not report.violations, report.violations
    digests: dict[str, str] = report.digests
    return digests


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_commands(*map(Path, sys.argv[1:]))))
