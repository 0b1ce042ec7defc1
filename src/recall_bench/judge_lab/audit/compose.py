"""The audit set: answers of every class to a scenario's own questions, with exact labels."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from recall_bench.core.question import CATEGORIES, Item, Scenario
from recall_bench.errors import UsageError
from recall_bench.judge_lab.audit.book import HistoryLookup
from recall_bench.judge_lab.audit.case import AuditCase, AuditDraft, Writer
from recall_bench.judge_lab.audit.chance import SeededChoice
from recall_bench.judge_lab.audit.evasions import (
    write_clean_refusal,
    write_false_refusal,
    write_non_answer,
    write_vague,
)
from recall_bench.judge_lab.audit.item import CLASS_LABELS, AuditClass, AuditItem
from recall_bench.judge_lab.audit.key import make_answer_key
from recall_bench.judge_lab.audit.right import write_other_words, write_right
from recall_bench.judge_lab.audit.several import join_cases
from recall_bench.judge_lab.audit.tampered import (
    write_extra,
    write_injection,
    write_leak,
    write_padding,
    write_vague_padding,
)
from recall_bench.judge_lab.audit.wrong import (
    write_near_miss,
    write_one_of_n,
    write_stale_value,
    write_wrong,
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

    The same scenario and seed give the same answers. Categories take turns, and within them the
    ways of writing an answer do, so that no template carries a class. A class the scenario's
    truths cannot support is left out: `missing_classes` names it.
    """
    if per_class < 1:
        raise UsageError(f"an audit needs at least one answer a class; got {per_class}")
    lots = SeededChoice("audit", scenario.id, seed)
    book = HistoryLookup(scenario)
    cases = [
        _make_case(book, item, lots)
        for item in scenario.items
        if item.known_from <= scenario.last_day
    ]
    cases += join_cases(cases, lots.derive("several"))
    found: list[AuditItem] = []
    for kind, writer in _WRITERS.items():
        drawn = _draw_answers(writer, _mix_categories(cases, lots.derive(kind)), per_class)
        found += [_make_item(kind, number, *pair) for number, pair in enumerate(drawn)]
    return tuple(found)


def find_missing_classes(items: Iterable[AuditItem]) -> tuple[AuditClass, ...]:
    """The classes no item is of."""
    there = {item.kind for item in items}
    return tuple(kind for kind in AuditClass if kind not in there)


def _make_case(book: HistoryLookup, item: Item, lots: SeededChoice) -> AuditCase:
    own = lots.derive(item.id)
    last = book.scenario.last_day
    if item.known_until is not None:
        last = min(last, item.known_until)
    span = last - item.known_from
    days = item.known_from + own.pick((0, 0, min(3, span), own.pick_below(span + 1), span))
    return AuditCase(
        book=book,
        item=item,
        key=make_answer_key(item),
        days=days,
        asked=book.scenario.compute_date(days).date(),
        lots=own,
    )


def _mix_categories(cases: Sequence[AuditCase], lots: SeededChoice) -> list[AuditCase]:
    """The cases with categories taking turns, each in chance order."""
    groups: dict[str, list[AuditCase]] = defaultdict(list)
    for case in lots.shuffle(cases):
        groups[case.truth.category].append(case)
    order = [groups[name] for name in (*CATEGORIES, *sorted(groups.keys() - set(CATEGORIES)))]
    longest = max((len(group) for group in order), default=0)
    return [group[i] for i in range(longest) for group in order if i < len(group)]


def _draw_answers(
    writer: Writer, cases: Sequence[AuditCase], wanted: int
) -> list[tuple[AuditCase, AuditDraft]]:
    """One answer a case, then a second, until there are enough; rare recipes come first."""
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
                ways = drafts[place] = _remove_repeats(case.lots.shuffle(list(writer(case))))
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
        id=f"{case.book.scenario.id}/{kind.name.lower()}-{number + 1:04}",
        scenario=case.book.scenario.id,
        item=case.item,
        answer=draft.answer,
        days=case.days,
        asked_at=case.book.scenario.compute_date(case.days),
        kind=kind,
        recipe=draft.recipe,
        labels={**CLASS_LABELS[kind], **draft.labels},
    )
