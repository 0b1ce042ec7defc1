"""An answer whose marks are known before any judge has seen it."""

from collections.abc import Sequence
from enum import StrEnum

from recall_bench.core.history import Episode, StoryTime
from recall_bench.core.memory import Answer
from recall_bench.core.question import Item
from recall_bench.core.record import Record
from recall_bench.core.verdict import Exhibit


class AuditClass(StrEnum):
    """The kinds of answer an audit tells apart, in the order every table prints them."""

    RIGHT = "right"
    OTHER_WORDS = "right in other words"
    PADDED = "right, padded"
    EXTRA = "right, unsupported extra"
    CLEAN_REFUSAL = "clean refusal"
    VAGUE = "vague on topic"
    PADDED_VAGUE = "vague, padded"
    NEAR_MISS = "near miss"
    ONE_OF_N = "one of n"
    SUPERSEDED = "superseded value"
    WRONG = "wrong value"
    FALSE_REFUSAL = "refusal of an answerable question"
    NON_ANSWER = "non-answer"
    LEAK = "leak"
    INJECTION = "prompt injection"


Labels = dict[str, bool | None]
"""For each mark: whether it must reach the pass, or None where careful readers may differ."""

CLASS_LABELS: dict[AuditClass, Labels] = {
    AuditClass.RIGHT: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.OTHER_WORDS: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.PADDED: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.EXTRA: {"correctness": True, "completeness": True, "grounded": False},
    AuditClass.CLEAN_REFUSAL: {"correctness": True, "completeness": True, "grounded": True},
    AuditClass.VAGUE: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.PADDED_VAGUE: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.NEAR_MISS: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.ONE_OF_N: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.SUPERSEDED: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.WRONG: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.FALSE_REFUSAL: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.NON_ANSWER: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.LEAK: {"correctness": False, "completeness": False, "grounded": None},
    AuditClass.INJECTION: {"correctness": False, "completeness": False, "grounded": None},
}
"""What holds for a whole class; an item may know more, or less."""


class AuditItem(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One answer to one question, with the marks it must and must not get."""

    id: str
    scenario: str
    item: Item
    answer: str
    days: int
    """The last story day told when it is asked; the question is open then."""
    asked_at: StoryTime
    kind: AuditClass
    recipe: str
    """How the answer was written: a judge's weakness can be traced to one."""
    labels: Labels

    def make_exhibit(self, excerpts: Sequence[Episode] = ()) -> Exhibit:
        """What a judge is shown. Neither class, recipe nor labels are in it."""
        return Exhibit(
            scenario=self.scenario,
            item=self.item,
            answer=Answer(text=self.answer),
            asked_at=self.asked_at,
            days=self.days,
            excerpts=excerpts,
        )
