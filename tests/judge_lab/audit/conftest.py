"""One played persona, and the answers written about it, for every test of the audit."""

from functools import cache

import pytest

from recall_bench.core.scenario import Scenario
from recall_bench.judging.lab.audit.audit import build_audit_set
from recall_bench.judging.lab.audit.audit_case import AuditClass, AuditItem
from recall_bench.library import load_persona

PER_CLASS = 200


@cache
def played(name: str = "executive-assistant", arcs: str | None = "arcs-180d.yaml") -> Scenario:
    return load_persona(name, arcs=arcs)


@cache
def written(name: str, arcs: str | None, seed: int, per_class: int) -> tuple[AuditItem, ...]:
    return build_audit_set(played(name, arcs), seed=seed, per_class=per_class)


SHORT = ("executive-assistant", "arcs-180d.yaml")
LONG = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)


@pytest.fixture
def scenario() -> Scenario:
    """Half a year of an assistant's log, as it ships."""
    return played(*SHORT)


@pytest.fixture
def items() -> tuple[AuditItem, ...]:
    """The audit set about it."""
    return written(*SHORT, 1, PER_CLASS)


def of(items: tuple[AuditItem, ...], *kinds: AuditClass) -> list[AuditItem]:
    """The items of these classes."""
    return [item for item in items if item.kind in kinds]
