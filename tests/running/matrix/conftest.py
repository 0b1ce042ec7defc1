"""A gardener, and matrix files over it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gardener import ADAPTER, write_persona
from tests.sketched_pictures import sketch_matrix

Write = Callable[[str], Path]

RUN = "run:\n  data: data\n  ranges: [5d, 10d]\n"


@pytest.fixture(autouse=True)
def _sketched_matrix(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the picture of a matrix, but draw it only where a test asks for `real_pictures`."""
    if "real_pictures" not in request.fixturenames:
        sketch_matrix(monkeypatch)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A matrix file over the gardener; `write("systems: [bm25]")` adds to what all share."""
    write_persona(tmp_path / "data")

    def written(text: str) -> Path:
        path = tmp_path / "m.yaml"
        path.write_text(f"into: runs\n{RUN}{text}\n")
        return path

    return written


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """An adapter whose every answer is an exception."""
    path = tmp_path / "broken.py"
    before, _, after = ADAPTER.partition("        wanted = ")
    path.write_text(f'{before}        raise KeyError("lost")\n\n{after.partition(chr(10) * 2)[2]}')
    return path
