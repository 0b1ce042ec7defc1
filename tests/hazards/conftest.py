"""LoCoMo as it was published, read once."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from recall_bench.core.scenario import Scenario
from recall_bench.features.datasets.locomo import load
from tests.conftest import shared_data


@pytest.fixture(scope="module")
def raw() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared_data("locomo/locomo10.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def locomo() -> Sequence[Scenario]:
    return load(shared_data("locomo/locomo10.json"), {})
