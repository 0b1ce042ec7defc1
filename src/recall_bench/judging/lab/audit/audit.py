"""Audit a judge: write answers of every class to a scenario's questions, and compare its marks."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import CATEGORIES, Item, Scenario
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Judge, Verdict
from recall_bench.judging.exhibits import select_excerpts
from recall_bench.judging.lab.audit.altered_answers import (
    write_extra,
    write_injection,
    write_leak,
    write_padding,
    write_vague_padding,
)
from recall_bench.judging.lab.audit.answer_key import make_answer_key
from recall_bench.judging.lab.audit.audit_case import (
    CLASS_LABELS,
    AuditCase,
    AuditDraft,
    AuditItem,
    HistoryLookup,
    SeededChoice,
    Writer,
    join_cases,
)
from recall_bench.judging.lab.audit.audit_report import (
    AuditClass,
    AuditExample,
    AuditReport,
    AuditShare,
    ClassFigures,
    MarkFigures,
)
from recall_bench.judging.lab.audit.non_answers import (
    write_clean_refusal,
    write_false_refusal,
    write_non_answer,
    write_vague,
)
from recall_bench.judging.lab.audit.right_answers import write_other_words, write_right
from recall_bench.judging.lab.audit.wrong_answers import (
    write_near_miss,
    write_one_of_n,
    write_stale_value,
    write_wrong,
)
from recall_bench.judging.lab.judge_calls import JudgeLimits, judge_all

JudgedItem = tuple[AuditItem, Verdict]


def compute_figures(judged: Iterable[JudgedItem]) -> dict[str, MarkFigures]:
    """The figures of every mark over these verdicts."""
    pairs = list(judged)
    return {mark: _compute_mark_figures(pairs, mark) for mark in SCALES}


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


def _compute_mark_figures(pairs: Sequence[JudgedItem], mark: str) -> MarkFigures:
    given = [(item.labels[mark], is_pass(verdict, mark)) for item, verdict in pairs]
    must = [passed for label, passed in given if label is True]
    must_not = [passed for label, passed in given if label is False]
    return MarkFigures(
        passed=AuditShare.count_hits([passed for _, passed in given]),
        sensitivity=AuditShare.count_hits(must),
        specificity=AuditShare.count_hits([not passed for passed in must_not]),
        leniency=AuditShare.count_hits(must_not),
    )


_WRITERS: dict[AuditClass, Writer] = {
    AuditClass.RIGHT: write_right,
    AuditClass.OTHER_WORDS: write_other_words,
    AuditClass.PADDED: write_padding,
    AuditClass.EXTRA: write_extra,
    AuditClass.CLEAN_REFUSAL: write_clean_refusal,
    AuditClass.VAGUE: write_vague,
    AuditClass.PADDED_VAGUE: write_vague_padding,
    AuditClass.NEAR_MISS: write_near_miss,
    AuditClass.ONE_OF_N: write_one_of_n,
    AuditClass.SUPERSEDED: write_stale_value,
    AuditClass.WRONG: write_wrong,
    AuditClass.FALSE_REFUSAL: write_false_refusal,
    AuditClass.NON_ANSWER: write_non_answer,
    AuditClass.LEAK: write_leak,
    AuditClass.INJECTION: write_injection,
}


def build_audit_set(scenario: Scenario, *, seed: int, per_class: int) -> tuple[AuditItem, ...]:
    """At most `per_class` answers of each class, in the order of the classes.

    The same scenario and seed give the same answers. Categories take turns, and within them recipes
    do, so that no template dominates a class. A class that the scenario's truths cannot support is
    left out: `find_missing_classes` names it.
    """
    if per_class < 1:
        raise UsageError(f"an audit needs at least one answer a class; got {per_class}")
    chooser = SeededChoice("audit", scenario.id, seed)
    history = HistoryLookup(scenario)
    cases = [
        _make_case(history, item, chooser)
        for item in scenario.items
        if item.known_from <= scenario.last_day
    ]
    cases += join_cases(cases, chooser.derive("several"))
    found: list[AuditItem] = []
    for kind, writer in _WRITERS.items():
        drawn = _draw_answers(writer, _mix_categories(cases, chooser.derive(kind)), per_class)
        found += [_make_item(kind, number, *pair) for number, pair in enumerate(drawn)]
    return tuple(found)


def find_missing_classes(items: Iterable[AuditItem]) -> tuple[AuditClass, ...]:
    """The classes without any item."""
    present = {item.kind for item in items}
    return tuple(kind for kind in AuditClass if kind not in present)


def _make_case(history: HistoryLookup, item: Item, chooser: SeededChoice) -> AuditCase:
    own = chooser.derive(item.id)
    last = history.scenario.last_day
    if item.known_until is not None:
        last = min(last, item.known_until)
    span = last - item.known_from
    days = item.known_from + own.pick((0, 0, min(3, span), own.pick_below(span + 1), span))
    return AuditCase(
        history=history,
        item=item,
        key=make_answer_key(item),
        days=days,
        asked=history.scenario.compute_date(days).date(),
        chooser=own,
    )


def _mix_categories(cases: Sequence[AuditCase], chooser: SeededChoice) -> list[AuditCase]:
    """The cases with categories taking turns, each in random order."""
    groups: dict[str, list[AuditCase]] = defaultdict(list)
    for case in chooser.shuffle(cases):
        groups[case.truth.category].append(case)
    order = [groups[name] for name in (*CATEGORIES, *sorted(groups.keys() - set(CATEGORIES)))]
    longest = max((len(group) for group in order), default=0)
    return [group[i] for i in range(longest) for group in order if i < len(group)]


def _draw_answers(
    writer: Writer, cases: Sequence[AuditCase], wanted: int
) -> list[tuple[AuditCase, AuditDraft]]:
    """One answer for each case, then a second, until there are enough; rare recipes come first."""
    used: Counter[str] = Counter()
    drafts: dict[int, list[AuditDraft]] = {}
    found: list[tuple[AuditCase, AuditDraft]] = []
    waiting = list(range(len(cases)))
    while waiting and len(found) < wanted:
        left: list[int] = []
        for place in waiting:
            if len(found) == wanted:
                break
            case = cases[place]
            ways = drafts.get(place)
            if ways is None:
                ways = drafts[place] = _remove_repeats(case.chooser.shuffle(list(writer(case))))
            if not ways:
                continue
            draft = min(ways, key=lambda way: used[way.recipe])
            used[draft.recipe] += 1
            ways.remove(draft)
            found.append((case, draft))
            left.append(place)
        waiting = left
    return found


def _remove_repeats(drafts: Iterable[AuditDraft]) -> list[AuditDraft]:
    return list({draft.answer: draft for draft in drafts}.values())


def _make_item(kind: AuditClass, number: int, case: AuditCase, draft: AuditDraft) -> AuditItem:
    return AuditItem(
        id=f"{case.history.scenario.id}/{kind.name.lower()}-{number + 1:04}",
        scenario=case.history.scenario.id,
        item=case.item,
        answer=draft.answer,
        days=case.days,
        asked_at=case.history.scenario.compute_date(case.days),
        kind=kind,
        recipe=draft.recipe,
        labels={**CLASS_LABELS[kind], **draft.labels},
    )


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
        audit_set=_digest_items(items),
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
    """The distance of the marks from what they must be, each scaled to one."""
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
