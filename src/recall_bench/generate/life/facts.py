"""The facts that a life edition tells: every state with its day, and what may be asked about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from recall_bench.generate.life.prose import show_value
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.written.slots import FactState
from recall_bench.generate.written.sources import PlannedFact, PlannedState

MOST_STATES = 9
"""A slot names its state by one digit."""

TOLD = {
    "set": "announced",
    "announced": "announced",
    "passing": "in passing",
    "misreported": "misreported",
    "corrected": "corrected",
    "restored": "restored",
}


class StateMention(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a fact, as it was stated first."""

    state: FactState
    value: FactValue
    day: int
    session: str
    manner: str = "announced"


@dataclass(slots=True)
class FactHistory:
    """A fact and its states so far."""

    key: str
    about: str
    what: str
    states: list[StateMention] = field(default_factory=list)

    @property
    def now(self) -> StateMention:
        """The last state."""
        return self.states[-1]

    def find_at(self, day: int) -> StateMention | None:
        """The state in force at the end of a day; None before the first."""
        return next((each for each in reversed(self.states) if each.day <= day), None)

    def find_end(self, mention: StateMention) -> int | None:
        """The last day of a state; None if it is the last one."""
        place = self.states.index(mention)
        return self.states[place + 1].day - 1 if place + 1 < len(self.states) else None


class FactBook:
    """All facts by their keys."""

    def __init__(self) -> None:
        self.facts: dict[str, FactHistory] = {}
        self.values: dict[FactState, str] = {}
        """Each state with its value as a planned state has it."""

    def reserve(self, key: str, value: FactValue) -> FactState:
        """The next state of a fact, before it is stated."""
        fact = self.facts.get(key)
        state = FactState(key, len(fact.states) + 1 if fact else 1)
        self.values[state] = show_value(value)
        return state

    def tell(self, mention: StateMention, about: str, what: str) -> FactHistory:
        """Enter a state that a day tells for the first time."""
        fact = self.facts.setdefault(mention.state.key, FactHistory(mention.state.key, about, what))
        fact.states.append(mention)
        return fact

    def is_told(self, state: FactState) -> bool:
        """Whether some day tells the state."""
        fact = self.facts.get(state.key)
        return fact is not None and len(fact.states) >= state.number

    def list_planned(self) -> Mapping[str, PlannedFact]:
        """The facts as those of a written edition."""
        return {
            key: PlannedFact(
                about=fact.about,
                what=fact.what,
                fixed=True,
                states=[
                    PlannedState(
                        day=each.day,
                        value=self.values[each.state],
                        session=each.session,
                        told=TOLD[each.manner],
                    )
                    for each in fact.states
                ],
            )
            for key, fact in self.facts.items()
        }
