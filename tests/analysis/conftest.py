"""The small run of the reports, for the analysis of it."""

from pathlib import Path

import pytest

from tests.reporting.conftest import Story, ada_story


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """Ada's run, started and nothing done."""
    return ada_story(tmp_path / "run")
