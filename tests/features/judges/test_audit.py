"""A judge gets what it earns: nothing for guessing, nothing off for what nobody can know."""

import msgspec
import pytest

from recall_bench.core.errors import JudgeGone, UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import SCALES, Exhibit, Judge, JudgeCard, Verdict
from recall_bench.features.judges.audit import audit_judge
from recall_bench.features.judges.audit_answers import CLASS_LABELS, AuditItem
from recall_bench.features.judges.audit_report import AuditClass, AuditReport, AuditShare
from recall_bench.judging.judges import StubJudge
from tests.features.judges.audit.known_judges import Costly, Generous, Gone, Oracle

pytestmark = pytest.mark.anyio


async def test_a_judge_that_knows_gets_everything_right(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    judge = Oracle(items)

    report = await audit_judge(judge, [scenario], items)

    assert judge.studied == [scenario.id]
    for mark in SCALES:
        figures = report.marks[mark]
        assert figures.sensitivity is not None
        assert figures.specificity is not None
        assert figures.leniency is not None
        assert figures.sensitivity.rate == figures.specificity.rate == 1.0
        assert figures.leniency.rate == 0.0
    assert report.worst == ()
    assert report.n == len(items)
    assert report.not_judged == 0


async def test_a_generous_judge_is_lenient_and_it_shows_where(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    report = await audit_judge(Generous(), [scenario], items)

    assert leniency(report, AuditClass.VAGUE) > 0.5
    assert leniency(report, AuditClass.NEAR_MISS) > 0.5
    assert leniency(report, AuditClass.INJECTION) > 0.5
    assert report.classes[AuditClass.RIGHT].marks["correctness"].leniency is None
    assert report.worst
    assert {example.kind for example in report.worst} >= {"vague on topic", "near miss"}


async def test_a_stub_fails_everything_and_is_not_called_strict_for_it(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    report = await audit_judge(StubJudge({}), [scenario], items)

    correctness = report.marks["correctness"]
    assert correctness.sensitivity is not None
    assert correctness.specificity is not None
    assert (correctness.sensitivity.rate, correctness.specificity.rate) == (0.0, 1.0)


def leniency(report: AuditReport, kind: AuditClass) -> float:
    found = report.classes[kind].marks["correctness"].leniency
    assert found is not None
    return found.rate


async def test_marks_without_a_label_enter_no_rate_but_the_pass_rate(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    report = await audit_judge(Generous(), [scenario], items)

    vague = report.classes[AuditClass.VAGUE].marks["grounded"]
    assert CLASS_LABELS[AuditClass.VAGUE]["grounded"] is None
    assert vague.sensitivity is vague.specificity is vague.leniency is None
    assert vague.passed is not None
    assert vague.passed.of == report.classes[AuditClass.VAGUE].n


async def test_what_is_not_judged_is_counted_apart_and_paid_for(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    some = items[:30]

    report = await audit_judge(Costly(), [scenario], some)

    assert report.not_judged == 10
    assert report.faults == {"JudgeFault": 10}
    assert report.classes[AuditClass.RIGHT].not_judged == 10
    passed = report.classes[AuditClass.RIGHT].marks["correctness"].passed
    assert passed is not None
    assert (passed.count, passed.of) == (20, 20)
    assert report.usage == Usage(calls=30, input_tokens=3000, output_tokens=300, cost_usd=15.0)


async def test_a_judge_that_is_gone_ends_the_audit(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    with pytest.raises(JudgeGone):
        await audit_judge(Gone(), [scenario], items[:3])


async def test_items_of_an_unknown_scenario_are_refused(items: tuple[AuditItem, ...]) -> None:
    with pytest.raises(UsageError, match="executive-assistant"):
        await audit_judge(Oracle(items), [], items)


async def test_a_window_shows_the_days_around_the_evidence_and_none_to_come(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    seen: list[Exhibit] = []

    class Looking:
        card = JudgeCard(name="looking", version="1", computes=True)

        def study(self, scenario: Scenario) -> None:
            pass

        async def judge(self, exhibit: Exhibit) -> Verdict:
            seen.append(exhibit)
            return Verdict.of(0, 0, 0)

    judge: Judge = Looking()
    await audit_judge(judge, [scenario], items[:50], memory_window=2)

    for exhibit in seen:
        days = {episode.day for episode in exhibit.excerpts}
        cited = {evidence.day for evidence in exhibit.item.truth.evidence}
        assert cited <= days
        assert max(days) <= exhibit.days
        assert all(any(abs(day - other) <= 2 for other in cited) for day in days)


async def test_a_report_survives_being_written_down(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    report = await audit_judge(Generous(), [scenario], items[::7])

    again = msgspec.json.decode(msgspec.json.encode(report), type=AuditReport)

    assert again == report
    assert list(again.classes) == [kind.value for kind in AuditClass]


async def test_the_digest_names_the_answers(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    one = await audit_judge(Generous(), [scenario], items[:20])
    same = await audit_judge(StubJudge({}), [scenario], items[:20])
    other = await audit_judge(Generous(), [scenario], items[:19])

    assert one.audit_set == same.audit_set != other.audit_set


async def test_the_examples_of_a_class_differ_in_how_they_were_written(
    scenario: Scenario, items: tuple[AuditItem, ...]
) -> None:
    report = await audit_judge(Generous(), [scenario], items)

    found = [example for example in report.worst if example.kind == AuditClass.INJECTION]
    assert len(found) == len({example.recipe for example in found}) == 5
    assert all(set(example.wrong) <= {"correctness", "completeness"} for example in found)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (1, 300, 0.0006, 0.0186),
    ],
)
async def test_intervals_are_wilsons(count: int, of: int, low: float, high: float) -> None:
    share = AuditShare.count_hits([True] * count + [False] * (of - count))

    assert share is not None
    assert (share.low, share.high) == pytest.approx((low, high), abs=5e-5)


async def test_a_share_of_nothing_is_none_and_not_zero() -> None:
    assert AuditShare.count_hits([]) is None
