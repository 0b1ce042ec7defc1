"""Audit a judge: let it mark answers of every class, and compare its marks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from recall_bench.core.errors import UsageError
from recall_bench.core.record import group_by
from recall_bench.core.scenario import CATEGORIES, Scenario
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Judge, Verdict
from recall_bench.features.judges.audit_answers import AuditItem, find_missing_classes
from recall_bench.features.judges.audit_report import (
    AuditClass,
    AuditExample,
    AuditReport,
    AuditShare,
    ClassFigures,
    MarkFigures,
)
from recall_bench.judging.exhibits import select_excerpts
from recall_bench.judging.judge_calls import JudgeLimits, judge_all

JudgedItem = tuple[AuditItem, Verdict]


def find_wrong_marks(item: AuditItem, verdict: Verdict) -> tuple[str, ...]:
    """The marks of a verdict that contradict the item's labels."""
    return tuple(
        mark
        for mark, label in item.labels.items()
        if label is not None and label != is_pass(verdict, mark)
    )


def is_pass(verdict: Verdict, mark: str) -> bool:
    """Whether the mark is a pass."""
    return verdict.marks[mark] >= PASS[mark]


def compute_figures(judged: Sequence[JudgedItem]) -> dict[str, MarkFigures]:
    """The figures of every mark over these verdicts."""
    figures = {}
    for mark in SCALES:
        passes = [(item.labels[mark], is_pass(verdict, mark)) for item, verdict in judged]
        must_not = [passed for label, passed in passes if label is False]
        figures[mark] = MarkFigures(
            passed=AuditShare.count_hits([passed for _, passed in passes]),
            sensitivity=AuditShare.count_hits([passed for label, passed in passes if label]),
            specificity=AuditShare.count_hits([not passed for passed in must_not]),
            leniency=AuditShare.count_hits(must_not),
        )
    return figures


_WORST_PER_CLASS = 5
"""Wrong verdicts listed for each class."""


async def audit_judge(
    judge: Judge,
    scenarios: Iterable[Scenario],
    items: Sequence[AuditItem],
    *,
    memory_window: int = 0,
    limits: JudgeLimits | None = None,
) -> AuditReport:
    """Let the judge judge every item, and compare its verdicts with the labels.

    Answers without a verdict are counted apart and enter no rate. `memory_window` is the number
    of days shown on either side of the evidence. Raises JudgeGone or BudgetSpent when judging has
    to stop early.
    """
    by_id = {scenario.id: scenario for scenario in scenarios}
    unknown = sorted({item.scenario for item in items} - by_id.keys())
    if unknown:
        raise UsageError(f"the audit set is about {unknown[0]}; pass that scenario as well")
    for scenario in by_id.values():
        judge.study(scenario)
    outcomes = await judge_all(judge, list(_make_exhibits(items, by_id, memory_window)), limits)
    judged = [
        (item, outcome)
        for item, outcome in zip(items, outcomes.outcomes, strict=True)
        if isinstance(outcome, Verdict)
    ]
    return AuditReport(
        judge=judge.card,
        audit_set=sha256("\n".join(item.digest for item in items).encode()).hexdigest(),
        scenarios=tuple(by_id),
        memory_window=memory_window,
        n=len(items),
        not_judged=outcomes.not_judged,
        faults=outcomes.faults,
        usage=outcomes.usage,
        marks=compute_figures(judged),
        classes=_group_figures(items, judged, lambda item: item.kind.value, list(AuditClass)),
        categories=_group_figures(items, judged, lambda item: item.item.truth.category, CATEGORIES),
        missing=tuple(kind.value for kind in find_missing_classes(items)),
        worst=tuple(_select_worst(judged)),
    )


def _make_exhibits(
    items: Iterable[AuditItem], scenarios: Mapping[str, Scenario], window: int
) -> Iterator[Exhibit]:
    episodes = {
        name: {episode.day: episode for episode in scenario.episodes}
        for name, scenario in scenarios.items()
    }
    for item in items:
        cited = (evidence.day for evidence in item.item.truth.evidence)
        yield item.make_exhibit(
            select_excerpts(episodes[item.scenario], cited, window=window, until=item.days)
        )


def _group_figures(
    items: Sequence[AuditItem],
    judged: Sequence[JudgedItem],
    name_of: Callable[[AuditItem], str],
    order: Sequence[str],
) -> dict[str, ClassFigures]:
    """Figures by a property of the items, in the usual order, other names after it."""
    counts = Counter(map(name_of, items))
    names = [*(str(name) for name in order if name in counts), *sorted(counts.keys() - set(order))]
    parts = group_by(judged, lambda pair: name_of(pair[0]))
    figures = {}
    for name in names:
        part = parts.get(name, [])
        figures[name] = ClassFigures(
            n=counts[name], not_judged=counts[name] - len(part), marks=compute_figures(part)
        )
    return figures


def _select_worst(judged: Sequence[JudgedItem]) -> Iterator[AuditExample]:
    """The clearest errors of each class, no recipe twice while there are others."""
    by_class = group_by(judged, lambda pair: pair[0].kind)
    for kind in AuditClass:
        errors = []
        for item, verdict in by_class.get(kind, []):
            wrong = find_wrong_marks(item, verdict)
            if wrong:
                errors.append((-_measure_error(item, verdict, wrong), item.id, item, verdict))
        errors.sort(key=lambda error: error[:2])
        first_of_recipe = {error[2].recipe: error[1] for error in reversed(errors)}
        # The sort is stable: among the first of their recipe, and among the others.
        errors.sort(key=lambda error: first_of_recipe[error[2].recipe] != error[1])
        for _, _, item, verdict in errors[:_WORST_PER_CLASS]:
            yield AuditExample(
                id=item.id,
                kind=item.kind.value,
                recipe=item.recipe,
                category=item.item.truth.category,
                question=item.item.text,
                reference=item.item.truth.reference,
                answer=item.answer,
                labels=item.labels,
                marks=verdict.marks,
                wrong=find_wrong_marks(item, verdict),
                reason=verdict.reason,
            )


def _measure_error(item: AuditItem, verdict: Verdict, wrong: Iterable[str]) -> float:
    """The distance of the marks from what they must be, each scaled to one."""
    return sum(
        (verdict.marks[mark] - PASS[mark] + 1) / SCALES[mark]
        if item.labels[mark] is False
        else (PASS[mark] - verdict.marks[mark]) / SCALES[mark]
        for mark in wrong
    )
