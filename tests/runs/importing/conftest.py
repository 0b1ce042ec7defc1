"""An import of files that a test spells out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.runs.import_run import ImportResult, import_run
from recall_bench.runs.run_folder import RunFolder
from tests.runs.importing.public_files import Row, save

Import = Callable[..., ImportResult]


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    """Write files of a run; say `result=`, `questions=`, `failures=` or `progress=`."""

    def write(**content: Row | list[Row]) -> Path:
        folder = tmp_path / "files"
        for name, rows in content.items():
            save(folder / (f"{name}.json" if name == "result" else f"{name}.jsonl"), rows)
        return folder

    return write


@pytest.fixture
def imported(files: Callable[..., Path], tmp_path: Path) -> Import:
    """Import such files into the folder `run`."""

    def run(*, as_graded: bool = False, **content: Row | list[Row]) -> ImportResult:
        return import_run([files(**content)], tmp_path / "run", as_graded=as_graded)

    return run


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], RunFolder]:
    """The run folder that the import made."""
    return lambda: RunFolder.open(tmp_path / "run")


def faults(found: ImportResult) -> dict[str, int]:
    """What is repaired or marked, and how often."""
    return {each.name: each.count for each in found.card.repairs}
