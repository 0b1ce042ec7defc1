"""Run the short run, its report and tests of the kernel with each feature taken out in turn.

`python -m tests.features.removal FOLDER NAME...` imports as if the feature's package were not
there, and prints the names of those that the kernel misses.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import recall_bench
import recall_bench.library
import recall_bench.reporting.publication
from recall_bench.cli.main import cli
from recall_bench.core.feature import list_features


class Remover(MetaPathFinder):
    """Finds no module of one package, as if it were not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if f"{fullname}.".startswith(f"{self._package}."):
            raise ModuleNotFoundError(f"{fullname} was taken out", name=self._package)
        return None


KERNEL_TESTS = (
    "tests/core/test_schedule.py",
    "tests/core/test_ranges.py",
    "tests/metrics/test_records.py",
)


def check(name: str, folder: Path) -> int:
    """Take a feature out of this process, which has imported none; the exit code of the tests."""
    sys.meta_path.insert(0, Remover(f"recall_bench.features.{name}"))
    assert name not in {feature.name for feature in list_features()}
    finished = recall_bench.run(
        personas="harbour-office", ranges="10d", adapter="bm25", heatmap_png=False, into=folder
    )
    assert finished.is_valid
    assert recall_bench.report(folder, pictures=False).files
    cli(["help", "all"], standalone_mode=False)
    left = [module for module in sys.modules if module.startswith(f"recall_bench.features.{name}")]
    assert left == []
    return int(pytest.main([*KERNEL_TESTS, "-q", "--assert=plain", "-p", "no:cacheprovider"]))


def main(folder: Path, names: Sequence[str]) -> None:
    """Check each feature in a process of its own, forked from this one, which knows the kernel."""
    children = {}
    for name in names:
        if (pid := os.fork()) == 0:
            log = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = 1
            try:
                code = check(name, folder / name)
            except BaseException:  # noqa: BLE001 - the log says what, the code that it failed
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        children[name] = pid
        if len(children) % 2 == 0:
            # Two at a time, on two cores.
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    failed = [name for name, pid in children.items() if os.waitpid(pid, 0)[1]]
    print(" ".join(failed))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
