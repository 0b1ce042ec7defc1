"""Verdicts, and the judges that give them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

import msgspec

from recall_bench.core.memory import Answer
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Item, Scenario, StoryTime
from recall_bench.core.usage import Usage

SCALES = {"correctness": 3, "completeness": 2, "grounded": 1}
"""The marks a judge gives, with their maximum."""

FULL_MARKS = sum(SCALES.values())

PASS = {"correctness": 2, "completeness": 2, "grounded": 1}
"""The points from which on a mark passes, for agreement and probabilities."""


class Finding(StrEnum):
    """Something a judge noticed in an answer, besides its marks."""

    LEAK = "leak"
    """Discloses what the asker must not know."""
    REFUSAL = "refusal"
    """Declines to answer."""
    ABSTENTION = "abstention"
    """Says that it does not know, or that there is no such thing."""
    STALE = "stale"
    """Gives a superseded value as current."""
    CONTRADICTION = "contradiction"
    """Has another value in place of the right one."""
    FABRICATION = "fabrication"
    """States something that is not in the history."""


def ignore_usage(usage: Usage) -> None:
    """Ignore the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """Everything a judge may see. It does not say which system answered."""

    scenario: str
    item: Item
    answer: Answer
    asked_at: StoryTime
    days: int
    """The last story day the system was fed before it answered."""
    excerpts: Sequence[Episode] = ()
    """The days the judge sees, if there is a memory window."""
    bill: Callable[[Usage], None] = ignore_usage
    """Called with the cost of every call as soon as it is known, also of failed ones."""


class Verdict(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A judge's three marks, or the score of a dataset's protocol, with the reason.

    Missing marks and marks outside their scale are refused.
    """

    marks: dict[str, int] = msgspec.field(default_factory=dict)
    score: float | None = None
    """From 0 to 1, by a dataset's own protocol, instead of marks."""
    reason: str = ""
    probabilities: dict[str, float] = msgspec.field(default_factory=dict)
    """The probability of a pass by mark; empty if the judge gives none."""
    findings: tuple[Finding, ...] = ()
    rubric: str | None = None
    """The rubric that was used, of those on the judge's card."""
    reply: str | None = None
    """The reply of the model that marks and reason were read from."""

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
        """Make a verdict from the three marks."""
        marks = {"correctness": correctness, "completeness": completeness, "grounded": grounded}
        return cls(marks=marks, reason=reason)

    @property
    def composite(self) -> int:
        """The sum of the marks, of six."""
        return sum(self.marks.values())

    @property
    def is_failure(self) -> bool:
        """Whether an appellate judge should review it."""
        if self.score is not None:
            return self.score < 1.0
        return is_failure(**self.marks)


def is_failure(correctness: int, completeness: int, grounded: int) -> bool:
    """Whether a verdict with these marks is a failure: under 4 points, not grounded, or wrong."""
    return correctness + completeness + grounded < 4 or grounded == 0 or correctness == 0


PEOPLE = "people"
"""The judge of a verdict that follows from labels of people."""


class Strictness(StrEnum):
    """How a judge reads its rules where they leave room."""

    STRICT = "strict"
    LENIENT = "lenient"


class RubricCard(Record, frozen=True, kw_only=True):
    """A written rubric: any change to its text changes its digest."""

    name: str
    version: str
    digest: str


class JudgeCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A judge, described precisely enough to repeat its work."""

    name: str
    version: str
    model: str | None = None
    rules_digest: str | None = None
    rubrics: tuple[RubricCard, ...] = ()
    """The rubrics of a language model judge."""
    computes: bool = False
    """Whether it only computes: it never waits, so it needs no timeout."""
    reading: Strictness | None = None
    """How it reads its rules where they leave room; None for as they are written."""


def name_judges(cards: Iterable[JudgeCard]) -> tuple[str, ...]:
    """Name each judge as a user would: its model or its own name, and its reading; none twice."""
    names: list[str] = []
    for card in cards:
        name = (card.model or card.name).partition(";")[0]
        if card.reading is not None:
            name = f"{name}@{card.reading}"
        count = sum(other.partition("#")[0] == name for other in names)
        names.append(f"{name}#{count + 1}" if count else name)
    return tuple(names)


class Judge(Protocol):
    """Grades one exhibit at a time."""

    @property
    def card(self) -> JudgeCard:
        """The judge's identity; it changes whenever a verdict could."""

    def study(self, scenario: Scenario) -> None:
        """Prepare for answers about this scenario. Called before the first one."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Judge, or raise JudgeFault. Never guess marks from an unreadable reply."""


@runtime_checkable
class ClosableJudge(Protocol):
    """A judge that holds resources such as connections."""

    async def close(self) -> None:
        """Release them; a later call opens them again."""


@runtime_checkable
class TrainedJudge(Protocol):
    """A judge that was trained on answers to known questions."""

    def is_trained_on(self, question: str) -> bool:
        """Whether it was trained on this question, so that its agreement there is flattered."""


async def close_judge(judge: Judge) -> None:
    """Close a judge, if it can be closed."""
    if isinstance(judge, ClosableJudge):
        await judge.close()
