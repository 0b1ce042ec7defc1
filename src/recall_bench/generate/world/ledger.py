"""The ledger: every dated truth of a world, where it was told, and who may know it.

It is bitemporal. A fact says when it is true and when it was learned, and the two differ
wherever something is found out late.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.sources import FactSlot, ProcessStep, StepTiming


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
    """One dated truth: the value of one attribute of one subject."""

    subject: str
    """The key of its thread."""
    attribute: str
    value: FactValue
    learned: int
    """The day it was told."""
    told: TextSpan
    true_from: int
    true_until: int | None = None
    """The last day it holds; None while nothing replaces it."""
    supersedes: "LedgerFact | None" = None
    restated: list[TextSpan] = field(default_factory=list)
    """Where it was told again, value and all."""


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step of a thread that came to pass."""

    step: str
    told: TextSpan

    @property
    def day(self) -> int:
        """The story day of it."""
        return self.told.day


@dataclass(frozen=True, slots=True)
class PlantedCanary:
    """A string planted in one session on one day, and found nowhere else."""

    text: str
    session: str
    day: int


@dataclass(slots=True)
class SessionAccess:
    """That a session was let in on a secret, and perhaps shut out again."""

    session: str
    granted: TextSpan
    revoked: TextSpan | None = None


@dataclass(slots=True)
class Thread:
    """One subject with its attributes and its history: an arc, or one run of a process."""

    key: str
    source: str
    """The arc or process it comes from."""
    name: str
    called: tuple[str, ...]
    session: str
    slots: dict[str, FactSlot]
    whens: dict[str, StepTiming]
    held: dict[str, list[FactValue]]
    """Slot to its values so far, told or not; the last is in force."""
    is_authored: bool = False
    optional: dict[str, ProcessStep] = field(default_factory=dict)
    """Steps it might or might not take, for questions of whether it did."""
    facts: dict[str, list[LedgerFact]] = field(default_factory=dict)
    happenings: dict[str, StepEvent] = field(default_factory=dict)
    first_step: str = ""
    canaries: list[PlantedCanary] = field(default_factory=list)
    revealed: dict[str, TextSpan] = field(default_factory=dict)
    """Slot to the telling in an open session that ended its secrecy."""
    forgotten: dict[str, TextSpan] = field(default_factory=dict)
    access: dict[str, list[SessionAccess]] = field(default_factory=dict)
    last_named: int = 0
    """The last day on which the text names it."""
    is_over: bool = False

    @property
    def began(self) -> int:
        """The day of its first step."""
        return self.happenings[self.first_step].day

    def list_facts(self, slot: str) -> list[LedgerFact]:
        """The slot's facts in the order in which they held."""
        return self.facts.get(slot, [])

    def iterate_current(self) -> Iterator[tuple[str, LedgerFact]]:
        """Each slot that was told, with its latest fact."""
        for slot, facts in self.facts.items():
            yield slot, facts[-1]
