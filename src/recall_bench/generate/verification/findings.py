"""The findings of a verification and its report."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class VerificationCode(StrEnum):
    """The kind of a finding; the message says the rest."""

    DAY = "day"
    """A day file is missing, misnamed or cannot be read."""
    EPOCH = "epoch"
    """The lexicon and the story date day 1 differently."""
    LEXICON = "lexicon"
    """One name denotes two things, or a session is not listed."""
    DERIVE = "derive"
    """A question does not say how its answer follows, or says it unreadably."""
    SPAN = "span"
    """The days on which a question may be asked contradict its other days."""
    UNSTATED = "unstated"
    """The text never states what the question asks for."""
    AMBIGUOUS = "ambiguous"
    """A sentence has two readings."""
    TOLD_TWICE = "told-twice"
    """A step that happens once is stated on several days."""
    SECOND_ANSWER = "second-answer"
    """The text holds another answer to the same question."""
    TOO_EARLY = "too-early"
    """The answer is in the text before the sentence cited for it."""
    RESTATED = "restated"
    """A fact that must be stated once is stated again."""
    REFERENCE = "reference"
    """The reference answer is not what follows from the text."""
    ATOMS = "atoms"
    """The atoms are not what follows from the text."""
    ALIAS = "alias"
    """An alias is wrong."""
    STALE = "stale"
    """A value called stale was never true, or an earlier one is not called stale."""
    DISTRACTOR = "distractor"
    """A distractor is right."""
    EVIDENCE = "evidence"
    """The evidence is not the sentences that state the answer."""
    RELEVANT_DAYS = "relevant-days"
    """The relevant days are not the days of the evidence."""
    LEAK = "leak"
    """A secret is in a text that the asker may read."""
    WITHHELD = "withheld"
    """The withheld values are not what the text keeps secret."""
    CANARY = "canary"
    """A canary is not in an isolated session."""
    BOUNDARY = "boundary"
    """The asking session and the expected disclosure do not fit."""
    FORGET = "forget"
    """A value is called forgotten without a request to forget it, or is stated again."""
    CALENDAR = "calendar"
    """Something happens or is due on a day without work, or on a quiet day."""
    STATE = "state"
    """A statement contradicts the state of its entity on that day, or states are in disorder."""
    THREAD = "thread"
    """An entity has two threads of one process at a time, or a thread's steps are in disorder."""


class VerificationProblem(NamedTuple):
    """What is wrong with one question."""

    code: VerificationCode
    message: str


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """One thing that is wrong, with its place."""

    code: VerificationCode
    where: str
    """The question or the file."""
    message: str
    """One sentence: what, and where in the text."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """The result of verifying one world."""

    questions: int
    rederived: int
    """References that follow from the text alone on every day they may be asked."""
    findings: tuple[VerificationFinding, ...]

    @property
    def is_verified(self) -> bool:
        """Whether every reference was re-derived and nothing is wrong."""
        return self.rederived == self.questions and not self.findings
