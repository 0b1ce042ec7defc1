"""A question with its truth, drafted from the ledger, and its entry in questions.yaml."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import (
    CONTRADICTION,
    CROSS_REFERENCE,
    NEGATIVE,
    RECENCY,
    SYNTHESIS,
    Disclosure,
)
from recall_bench.features.personas.simulator.cast import list_short_names
from recall_bench.features.personas.simulator.ledger import LedgerFact, LogSentence, Matter
from recall_bench.features.personas.simulator.values import (
    FactValue,
    list_near_values,
    list_spellings,
)
from recall_bench.features.personas.simulator.world import World


@dataclass(slots=True, kw_only=True)
class DraftQuestion:
    """A question and what is true of it."""

    category: str
    kind: str
    """The kind within its category, by which questions are selected."""
    text: str
    reference: str
    evidence: Sequence[LogSentence]
    known_from: int
    query: dict[str, object]
    """How the answer follows from the ledger; `form` is absent where nothing is told."""
    atoms: Sequence[str] = ()
    aliases: Sequence[str] = ()
    stale: Sequence[str] = ()
    distractors: Sequence[str] = ()
    canaries: Sequence[str] = ()
    withheld: Sequence[str] = ()
    known_until: int | None = None
    session: str | None = None
    forbidden: Sequence[str] = ()
    disclosure: Disclosure | None = None
    is_synthesis: bool = False
    group: str | None = None
    """Drafts of one group are kept or dropped together."""

    @property
    def is_spoilt(self) -> bool:
        """Whether the question holds its own answer."""
        if self.query["op"] == "order":
            return False
        atoms = (atom for atom in self.atoms if atom not in {"Yes", "No"})
        return any(
            atom.lower() in self.text.lower()
            and re.search(rf"(?<!\w){re.escape(atom)}(?!\w)", self.text, re.IGNORECASE)
            for atom in atoms
        )

    def build_entry(self, name: str) -> Mapping[str, object]:
        """Its entry in questions.yaml; empty keys are None."""
        spans = sorted(dict.fromkeys(self.evidence), key=lambda span: (span.day, span.start))
        return {
            "id": name,
            "question": self.text,
            "answer": self.reference,
            "category": self.category,
            "difficulty": self._choose_difficulty(),
            "relevant_days": list(dict.fromkeys(span.day for span in spans)),
            "requires_synthesis": self.is_synthesis,
            "query_session": self.session,
            "forbidden_sessions": list(self.forbidden) or None,
            "expected_disclosure": str(self.disclosure) if self.disclosure else None,
            "irrelevant_after": self.known_until,
            "answerable_from": self.known_from,
            "changes_on": None if self.known_until is None else self.known_until + 1,
            "aliases": list(self.aliases) or None,
            "atoms": list(self.atoms) or None,
            "stale": list(dict.fromkeys(self.stale)) or None,
            "distractors": list(self.distractors) or None,
            "canaries": list(self.canaries) or None,
            "withheld": list(self.withheld) or None,
            "evidence": [
                {"day": span.day, "session": span.session, "start": span.start, "end": span.end}
                for span in spans
            ],
            "kind": self.kind,
            "derive": self.query,
        }

    def _choose_difficulty(self) -> str:
        if self.category in {SYNTHESIS, CROSS_REFERENCE, RECENCY} or len(self.evidence) > 2:
            return "hard"
        return "medium" if self.category in {CONTRADICTION, NEGATIVE} or self.stale else "easy"


@dataclass(slots=True)
class DraftContext:
    """What drafts are made with: the world, a stream, and the names of people."""

    world: World
    chance: RandomStream
    _short_names: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._short_names = list_short_names(
            person.name for person in self.world.sources.persona.cast
        )

    def name(self, matter: Matter) -> str:
        """The matter by its name, or as often by what it is about."""
        return matter.name if self.chance.is_hit(0.5) else matter.called

    def is_open(self, *facts: LedgerFact) -> bool:
        """Whether all of these may be asked about from anywhere."""
        return not any(self.world.is_isolated(fact.sentence.session) for fact in facts)

    def list_aliases(self, value: FactValue, told_on: int) -> Sequence[str]:
        """Other correct ways to write a value."""
        if value.text in self._short_names and value.kind == "person":
            return self._short_names[value.text]
        return list_spellings(value, self.world.dates, told_on)

    def list_distractors(self, value: FactValue) -> Sequence[str]:
        """Plausible but wrong values."""
        return list_near_values(value, self.world.dates, self.chance)

    def ask(self, matter: Matter, attribute: str, *, then: str | None = None) -> str:
        """The question for a value, now or on a date."""
        label, name = matter.label(attribute), self.name(matter)
        who = matter.attributes[attribute].kind == "person"
        if then is None:
            return f"{'Who' if who else 'What'} is the {label} of {name}?"
        return f"{'Who' if who else 'What'} was the {label} of {name} on {then}?"


def format_sentence(text: str) -> str:
    """Text with a capital and a full stop."""
    whole = text[:1].upper() + text[1:] if re.match(r"[a-z]+(?=[\s,.;:]|$)", text) else text
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."
