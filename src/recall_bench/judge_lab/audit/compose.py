"""The audit set: answers of every class to a scenario's own questions, with exact labels."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from recall_bench.core.question import CATEGORIES, Item, Scenario
from recall_bench.errors import UsageError
from recall_bench.judge_lab.audit.book import Book
from recall_bench.judge_lab.audit.case import Case, Draft, Writer
from recall_bench.judge_lab.audit.chance import Lots
from recall_bench.judge_lab.audit.evasions import clean_refusal, false_refusal, non_answer, vague
from recall_bench.judge_lab.audit.item import LABELS, AuditClass, AuditItem
from recall_bench.judge_lab.audit.key import key_of
from recall_bench.judge_lab.audit.right import other_words, right
from recall_bench.judge_lab.audit.several import several
from recall_bench.judge_lab.audit.tampered import extra, injection, leak, padded, padded_vague
from recall_bench.judge_lab.audit.wrong import near_miss, one_of_n, superseded, wrong

_WRITERS: dict[AuditClass, Writer] = {
    AuditClass.RIGHT: right,
    AuditClass.OTHER_WORDS: other_words,
    AuditClass.PADDED: padded,
    AuditClass.EXTRA: extra,
    AuditClass.CLEAN_REFUSAL: clean_refusal,
    AuditClass.VAGUE: vague,
    AuditClass.PADDED_VAGUE: padded_vague,
    AuditClass.NEAR_MISS: near_miss,
    AuditClass.ONE_OF_N: one_of_n,
    AuditClass.SUPERSEDED: superseded,
    AuditClass.WRONG: wrong,
    AuditClass.FALSE_REFUSAL: false_refusal,
    AuditClass.NON_ANSWER: non_answer,
    AuditClass.LEAK: leak,
    AuditClass.INJECTION: injection,
}


def audit_set(scenario: Scenario, *, seed: int, per_class: int) -> tuple[AuditItem, ...]:
    """At most `per_class` answers of each class, in the order of the classes.

    The same scenario and seed give the same answers. Categories take turns, and within them the
    ways of writing an answer do, so that no template carries a class. A class the scenario's
    truths cannot support is left out: `missing_classes` names it.
    """
    if per_class < 1:
        raise UsageError(f"an audit needs at least one answer a class; got {per_class}")
    lots = Lots("audit", scenario.id, seed)
    book = Book(scenario)
    cases = [
        _case(book, item, lots) for item in scenario.items if item.known_from <= scenario.last_day
    ]
    cases += several(cases, lots.of("several"))
    found: list[AuditItem] = []
    for kind, writer in _WRITERS.items():
        drawn = _drawn(writer, _in_turn(cases, lots.of(kind)), per_class)
        found += [_item(kind, number, *pair) for number, pair in enumerate(drawn)]
    return tuple(found)


def missing_classes(items: Iterable[AuditItem]) -> tuple[AuditClass, ...]:
    """The classes no item is of."""
    there = {item.kind for item in items}
    return tuple(kind for kind in AuditClass if kind not in there)


def _case(book: Book, item: Item, lots: Lots) -> Case:
    own = lots.of(item.id)
    last = book.scenario.last_day
    if item.known_until is not None:
        last = min(last, item.known_until)
    span = last - item.known_from
    days = item.known_from + own.one((0, 0, min(3, span), own.below(span + 1), span))
    return Case(
        book=book,
        item=item,
        key=key_of(item),
        days=days,
        asked=book.scenario.date_of(days).date(),
        lots=own,
    )


def _in_turn(cases: Sequence[Case], lots: Lots) -> list[Case]:
    """The cases with categories taking turns, each in chance order."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in lots.shuffled(cases):
        groups[case.truth.category].append(case)
    order = [groups[name] for name in (*CATEGORIES, *sorted(groups.keys() - set(CATEGORIES)))]
    longest = max((len(group) for group in order), default=0)
    return [group[i] for i in range(longest) for group in order if i < len(group)]


def _drawn(writer: Writer, cases: Sequence[Case], wanted: int) -> list[tuple[Case, Draft]]:
    """One answer a case, then a second, until there are enough; rare recipes come first."""
    used: Counter[str] = Counter()
    drafts: dict[int, list[Draft]] = {}
    found: list[tuple[Case, Draft]] = []
    waiting = list(range(len(cases)))
    while waiting and len(found) < wanted:
        left: list[int] = []
        for place in waiting:
            if len(found) == wanted:
                break
            case = cases[place]
            ways = drafts.get(place)
            if ways is None:
                ways = drafts[place] = _distinct(case.lots.shuffled(list(writer(case))))
            if not ways:
                continue
            draft = min(ways, key=lambda way: used[way.recipe])
            used[draft.recipe] += 1
            ways.remove(draft)
            found.append((case, draft))
            left.append(place)
        waiting = left
    return found


def _distinct(drafts: Iterable[Draft]) -> list[Draft]:
    return list({draft.answer: draft for draft in drafts}.values())


def _item(kind: AuditClass, number: int, case: Case, draft: Draft) -> AuditItem:
    return AuditItem(
        id=f"{case.book.scenario.id}/{kind.name.lower()}-{number + 1:04}",
        scenario=case.book.scenario.id,
        item=case.item,
        answer=draft.answer,
        days=case.days,
        asked_at=case.book.scenario.date_of(case.days),
        kind=kind,
        recipe=draft.recipe,
        labels={**LABELS[kind], **draft.labels},
    )
