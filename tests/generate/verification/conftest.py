"""The hand-written world, fresh for every test."""

from pathlib import Path

import pytest

from tests.generate.verification.corpus import Corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)
