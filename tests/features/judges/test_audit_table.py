"""The table fits a screen, flags what is amiss and lets no answer steer the terminal."""

import pytest

from recall_bench.core.scenario import Scenario
from recall_bench.features.judges.audit import audit_judge
from recall_bench.features.judges.audit_answers import AuditItem
from recall_bench.features.judges.audit_report import AuditClass
from recall_bench.features.judges.judge_tables import render_audit
from tests.features.judges.audit.known_judges import Costly, Generous, Oracle
from tests.features.judges.audit.stories import SHORT, load_story

pytestmark = pytest.mark.anyio


@pytest.fixture
def scenario() -> Scenario:
    return load_story(*SHORT, per_class=30).scenario


@pytest.fixture
def items() -> tuple[AuditItem, ...]:
    return load_story(*SHORT, per_class=30).items


async def test_every_class_has_a_line(scenario: Scenario, items: tuple[AuditItem, ...]) -> None:
    table = render_audit(await audit_judge(Oracle(items), [scenario], items))

    for kind in AuditClass:
        assert sum(line.startswith(f"{kind.value}  ") for line in table.splitlines()) == 1
    assert "▲" not in table.split("not labelled")[0].split("▼ passes")[0]
    assert "to look into" not in table


async def test_leniency_is_flagged_and_exemplified(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    table = render_audit(await audit_judge(Generous(), [scenario], items), examples=6)

    line = next(line for line in table.splitlines() if line.startswith("vague on topic"))
    assert "▲" in line
    assert "6 of the verdicts to look into" in table
    assert table.count("\n  question  ") == 6


async def test_it_reads_at_a_hundred_and_four_columns(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    table = render_audit(await audit_judge(Generous(), [scenario], items), examples=40)

    assert max(len(line) for line in table.splitlines()) <= 104


async def test_the_bill_and_the_failures_are_reported(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    table = render_audit(await audit_judge(Costly(), [scenario], items[:30]))

    assert "10 not judged (JudgeFault 10)" in table
    assert "30 calls, 3,000 tokens in, 300 out, 15.0000 USD" in table
    assert "support no answers of: right, padded" in table


async def test_no_answer_steers_the_terminal(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    item = next(item for item in items if item.kind is AuditClass.VAGUE)
    wicked = item.replace(answer=f"{item.item.text} \x1b[2J\x07")

    table = render_audit(await audit_judge(Generous(), [scenario], [wicked]))

    assert "[2J" in table
    assert "\x1b" not in table
    assert "\x07" not in table
