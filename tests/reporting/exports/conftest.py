from pathlib import Path

import pytest

from tests.reporting.exports.exported_runs import run_locomo


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A poor run and a good one, on the same questions."""
    home = tmp_path_factory.mktemp("runs")
    return run_locomo(home, "poor", is_good=False), run_locomo(home, "good", is_good=True)
