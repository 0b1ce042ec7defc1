"""Puts a judge to the test."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import groupby

from recall_bench.core.history import Episode
from recall_bench.core.question import CATEGORIES, Scenario
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Judge, Verdict
from recall_bench.errors import UsageError
from recall_bench.judge_lab.audit.compose import find_missing_classes
from recall_bench.judge_lab.audit.item import AuditClass, AuditItem
from recall_bench.judge_lab.audit.report import (
    AuditExample,
    AuditReport,
    ClassFigures,
    JudgedItem,
    compute_figures,
    find_wrong_marks,
)
from recall_bench.judge_lab.hearing import JudgeLimits, judge_all

_WORST_PER_CLASS = 5
"""Wrong verdicts shown of each class."""


async def audit_judge(
    judge: Judge,
    scenarios: Iterable[Scenario],
    items: Sequence[AuditItem],
    *,
    memory_window: int = 0,
    terms: JudgeLimits | None = None,
) -> AuditReport:
    """Let the judge judge every item, and compare with the labels.

    What it fails to judge is counted apart and enters no rate. With a memory window the judge is
    shown so many days either side of the evidence. JudgeGone and BudgetSpent end the audit.
    """
    told = {scenario.id: scenario for scenario in scenarios}
    strangers = sorted({item.scenario for item in items} - told.keys())
    if strangers:
        raise UsageError(
            f"the audit set is about {strangers[0]}, which was not handed over with it"
        )
    for scenario in told.values():
        judge.study(scenario)
    shown = [_make_exhibit(item, told[item.scenario], memory_window) for item in items]
    heard = await judge_all(judge, shown, terms)
    outcomes = list(zip(items, heard.outcomes, strict=True))
    judged = [(item, ruling) for item, ruling in outcomes if isinstance(ruling, Verdict)]
    return AuditReport(
        judge=judge.card,
        audit_set=_digest_items(items),
        scenarios=tuple(told),
        memory_window=memory_window,
        n=len(items),
        not_judged=heard.not_judged,
        faults=heard.faults,
        usage=heard.usage,
        marks=compute_figures(judged),
        classes=_group_figures(items, judged, lambda item: item.kind.value, list(AuditClass)),
        categories=_group_figures(items, judged, lambda item: item.item.truth.category, CATEGORIES),
        missing=tuple(kind.value for kind in find_missing_classes(items)),
        worst=tuple(_select_worst(judged)),
    )


def _make_exhibit(item: AuditItem, scenario: Scenario, window: int) -> Exhibit:
    return item.make_exhibit(excerpts=_select_excerpts(item, scenario, window) if window else ())


def _select_excerpts(item: AuditItem, scenario: Scenario, window: int) -> tuple[Episode, ...]:
    wanted = {
        day
        for cited in item.item.truth.evidence
        for day in range(cited.day - window, cited.day + window + 1)
    }
    return tuple(
        episode
        for episode in scenario.episodes
        if episode.day in wanted and episode.day <= item.days
    )


def _group_figures(
    items: Sequence[AuditItem],
    judged: Sequence[JudgedItem],
    name_of: Callable[[AuditItem], str],
    order: Sequence[str],
) -> dict[str, ClassFigures]:
    """Figures by a property of the items, in the usual order, other names after it."""
    found = {name_of(item) for item in items}
    names = [str(name) for name in order if name in found]
    names += sorted(found.difference(names))
    parts: dict[str, list[JudgedItem]] = {name: [] for name in names}
    for pair in judged:
        parts[name_of(pair[0])].append(pair)
    counts = {name: sum(name_of(item) == name for item in items) for name in names}
    return {
        name: ClassFigures(
            n=counts[name], not_judged=counts[name] - len(part), marks=compute_figures(part)
        )
        for name, part in parts.items()
    }


def _select_worst(judged: Sequence[JudgedItem]) -> Iterable[AuditExample]:
    """The clearest errors of each class, no recipe twice while there are others."""
    examples = [
        (_measure_error(item, verdict, wrong), _make_example(item, verdict, wrong))
        for item, verdict in judged
        if (wrong := find_wrong_marks(item, verdict))
    ]
    order = {kind.value: place for place, kind in enumerate(AuditClass)}
    examples.sort(key=lambda pair: (order[pair[1].kind], -pair[0], pair[1].id))
    for _, group in groupby(examples, key=lambda pair: pair[1].kind):
        of_class = [example for _, example in group]
        fresh = list({example.recipe: example for example in reversed(of_class)}.values())[::-1]
        others = [example for example in of_class if example not in fresh]
        yield from (*fresh, *others)[:_WORST_PER_CLASS]


def _measure_error(item: AuditItem, verdict: Verdict, wrong: Iterable[str]) -> float:
    """How far the marks are from what they must be, each on a scale of one."""
    return sum(
        (verdict.marks[mark] - PASS[mark] + 1) / SCALES[mark]
        if item.labels[mark] is False
        else (PASS[mark] - verdict.marks[mark]) / SCALES[mark]
        for mark in wrong
    )


def _make_example(item: AuditItem, verdict: Verdict, wrong: tuple[str, ...]) -> AuditExample:
    return AuditExample(
        id=item.id,
        kind=item.kind.value,
        recipe=item.recipe,
        category=item.item.truth.category,
        question=item.item.text,
        reference=item.item.truth.reference,
        answer=item.answer,
        labels=item.labels,
        marks=verdict.marks,
        wrong=wrong,
        reason=verdict.reason,
    )


def _digest_items(items: Sequence[AuditItem]) -> str:
    return sha256("\n".join(item.digest for item in items).encode()).hexdigest()
