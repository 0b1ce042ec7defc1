"""Questions of several parts, made of questions the dataset asks one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from recall_bench.core.question import Item, Truth
from recall_bench.judge_lab.audit.case import AuditCase
from recall_bench.judge_lab.audit.chance import SeededChoice
from recall_bench.judge_lab.audit.key import AnswerKey, AnswerShape
from recall_bench.judge_lab.audit.values import ValueKind

_PART_COUNT = 3
_JOINT_QUESTIONS = (
    "I need three answers. {0} {1} {2}",
    "Please answer all three: {0} {1} {2}",
    "Three things in one go. {0} {1} {2}",
)
_JOINABLE_KINDS = frozenset(ValueKind) - {ValueKind.PHRASE, ValueKind.NUMBER}
"""What can be told apart in one breath: free text and bare counts would run together."""


def join_cases(cases: Sequence[AuditCase], lots: SeededChoice) -> Iterator[AuditCase]:
    """Cases of three parts, each part open on the day of asking and unlike the others."""
    fit = [
        case
        for case in cases
        if case.key.shape is AnswerShape.VALUE
        and case.key.value.kind in _JOINABLE_KINDS
        and case.truth.atoms
        and case.truth.disclosure is None
        and case.item.session is None
        and not case.truth.stale
    ]
    order = lots.shuffle(fit)
    for start in range(0, len(order) - _PART_COUNT + 1, _PART_COUNT):
        parts = order[start : start + _PART_COUNT]
        days = max(part.days for part in parts)
        if all(part.item.is_open(days) for part in parts) and _are_unlike(parts):
            yield _make_joint_case(parts, days, lots)


def _are_unlike(parts: Sequence[AuditCase]) -> bool:
    """Whether no part's answer can be taken for another's, in whatever units it is told."""
    values = [part.key.value for part in parts]
    measures = [value for value in values if value.kind is ValueKind.MEASURE]
    return len({value.text for value in values}) == len(values) and len(measures) <= 1


def _make_joint_case(parts: Sequence[AuditCase], days: int, lots: SeededChoice) -> AuditCase:
    first = parts[0]
    book = first.book
    values = tuple(part.key.value for part in parts)
    categories = {part.truth.category for part in parts}
    item = Item(
        id="+".join(part.item.id for part in parts),
        text=lots.pick(_JOINT_QUESTIONS).format(*(part.item.text for part in parts)),
        known_from=max(part.item.known_from for part in parts),
        truth=Truth(
            reference="; ".join(value.text for value in values) + ".",
            category=categories.pop() if len(categories) == 1 else "synthesis",
            evidence=tuple(cited for part in parts for cited in part.truth.evidence),
            atoms=tuple(value.text for value in values),
            requires_synthesis=True,
        ),
    )
    asked = book.scenario.compute_date(days).date()
    again = tuple(
        # The joint truth knows no aliases, so no judge could know a part's.
        replace(
            part,
            item=part.item.replace(truth=part.truth.replace(aliases=())),
            days=days,
            asked=asked,
        )
        for part in parts
    )
    return AuditCase(
        book=book,
        item=item,
        key=AnswerKey(AnswerShape.SEVERAL, values),
        days=days,
        asked=asked,
        lots=lots.derive(item.id),
        parts=again,
    )
