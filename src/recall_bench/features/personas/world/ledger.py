"""The ledger: every dated fact of a world, where it is stated, and who may know it.

It is bitemporal: a fact says when it is true and when it is learned, and the two differ where
something is found out late.
"""

from dataclasses import dataclass, field

from recall_bench.features.personas.world.fact_values import FactValue
from recall_bench.features.personas.world.sources import FactSlot, ProcessStep, StepTiming


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A sentence in the log: its day, its session, its first character and the one after it."""

    day: int
    session: str
    start: int
    end: int
    text: str = field(compare=False, default="")


@dataclass(slots=True)
class LedgerFact:
    """One dated fact: the value of one attribute of one subject."""

    subject: str
    """The key of its thread."""
    attribute: str
    value: FactValue
    learned: int
    """The day it is stated."""
    span: TextSpan
    true_from: int
    true_until: int | None = None
    """The last day it is true; None while nothing supersedes it."""
    supersedes: "LedgerFact | None" = None
    restated: list[TextSpan] = field(default_factory=list)
    """Where it is stated again with its value."""


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step of a thread that happened."""

    step: str
    span: TextSpan

    @property
    def day(self) -> int:
        """Its story day."""
        return self.span.day


@dataclass(frozen=True, slots=True)
class PlantedCanary:
    """A unique string planted in one session on one day."""

    text: str
    session: str
    day: int


@dataclass(slots=True)
class SessionAccess:
    """A session's access to a secret, and its end if it was revoked."""

    session: str
    granted: TextSpan
    revoked: TextSpan | None = None


@dataclass(slots=True)
class Thread:
    """One subject with its attributes and history: an arc, or one run of a process."""

    key: str
    source: str
    """The arc or process it comes from."""
    name: str
    called: tuple[str, ...]
    session: str
    slots: dict[str, FactSlot]
    timings: dict[str, StepTiming]
    slot_values: dict[str, list[FactValue]]
    """Slot to its values so far, stated or not; the last is current."""
    is_authored: bool = False
    optional: dict[str, ProcessStep] = field(default_factory=dict)
    """Steps that may or may not happen, for questions whether they did."""
    facts: dict[str, list[LedgerFact]] = field(default_factory=dict)
    events: dict[str, StepEvent] = field(default_factory=dict)
    first_step: str = ""
    canaries: list[PlantedCanary] = field(default_factory=list)
    revealed: dict[str, TextSpan] = field(default_factory=dict)
    """Slot to the sentence in an open session that ended its secrecy."""
    forgotten: dict[str, TextSpan] = field(default_factory=dict)
    access: dict[str, list[SessionAccess]] = field(default_factory=dict)
    last_named: int = 0
    """The last day on which the text names it."""
    is_over: bool = False

    @property
    def began(self) -> int:
        """The day of its first step."""
        return self.events[self.first_step].day

    def list_facts(self, slot: str) -> list[LedgerFact]:
        """The slot's facts in the order in which they were true."""
        return self.facts.get(slot, [])
