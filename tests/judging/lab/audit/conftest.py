"""One short story and its audit set, for every test of the audit."""

import pytest

from recall_bench.core.scenario import Scenario
from recall_bench.judging.lab.audit_answers import AuditItem
from tests.judging.lab.audit.stories import SHORT, load_scenario, load_story


@pytest.fixture
def scenario() -> Scenario:
    """Half a year of an assistant's log, as it ships."""
    return load_scenario(*SHORT)


@pytest.fixture
def items() -> tuple[AuditItem, ...]:
    """The audit set about it."""
    return load_story(*SHORT).items
