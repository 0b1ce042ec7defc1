"""What a proof can find wrong, and the report it ends in."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class VerificationCode(StrEnum):
    """What kind of thing is wrong; every message says the rest."""

    DAY = "day"
    """A day file is missing, misnamed or cannot be read."""
    EPOCH = "epoch"
    """The lexicon and the story date day 1 differently."""
    LEXICON = "lexicon"
    """One name stands for two things, or a session is not listed."""
    DERIVE = "derive"
    """A question does not say how its answer follows, or says it unreadably."""
    SPAN = "span"
    """The days on which a question may be asked contradict its other days."""
    UNSTATED = "unstated"
    """The text never says what the question asks for."""
    AMBIGUOUS = "ambiguous"
    """A sentence can be read in two ways."""
    TOLD_TWICE = "told-twice"
    """A step that happens once is told on several days."""
    SECOND_ANSWER = "second-answer"
    """The text holds another answer to the same question."""
    TOO_EARLY = "too-early"
    """The answer is in the text before the sentence cited for it."""
    RESTATED = "restated"
    """A fact that must be told once is told again."""
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
    """A secret stands where the asker may read it."""
    WITHHELD = "withheld"
    """What is said to be withheld is not what the text keeps secret."""
    CANARY = "canary"
    """A canary is not in an isolated session."""
    BOUNDARY = "boundary"
    """Who asks and how much they may be told do not fit."""
    FORGET = "forget"
    """A value is called forgotten, and nobody asked for that or it is told again."""


class VerificationProblem(NamedTuple):
    """What is wrong with the question at hand."""

    code: VerificationCode
    message: str


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """One thing that is wrong."""

    code: VerificationCode
    where: str
    """The question or the file it was noticed at."""
    message: str
    """One sentence: what, and where in the text."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """What became of every question, and everything found wrong."""

    questions: int
    rederived: int
    """How many references follow from the text alone on every day they may be asked."""
    findings: tuple[VerificationFinding, ...]

    @property
    def is_verified(self) -> bool:
        """Whether every reference was re-derived and nothing is wrong."""
        return self.rederived == self.questions and not self.findings
