"""Simulated personas and the audit answers written about them, built once a process."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recall_bench.core.scenario import Scenario
from recall_bench.features.judges.audit_answers import AuditItem, build_audit_set
from recall_bench.features.judges.audit_report import AuditClass
from recall_bench.library import load_persona

PER_CLASS = 200
SHORT = ("executive-assistant", "arcs-180d.yaml")
LONG = ("er-physician", "arcs-1000d.yaml")
"""Told in full; of the others a few months are enough."""
OTHERS = ("backend-eng-saas", "financial-advisor", "litigation-attorney", "research-scientist")


@dataclass(frozen=True, slots=True)
class Story:
    """A scenario and its audit set."""

    scenario: Scenario
    items: tuple[AuditItem, ...]
    per_class: int

    def select(self, *kinds: AuditClass) -> list[AuditItem]:
        return select_items(self.items, *kinds)


@cache
def load_scenario(name: str | Path, arcs: str | None) -> Scenario:
    """Load the story alone; many tests write a few answers of their own."""
    """Of the shipped ones the simulated, whose truths are exact."""
    edition = {SHORT: 1, LONG: 2}.get((str(name), str(arcs)))
    return load_persona(name, arcs=arcs, edition=edition)


@cache
def load_story(
    name: str | Path, arcs: str | None, seed: int = 1, per_class: int = PER_CLASS
) -> Story:
    scenario = load_scenario(name, arcs)
    items = build_audit_set(scenario, seed=seed, per_class=per_class)
    return Story(scenario, items, per_class)


def select_items(items: tuple[AuditItem, ...], *kinds: AuditClass) -> list[AuditItem]:
    return [item for item in items if item.kind in kinds]
