"""What is said about canaries: questions that make a system invent, again and again."""

from enum import StrEnum

from recall_bench.core.record import Record


class CanaryChange(StrEnum):
    """What became of a canary since it was last seen."""

    NEW = "new"
    """It hallucinates reliably now, and is not on file."""
    STILL = "still"
    """It is on file, and hallucinated in half of the answers or more."""
    HEALED = "healed"
    """It is on file, was asked at two places, and hallucinates no more."""
    UNCLEAR = "unclear"
    """It is on file, and was asked too seldom or at one place alone, or went too mixed a way, to
    tell."""
    UNASKED = "unasked"
    """It is on file, and this run did not ask it."""
    CHANGED = "changed"
    """Its question or its reference is not what it was: it is another question now."""


class CanaryQuestion(Record, frozen=True, kw_only=True):
    """One question that hallucinates reliably."""

    persona: str
    question: str
    """Its id."""
    text: str
    category: str
    digest: str
    """Of its text and reference."""
    asked: int
    """Answers that were judged."""
    hallucinated: int
    runs: int
    """How many runs this is over."""
    sizes: int
    """How many corpus sizes."""
    repeats: int
    """How many repeats."""


class WatchedCanary(Record, frozen=True, kw_only=True):
    """A canary and what became of it in this run."""

    canary: CanaryQuestion
    """As it is on file; as this run has it where it is new."""
    change: CanaryChange
    asked: int
    """In this run alone."""
    hallucinated: int


class CanaryWatch(Record, frozen=True, kw_only=True):
    """All canaries, of the file and of this run."""

    file: str | None
    """None where no file is kept."""
    rule: str
    """What makes a canary, in one sentence with its figures."""
    watched: tuple[WatchedCanary, ...]
    """What changed first; then by persona and question."""
