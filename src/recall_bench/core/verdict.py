"""How an answer is graded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

import msgspec

from recall_bench.core.memory import Answer
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Item, Scenario, StoryTime
from recall_bench.core.usage import Usage

SCALES = {"correctness": 3, "completeness": 2, "grounded": 1}
"""The marks a judge may give, and what each is out of."""

FULL_MARKS = sum(SCALES.values())

PASS = {"correctness": 2, "completeness": 2, "grounded": 1}
"""The points from which on a mark is a pass: what agreement and probabilities are about."""


class Finding(StrEnum):
    """Something a judge noticed in an answer, beside its marks."""

    LEAK = "leak"
    """Tells what the asker must not be told."""
    REFUSAL = "refusal"
    """Declines to answer."""
    ABSTENTION = "abstention"
    """Says that it does not know, or that there is no such thing."""
    STALE = "stale"
    """Gives as current what was overtaken."""
    CONTRADICTION = "contradiction"
    """Has another value in the place of the right one."""
    FABRICATION = "fabrication"
    """Tells what nobody had told it."""


def ignore_usage(usage: Usage) -> None:
    """Nobody keeps the bill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """All a judge may look at. It does not say which system answered."""

    scenario: str
    item: Item
    answer: Answer
    asked_at: StoryTime
    days: int
    """The last story day the system had been told about when it answered."""
    excerpts: Sequence[Episode] = ()
    """The days the judge is shown, if a memory window was asked for."""
    bill: Callable[[Usage], None] = ignore_usage
    """Told of every call that was paid for, as soon as it was, whatever came of it."""


class Verdict(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A judge's three marks, or the score of a dataset's protocol, with its reasons.

    A mark missing or off its scale is refused.
    """

    marks: dict[str, int] = msgspec.field(default_factory=dict)
    score: float | None = None
    """From 0 to 1, where a dataset's own protocol was followed, which gives no marks."""
    reason: str = ""
    probabilities: dict[str, float] = msgspec.field(default_factory=dict)
    """For each mark, how likely it is a pass; empty where the judge does not say."""
    findings: tuple[Finding, ...] = ()
    rubric: str | None = None
    """The rubric it was judged by, of those on the judge's card."""

    def __post_init__(self) -> None:
        if self.score is not None:
            if self.marks or not 0.0 <= self.score <= 1.0:
                raise ValueError("a score goes from 0 to 1, and takes the place of marks")
            return
        if self.marks.keys() != SCALES.keys():
            raise ValueError(f"a verdict has the marks {', '.join(SCALES)}; got {self.marks!r}")
        for name, points in self.marks.items():
            if type(points) is not int or not 0 <= points <= SCALES[name]:
                raise ValueError(f"{name} must be a whole number from 0 to {SCALES[name]}")
        for name, probability in self.probabilities.items():
            if name not in SCALES or not 0.0 <= probability <= 1.0:
                raise ValueError(f"{probability!r} is not the probability of a mark {name!r}")

    @classmethod
    def of(cls, correctness: int, completeness: int, grounded: int, reason: str = "") -> Self:
        """The usual three marks."""
        marks = {"correctness": correctness, "completeness": completeness, "grounded": grounded}
        return cls(marks=marks, reason=reason)

    @property
    def composite(self) -> int:
        """All points together; six at best."""
        return sum(self.marks.values())

    @property
    def is_failure(self) -> bool:
        """Whether an appellate judge should look again."""
        if self.score is not None:
            return self.score < 1.0
        marks = self.marks
        return self.composite < 4 or marks["grounded"] == 0 or marks["correctness"] == 0


class RubricCard(Record, frozen=True, kw_only=True):
    """A written rubric: any change to its text changes its digest."""

    name: str
    version: str
    digest: str


class JudgeCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Who judged, precisely enough to ask them again."""

    name: str
    version: str
    model: str | None = None
    rules_digest: str | None = None
    rubrics: tuple[RubricCard, ...] = ()
    """The rubrics a language model judges by."""
    computes: bool = False
    """Judges by computation alone: it never waits, so there is nothing to time and cut off."""


class Judge(Protocol):
    """Grades one exhibit at a time."""

    @property
    def card(self) -> JudgeCard:
        """Who this judge is; changes whenever a grade could."""
        ...

    def study(self, scenario: Scenario) -> None:
        """Prepare for answers about this scenario. Called before the first of them."""
        ...

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Grade, or raise JudgeFault. Never guess a grade from an unreadable reply."""
        ...


@runtime_checkable
class ClosableJudge(Protocol):
    """A judge that holds something, such as connections, until it is told that all is over."""

    async def close(self) -> None:
        """Release it. What is asked afterwards opens it again."""
        ...


@runtime_checkable
class TrainedJudge(Protocol):
    """A judge that was trained on answers to some questions, and knows which."""

    def is_trained_on(self, question: str) -> bool:
        """Whether figures about this question say less than they seem to."""
        ...


async def close_judge(judge: Judge | None) -> None:
    """Tell a judge, if there is one, that nothing is left to judge."""
    if isinstance(judge, ClosableJudge):
        await judge.close()
